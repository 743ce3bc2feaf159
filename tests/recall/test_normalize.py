from __future__ import annotations

import pytest

from memory_fabric.models import Hit
from memory_fabric.recall.normalize import normalize
from memory_fabric.recall.parse import parse
from memory_fabric.store.queries.search import Candidate
from recall.given import NOW, a_candidate


def normalized(question: str, *candidates: Candidate) -> list[Hit]:
    return normalize(candidates, parse(question, now=NOW), NOW)


def relevances(question: str, *candidates: Candidate) -> dict[str, float]:
    return {hit.text: hit.relevance for hit in normalized(question, *candidates)}


def test_a_search_candidate_is_converted_to_a_uniform_search_result() -> None:
    candidate = a_candidate(
        "Use cursor-based pagination",
        id="graph:cursor-pagination#7",
        entity="cursor-pagination",
        timestamp="2026-01-15T10:00:00Z",
        metadata={"entityType": "pattern", "relations": []},
    )

    [hit] = normalized("which pagination", candidate)

    assert hit.id == "graph:cursor-pagination#7"
    assert hit.text == "Use cursor-based pagination"
    assert hit.source == "graph"
    assert hit.timestamp == "2026-01-15T10:00:00Z"
    assert 0.0 < hit.relevance < 1.0
    assert hit.entities == ("cursor-pagination",)
    assert hit.metadata["entityType"] == "pattern"
    assert hit.metadata["relations"] == []


@pytest.mark.parametrize(
    "question", ["cursor-pagination", "Cursor Pagination?", "cursor_pagination"]
)
def test_an_exact_entity_name_has_relevance_1(question: str) -> None:
    [hit] = normalized(question, a_candidate("scales well", entity="cursor-pagination"))

    assert hit.relevance == 1.0


def test_an_exact_entity_name_with_punctuation_has_relevance_1() -> None:
    [hit] = normalized("C++", a_candidate("compiles slowly", entity="C++"))

    assert hit.relevance == 1.0


def test_hits_that_match_more_words_of_the_question_are_more_relevant() -> None:
    found = relevances(
        "redis session expiry",
        a_candidate("redis session expiry is 30 minutes"),
        a_candidate("redis session"),
        a_candidate("redis"),
    )

    assert list(found) == ["redis session expiry is 30 minutes", "redis session", "redis"]


def test_a_full_match_is_relevant_even_if_its_bm25_score_is_near_zero() -> None:
    [hit] = normalized("redis session expiry", a_candidate("redis session expiry", bm25=1e-6))

    assert hit.metadata["coverage"] == pytest.approx(1.0)
    assert hit.relevance > 0.6


def test_a_match_of_one_word_has_low_coverage_even_with_a_high_bm25_score() -> None:
    [hit] = normalized("flux capacitor wiring of the window", a_candidate("window", bm25=9.0))

    assert hit.metadata["coverage"] < 0.4


def test_words_match_in_every_inflection_and_spelling() -> None:
    [hit] = normalized("caching on k8s", a_candidate("The cluster caches images in Kubernetes"))

    assert hit.metadata["coverage"] == pytest.approx(1.0)


def test_reason_and_entities_of_a_record_count_as_its_text() -> None:
    candidate = a_candidate("Use B-trees", metadata={"why": "latency", "entities": ["PostgreSQL"]})

    [hit] = normalized("latency in postgres", candidate)

    assert set(hit.metadata["matched"]) == {"latency", "postgres"}


def test_a_reply_to_a_matching_question_outranks_a_reply_to_a_matching_statement() -> None:
    answer, after = "Thirty minutes.", "Sure thing."
    other = a_candidate("session", source="episodes")
    found = relevances(
        "session expiry",
        a_candidate(answer, source="episodes", before="What is the session expiry?"),
        a_candidate(after, source="episodes", before="The session expiry, yes."),
        other,
    )

    assert found[answer] > found[after]


def test_a_hit_ranks_higher_if_its_session_contains_other_good_matches() -> None:
    together = [a_candidate(f"redis expiry {i}", metadata={"session": "a"}) for i in range(3)]
    found = relevances(
        "redis expiry",
        *together,
        a_candidate("redis in a", metadata={"session": "a"}),
        a_candidate("redis in b", metadata={"session": "b"}),
    )

    assert found["redis in a"] > found["redis in b"]


def test_a_fact_about_the_named_entity_outranks_a_text_that_mentions_the_name() -> None:
    found = relevances(
        "what does billing-service need",
        a_candidate("a queue", id="graph:billing-service#1", entity="billing-service"),
        a_candidate("billing service"),
    )

    assert found["a queue"] > found["billing service"]


def test_a_time_in_the_question_raises_the_relevance_of_hits_from_that_time() -> None:
    found = relevances(
        "deploys last week",
        a_candidate("deploys to staging", timestamp="2026-02-17T10:00:00Z"),
        a_candidate("deploys to prod", timestamp="2026-02-18T10:00:00Z"),
        a_candidate("deploys to test", timestamp="2026-01-18T10:00:00Z"),
    )

    assert found["deploys to staging"] > found["deploys to test"]


@pytest.mark.parametrize(
    ("question", "fitting", "other"),
    [
        ("When is the release?", "release on 7 May 2026", "release it is"),
        ("Who owns release?", "the release is with Ada", "the release is with us"),
        ("How many release steps?", "release has three", "release has some"),
    ],
)
def test_hits_with_the_kind_of_answer_that_the_question_asks_for_rank_higher(
    question: str, fitting: str, other: str
) -> None:
    found = relevances(question, a_candidate(fitting), a_candidate(other))

    assert found[fitting] > found[other]


def test_a_question_ranks_below_a_statement_with_the_same_words() -> None:
    found = relevances("redis expiry", a_candidate("redis expiry?"), a_candidate("redis expiry!"))

    assert found["redis expiry!"] > found["redis expiry?"]


def test_only_hits_with_the_exact_phrase_are_returned() -> None:
    found = relevances(
        '"session cache"', a_candidate("the Session  cache"), a_candidate("cache of the session")
    )

    assert list(found) == ["the Session  cache"]


def test_an_entity_is_not_listed_in_addition_to_its_matching_observations() -> None:
    whole = a_candidate("a; b", id="graph:redis", entity="redis", metadata={"whole_entity": True})
    observation = a_candidate("redis is fast", id="graph:redis#1", entity="redis")

    hits = normalized("redis", whole, observation)

    assert [hit.id for hit in hits] == ["graph:redis#1"]


def test_hits_of_a_store_without_a_good_match_rank_lower() -> None:
    found = relevances(
        "redis session expiry",
        a_candidate("redis session expiry", bm25=3.0, store="project"),
        a_candidate("my session", bm25=3.0, store="user"),
        a_candidate("your session", bm25=3.0, store="project"),
    )

    assert found["redis session expiry"] > found["your session"] > found["my session"]


def test_normalising_no_candidates_returns_no_hits() -> None:
    assert normalized("redis") == []


def test_a_short_direct_statement_outranks_a_long_answer_with_scattered_words() -> None:
    filler = "Here is a further remark on another matter. " * 15
    scattered = f"The backup can wait. {filler}Friday is free. {filler}The server is new. {filler}"
    answer = a_candidate(
        scattered, id="episode:1", source="episodes", metadata={"role": "assistant"}
    )
    typed = a_candidate(
        "The backup server runs every Friday",
        id="episode:2",
        source="episodes",
        metadata={"role": "user"},
    )

    question = parse("On which day does the backup server run? Friday?", now=NOW)
    found = normalize([answer, typed], question, NOW, wide=True)

    assert [hit.id for hit in found] == ["episode:2", "episode:1"]
    assert found[1].metadata["coverage"] < found[0].metadata["coverage"]
