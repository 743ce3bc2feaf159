"""The parts of a sentence that a record keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.clauses import (
    over_in,
    parts_of,
    reason_and_alternatives,
    without_lead_in,
    without_reason,
)


@pytest.mark.parametrize(
    ("sentence", "what", "why"),
    [
        ("We keep one table because joins are slow.", "We keep one table", "joins are slow"),
        ("We keep one table to avoid slow joins", "We keep one table", "to avoid slow joins"),
        ("We keep one table; the rest is history", "We keep one table", ""),
        ("We keep one table, but only for now", "We keep one table", ""),
        (
            "We keep it unless it breaks because of joins",
            "We keep it unless it breaks because of joins",
            "",
        ),
    ],
)
def test_a_sentence_is_split_into_its_clause_and_its_reason(
    sentence: str, what: str, why: str
) -> None:
    parts = parts_of(sentence, len("We keep"))
    assert (parts.what, parts.why) == (what, why)


@pytest.mark.parametrize(
    ("clause", "over"),
    [
        ("we chose Redis over Memcached", ("Memcached",)),
        ("use spaces instead of tabs", ("tabs",)),
        ("small files rather than one big file or two", ("one big file",)),
        ("moved from Jest to Vitest", ("Jest",)),
        ("we replaced the old queue with Redis", ("old queue",)),
        ("we ruled out MySQL", ("MySQL",)),
        ("avoid barrels, and use direct imports", ("barrels",)),
        ("use locks to avoid races", ()),
        ("we use Redis because it never sleeps", ()),
        ("we use Redis and do not cache", ()),
        ("use pnpm, not npm", ("npm",)),
        ("wir nehmen Redis statt Kafka", ("Kafka",)),
        ("hand it over to the worker", ()),
    ],
)
def test_a_rejected_alternative_is_extracted_in_its_shortest_form(
    clause: str, over: tuple[str, ...]
) -> None:
    assert over_in(clause) == over


@pytest.mark.parametrize(
    "clause",
    [
        "From now on write to the audit log",
        "use that instead of that one",
        "we chose pnpm over time",
        "use pnpm rather than whatever",
        "en vez de eso usa pnpm",
        "stattdessen nutze pnpm",
        "imports run from left to right",
    ],
)
def test_pronouns_and_time_expressions_are_not_extracted_as_alternatives(clause: str) -> None:
    assert over_in(clause) == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Use tabs. Because nobody reads them.", "nobody reads them"),
        ("Use tabs. This keeps the diff small.", "This keeps the diff small"),
        ("Use tabs. The sky is blue.", ""),
        ("Tabs keep the diff small, so we use tabs.", "Tabs keep the diff small"),
        ("Since joins are slow, we keep one table.", "joins are slow"),
        ("Use tabs to avoid long diffs", "to avoid long diffs"),
    ],
)
def test_a_reason_is_found_in_any_sentence_of_a_text(text: str, why: str) -> None:
    assert reason_and_alternatives(text) == (why, ())


def test_alternatives_are_collected_from_all_sentences() -> None:
    text = "Use tabs instead of spaces. We chose Redis over Kafka."

    assert reason_and_alternatives(text)[1] == ("spaces", "Kafka")


def test_reasons_are_removed_from_a_text_and_statements_are_kept() -> None:
    text = "Since joins are slow, we keep one table. Use tabs because diffs are small."

    assert without_reason(text) == "we keep one table. Use tabs"


def test_lead_in_words_are_removed_from_a_sentence() -> None:
    assert without_lead_in("OK, so... we keep one table") == "we keep one table"
    assert without_lead_in("Okra is a vegetable") == "Okra is a vegetable"


@given(st.text(max_size=200), st.integers(0, 220))
def test_parts_of_any_sentence_are_taken_from_it(sentence: str, end: int) -> None:
    parts = parts_of(sentence, min(end, len(sentence)))
    plain = sentence.replace('"', "")
    for part in (parts.what, parts.why, *parts.over):
        assert part in sentence or part in plain


def test_a_redaction_marker_does_not_end_a_clause() -> None:
    sentence = "My key is [redacted: token], always in staging"

    assert parts_of(sentence, len("My key is")).what == sentence
