"""Laws of the reranking: bounded, monotone in nearness, nothing without a measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.models import Hit, Query
from memory_fabric.recall.explain import answer_as_json
from memory_fabric.recall.normalize import MOST, most_relevant_first
from memory_fabric.recall.parse import parse
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.recall.rank import MEASURED, measured, near, rerank
from memory_fabric.store.database import Database
from recall.given import NOW, USER, a_hit, open_memory, remember

RELEVANCE = st.floats(0, 1)
NEAR = st.floats(-1, 1)


def hits(relevances: Sequence[float]) -> list[Hit]:
    """Hits of these relevances, most relevant first."""
    made = [a_hit(f"text {i}", id=f"record:{i}", relevance=r) for i, r in enumerate(relevances)]
    return most_relevant_first(made)


@given(st.lists(st.tuples(RELEVANCE, NEAR), max_size=8))
def test_relevance_stays_in_bounds_and_the_order_is_settled(
    given: list[tuple[float, float]],
) -> None:
    found = hits([relevance for relevance, _ in given])
    near = {f"record:{i}": value for i, (_, value) in enumerate(given)}

    moved = rerank(found, near)

    assert {hit.id for hit in moved} == {hit.id for hit in found}
    assert all(0 <= hit.relevance <= 1 for hit in moved)
    assert moved == most_relevant_first(moved)
    before = {hit.id: hit.relevance for hit in found}
    for hit in moved:
        assert (hit.relevance == 1.0) == (before[hit.id] == 1.0)
        assert before[hit.id] == 1.0 or hit.relevance <= MOST


@given(RELEVANCE, NEAR, NEAR)
def test_a_greater_similarity_never_lowers_the_relevance(
    relevance: float, one: float, other: float
) -> None:
    low, high = sorted((one, other))

    (less,) = rerank(hits([relevance]), {"record:0": low})
    (more,) = rerank(hits([relevance]), {"record:0": high})

    assert less.relevance <= more.relevance


@given(st.floats(0, MOST), st.floats(0, MOST), NEAR)
def test_equal_nearness_keeps_the_order_of_words(one: float, other: float, near: float) -> None:
    found = hits([one, other])

    moved = rerank(found, {"record:0": near, "record:1": near})

    relevance = {hit.id: hit.relevance for hit in moved}
    assert relevance[found[0].id] >= relevance[found[1].id]


@given(st.lists(RELEVANCE, max_size=8))
def test_without_similarities_the_hits_are_unchanged(relevances: list[float]) -> None:
    found = hits(relevances)

    assert rerank(found, {}) == found


def test_reranking_ignores_missing_and_nan_similarities() -> None:
    found = hits([0.8, 0.4])

    moved = rerank(found, {"record:1": float("nan")})

    assert moved == found


def test_reranking_stores_the_rounded_similarity_in_the_result() -> None:
    (moved,) = rerank(hits([0.5]), {"record:0": 0.123456})

    assert moved.metadata["similarity"] == 0.1235
    assert moved.relevance > 0.5


class Constant:
    """A measure that gives every hit the same similarity, or none, and keeps what it was asked."""

    def __init__(self, value: float | None) -> None:
        self._value = value
        self.asked: list[tuple[str, list[str]]] = []

    def nearest(
        self, database: Database, question: str, most: dict[str, int]
    ) -> list[tuple[str, int]]:
        """Nothing."""
        return []

    def similarities(
        self, databases: Sequence[Database], question: str, hits: Sequence[Hit]
    ) -> dict[str, float]:
        """The same for each."""
        self.asked.append((question, [hit.text for hit in hits]))
        return {} if self._value is None else {hit.id: self._value for hit in hits}


def test_filters_are_removed_from_the_question_before_similarity_is_measured() -> None:
    measure = Constant(0.0)

    measured([a_hit("Use Redis")], parse("type:decision which cache?"), (), measure)

    assert measure.asked == [("which cache?", ["Use Redis"])]


def test_semantic_similarity_is_computed_only_for_the_top_results() -> None:
    found = hits([0.5] * (MEASURED + 5))

    near = measured(found, Query("x"), (), Constant(0.1))

    assert list(near) == [hit.id for hit in found[:MEASURED]]


@pytest.mark.parametrize("similarity", [None, Constant(None)])
def test_an_answer_is_unchanged_if_no_similarity_can_be_measured(
    tmp_path: Path, similarity: Constant | None
) -> None:
    memory = open_memory(tmp_path)
    texts = ["Redis caches sessions", "Sessions live in Redis for a day", "Redis was replaced"]
    entity = {"name": "cache", "entityType": "component", "observations": texts}
    memory.write("create_entities", {"entities": [entity]}, USER)
    plain = Fabric(memory, NOW).recall("where do sessions live?")

    with_it = Fabric(memory, NOW, similarity).recall("where do sessions live?")
    memory.close()

    assert answer_as_json(with_it) == answer_as_json(plain)
    assert with_it == plain and plain.hits


def test_similarity_moves_a_turn_less_than_a_record() -> None:
    turn = a_hit(id="episode:1", source="episodes", relevance=0.5)

    moved = rerank([turn, *hits([0.5])], {"episode:1": 0.3, "record:0": 0.3})

    assert [hit.id for hit in moved] == ["record:0", "episode:1"]
    assert 0.5 < moved[1].relevance < moved[0].relevance


def test_no_similarity_is_measured_without_hits() -> None:
    measure = Constant(0.1)

    assert measured([], Query("x"), (), measure) == {}
    assert measure.asked == []


class Near(Constant):
    """A measure that names these rows as the nearest, and keeps how many it was asked for."""

    def __init__(self, *rows: tuple[str, int]) -> None:
        super().__init__(0.5)
        self.rows = rows
        self.most: list[dict[str, int]] = []

    def nearest(
        self, database: Database, question: str, most: dict[str, int]
    ) -> list[tuple[str, int]]:
        """Return the rows."""
        self.most.append(most)
        return list(self.rows)


def test_texts_close_in_meaning_are_added_unless_known_or_a_phrase_is_asked_for(
    tmp_path: Path,
) -> None:
    memory = open_memory(tmp_path)
    record = remember(memory, "Redis caches sessions")
    measure = Near(("records", 1), ("records", 99))

    found = near(parse("lorries"), memory, (), "", measure)
    again = near(parse("lorries"), memory, found, "", measure)
    exact = near(parse('"lorries"'), memory, (), "", measure)
    near(parse("lorries type:note"), memory, (), "", measure)
    memory.close()

    assert [one.id for one in found] == [f"record:{record.id}"]
    assert again == exact == []
    plain, _, filtered = measure.most
    assert all(filtered[table] > count for table, count in plain.items())
