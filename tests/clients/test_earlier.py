"""The sessions from before memory was on, for the offer at the first start."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memory_fabric.clients.transcripts import DAY_S, DEFAULT_KEPT_DAYS, earlier, find, head_of
from memory_fabric.config import transcript_roots


def write(home: Path, name: str, text: str = "{}\n") -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_past_sessions_are_counted_separately_for_each_client(tmp_path: Path) -> None:
    roots = transcript_roots({"HOME": str(tmp_path)})
    own = write(tmp_path, ".claude/projects/-home-ann-shop/a.jsonl")
    assert earlier(roots, {str(own)}) == {}
    write(tmp_path, ".claude/projects/-home-ann-shop/b.jsonl")
    write(tmp_path, ".claude/projects/-home-ann-atlas/c.jsonl")
    write(tmp_path, ".claude/projects/-home-ann-atlas/empty.jsonl", "")
    write(tmp_path, ".codex/sessions/2025/10/09/rollout-2025-10-09T08-00-00-1.jsonl")

    assert earlier(roots, {str(own)}) == {"Claude Code": 2, "Codex": 1}


def head_line(**fields: str) -> str:
    return json.dumps({"cwd": "/srv", "timestamp": "2026-03-01T10:00:00Z", **fields}) + "\n"


def test_a_conversation_is_found_once_with_its_folder_time_and_agent(tmp_path: Path) -> None:
    root = tmp_path / ".claude" / "projects"
    setting = json.dumps({"type": "agent-setting", "agentSetting": "reviewer"}) + "\n"
    own = write(
        root, "-a/one.jsonl", '{"timestamp": "2026-02-01T10:00:00Z"}\n' + head_line() + setting
    )
    write(root, "-a/agent-1.jsonl", head_line())
    write(root, "-a/empty.jsonl", "")
    write(root, "-a/placeless.jsonl", "{}\n")
    write(root, "-a/notes.txt", head_line())
    write(root, "-b/sdk.jsonl", head_line(entrypoint="sdk-py"))
    (root / "-b" / "other.jsonl").symlink_to(own)
    (root / "-c").mkdir()
    (root / "-c" / "gone.jsonl").symlink_to(root / "missing")
    failed: list[str] = []

    found = {Path(one.path).name: one for one in find({"claude-code": str(root)}, failed=failed)}
    named = [one.head.agent for one in find({"claude-code": str(root)}, agents=True)]

    assert set(found) == {"one.jsonl", "sdk.jsonl"} and failed == []
    assert found["one.jsonl"].head == ("one", "/srv", "2026-02-01T10:00:00Z", "", True)
    assert not found["sdk.jsonl"].head.is_attended
    assert found["one.jsonl"].size == own.stat().st_size
    assert sorted(named) == ["", "reviewer"]


def test_a_transcript_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "-a" / "one.jsonl").mkdir(parents=True)
    (tmp_path / "-a" / "loop.jsonl").symlink_to("loop.jsonl")
    write(tmp_path, "-a/two.jsonl", head_line())
    failed: list[str] = []

    found = [*find({"claude-code": str(tmp_path)}, failed=failed)]

    assert [one.head.session for one in found] == ["two"]
    assert failed and all(str(tmp_path) in text for text in failed)


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ("", DEFAULT_KEPT_DAYS),
        ('{"cleanupPeriodDays": 7}', 7),
        ('{"cleanupPeriodDays": 1}', 1),
        ('{"cleanupPeriodDays": 0}', DEFAULT_KEPT_DAYS),
        ('{"cleanupPeriodDays": true}', DEFAULT_KEPT_DAYS),
        ('{"cleanupPeriodDays": "7"}', DEFAULT_KEPT_DAYS),
    ],
)
def test_the_client_deletes_a_transcript_after_the_days_of_its_settings(
    tmp_path: Path, settings: str, days: int
) -> None:
    root = tmp_path / ".claude" / "projects"
    os.utime(write(root, "-a/one.jsonl", head_line()), (1000, 1000))
    write(root.parent, "settings.json", settings)

    [found] = find({"claude-code": str(root)})

    assert (found.changed_s, found.deleted_s) == (1000, 1000 + days * DAY_S)


def test_no_session_is_read_from_a_file_of_an_unknown_client_or_a_path_without_file(
    tmp_path: Path,
) -> None:
    path = str(write(tmp_path, "one.jsonl", head_line(entrypoint="sdk-py")))

    known = head_of("claude-code", path)
    of_qwen = head_of("qwen", path)

    assert known is not None and (known.session, known.is_attended) == ("one", False)
    assert of_qwen is not None and of_qwen.is_attended
    for form, place in (("other", path), ("claude-code", ""), ("claude-code", "a\0b")):
        assert head_of(form, place) is None
    assert head_of("claude-code", str(tmp_path)) is None
