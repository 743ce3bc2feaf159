from __future__ import annotations

from itertools import pairwise

import pytest

from memory_fabric.models import Hit
from memory_fabric.recall.normalize import (
    best_of_each_source,
    most_relevant_first,
    normalize,
    one_of_each_entity,
    public_id,
)
from memory_fabric.recall.parse import parse
from memory_fabric.recall.relevance import passages
from memory_fabric.store.queries.search import Candidate
from recall.given import NOW, a_candidate, a_hit


def normalized(question: str, *candidates: Candidate) -> list[Hit]:
    return normalize(candidates, parse(question, now=NOW), NOW)


def explained(question: str, *candidates: Candidate) -> list[Hit]:
    return normalize(candidates, parse(question, now=NOW), NOW, explain=True)


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


def test_shared_memories_get_half_as_many_places_as_those_of_each_source() -> None:
    own = [("records", False, n) for n in range(5)]
    turns = [("episodes", False, n) for n in range(5)]
    shared = [("records", True, n) for n in range(5)]

    def best(most: int) -> list[tuple[str, bool, int]]:
        every = [*shared, *own, *turns]
        return best_of_each_source(every, most, lambda one: (one[0], one[1]))

    assert best(4) == [*shared[:2], *own[:4], *turns[:4]]
    assert best(1) == [shared[0], own[0], turns[0]]


def test_the_first_hit_of_an_entity_lists_its_other_observations() -> None:
    texts = ("is fast", "is small", "is fast")
    hits = [
        a_hit(text, id=f"graph:Redis#{number}", source="graph", entities=("Redis",))
        for number, text in enumerate(texts)
    ]
    other = a_hit("is old", id="graph:Kafka#9", source="graph", entities=("Kafka",))

    first, last = one_of_each_entity([*hits, other])

    assert (first.id, first.metadata["also_observed"]) == ("graph:Redis#0", ["is small"])
    assert last == other


@pytest.mark.parametrize(
    ("source", "id_", "shown"),
    [
        ("graph", "graph:Redis#3", "graph:Redis"),
        ("graph", "graph:C#", "graph:C#"),
        ("graph", "graph:Redis", "graph:Redis"),
        ("graph", "graph:issue#12a", "graph:issue#12a"),
        ("native", "native:notes.md#3", "native:notes.md#3"),
    ],
)
def test_an_observation_is_shown_with_the_id_of_its_entity(
    source: str, id_: str, shown: str
) -> None:
    assert public_id(a_hit(id=id_, source=source)) == shown


@pytest.mark.parametrize(("chars", "is_exact"), [(200, True), (201, False)])
def test_a_question_of_at_most_200_characters_may_be_an_entitys_name(
    chars: int, *, is_exact: bool
) -> None:
    name = "n" * chars

    [hit] = normalized(name, a_candidate("scales well", entity=name))

    assert (hit.relevance == 1.0) is is_exact


def test_an_exact_name_of_a_record_or_without_an_entity_is_not_fully_relevant() -> None:
    found = relevances(
        "redis",
        a_candidate("is quick", entity="redis", source="records"),
        a_candidate("redis", entity=""),
    )

    assert max(found.values()) < 1.0


def test_a_hit_with_an_excluded_word_in_its_reason_or_entities_is_left_out() -> None:
    found = relevances(
        "caches -redis",
        a_candidate("caches expire", metadata={"why": "Redis does it"}),
        a_candidate("caches are warm", metadata={"entities": ["Redis"]}),
        a_candidate("caches are cold"),
    )

    assert list(found) == ["caches are cold"]


def test_hits_of_equal_relevance_are_sorted_by_time_and_then_by_id() -> None:
    hits = [
        a_hit(id="record:b", timestamp="2026-01-01"),
        a_hit(id="record:a", timestamp="2026-01-01"),
        a_hit(id="record:c", timestamp="2026-01-02"),
        a_hit(id="record:d", timestamp="2026-01-03", relevance=0.4),
    ]

    assert [hit.id[-1] for hit in most_relevant_first(hits)] == ["c", "a", "b", "d"]


def test_only_the_best_memories_of_each_source_become_hits() -> None:
    many = [a_candidate("redis " * (n + 1), id=f"graph:r#{n}", bm25=float(n)) for n in range(4)]
    foreign = a_candidate("redis", id="record:x", source="records", metadata={"trust": "foreign"})

    found = normalize([*many, foreign], parse("redis cache", now=NOW), NOW, most=2)

    assert {hit.id for hit in found} == {"graph:r#3", "graph:r#2", "record:x"}


def test_a_long_turn_is_divided_into_overlapping_passages_that_begin_with_whole_words() -> None:
    text = " ".join(f"word{number}" for number in range(300))

    parts = passages(text)

    assert all(len(part) <= 600 for part in parts)
    assert set(" ".join(parts).split()) >= set(text.split())
    assert {part.split()[0] for part in parts} <= set(text.split())
    assert all(text.index(later) < text.index(part) + len(part) for part, later in pairwise(parts))
    assert (passages(""), passages("one two")) == ([], ["one two"])


@pytest.mark.parametrize(
    ("question", "fitting", "other"),
    [
        ("When is the release?", "release in 1999", "release in 2199"),
        ("When is the release?", "release in 2026", "release in 20264"),
        ("When is the release?", "release in May", "release in Mai4"),
        ("Who owns release?", "owned by, Ada says release", "owned by; Ada says release"),
        ("Who owns release?", "release owner is Ada", "release owner is ADA"),
        ("How many release steps?", "release has 12", "release has 1x"),
    ],
)
def test_the_kind_of_an_answer_is_recognised_by_its_words(
    question: str, fitting: str, other: str
) -> None:
    found = {h.text: h for h in explained(question, a_candidate(fitting), a_candidate(other))}

    assert "kind of answer" in found[fitting].metadata["parts"]
    assert "kind of answer" not in found[other].metadata["parts"]


def test_the_kind_of_answer_counts_only_for_a_question_of_at_most_500_characters() -> None:
    short, long = (
        explained("When is the release?".ljust(chars, "?"), a_candidate("release on 7 May 2026"))
        for chars in (500, 501)
    )

    assert "kind of answer" in short[0].metadata["parts"]
    assert "kind of answer" not in long[0].metadata["parts"]


@pytest.mark.parametrize(
    ("text", "source", "is_named"),
    [
        ("Ada: deploys are slow", "episodes", True),
        ("ada: deploys are slow", "episodes", False),
        ("Ada, deploys are slow", "episodes", False),
        ("Bob: deploys are slow", "episodes", False),
        ("Ada: deploys are slow", "graph", False),
    ],
)
def test_a_turn_of_the_speaker_who_is_asked_about_is_more_relevant(
    text: str, source: str, is_named: bool
) -> None:
    [hit] = explained("what does Ada think of deploys", a_candidate(text, source=source))

    assert ("names asked for" in hit.metadata["parts"]) is is_named


@pytest.mark.parametrize(
    ("day", "is_asked"),
    [("2026-02-16", True), ("2026-02-22", True), ("2026-02-23", False), ("2026-02-15", False)],
)
def test_a_time_that_is_asked_for_includes_its_first_day_but_not_the_day_after_it(
    day: str, is_asked: bool
) -> None:
    [hit] = explained("deploys last week", a_candidate("deploys", timestamp=f"{day}T10:00:00Z"))

    assert ("time asked for" in hit.metadata["parts"]) is is_asked


def test_a_text_with_an_unwanted_word_is_less_relevant() -> None:
    texts = ("caches of Redis", "caches on disk")

    first, last = explained("caches other than Redis", *map(a_candidate, texts))

    assert (first.text, last.text) == (texts[1], texts[0])
    assert last.metadata["parts"]["names what is not asked for"] < 0
    assert "names what is not asked for" not in first.metadata["parts"]


def test_a_turn_is_more_relevant_beside_a_matching_turn_most_of_all_behind_a_question() -> None:
    around = [
        a_candidate("Sure.", source="episodes", before="The session expiry."),
        a_candidate("Well.", source="episodes", before="The session expiry?"),
        a_candidate("Hm.", source="episodes", after="The session expiry."),
        a_candidate("So.", source="graph", before="The session expiry?"),
    ]

    found = {hit.text: hit.relevance for hit in explained("session expiry", *around)}

    assert found["Well."] > found["Hm."] > found["Sure."] > found["So."] == 0.0
