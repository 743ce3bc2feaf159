"""Queries that match few enough rows of a large space."""

from __future__ import annotations

import pytest

from memory_fabric.servers.team.word_query import RANKED_ROWS, Word, WordQuery, word_query

MILLION = 1_000_000
KNOWN = {
    "rare": Word(("rare",)),
    "odd": Word(("odd",)),
    "cache": Word(("cach",), 0.03),
    "server": Word(("server",), 0.05),
    "user": Word(("user",), 0.6),
    "well-known": Word(("known", "well"), 0.001),
    "o'clock": Word(("o'clock\\",)),
}


def query(*words: str, rows: int = MILLION, limit: int = 200, **options: object) -> WordQuery:
    groups = [[word] for word in words]
    found = word_query(groups, KNOWN, rows, limit, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_in_a_small_space_any_word_matches() -> None:
    found = query("rare", "cache", "server", rows=1_000)

    assert found.query == "('rare') | ('cach') | ('server')"
    assert not found.by_time


def test_a_word_of_most_rows_counts_only_alone() -> None:
    assert query("rare", "user", rows=1_000).query == "('rare')"
    assert query("user", rows=1_000).query == "('user')"


def test_frequent_words_must_occur_together() -> None:
    assert query("cache", "server").query == "(('cach') & ('server'))"


def test_rare_words_match_alone_beside_frequent_ones_together() -> None:
    assert query("rare", "cache", "server").query == "('rare') | (('cach') & ('server'))"


def test_one_frequent_word_matches_the_newest_rows() -> None:
    found = query("cache")

    assert found.by_time
    assert found.budget < RANKED_ROWS


def test_a_rare_word_weighs_more() -> None:
    found = query("cache", "rare", rows=1_000)

    weights = dict(zip(found.groups, found.weights, strict=True))
    assert weights["('rare')"] > weights["('cach')"] > 0


def test_the_parts_of_a_word_must_all_match() -> None:
    assert query("well-known").query == "('known' & 'well')"


def test_lexemes_are_quoted() -> None:
    assert query("o'clock").query == "('o''clock\\\\')"


def test_phrases_must_all_match() -> None:
    found = query("rare", phrases=("well-known", "odd"))

    assert found.query == "('known' & 'well') & ('odd')"


@pytest.mark.parametrize("groups", [[], [["unheard"]], [[]]])
def test_without_known_words_there_is_no_query(groups: list[list[str]]) -> None:
    assert word_query(groups, KNOWN, MILLION, 200) is None
