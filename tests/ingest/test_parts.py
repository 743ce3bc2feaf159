"""The parts of an ingested text: turns, decisions, records, and the time of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.ingest import parts
from memory_fabric.ingest_protocol import MAX_DECISION_CHARS, MAX_DECISIONS, Ingest
from memory_fabric.store.queues.ingest_queue import Claimed
from thorough import IS_THOROUGH

CAME = "2026-03-01T12:00:00.000Z"
SUMMARY = "We decided to use Redis for sessions because Postgres was too slow."


def claimed(text: str, id_: str = "i1", **fields: object) -> Claimed:
    return Claimed(id_, Ingest(text, **fields), 1, CAME)  # type: ignore[arg-type]


def test_messages_are_separated_by_lines_of_three_hyphens() -> None:
    assert parts.messages("one\n---\ntwo --- still two\n\n --- \n\n---\nthree") == [
        "one",
        "two --- still two",
        "three",
    ]


def test_equal_ingested_turns_have_the_same_id_within_a_session_but_not_across_sessions() -> None:
    first = parts.episodes(claimed("old words said\n---\nnew words said", "i1", session_id="s1"))
    again = parts.episodes(claimed("new words said\n---\nnewest words said", "i2", session_id="s1"))
    other = parts.episodes(claimed("new words said", "i3", session_id="s2"))
    assert first[1]["id"] == again[0]["id"]
    assert other[0]["id"] != again[0]["id"]


def test_equal_texts_without_a_session_become_turns_with_different_ids() -> None:
    (first,) = parts.episodes(claimed("some words said", "i1"))
    (second,) = parts.episodes(claimed("some words said", "i2"))
    assert first["id"] != second["id"]


def test_an_ingested_health_check_or_empty_text_stores_nothing() -> None:
    for text in ("health-check", "ping", "OK", "---", "", "   "):
        assert parts.episodes(claimed(text)) == []
        assert parts.records(claimed(text), {}) == []


def test_an_analysis_block_before_an_ingested_summary_is_not_stored_as_a_turn() -> None:
    text = "<analysis>thought a lot</analysis><summary>We use Redis now.</summary>"
    assert [turn["text"] for turn in parts.episodes(claimed(text))] == ["We use Redis now."]


@given(st.text(alphabet="ab \n", max_size=200), st.integers(0, 40_000))
def test_no_word_of_a_long_message_is_lost(tail: str, size: int) -> None:
    text = "word " * (size // 5) + tail
    turns = parts.episodes(claimed(text, session_id="s"))
    assert all(len(turn["text"]) <= parts.MAX_TURN_CHARS for turn in turns)
    repeated = len({turn["text"] for turn in turns}) == len(turns) and len(text) < 16_000
    if repeated and len(text.split()) >= 3:
        assert " ".join(turn["text"] for turn in turns).split() == text.split()


def test_a_long_message_is_split_at_the_last_line_or_word_that_fits() -> None:
    size = parts.MAX_TURN_CHARS
    words = " ".join(f"word{number}" for number in range(size // 6))
    mixed, whole = "a " * (size // 3) + "\n" + "b " * (size // 3), "x" * (size + 5)

    split = {
        text: [turn["text"] for turn in parts.episodes(claimed(f"{text} that is all"))]
        for text in (words, mixed, whole)
    }

    assert len(split[words][0]) > size - 10 and split[words][1].startswith("word")
    assert " ".join(split[words]).split() == f"{words} that is all".split()
    assert split[mixed][0] == ("a " * (size // 3)).strip() and split[mixed][1].startswith("b b")
    assert split[whole] == ["xxxxx that is all"]  # what is before it has only one word


def test_a_turn_has_at_least_three_words_and_names_its_session_and_project() -> None:
    found = parts.episodes(claimed("two words\n---\nnow three words", project="billing"))

    assert [(turn["text"], turn["session"], turn["project"]) for turn in found] == [
        ("now three words", "ingest:i1", "billing")
    ]


def test_a_summary_has_a_limited_number_of_notes() -> None:
    lines = [f"Noted fact: The port of service{n} is {n}." for n in range(parts.MAX_NOTES + 1)]

    found = parts.records(claimed("\n".join(lines)), {})

    assert len(found) == parts.MAX_NOTES and found[-1].what == lines[-2].partition(": ")[2]


def test_an_uncertain_program_states_nothing_for_all_projects() -> None:
    said = "We always use Redis for queues in every project because Postgres was too slow."
    known = {"redis": "Redis", "postgres": "Postgres"}

    sure, unsure, almost = (
        parts.records(claimed("x", key_decisions=(said,), confidence=level), known)[0]
        for level in (0.8, 0.5, 0.79)
    )

    assert (sure.generalizable, unsure.generalizable, almost.generalizable) == (True, False, False)


def test_key_decisions_of_an_ingested_text_become_records_but_its_summary_does_not() -> None:
    text = claimed(SUMMARY, key_decisions=("Use Kafka for events", ""), confidence=0.6)

    (decision,) = parts.records(text, {})

    assert (decision.type, decision.what) == ("decision", "Use Kafka for events")
    assert decision.confidence == 0.6
    assert [entity.name for entity in decision.entities] == ["Kafka", "events"]


def test_the_maximum_number_of_decisions_is_stored_and_long_ones_are_not_cut() -> None:
    # In an ordinary run most are short, since a long one takes 50 ms.
    long = range(MAX_DECISIONS) if IS_THOROUGH else (0, 1, MAX_DECISIONS - 1)
    stated = (
        f"Use tool{n} " + "for a job " * (1000 if n in long else 1) for n in range(MAX_DECISIONS)
    )
    cut = tuple(text[:MAX_DECISION_CHARS].strip() for text in stated)

    found = parts.records(claimed("A summary of the day.", key_decisions=cut), {})

    assert [record.what for record in found] == list(cut)
    assert all(len(cut[n]) >= MAX_DECISION_CHARS - 1 for n in long)


def test_note_lines_in_the_summary_become_records() -> None:
    summary = (
        "We looked at the shop.\n"
        "Noted rule: Never start the dev server. Why: the user runs it. When: npm run dev\n"
        "Noted decision: Sessions are kept in Redis. Instead of: Memcached"
    )

    rule, decision = parts.records(claimed(summary, confidence=0.6), {})

    assert (rule.type, rule.what) == ("constraint", "Never start the dev server.")
    assert (rule.why, rule.evidence) == ("the user runs it", {"when": "npm run dev"})
    assert (decision.type, decision.alternatives) == ("decision", ("Memcached",))
    assert {rule.confidence, decision.confidence} == {0.6}


def test_a_decision_that_is_stated_twice_is_one_record() -> None:
    stated = (SUMMARY, SUMMARY.rstrip("."))

    (record,) = parts.records(claimed("A summary.", key_decisions=stated), {})

    assert record.why == "Postgres was too slow"


def test_records_have_the_project_tag_the_stated_time_and_reproducible_ids() -> None:
    text = claimed(
        SUMMARY,
        key_decisions=(SUMMARY, "Use Kafka for events"),
        project="billing",
        created_at="2026-02-01T10:00:00+02:00",
    )
    found = parts.records(text, {})
    assert found == parts.records(text, {})
    assert {record.project for record in found} == {"billing"}
    assert {record.valid_from for record in found} == {"2026-02-01T08:00:00.000Z"}
    assert len({record.id for record in found}) == len(found) == 2


def test_an_ingested_text_is_attributed_to_its_session_with_tool_level_trust() -> None:
    by = parts.provenance(claimed("x", session_id="s1", source_model="crew", domain="legal"))
    assert (by.source, by.trust, by.session) == ("ingest", "tool", "s1")
    assert (by.agent, by.domain, by.at) == ("crew", "legal", CAME)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("2026-02-28", "2026-02-28T00:00:00.000Z"),
        ("2026-02-28T10:00:00Z", "2026-02-28T10:00:00.000Z"),
        ("2027-01-01T00:00:00Z", CAME),
        ("yesterday", CAME),
        ("", CAME),
        (CAME, CAME),
        ("1970-01-01T00:00:00Z", CAME),
        ("1970-01-01T00:00:01Z", "1970-01-01T00:00:01.000Z"),
        ("0001-01-01T00:00:00+14:00", CAME),
    ],
)
def test_the_stated_time_of_a_text_is_used_unless_it_is_invalid_or_in_the_future(
    stated: str, said: str
) -> None:
    assert parts.said_at(stated, CAME) == said


@given(st.text(max_size=300), st.lists(st.text(max_size=80), max_size=4))
def test_no_text_is_refused(text: str, decisions: list[str]) -> None:
    one = claimed(text, key_decisions=tuple(decisions), confidence=0.4)
    found = parts.records(one, {})
    assert all(record.confidence <= 0.4 for record in found)
