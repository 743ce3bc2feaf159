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
    outcome_in,
    question_in,
    summary,
    task_in,
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
        ("It is in place.\nShould I continue with the next step?", ""),
        ("The importer reads CSV. How does that sound?", ""),
        ("¿Quieres que ejecute el script?", ""),
        (
            "Soll ich die alte Spalte löschen oder behalten?",
            "Soll ich die alte Spalte löschen oder behalten?",
        ),
        ("Should I drop the old column?\n\nNoted decision: Rows are kept for a year.", ""),
        ("Should I drop the column? I kept it for now.", ""),
        ("Done.", ""),
        ("", ""),
    ],
)
def test_an_offer_and_a_courtesy_are_no_question(said: str, question: str) -> None:
    assert question_in(said) == question


def test_lines_of_notes_are_no_part_of_the_account() -> None:
    asked = "Which one, A or B?"
    notes = after(
        ("user", TASK), ("assistant", f"{asked}\n\nNoted open: A or B.\nDropped: 1630ad9a")
    )

    assert open_ends(notes) == [f"asked the user: {asked}"]
    assert notes["said"] == asked


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (
            "Perfect!\n\n## Summary\n- **Parser**: reads the whole file now.\n\n"
            "The importer keeps columns that it does not know. It reads dates, too.",
            "The importer keeps columns that it does not know.",
        ),
        (
            "El importador conserva las columnas nuevas.",
            "El importador conserva las columnas nuevas.",
        ),
        ("Now let me run the tests of the importer.", ""),
        ("The importer has no column for the total price. Let me add it now.", ""),
        ("The importer has no column for the total price. The change:", ""),
        ("The parser might drop some of the columns.", ""),
        ("Should the importer keep unknown columns or drop them?", ""),
        ("The columns to look at:", ""),
        ("1. The parser reads the whole file now.", ""),
        ("| parser | reads the whole file now. |", ""),
        ("I've built the analytics importer for CSV uploads.", ""),
        ("Done.", ""),
        ("", ""),
    ],
)
def test_the_outcome_is_the_first_sentence_of_prose_that_says_something_new(
    said: str, outcome: str
) -> None:
    assert outcome_in(said, TASK) == outcome


@pytest.mark.parametrize(
    ("prompts", "asked"),
    [
        (("continue", TASK), TASK),
        (("Fix this error", TASK), TASK),
        ((TASK, "1. use the old parser 2. keep every column that is unknown"), TASK),
        ((TASK, "Also the upload of large files is slow on the old server"), TASK),
        (("ok",), None),
    ],
)
def test_the_request_is_the_prompt_that_says_most(
    prompts: tuple[str, ...], asked: str | None
) -> None:
    record = summary(after(*(("user", prompt) for prompt in prompts)))

    assert (record.evidence["asked"] if record else None) == asked


@pytest.mark.parametrize(
    ("said", "is_open"),
    [
        ("All tasks are done.", False),
        ("The importer is now complete.", False),
        ("The parser is done; the docs are next.", True),
        ("The importer reads the file.", True),
    ],
)
def test_a_list_that_the_answer_declares_done_is_done(said: str, is_open: bool) -> None:
    notes = after(("user", TASK), ("assistant", said))

    assert (open_ends(notes, ["Write the docs"]) != []) is is_open


@pytest.mark.parametrize(
    ("prompt", "task"),
    [
        ("continue", ""),
        ("yes, please do it", ""),
        ("Thanks, that is great!", ""),
        ("/review the analytics importer", ""),
        (
            "The upload fails since Monday, see:\n\n$ npm start\n> shop@1.0.0\nlistening",
            "The upload fails since Monday, see:",
        ),
        (
            "Traceback (most recent call last):\n{'a': [2]}\nFix the importer's upload please",
            "Fix the importer's upload please",
        ),
        (
            "<pasted_content>Write the whole shop anew</pasted_content> Fix the slow upload",
            "Fix the slow upload",
        ),
        (
            f"{TASK}. It takes files of up to ten megabytes. {'And so on ' * 20}",
            f"{TASK}. It takes files of up to ten megabytes.",
        ),
    ],
)
def test_a_task_is_the_users_own_words(prompt: str, task: str) -> None:
    assert task_in(prompt).strip() == task


def test_the_main_task_is_told_with_the_last_request() -> None:
    last = "Add a column for the currency to the export"
    said = [
        ("user", text) for text in (TASK, "Sort the rows by their date, please", last, "thanks")
    ]
    record = summary(after(*said, ("assistant", "Added.")))

    assert record is not None
    assert record.what == f"Asked: {TASK}; then: {last}. Outcome: done. Changed: cart.py"


def test_a_file_outside_the_project_is_told_by_its_end() -> None:
    record = summary(after(("user", TASK), ("assistant", "ok"), files=("/srv/shop/api/cart.py",)))

    assert record is not None
    assert record.what.endswith("Changed: api/cart.py")


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
