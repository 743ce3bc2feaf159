from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.models import Hit, Query
from memory_fabric.recall.answering import cut_off
from recall.given import a_hit


def covering(id_: str, coverage: float, *matched: str, **metadata: Any) -> Hit:
    about = {"coverage": coverage, "matched": list(matched), **metadata}
    return a_hit(id_, id=f"record:{id_}", metadata=about)


WHOLE = covering("whole", 1.0, "redis", "sessions")
PART = covering("part", 0.3, "redis")


def test_hits_with_few_words_of_the_question_are_removed_if_another_hit_has_all_words() -> None:
    much = covering("much", 0.6, "redis")

    assert cut_off([WHOLE, PART, much], Query("redis sessions")) == [WHOLE, much]


def test_no_hit_is_removed_if_none_matches_the_whole_question() -> None:
    half = covering("half", 0.7, "redis", "sessions")
    one_word = covering("one", 1.0, "redis")

    assert cut_off([half, PART], Query("redis sessions expiry")) == [half, PART]
    assert cut_off([one_word, PART], Query("redis")) == [one_word, PART]


def test_recall_keeps_similar_or_contradicted_hits_that_contain_few_words_of_the_question() -> None:
    near = covering("near", 0.0, similarity=0.7)
    older = covering("older", 0.2, said_before=["whole"])

    assert cut_off([WHOLE, older, near, PART], Query("redis sessions")) == [WHOLE, older, near]


@pytest.mark.parametrize(("covered", "kept"), [(0.95, 1), (0.94, 2)])
def test_the_first_hit_must_match_nearly_the_whole_question(covered: float, kept: int) -> None:
    first = covering("first", covered, "redis", "sessions")

    assert len(cut_off([first, PART], Query("redis sessions"))) == kept


@pytest.mark.parametrize(("covered", "kept"), [(0.4, 2), (0.39, 1)])
def test_a_further_hit_is_kept_if_it_has_four_tenths_of_the_question(
    covered: float, kept: int
) -> None:
    further = covering("further", covered, "redis")

    assert len(cut_off([WHOLE, further], Query("redis sessions"))) == kept


def test_no_hit_is_removed_if_the_first_one_is_no_record() -> None:
    observation = WHOLE._replace(source="graph")

    assert cut_off([observation, PART], Query("redis sessions")) == [observation, PART]
    assert cut_off([], Query("redis sessions")) == []


def test_no_hit_is_removed_from_a_question_about_relations() -> None:
    assert cut_off([WHOLE, PART], Query("redis sessions", traverse=True)) == [WHOLE, PART]
