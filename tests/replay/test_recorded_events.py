"""Every recorded event, and its variants, compared with reviewed replies.

The events are answered by the command of hooks.json, their variants in this process.

`tests/replies/<event>.json` holds what each prints with an empty memory and with one that holds two
statements of an earlier session. After a wanted change write them anew
(`replay/write_goldens.py`) and read the difference before committing it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.capture.notes.protocol import PROTOCOL, SUMMARY_REQUEST
from replay.hook_runner import recordings
from replay.replies import REPLIES, World, replayed
from replay.ways import Way, by_launcher, in_process

IDS = [path.stem for path in recordings()]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[Way, World]:
    return {way: World(tmp_path_factory.mktemp("replay"), way) for way in (by_launcher, in_process)}


@pytest.mark.parametrize("path", recordings(), ids=IDS)
def test_hooks_answer_each_recorded_event_with_the_expected_reply(
    path: Path, worlds: dict[Way, World]
) -> None:
    reviewed = json.loads((REPLIES / path.name).read_text("utf-8"))
    way = in_process if path.parent.name == "variants" else by_launcher
    assert replayed(path, worlds[way]) == reviewed


def test_every_recorded_event_has_an_expected_reply_file() -> None:
    assert sorted(p.stem for p in REPLIES.glob("*.json")) == sorted(IDS)


def test_earlier_decisions_are_shown_only_at_session_start_and_for_typed_prompts() -> None:
    """A prompt of a session without a start is given the session block; a machine turn is not."""
    given = {p.stem for p in REPLIES.glob("*.json") if "PostgreSQL" in p.read_text("utf-8")}
    starts = {name for name in IDS if name.startswith("SessionStart")}
    assert given == starts | {"UserPromptSubmit", "UserPromptSubmit.as_agent"}


def test_with_an_empty_memory_hooks_only_ask_the_assistant_for_notes() -> None:
    for path in REPLIES.glob("*.json"):
        empty = json.loads(path.read_text("utf-8"))["empty"] or {}
        specific = empty.get("hookSpecificOutput", {"additionalContext": PROTOCOL})
        assert specific["additionalContext"] == PROTOCOL
        assert empty.get("plain", SUMMARY_REQUEST) == SUMMARY_REQUEST
