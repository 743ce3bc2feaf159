"""Tests of how much a memory and a prompt must share, at the limits."""

from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.models import Hit
from memory_fabric.recall import floor
from memory_fabric.recall.inject import above_floor, verdicts
from recall.given import a_match, prompt

FILLING = "pebble gravel mortar timber girder rafter gutter shingle"
SHORT = "harbour lighthouse"
ABOUT_A_STRANGER = "Does Melanie paint the harbour lighthouse?"
FIX = {"type": "solution"}


def matching(*matched: str, words: int, coverage: float, **fields: Any) -> Hit:
    """A memory of so many words that matches these words of the prompt."""
    others = FILLING.split()[: words - len(matched)]
    assert len(others) == words - len(matched)
    return a_match(" ".join((*matched, *others)), *matched, coverage=coverage, **fields)


@pytest.mark.parametrize(
    ("text", "matched", "least", "fields"),
    [
        (SHORT, ("harbour",), 0.45, {}),
        (SHORT, ("harbour", "lighthouse"), 0.1, {}),
        (SHORT, ("harbour",), 0.18, {"entities": ("harbour",)}),
        (SHORT, ("harbour",), 0.45, {"entities": ("gravel",)}),
        (SHORT, ("harbour", "lighthouse"), 0.15, {"metadata": FIX}),
        (ABOUT_A_STRANGER, ("harbour", "lighthouse"), 0.4, {}),
    ],
    ids=["one word", "two words", "its entity", "another entity", "a fix", "a stranger"],
)
def test_a_memory_of_six_words_must_cover_a_least_share_of_the_prompt(
    text: str, matched: tuple[str, ...], least: float, fields: dict[str, Any]
) -> None:
    enough, less = (
        matching(*matched, words=6, coverage=share, **fields)
        for share in (least + 0.001, least - 0.001)
    )

    assert above_floor([enough, less], prompt(text)) == [enough]


def test_a_memory_needs_no_coverage_if_the_prompt_has_two_fifths_of_its_words() -> None:
    hit = matching("harbour", "lighthouse", words=5, coverage=0.0)

    assert above_floor([hit], prompt(SHORT)) == [hit]


def test_a_weekday_is_no_unknown_person() -> None:
    hit = matching("harbour", "lighthouse", words=6, coverage=0.39)

    assert above_floor([hit], prompt("Paint the harbour lighthouse on Monday")) == [hit]


def test_a_longer_prompt_must_have_a_fifth_of_the_words_of_a_memory() -> None:
    query = prompt("harbour lighthouse orchard windmill")
    shared, more = ("harbour", "lighthouse"), "trellis"
    enough = matching(*shared, words=10, coverage=0.3)
    few = enough._replace(text=f"{enough.text} {more}")

    assert above_floor([enough], query) == [enough]
    assert above_floor([few], query) == []
    assert above_floor([few.marked({"replaces": "x"})], query)


def test_a_longer_prompt_shares_two_rare_words_or_most_topics_with_a_memory() -> None:
    query = prompt("harbour lighthouse orchard")
    one = matching("harbour", words=4, coverage=0.9)
    two = matching("harbour", "lighthouse", words=6, coverage=0.3, metadata={"rare": ["harbour"]})

    assert above_floor([one], query) == []
    assert above_floor([two.marked({"coverage": 0.5})], query)
    assert above_floor([two], query) == []


@pytest.mark.parametrize(
    ("words", "said", "is_news"), [(6, 5, False), (5, 5, True), (8, 6, False), (8, 5, True)]
)
def test_a_prompt_that_contains_most_of_a_long_memory_does_not_get_it(
    words: int, said: int, is_news: bool
) -> None:
    told = FILLING.split()[:words]
    hit = a_match(" ".join(told), *told[:said], coverage=0.9)

    [verdict] = verdicts([hit], prompt(" ".join(told[:said])))

    assert (verdict != floor.NO_NEWS) is is_news


@pytest.mark.parametrize(("rows", "is_rare"), [(4, True), (5, False)])
def test_a_word_of_the_prompt_is_rare_if_at_most_four_memories_have_it(
    rows: int, is_rare: bool
) -> None:
    hits = [a_match("Redis", "redis")] * rows

    assert ("redis" in floor.rare_terms(hits)) is is_rare
