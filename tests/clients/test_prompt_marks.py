"""Marks on the entries of prompts, as Claude Code 2.1.329 wrote them in a terminal (recorded).

The session: a prompt, one sent while a tool ran, one sent before the turn's end was shown, a paste,
questions with options; the prompt after `/clear`; a fired schedule, `/loop` with a wake-up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.clients import transcripts
from memory_fabric.clients.transcript import MARKS, MEASURED, any_turn_of, before_prompt, read_on
from memory_fabric.store.conversations import prompts

RECORDED = Path(__file__).parents[1] / "events/transcript.typed.jsonl"
MACHINES = {"notes off", "forget 12345678"}


def entries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]


def test_recorded_transcripts_distinguish_typed_from_scheduled_prompts() -> None:
    marks = {
        entry["message"]["content"]: (
            entry["promptSource"],
            entry["turnOrigin"],
            entry.get("origin"),
            entry.get("isMeta"),
            entry.get("wakeupSource"),
        )
        for entry in entries()
        if entry["type"] == "user" and "promptSource" in entry
    }

    human = {"kind": "human"}
    assert marks["first prompt please"] == ("typed", "human", human, None, None)
    assert marks["ask me"] == ("queued", "human", human, None, None)
    assert marks["after clear"] == ("typed", "human", human, None, None)
    assert marks["notes off"] == ("system", "scheduled", None, True, "schedule_wakeup")
    assert marks["forget 12345678"] == ("system", "scheduled", None, True, "loop_wakeup")


def test_only_prompts_typed_by_the_user_become_user_turns() -> None:
    reading = read_on(str(RECORDED))

    said = [turn.text for turn in reading.turns if turn.role == "user" and turn.text]
    assert [text.strip().partition("\n")[0] for text in said] == [
        "first prompt please",
        "queued prompt while working",
        "ask me",
        '<pasted_content id="5d4c">',
        "ask multi",
        "after clear",
        "schedule it",
    ]
    by_machine = {turn.text for turn in reading.prompts if turn.origin == "machine"}
    assert by_machine >= MACHINES


def later(entry: dict[str, Any], **marks: object) -> str:
    """Return the origin of an entry of a release that nobody has measured, with these marks."""
    bare = {k: v for k, v in entry.items() if k not in ("origin", *MARKS)}
    turn = any_turn_of({**bare, "version": "2.2.0", **marks})
    assert turn is not None
    return turn.origin


@pytest.mark.parametrize(
    "marks",
    [
        {},
        {"author": "human"},
        {"promptSource": "voice"},
        {"promptSource": "typed", "turnOrigin": "agent"},
        {"promptSource": "typed", "wakeupSource": "human"},
        {"promptSource": ["typed"]},
        {"promptSource": "typed", "origin": {"kind": "bridge"}},
        {"promptSource": "typed", "origin": "keyboard"},
    ],
    ids=str,
)
def test_a_prompt_of_unknown_origin_from_a_newer_client_is_not_trusted(
    marks: dict[str, object],
) -> None:
    assert {later(entry, **marks) for entry in entries() if "promptSource" in entry} == {"machine"}


def test_a_prompt_that_a_newer_client_marks_as_typed_is_trusted() -> None:
    first = entries()[0]

    assert later(first, promptSource="typed", turnOrigin="human") == prompts.TYPED
    assert later(first, turnOrigin="human", origin={"kind": "human"}) == prompts.TYPED


def test_unmarked_prompts_are_trusted_up_to_the_newest_tested_client() -> None:
    newest = ".".join(map(str, MEASURED))

    assert f"newer than {newest} " in (RECORDED.parents[2] / "docs/hooks.md").read_text("utf-8")
    assert later(entries()[0], version=newest) == prompts.TYPED
    assert later(entries()[0], version="") == prompts.TYPED


def test_a_scheduled_prompt_is_recognised_by_the_preceding_transcript_entry(tmp_path: Path) -> None:
    lines = RECORDED.read_text("utf-8").splitlines(keepends=True)
    path = tmp_path / "transcript.jsonl"
    shown = []
    for number, entry in enumerate(entries()):
        path.write_text("".join(lines[: number + 1]), "utf-8")
        if entry.get("subtype") == "scheduled_task_fire":
            shown.append(before_prompt(str(path), entry["prompt"]))
            assert before_prompt(str(path), "a prompt of the user") == ""

    assert shown == ["scheduled", "scheduled"]
    path.write_text("".join(lines), "utf-8")
    assert before_prompt(str(path), "notes off") == ""


def test_a_tool_is_assumed_to_be_running_if_the_last_entry_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text(json.dumps({"type": "assistant", "message": {"content": "x" * (200 << 10)}}))

    assert before_prompt(str(path), "notes off") == "running"
    assert before_prompt(str(tmp_path / "missing"), "notes off") == ""


def test_text_that_qwen_adds_to_a_prompt_is_not_part_of_the_prompt() -> None:
    added = "<qwen:user-prompt-submit-context>\nKeep it short.\n</qwen:user-prompt-submit-context>"
    parts = [{"text": "Which database?"}, {"text": added}]
    entry = {"type": "user", "provenance": "real_user", "message": {"role": "user", "parts": parts}}

    turn = transcripts.qwen_turn_of(entry)

    assert turn is not None
    assert (turn.text, turn.origin) == ("Which database?", prompts.TYPED)
