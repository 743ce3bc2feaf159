from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import changed_facts
from memory_fabric.capture.changed_value import is_changed, sentences
from workloads.value_pairs import ADDITIVE, CHANGED

FACT = CHANGED[0]
OLD, NEW = f"- [note] {FACT.old}", f"- [note] {FACT.new}"
MARKED = f"- [note · said before 1a2b3c4d] {FACT.old}"


def test_the_benchmark_has_enough_changed_and_added_facts_in_four_languages() -> None:
    assert len(CHANGED) >= 40
    assert len({one.language for one in CHANGED}) == 4
    assert len(set(ADDITIVE)) >= 100


def test_a_statement_that_only_adds_a_fact_is_not_detected_as_a_change() -> None:
    assert [pair for pair in ADDITIVE if is_changed(*map(sentences, pair))] == []


def test_each_statement_that_changes_a_fact_is_detected_as_a_change() -> None:
    assert [one for one in CHANGED if not is_changed(sentences(one.old), sentences(one.new))] == []


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([], False),
        ([NEW], False),
        ([NEW, MARKED], False),
        ([NEW, OLD], True),
        ([MARKED, NEW], True),
        ([MARKED], True),
        ([OLD], True),
    ],
)
def test_an_outdated_fact_may_be_shown_only_if_marked_and_after_the_new_fact(
    lines: list[str], wrong: bool
) -> None:
    assert changed_facts.is_wrong(FACT, lines) is wrong


# The number of answers of `recall` that may tell the older value first, of 7.
@pytest.mark.usefixtures("answered_here")
@pytest.mark.parametrize(
    ("name", "wrongly_recalled"), [(changed_facts.BY_ASSISTANT, 0), (changed_facts.BY_USER, 1)]
)
def test_outdated_values_are_shown_no_more_often_than_published(
    name: str, wrongly_recalled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_facts, "CHANGED", CHANGED[::6])

    told = changed_facts.run(name)

    rows = {c: changed_facts.row(name, told, c) for c in changed_facts.CHANNELS}
    assert rows.pop("recall").wrong <= wrongly_recalled
    assert {channel: row.wrong for channel, row in rows.items()} == dict.fromkeys(rows, 0)
