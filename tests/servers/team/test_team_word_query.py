"""Queries that match few enough rows of a large space."""

from __future__ import annotations

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


@pytest.mark.parametrize("groups", [[], [["unheard"]], [[]]])
def test_no_query_is_built_for_a_question_whose_words_occur_nowhere(
    groups: list[list[str]],
) -> None:
    assert word_query(groups, KNOWN, MILLION, 200) is None
