"""The session block: its order, its budget, and what it leaves out for want of characters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn import built
from memory_fabric.models import Entity, Record
from memory_fabric.recall.session_block import (
    BY_ASSISTANT,
    DECISIONS_HEADING,
    MAX_DECISIONS,
    MAX_OPEN,
    OPEN_HEADING,
    OTHERS_HEADING,
    RULES_HEADING,
    SESSION_CHARS,
    Contents,
    block,
    distinct,
    ranked,
    record_line,
)
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE

SUBJECTS = (
    "billing search checkout inventory login reporting upload webhook export audit mail calendar "
    "invoices sessions cache"
).split()
THINGS = (
    "PostgreSQL Celery FastAPI Docker Kubernetes cursors timeouts indexes tokens migrations queues "
    "snapshots schemas replicas quotas"
).split()


def a_decision(number: int, **fields: Any) -> Record:
    values: dict[str, Any] = {
        "type": "decision",
        "what": f"The {SUBJECTS[number]} service needs {THINGS[number]}",
        "why": "it is cheaper",
        "entities": (Entity("Redis", "technology"),),
        "id": f"00000000-0000-7000-8000-{number:012x}",
        "created_at": f"2026-01-{number + 1:02d}T10:00:00.000Z",
        "trust": "user",
    }
    return Record(**(values | fields))


def a_rule(number: int, **fields: Any) -> Record:
    values: dict[str, Any] = {
        "type": "constraint",
        "what": f"Never change {SUBJECTS[number]} without {THINGS[number]}",
        "why": "",
        "entities": (),
        "id": f"00000000-0000-7000-8000-{number + 256:012x}",
    }
    return a_decision(number, **(values | fields))


def of(*records: Record, **fields: Any) -> Contents:
    best = ranked(records, {})
    rules = tuple(record for record in best if record.type == "constraint")
    return Contents(rules, decisions=tuple(r for r in best if r.type == "decision"), **fields)


def lines_of(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("- ")]


def test_br13_it_holds_ten_decisions_with_labels_reasons_and_entities() -> None:
    records = [a_decision(number) for number in range(14)]

    text = block(of(*records)).text

    assert DECISIONS_HEADING == "## Recent Project Decisions"
    assert DECISIONS_HEADING in text.split("\n")
    assert len(lines_of(text)) == MAX_DECISIONS
    assert lines_of(text)[0] == (
        "- [decision · 0000000d] The sessions service needs replicas — "
        "because it is cheaper (Redis)"
    )


def test_br13_at_most_three_thousand_characters() -> None:
    records = [a_decision(n, what="word " * 300, why="reason " * 100) for n in range(11)]

    assert 2000 < len(block(of(*records)).text) <= SESSION_CHARS == 3000


def test_br13_pinned_records_come_first_and_once() -> None:
    pinned = a_decision(1, pinned=True)

    lines = lines_of(block(of(a_decision(2), pinned, pinned)).text)

    assert [line[14:22] for line in lines] == ["00000001", "00000002"]


def test_rules_come_before_the_last_session_and_that_before_decisions() -> None:
    last = "Last session (2026-01-14): asked “a slow upload”"
    question = a_decision(3, type="question", what="Which queue?")
    text = block(of(a_rule(1), a_decision(2), last=last, asked=(question,))).text

    parts = [RULES_HEADING, "- [rule", last, DECISIONS_HEADING, "- [decision", OPEN_HEADING]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert (text.split("\n")[0], text.split("\n")[-1]) == (OPEN_FENCE, CLOSE_FENCE)


def test_a_line_names_no_scope_and_no_date() -> None:
    assert record_line(a_rule(1)) == "- [rule · 00000101] Never change search without Celery"


def test_a_decision_is_tagged_with_its_entities_and_a_rule_with_those_that_it_does_not_say() -> (
    None
):
    entities = (Entity("Celery", "technology"), Entity("Redis", "technology"))
    decision = a_decision(1, entities=entities, why="")
    rule = a_rule(1, what="Celery is never mocked", entities=entities, why="")

    assert record_line(decision).endswith("The search service needs Celery (Celery, Redis)")
    assert record_line(rule).endswith("Celery is never mocked (Redis)")


def test_ten_decisions_keep_their_place_before_any_number_of_rules() -> None:
    rules = [a_rule(n, id=f"r{k}{n}", why="x " * 60) for n in range(15) for k in range(4)]
    decisions = [a_decision(number) for number in range(12)]

    text = block(of(*rules, *decisions)).text

    assert len(text) <= SESSION_CHARS
    assert text.count("- [decision") == MAX_DECISIONS
    assert text.count("- [rule") >= 5


def test_all_rules_are_told_while_they_fit() -> None:
    rules = [a_rule(number) for number in range(15)]

    assert block(of(*rules, *map(a_decision, range(10)))).text.count("- [rule") == 15


def test_the_notes_of_the_assistant_follow_under_their_own_line() -> None:
    noted = a_decision(9, trust="assistant")
    agreed = a_decision(8, trust="assistant", evidence={"agreed": True})

    text = block(of(noted, agreed, a_decision(1))).text

    confirmed, _, others = text.partition(BY_ASSISTANT)
    assert "00000008" in confirmed and "00000001" in confirmed
    assert "00000009" in others


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"pinned": True, "trust": "assistant"}, {}),
        ({}, {"trust": "assistant", "evidence": {"agreed": True}}),
        ({"trust": "assistant", "evidence": {"agreed": True}}, {"trust": "assistant"}),
        ({"trust": "assistant"}, {"trust": "tool"}),
    ],
)
def test_what_is_left_out_is_chosen_by_trust_before_time(
    better: dict[str, Any], worse: dict[str, Any]
) -> None:
    old, new = a_decision(0, **better), a_decision(1, **worse)

    assert ranked([new, old], {}) == [old, new]


def test_use_counts_before_trust_and_sightings_before_time() -> None:
    old, new = a_decision(0), a_decision(1)

    assert ranked([old, new], {}) == [new, old]
    assert ranked([old, new], {old.id: 3}) == [old, new]
    assert ranked([old._replace(trust="tool"), new], {}, frozenset({new.id}))[1] == new
    rule = a_rule(2)
    assert ranked([a_rule(1), rule], {}, frozenset({rule.id}))[0] == rule


def test_of_two_that_contradict_each_other_the_newer_is_first_and_the_older_says_so() -> None:
    old = a_decision(1, what="The app is deployed on Vercel", why="")
    new = a_decision(5, what="fly.io runs the app", trust="assistant", why="")
    new = new._replace(evidence={"contradicts": [old.id]})

    _, first, second = lines_of(block(of(old, a_decision(3), new)).text)

    assert first.startswith("- [decision · 2026-01-06 · noted by the assistant · 00000005] fly.io")
    assert second.startswith("- [decision · 2026-01-02 · said before 00000005 · 00000001] The app")


def test_a_replaced_record_is_not_told() -> None:
    assert block(of(a_decision(1, superseded_by="x"))).text == ""


def test_two_about_one_subject_are_together_with_their_dates() -> None:
    old = a_decision(1, what="The importer keeps unknown columns of uploads", why="")
    new = a_decision(4, what="The importer drops unknown columns", why="")

    lines = lines_of(block(of(old, a_decision(2), a_decision(3), new)).text)

    assert "2026-01-05" in lines[0] and "drops" in lines[0]
    assert "2026-01-02" in lines[1] and "keeps" in lines[1]
    assert "2026" not in lines[2] + lines[3]


@pytest.mark.parametrize(
    ("less", "more", "told"),
    [
        ("The user runs the server", "The user runs and tests the server", 1),
        ("The user runs the server", "The user runs the server", 1),
        ("The user runs the server", "The user never runs the server himself", 2),
        ("Files have 8 kB at most", "Files have 16 kB at most", 2),
    ],
)
def test_what_another_record_says_as_well_is_told_once(less: str, more: str, told: int) -> None:
    records = [a_rule(1, what=less), a_rule(2, what=more)]

    assert len(distinct(records, 10)) == len(distinct(records[::-1], 10)) == told
    user, assistant = a_rule(1, what=less), a_rule(2, what=more, trust="assistant")
    assert user in distinct([user, assistant], 10)
    pinned = a_rule(1, what=less, pinned=True)
    assert pinned in distinct([pinned, records[1]], 10)


def test_the_records_in_the_text_are_named() -> None:
    records = [a_decision(n, what=f"{n} " + "word " * 60) for n in range(10)]

    told = block(of(*records), 1200)

    assert 0 < len(told.records) < 10
    assert {record.id[-8:] for record in told.records} == {
        line.partition("]")[0][-8:] for line in lines_of(told.text)
    }


def test_what_others_shared_follows_under_its_own_heading() -> None:
    ours = [a_decision(n) for n in range(12)]
    theirs = tuple(
        a_decision(n, what=f"Theirs {n}", trust="foreign", source="journal", author="bob")
        for n in range(12)
    )

    text = block(of(*ours, others=theirs)).text

    own, _, other = text.partition(OTHERS_HEADING)
    assert len(lines_of(own)) == MAX_DECISIONS and "Theirs" not in own
    assert other.count("Theirs") == other.count("from bob as claimed, unverified") > 0
    assert block(Contents(others=theirs)).text.count("Theirs") == MAX_DECISIONS
    assert OTHERS_HEADING not in block(of(*ours, others=theirs), len(own)).text


def test_at_most_three_open_questions() -> None:
    asked = tuple(a_decision(n, type="question", what=f"Which {THINGS[n]}?") for n in range(5))

    assert block(Contents(asked=asked)).text.count("- [question") == MAX_OPEN


@given(
    st.lists(
        built(
            Record,
            type=st.sampled_from(("decision", "constraint", "question")),
            what=st.text(max_size=400),
            why=st.text(max_size=100),
            id=st.uuids().map(str),
            trust=st.sampled_from(("user", "assistant", "tool")),
            created_at=st.sampled_from(("2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z")),
        ),
        max_size=30,
        unique_by=lambda record: record.id,
    ),
    st.text(max_size=600),
    st.integers(0, SESSION_CHARS),
)
def test_its_budget_holds_and_the_order_of_the_records_changes_nothing(
    records: list[Record], last: str, max_chars: int
) -> None:
    def told(found: list[Record]) -> str:
        asked = tuple(r for r in ranked(found, {}) if r.type == "question")
        return block(of(*found, last=last, asked=asked), max_chars).text

    assert len(told(records)) <= max_chars
    assert told(records) == told(records[::-1])
