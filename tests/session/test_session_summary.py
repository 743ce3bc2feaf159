"""A session's notes and the record made of them: bounded, and only of sessions with work."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.session.session_summary import (
    MAX_FILES,
    MAX_TASKS,
    MAX_WHAT_CHARS,
    noted,
    open_ends,
    question_in,
    summary,
)

TASK = "Build the analytics importer for CSV uploads"


def after(*said: tuple[str, str], files: tuple[str, ...] = ("cart.py",)) -> dict[str, Any]:
    return noted({}, said, files=files)


def test_a_session_is_told_by_its_tasks_outcome_and_files() -> None:
    record = summary(after(("user", TASK), ("assistant", "All done.")))

    assert record is not None
    assert record.what == f"Asked: {TASK}. Outcome: done. Changed: cart.py"
    assert (record.type, record.domain, record.outcome) == ("session", "session", "success")
    assert record.evidence["open"] == []


@pytest.mark.parametrize(
    "notes",
    [
        after(("user", "hello there"), ("assistant", "Hi!"), files=()),
        after(("user", "How does the analytics importer parse dates?"), files=()),
        after(("user", "ok"), files=()),
        {},
    ],
)
def test_a_session_without_work_is_no_record(notes: dict[str, Any]) -> None:
    assert summary(notes) is None


def test_what_fails_what_is_to_do_and_what_was_asked_is_open() -> None:
    notes = after(("user", TASK), ("assistant", "It parses. Should I drop the old column?"))
    record = summary(
        notes, to_do=["Write the docs"], failing=[("pytest", "KeyError: 'total'")], commit="abc"
    )

    assert record is not None
    assert record.evidence["open"] == [
        "`pytest` fails (KeyError: 'total')",
        "to do: Write the docs",
        "asked the user: Should I drop the old column?",
    ]
    assert (record.outcome, record.evidence["outcome"]) == ("failed", "failed")
    assert "Left open: `pytest` fails" in record.what
    assert record.evidence["commit"] == "abc"


def test_a_prompt_without_an_answer_is_open() -> None:
    notes = after(("user", TASK), ("user", "[Request interrupted by user]"))

    assert open_ends(notes) == ["the last prompt was not finished"]


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("Done. Should I drop the old column?", "Should I drop the old column?"),
        ("Which one, A or B?", "Which one, A or B?"),
        ("Done. Want me to add tests?", ""),
        ("Done. Is there anything else?", ""),
        ("Done.", ""),
        ("", ""),
    ],
)
def test_an_offer_is_no_question(said: str, question: str) -> None:
    assert question_in(said) == question


TURNS = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=900)), max_size=8
)


@given(st.lists(TURNS, max_size=6), st.lists(st.text(max_size=200), max_size=40))
def test_notes_and_records_stay_small_whatever_was_said(
    readings: list[list[tuple[str, str]]], files: list[str]
) -> None:
    notes: dict[str, Any] = {}
    for said in readings:
        items = {str(n): (file, "pending") for n, file in enumerate(files)}
        notes = json.loads(json.dumps(noted(notes, said, files=files, items=items)))
    record = summary(notes, to_do=files, failing=[(file, file) for file in files])

    assert len(notes.get("tasks", ())) <= MAX_TASKS
    assert len(notes.get("files", ())) <= MAX_FILES
    assert len(json.dumps(notes)) < 40_000
    assert record is None or len(record.what) <= MAX_WHAT_CHARS


@given(TURNS, st.integers(0, 8))
def test_notes_of_two_readings_are_those_of_one(said: list[tuple[str, str]], cut: int) -> None:
    assert noted(noted({}, said[:cut]), said[cut:]) == noted({}, said)
