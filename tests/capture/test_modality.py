"""How a sentence is meant."""

from __future__ import annotations

import pytest

from memory_fabric.capture.modality import STATED, asks_agreement, is_status, modality
from memory_fabric.capture.segments import segments


def meant(text: str, record_type: str = "decision") -> str:
    first, *rest = segments(text)
    return modality(first, first.text, rest[0].text if rest else "", record_type)


@pytest.mark.parametrize(
    ("text", "modality_name"),
    [
        ("We use tabs everywhere.", STATED),
        ("Do we use tabs everywhere?", "asked"),
        ("Perhaps we use tabs everywhere.", "supposed"),
        ("We will use tabs everywhere. Thoughts?", "supposed"),
        ("We haven't decided on tabs.", "negated"),
        ("Could you use tabs everywhere", "asked"),
        ("I want you to use tabs everywhere.", "requested"),
        ("The vendor decided to use tabs.", "reported"),
        ("According to the handbook we use tabs.", "reported"),
        ("Never touch the schema in this session.", "scoped"),
        ("Don't touch the schema for now.", "scoped"),
        ("Wir nutzen vielleicht Tabs.", "supposed"),
        ("我们可能用制表符。", "supposed"),
    ],
)
def test_only_what_is_settled_counts_as_stated(text: str, modality_name: str) -> None:
    assert meant(text) == modality_name


def test_a_standing_rule_may_be_asked_for_politely() -> None:
    assert meant("I need you to always sign the release.", "constraint") == STATED


def test_a_problem_of_today_is_a_problem() -> None:
    assert meant("The bug is that today every job runs twice.", "problem") == STATED


@pytest.mark.parametrize(
    "text", ["Added the index.", "I've moved the file.", "Now updated.", "All changed, see above."]
)
def test_reports_of_work_are_seen(text: str) -> None:
    assert is_status(text)


def test_a_decision_is_no_report() -> None:
    assert not is_status("We decided to add the index.")


def test_only_a_short_question_asks_for_agreement() -> None:
    assert asks_agreement("Sounds good?")
    assert not asks_agreement("Sounds good.")
    assert not asks_agreement("Which port does it listen on?")
