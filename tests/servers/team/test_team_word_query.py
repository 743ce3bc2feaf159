"""Queries that match few enough rows of a large space."""

from __future__ import annotations

import math

import pytest

from memory_fabric.servers.http.team_words import Word, WordQuery, word_query

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


def test_a_search_in_few_records_matches_texts_with_any_of_the_words() -> None:
    found = query("rare", "cache", "server", rows=1_000)

    assert (found.ranked, found.newest) == ("('rare') | ('cach') | ('server')", "")


def test_a_word_found_in_most_rows_is_ignored_if_the_question_has_rarer_words() -> None:
    assert query("rare", "user", rows=1_000).ranked == "('rare')"
    assert query("user", rows=1_000).ranked == "('user')"


def test_two_frequent_words_match_only_texts_that_contain_both() -> None:
    assert query("cache", "server").ranked == "(('cach') & ('server'))"


def test_a_frequent_word_beside_a_rare_word_is_searched_only_in_the_newest_records() -> None:
    found = query("rare", "cache")

    assert (found.ranked, found.newest) == ("('rare')", "('cach')")


def test_a_text_matches_if_it_contains_one_rare_word_or_all_frequent_words() -> None:
    assert query("rare", "cache", "server").ranked == "('rare') | (('cach') & ('server'))"


def test_a_frequent_word_alone_is_searched_only_in_the_newest_records() -> None:
    found = query("cache")

    assert (found.ranked, found.newest) == ("", "('cach')")


def of_shares(*shares: float, rows: int = MILLION) -> WordQuery:
    """The query for words a, b, c and so on, which these shares of the rows contain."""
    known = {chr(97 + number): Word((chr(97 + number),), one) for number, one in enumerate(shares)}
    found = word_query([[word] for word in known], known, rows, 200)
    assert found is not None
    return found


def any_of(*words: str) -> str:
    return " | ".join(f"('{word}')" for word in words)


@pytest.mark.parametrize(
    ("shares", "ranked", "newest"),
    [
        ((0.003,), any_of("a"), ""),  # as many rows as may be ranked
        ((0.003001,), "", any_of("a")),
        ((0.001, 0.002), any_of("a", "b"), ""),
        ((0.0015, 0.0016), any_of("a", "b"), ""),  # rare words match half of them at most
        ((0.0016, 0.0016), "", any_of("a", "b")),
        ((0.002, 0.5), "(('a') & ('b'))", ""),  # half of the rows is not yet too common
        ((0.002, 0.51), any_of("a"), ""),
        ((0.01, 0.02), "(('a') & ('b'))", ""),  # just enough rows
        ((0.01, 0.0199), "", any_of("a", "b")),
        ((0.05, 0.06), "(('a') & ('b'))", ""),  # just few enough rows
        ((0.05, 0.0601), "", "(('a') & ('b'))"),
        ((0.1, 0.1, 0.1), "(('a') & ('b') & ('c'))", ""),
        ((0.05, 0.05, 0.05), "", "(('a') & (('b') | ('c'))) | (('b') & ('c'))"),
        ((0.2, 0.2, 0.2, 0.2, 0.2), "(('a') & ('b') & ('c') & ('d'))", ""),
    ],
)
def test_a_query_matches_enough_rows_but_not_more_than_can_be_ranked(
    shares: tuple[float, ...], ranked: str, newest: str
) -> None:
    found = of_shares(*shares)

    assert (found.ranked, found.newest) == (ranked, newest)
    assert len(found.groups) == len(shares)


def test_the_rarest_words_of_a_long_question_are_scored() -> None:
    found = of_shares(0.4, *([0.2] * 8))

    assert found.groups == tuple(f"('{word}')" for word in "bcdefghi")


def test_a_word_asked_twice_or_spelt_twice_is_searched_once() -> None:
    twice = word_query([["cache"], ["cache"]], KNOWN, 1_000, 200)
    spelt = word_query([["cache", "rare", "odd", "unheard"]], KNOWN, 1_000, 200)

    assert twice is not None and twice.ranked == "('cach')"
    assert spelt is not None and spelt.ranked == "('cach' | 'odd' | 'rare')"


def test_words_are_weighted_by_the_number_of_their_rows_as_in_bm25() -> None:
    every = word_query([["user", "both"]], {**KNOWN, "both": Word(("b",), 0.6)}, 1_000, 200)
    assert every is not None

    assert of_shares(0.5, rows=1_000).weights == pytest.approx((math.log(2),))
    # A word without statistics counts as rare, but occurs in one row at least.
    assert of_shares(0.0, rows=10_000).weights == of_shares(0.0005, rows=10_000).weights
    assert of_shares(0.0, rows=100).weights == pytest.approx((math.log(1 + 99.5 / 1.5),))
    assert every.weights == of_shares(1.0, rows=1_000).weights == of_shares(0.5, rows=0).weights
    assert 0 < every.weights[0] < of_shares(0.5, rows=1_000).weights[0]


def test_a_rare_word_has_a_higher_weight_than_a_frequent_one() -> None:
    found = query("cache", "rare", rows=1_000)

    weights = dict(zip(found.groups, found.weights, strict=True))
    assert weights["('rare')"] > weights["('cach')"] > 0


def test_all_parts_of_a_compound_word_must_match() -> None:
    assert query("well-known").ranked == "('known' & 'well')"


def test_words_are_quoted_in_the_full_text_query() -> None:
    assert query("o'clock").ranked == "('o''clock\\\\')"


def test_every_quoted_phrase_of_a_question_must_match() -> None:
    found = query("rare", phrases=("well-known", "odd"))

    assert found.ranked == "('known' & 'well') & ('odd')"


def test_quoted_phrases_without_lexemes_are_ignored_unless_there_is_nothing_else() -> None:
    assert query("rare", phrases=("unheard", "odd")).ranked == "('odd')"
    assert word_query([["rare"]], KNOWN, MILLION, 200, ("unheard",)) is None


@pytest.mark.parametrize("groups", [[], [["unheard"]], [[]]])
def test_no_query_is_built_for_a_question_whose_words_occur_nowhere(
    groups: list[list[str]],
) -> None:
    assert word_query(groups, KNOWN, MILLION, 200) is None
