"""The parts of a sentence that a record keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.clauses import (
    Parts,
    clause_around,
    key_of,
    over_in,
    parts_of,
    reason_and_alternatives,
    subject,
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
        ("use locks to avoid races", ()), ("we use Redis because it never sleeps", ()),
        ("we use Redis and do not cache", ()), ("use pnpm, not npm", ("npm",)),
        ("wir nehmen Redis statt Kafka", ("Kafka",)), ("hand it over to the worker", ()),
        ("use x instead of y", ()), ("use xx instead of yy and zz, aa, bb, cc", ("yy", "zz")),
        ("use it instead of yy and yy", ("yy",)),
        ("instead of " + "ab " * 8, (("ab " * 8).strip(),)), ("instead of " + "ab " * 9, ()),
        ("instead of go", ("go",)), ("instead of me", ()), ("don't use npm anymore", ("npm",)),
        ("dropped npm in favor of pnpm", ("npm",)),
    ],
)  # fmt: skip
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
        ("Because it is slow, use Redis.", "it is slow"),
        ("First. Because of it", "of it"),
        ("It was slow and broken, so we use Redis", "It was slow and broken"),
        ("OK, so it was slow here, so we use Redis", "it was slow here"),
        ("Use tabs because diffs shrink. Use pnpm because npm hoists.", "diffs shrink"),
        ("Since x, use y", ""),
        ("It was slo, so we use Redis", ""),
        ("Use it unless broken because old", ""),
    ],
)
def test_the_first_reason_of_enough_letters_is_found_in_any_sentence_of_a_text(
    text: str, why: str
) -> None:
    assert reason_and_alternatives(text) == (why, ())


def test_reasons_are_removed_from_a_text_and_statements_are_kept() -> None:
    text = "Since joins are slow, we keep one table. Use tabs because diffs are small."

    assert without_reason(text) == "we keep one table. Use tabs"


@pytest.mark.parametrize(
    ("sentence", "bare"),
    [
        ("OK, so... we keep one table", "we keep one table"),
        ("OK so, well, we keep it all", "we keep it all"),
        ("Okra is a vegetable", "Okra is a vegetable"), ("Yes, it is on", "it is on"),
        ("Yes, it is", "Yes, it is"), ("ok", "ok"),
    ],
)  # fmt: skip
def test_lead_in_words_are_removed_if_at_least_eight_characters_follow(
    sentence: str, bare: str
) -> None:
    assert without_lead_in(sentence) == bare


@given(st.text(max_size=200), st.integers(0, 220))
def test_parts_of_any_sentence_are_taken_from_it(sentence: str, end: int) -> None:
    parts = parts_of(sentence, min(end, len(sentence)))
    plain = sentence.replace('"', "")
    for part in (parts.what, parts.why, *parts.over):
        assert part in sentence or part in plain


def test_a_redaction_marker_does_not_end_a_clause() -> None:
    sentence = "My key is [redacted: token], always in staging"

    assert parts_of(sentence, len("My key is")).what == sentence


@pytest.mark.parametrize(
    ("sentence", "what", "why", "over"),
    [
        ("Use (x because y", "Use (x", "y", ()),
        ("Use [a] (b)", "Use [a] (b)", "", ()),
        ('Use "it because x', "Use it", "x", ()),
        ("Use tabs because", "Use tabs", "", ()),
        ("Use Redis instead of Kafka.", "Use Redis instead of Kafka", "", ("Kafka",)),
        ("We decided to keep it", "We decided to keep it", "", ()),
        ("Use it because a is b, but we know", "Use it", "a is b", ()),
        ("Use it because a is b, but we fixed it", "Use it", "a is b, but we fixed it", ()),
        ("A; b c d e; f g", "A; b c d e", "", ()),
    ],
)
def test_a_clause_ends_before_its_reason_and_keeps_paired_brackets(
    sentence: str, what: str, why: str, over: tuple[str, ...]
) -> None:
    assert parts_of(sentence, 3) == Parts(what, why, over)


def test_at_most_four_alternatives_are_collected_from_all_sentences_of_a_text() -> None:
    text = "Use tabs instead of aa or bb. Use pnpm instead of cc or dd. Use git instead of ee."

    assert reason_and_alternatives(text)[1] == ("aa", "bb", "cc", "dd")


def test_the_clause_around_a_name_ends_at_sentences_and_reasons() -> None:
    text = "One. Two three; four because five"

    assert clause_around(text, 9, 14) == "Two three"
    assert clause_around(text, 16, 20) == " four "
    assert clause_around("x" * 500 + "yy" + "z" * 500, 500, 502) == "x" * 400 + "yy" + "z" * 400


def test_names_of_a_technology_share_a_key_and_its_versions_do_not() -> None:
    names = ["Postgres 16", "postgresql", "Redis 6.2", "16", "cursor pagination", "Foo 1 2"]
    keys = ["postgresql16", "postgresql", "redis6.2", "16", "cursorpagination", "foo12"]

    assert [key_of(name) for name in names] == keys


def test_the_subject_of_a_text_is_its_distinct_stemmed_words() -> None:
    assert subject("Use Redis for the sessions in the repo, redis") == ["redi", "session"]
