"""The sessions from before memory was on, for the offer at the first start."""

from __future__ import annotations

import os
from pathlib import Path

from memory_fabric.clients.transcripts import Earlier, earlier
from memory_fabric.config import transcript_roots

AT_S = 1_760_000_000


def write(home: Path, name: str, text: str = "{}\n") -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    os.utime(path, (AT_S, AT_S))
    return path


def test_the_sessions_beside_one_are_counted_by_client_with_their_oldest_date(
    tmp_path: Path,
) -> None:
    roots = transcript_roots({"HOME": str(tmp_path)})
    own = write(tmp_path, ".claude/projects/-home-ann-shop/a.jsonl")
    assert earlier(roots, str(own)) == Earlier({})
    write(tmp_path, ".claude/projects/-home-ann-shop/b.jsonl")
    write(tmp_path, ".claude/projects/-home-ann-atlas/c.jsonl")
    write(tmp_path, ".claude/projects/-home-ann-atlas/empty.jsonl", "")
    write(tmp_path, ".codex/sessions/2025/10/09/rollout-2025-10-09T08-00-00-1.jsonl")

    numbers = {"Claude Code": 2, "Codex": 1}
    assert earlier(roots, str(own)) == Earlier(numbers, "2025-10-09", {"Claude Code": 30})
    write(tmp_path, ".claude/settings.json", '{"cleanupPeriodDays": 90}')
    assert earlier(roots, str(own)).kept_days == {"Claude Code": 90}
