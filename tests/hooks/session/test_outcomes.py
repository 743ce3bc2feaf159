"""Decisions that an answer names, by their words or their id."""

from __future__ import annotations

import pytest

from memory_fabric.hooks.session.outcomes import naming, sentences_of, stems_of
from memory_fabric.models import Record

DECISION = Record("decision", "Falcon, invoices, zephyr, quartz and marmot", id="x" * 8 + "1" * 8)


@pytest.mark.parametrize(
    ("answer", "asked", "named"),
    [
        ("I sort falcons, invoices and quartz", "", True),
        ("I sort falcons and invoices", "", False),
        ("I sort falcons. And invoices with quartz", "", False),
        ("I sort falcons, invoices and quartz", "the quartz", False),
        ("I sort falcons, invoices, marmot and quartz", "the quartz", True),
        ("As 11111111 says", "", True),
        ("As 1111111 says", "", False),
        ("", "", False),
    ],
)
def test_an_answer_names_a_decision_by_most_of_its_words_in_one_sentence_or_by_its_id(
    answer: str, asked: str, *, named: bool
) -> None:
    found = naming(DECISION, sentences_of(answer), stems_of(asked))

    assert found == (answer if named else "")


def test_the_first_sentence_that_names_a_decision_is_returned() -> None:
    said = "Hello. As 11111111 says\nFalcons, invoices, quartz"

    assert naming(DECISION, sentences_of(said), frozenset()) == "As 11111111 says"
