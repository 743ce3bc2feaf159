from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.recall.rank import AS_RELEVANT, rank, recency, score
from recall.given import NOW, a_hit

STAMPS = st.sampled_from([NOW, "2026-02-20T10:00:00Z", "2026-02-01T10:00:00Z", "2024-01-01", ""])


def test_the_score_is_the_weighted_sum_of_recency_relevance_and_authority() -> None:
    hit = a_hit(
        source="graph", relevance=0.8, timestamp="2026-02-14T12:00:00Z", metadata={"trust": "user"}
    )

    assert score(hit, NOW) == pytest.approx(0.3 * 0.5 + 0.5 * 0.8 + 0.2 * 1.1 / 1.3)


def test_a_relevant_new_result_confirmed_by_two_sources_has_the_maximum_score() -> None:
    hit = a_hit(relevance=1.0, timestamp=NOW, metadata={"cross_validated": True})

    assert score(hit, NOW) == pytest.approx(1.0)


def test_a_conversation_turn_scores_lower_than_a_graph_hit() -> None:
    assert score(a_hit(source="episodes"), NOW) < score(a_hit(source="graph"), NOW)


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        (NOW, 1.0),
        ("2026-02-14T12:00:00Z", 0.5),
        ("2020-01-01T00:00:00Z", 0.1),
        ("2030-01-01T00:00:00Z", 1.0),
        ("", 0.1),
        ("who knows", 0.1),
    ],
)
def test_recency_decreases_with_age_to_a_minimum_of_a_tenth(stamp: str, expected: float) -> None:
    assert recency(stamp, NOW) == pytest.approx(expected)


def test_the_highest_score_comes_first() -> None:
    hits = [a_hit(id=f"record:{i}", relevance=i / 10) for i in range(10)]

    scores = [hit.score for hit in rank(hits, NOW)]

    assert scores == sorted(scores, reverse=True)


def test_a_replaced_record_is_ranked_behind_its_successor() -> None:
    old = a_hit("old", id="record:1", relevance=0.9, metadata={"superseded_by": "2"})
    new = a_hit("new", id="record:2", relevance=0.5)

    assert [hit.text for hit in rank([old, new], NOW)] == ["new", "old"]


def test_a_result_scores_lower_only_after_its_validity_has_ended() -> None:
    ended = a_hit(metadata={"valid_to": "2026-02-01T00:00:00Z"})
    to_come = a_hit(metadata={"valid_to": "2026-12-01T00:00:00Z"})

    assert score(ended, NOW) < score(to_come, NOW) == score(a_hit(), NOW)


@pytest.mark.parametrize("trust", ["tool", "foreign"])
def test_an_untrusted_text_scores_lower_than_the_same_text_from_the_user(trust: str) -> None:
    assert score(a_hit(metadata={"trust": trust}), NOW) < score(a_hit(), NOW)


@given(st.lists(st.tuples(st.floats(0, 1), STAMPS), min_size=1, max_size=8))
def test_only_about_equally_relevant_hits_rank_above_the_most_relevant(
    given: list[tuple[float, str]],
) -> None:
    hits = [
        a_hit(f"text {i}", id=f"record:{i}", relevance=relevance, timestamp=stamp)
        for i, (relevance, stamp) in enumerate(given)
    ]

    first = rank(hits, NOW)[0]

    assert first.relevance > max(relevance for relevance, _ in given) - AS_RELEVANT


@given(st.floats(0, 1), st.lists(STAMPS, min_size=1, max_size=6))
def test_among_equals_the_newer_stands_first(relevance: float, stamps: list[str]) -> None:
    hits = [
        a_hit(f"text {i}", id=f"record:{i}", relevance=relevance, timestamp=stamp)
        for i, stamp in enumerate(stamps)
    ]

    found = [hit.timestamp for hit in rank(hits, NOW)]

    assert found == sorted(stamps, reverse=True)


def test_a_replaced_record_keeps_its_score_if_the_question_is_about_the_past() -> None:
    old = a_hit(metadata={"superseded_by": "2"})

    assert score(old, NOW, past=True) == score(a_hit(), NOW) == 2 * score(old, NOW)


@pytest.mark.parametrize(
    ("intent", "kind", "is_raised"),
    [
        ("decision", "decision", True),
        ("problem", "solution", True),
        ("preference", "constraint", True),
        ("howto", "pattern", True),
        ("decision", "note", False),
        ("", "decision", False),
    ],
)
def test_a_memory_of_the_type_that_is_asked_for_ranks_slightly_higher(
    intent: str, kind: str, is_raised: bool
) -> None:
    hit = a_hit(metadata={"type": kind})

    assert (score(hit, NOW, intent=intent) > score(hit, NOW)) is is_raised
    assert score(a_hit(relevance=1.0), NOW, intent="decision") == score(a_hit(relevance=1.0), NOW)


def test_a_relation_is_raised_if_relations_are_asked_for() -> None:
    edge = a_hit(source="graph")._replace(metadata={"entityType": "relation"})

    assert score(edge, NOW, intent="relationship") > score(edge, NOW)


def test_equally_relevant_hits_of_one_time_are_sorted_by_id() -> None:
    hits = [a_hit(id=f"record:{name}") for name in "bca"]

    assert [hit.id for hit in rank(hits, NOW)] == ["record:a", "record:b", "record:c"]
