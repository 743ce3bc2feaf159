"""The line on the last session: what it tells, how long it is, and when there is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.models import Record
from memory_fabric.recall.session_block import MAX_LAST_CHARS
from memory_fabric.session.last_session import last_session, line

TASK = "Build the importer"
SAID = "The importer reads CSV."
NOW_S = 1_800_000_000.0


def a_session(**evidence: Any) -> Record:
    return Record("session", "", evidence=evidence, session="s1", created_at="2027-01-14T10:00:00Z")


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        ({"asked": TASK, "said": SAID}, f"asked “{TASK}”; outcome: {SAID}"),
        (
            {"asked": TASK, "files": ["d:/shop", "src/a.py", "b.py"]},
            f"asked “{TASK}”; changed: b.py, a.py",
        ),
        (
            {"asked": TASK, "said": SAID, "files": ["a.py"], "open": ["to do: docs", "`x` fails"]},
            f"asked “{TASK}”; outcome: {SAID}; left open: to do: docs; `x` fails",
        ),
        ({"tasks": [TASK], "said": SAID}, f"asked “{TASK}”; outcome: {SAID}"),
        ({"said": SAID}, f"outcome: {SAID}"),
    ],
)
def test_it_tells_what_was_asked_done_and_left_open(evidence: dict[str, Any], told: str) -> None:
    assert line(a_session(**evidence)) == f"Last session (2027-01-14): {told}"


@pytest.mark.parametrize("evidence", [{"files": ["a.py"]}, {"asked": TASK, "open": []}])
def test_of_a_session_of_which_little_is_known_there_is_no_line(evidence: dict[str, Any]) -> None:
    assert line(a_session(**evidence)) == ""


def test_what_was_settled_is_told_rather_than_what_was_said() -> None:
    fact = Record("note", "The sandbox is down at night.")

    assert line(a_session(asked=TASK, said=SAID), [fact]) == (
        f"Last session (2027-01-14): asked “{TASK}”; settled: The sandbox is down at night"
    )


def test_a_second_fact_is_told_only_whole() -> None:
    facts = [Record("note", "a" * 90), Record("note", "b" * 150), Record("note", "c" * 90)]

    assert line(a_session(asked=TASK), facts).endswith(f"settled: {'a' * 90}; {'c' * 90}")


@given(st.text(), st.text(), st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=2))
def test_it_is_bounded(asked: str, said: str, ends: list[str], settled: list[str]) -> None:
    records = [Record("note", text) for text in settled]

    told = line(a_session(asked=asked, said=said, open=ends), records)

    assert len(told) <= MAX_LAST_CHARS


def test_the_last_other_session_of_two_weeks_counts() -> None:
    mine, other = a_session(), a_session()._replace(session="s2")

    assert last_session([mine, other], NOW_S, "s1") == other
    assert last_session([mine], NOW_S, "s1") is None
    assert last_session([other], NOW_S + 14 * 24 * 3600, "s1") is None
