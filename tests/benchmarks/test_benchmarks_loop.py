"""The loop of the histories: a writer answers each turn before the replay goes on."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

COMMAND = Path(__file__).parents[2] / "benchmarks" / "histories.py"
sys.path.insert(0, str(COMMAND.parent))

import histories  # noqa: E402 - the benchmark's own folder is where its modules are found
from waiting import until  # noqa: E402

PROJECT, FOLDER = "ines/boats", "ines+boats"
STORED = "We store the berths in PostgreSQL from the first day on."
RULE = "Never count the guest berths of the north pier."
ASKED = "Where are the berths of the north pier stored?"
CAPTION = "The berths are stored in PostgreSQL"
NOTED = f'Noted decision: {CAPTION}. From: "store the berths in PostgreSQL"'
LETTER = "The crane of the north pier is booked by letter"
CRANE = f"Noted fact: {LETTER}."
TIMEOUT_S = 120


def turn(prompt: str, answer: str) -> dict[str, Any]:
    return {"at": None, "prompt": prompt, "blocks": [{"type": "text", "text": answer}]}


STOPPED: dict[str, Any] = {"at": None, "prompt": "Show me the crane.", "blocks": []}
CONVERSATION = [
    {
        "project": PROJECT,
        "path": "monday.md",
        "when": 1760000000,
        "turns": [turn(STORED, "The table is made."), STOPPED, turn("Go on, please.", "Ready.")],
    },
    {
        "project": PROJECT,
        "path": "tuesday.md",
        "when": 1760090000,
        "turns": [turn(RULE, "Understood."), turn(ASKED, "In PostgreSQL.")],
    },
]


class Played:
    """A replay in a loop, and the calls of its writer."""

    def __init__(self, folder: Path, *options: object) -> None:
        folder.mkdir()
        data = folder / "conversations.jsonl"
        data.write_text("".join(f"{json.dumps(one)}\n" for one in CONVERSATION), "utf-8")
        self.out, self.loop = folder / "out", folder / "loop"
        places = ("--data", data, "--out", self.out, "--loop", self.loop)
        words = [sys.executable, COMMAND, *places, *options]
        with open(folder / "printed", "wb") as printed:
            self.replay = subprocess.Popen([str(w) for w in words], stdout=printed, stderr=printed)

    def answer(self, *lines: str, status: int = 0, options: tuple[str, ...] = ()) -> str:
        # The replay makes the folder of its loop at once.
        readme = self.loop / FOLDER / "README.md"
        until(lambda: readme.exists() or self.replay.poll() is not None)
        assert readme.exists()
        given, out, err = io.StringIO("\n".join(lines)), io.StringIO(), io.StringIO()
        streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
        with streams[0], streams[1], mock.patch.object(sys, "stdin", given):
            code = histories.main(["--answer", str(self.loop / FOLDER), *options])
        assert code == status, err.getvalue()
        return err.getvalue() if status else out.getvalue()

    def items(self, kind: str) -> list[dict[str, Any]]:
        assert self.replay.wait(TIMEOUT_S) == 0
        lines = (self.out / "items.jsonl").read_text("utf-8").splitlines()
        return [item for item in map(json.loads, lines) if item["kind"] == kind]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Played, list[str]]]:
    """A whole loop: the first turn is noted twice, the third replaces one note by its id."""
    played = Played(tmp_path_factory.mktemp("whole") / "run")
    packets = [played.answer(), played.answer(NOTED, CRANE), played.answer()]
    id_ = re.search(r"([0-9a-f]{8})\] The crane of the north pier", packets[2])
    assert id_ is not None
    changed = f"Noted fact: The crane of the north pier is booked by mail. Instead of: {id_[1]}."
    packets += [played.answer(changed), played.answer()]
    yield played, packets
    played.replay.kill()


def test_each_turn_shows_the_feedback_and_memories_from_earlier_notes(
    told: tuple[Played, list[str]],
) -> None:
    _, (first, second, third, fourth, _) = told

    assert "Memory notes." in first
    assert "Kept: " in second
    assert LETTER in third
    assert "Replaced: " in fourth
    assert "crane of" not in first + second


def test_a_turn_without_an_answer_is_merged_with_the_next_turn(
    told: tuple[Played, list[str]],
) -> None:
    _, (first, second, *_) = told

    assert "Show me the crane." not in first
    assert second.startswith("Notes are asked for turn 2\n")
    assert second.index("Show me the crane.") < second.index("Go on, please.")


def test_records_created_from_notes_become_items_to_judge(told: tuple[Played, list[str]]) -> None:
    played, packets = told

    records = [item["text"] for item in played.items("record")]
    cues = [item["text"] for item in played.items("cue")]
    [quotation] = [item["text"] for item in played.items("quotation")]
    assert packets[-1] == f"There are no more turns of {PROJECT}.\n\n"
    assert any(
        text.startswith(f"decision: {CAPTION} (user's words: “{STORED}”)") for text in records
    )
    assert any(text.startswith(f"[replaced later] note: {LETTER}") for text in records)
    assert any(cue.startswith(("Sounds like", "On record")) for cue in cues)
    assert quotation == NOTED


def test_the_exported_conversation_contains_no_injected_text_and_no_notes(
    told: tuple[Played, list[str]],
) -> None:
    played, _ = told
    played.items("record")

    text = (played.out / f"{FOLDER}.conversation.md").read_text("utf-8")
    assert text.count("\nUser: ") == 5
    assert "Noted" not in text
    assert "Sounds like" not in text


@pytest.mark.usefixtures("answered_here")
def test_notes_submitted_in_a_loop_are_saved_and_can_be_replayed(
    told: tuple[Played, list[str]],
) -> None:
    played, _ = told
    notes = played.loop / FOLDER / "notes.jsonl"

    again = played.out.parent / "again"
    data = played.out.parent / "conversations.jsonl"
    places = ("--data", data, "--out", again, "--notes", notes)
    assert histories.main([str(word) for word in places]) == 0

    records = (again / FOLDER / "records.jsonl").read_text("utf-8").splitlines()
    closed = [row["what"] for row in map(json.loads, records) if row["superseded_by"]]
    assert "{id:" in notes.read_text("utf-8")
    assert closed == [LETTER]


def test_an_invalid_submission_of_notes_is_refused_and_stores_nothing(
    tmp_path: Path,
) -> None:
    played = Played(tmp_path / "run")

    early = played.answer(NOTED, status=1)
    played.answer()
    prose = played.answer("The berths are settled.", status=1)
    other = played.answer(f"7: {NOTED}", status=1)
    end = played.answer(NOTED, options=("--last",))

    assert "no packet waits for notes" in early
    assert "neither “Noted <kind>: …” nor “Dropped: …”: The berths are settled." in prose
    assert "no turn 7 among [0]" in other
    assert end == f"There are no more turns of {PROJECT}.\n\n"
    assert len(played.items("record")) == 1


def test_a_note_must_name_its_turn_if_several_turns_are_shown_together(
    tmp_path: Path,
) -> None:
    played = Played(tmp_path / "run", "--turns", 3)

    first = played.answer()
    unnumbered = played.answer(NOTED, status=1)
    second = played.answer(f"0: {NOTED}")
    played.answer(f"1: {CRANE}")

    assert "# Session 1, turn 2" in first
    assert "which turn of [0, 1, 2]?" in unnumbered
    assert "=== Told with the prompt of turn 1 ===\nKept: " in second
    records = "\n".join(item["text"] for item in played.items("record"))
    assert CAPTION in records
    assert LETTER in records
