"""Laws of the read path that hold for any input."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from drawn import built
from memory_fabric.language.times import boundary, days_between, ranges
from memory_fabric.models import Hit, Relation
from memory_fabric.recall.inject import above_floor, choose
from memory_fabric.recall.normalize import collapse, dedupe, normalize
from memory_fabric.recall.parse import MAX_HINTS, MAX_TERMS, parse
from memory_fabric.recall.rank import boost, rank
from memory_fabric.recall.render import mark_stale, render
from memory_fabric.recall.retrieve import MAX_DEPTH, walk
from memory_fabric.store.queries.search import Candidate
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE, same_form, words

NOW = "2026-03-01T12:00:00.000Z"

any_text = st.text() | st.text(alphabet=st.characters(categories=["Cs", "Cc", "Lu", "Po"]))
vocabulary = st.sampled_from(
    "use redis cache cursor pagination list endpoint not 15 30 never K8s database-engineer".split()
)
sentences = st.lists(vocabulary, max_size=8).map(" ".join)
texts = sentences | st.text(max_size=60)
stamps = st.sampled_from(["", "soon", NOW, "2020-01-01T00:00:00Z", "2026-02-20T10:00:00.000Z"])
units = st.floats(0, 1)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "session": st.sampled_from(["a", "b"]),
        "author": st.sampled_from(["ada", "bob"]),
        "type": st.sampled_from(["decision", "agent", ""]),
        "trust": st.sampled_from(["user", "tool", "foreign"]),
        "superseded_by": st.sampled_from(["", "x"]),
        "why": texts,
        "coverage": units,
        "matched": st.lists(vocabulary, max_size=4),
    },
)
hits = built(
    Hit,
    id=st.integers(0, 12).map("record:{}".format),
    text=texts,
    source=st.sampled_from(["graph", "records", "episodes"]),
    timestamp=stamps,
    relevance=units,
    entities=st.lists(vocabulary, max_size=3).map(tuple),
    metadata=metadata,
)
candidates = built(
    Candidate,
    id=st.integers(0, 50).map("graph:e#{}".format),
    source=st.sampled_from(["graph", "records", "episodes"]),
    text=texts,
    entity=vocabulary,
    before=texts,
    after=texts,
    timestamp=stamps,
    bm25=st.floats(0, 50),
    metadata=metadata,
    store=st.sampled_from(["project", "user"]),
)
relations = built(Relation, vocabulary, st.just("uses"), vocabulary)


@given(any_text, st.booleans())
def test_br1_parse_never_fails_and_is_bounded(text: str, plain: bool) -> None:
    query = parse(text, now=NOW, plain=plain)

    assert len(query.terms) <= MAX_TERMS
    assert len(query.entity_hints) <= MAX_HINTS
    query.text.encode()
    assert parse(text, now=NOW, plain=plain) == query


@given(st.lists(st.sampled_from('domain: type: since: " @global 7d : decision x -'.split(" "))))
def test_parse_never_fails_on_what_looks_like_filters(parts: list[str]) -> None:
    parse("".join(parts), now=NOW)
    parse(" ".join(parts), now=NOW)


@given(any_text, any_text)
def test_times_never_fail_and_ranges_run_forward(text: str, now: str) -> None:
    boundary(text, now)
    days_between(text, now)
    for first, after in ranges(text, NOW):
        assert first <= after


@given(st.lists(candidates, max_size=12), texts)
def test_br2_relevance_lies_within_0_and_1_and_order_follows_it(
    found: list[Candidate], question: str
) -> None:
    normal = normalize(found, parse(question, now=NOW), NOW)

    assert all(0 <= hit.relevance <= 1 for hit in normal)
    assert all(0 <= hit.metadata["coverage"] <= 1.0001 for hit in normal)
    assert [h.relevance for h in normal] == sorted((h.relevance for h in normal), reverse=True)


@given(st.lists(candidates, max_size=8), texts, st.randoms())
def test_normalize_does_not_depend_on_the_order_of_candidates(
    found: list[Candidate], question: str, random: object
) -> None:
    query = parse(question, now=NOW)

    forward = {(h.id, h.text, round(h.relevance, 9)) for h in normalize(found, query, NOW)}
    backward = {(h.id, h.text, round(h.relevance, 9)) for h in normalize(found[::-1], query, NOW)}

    assert forward == backward


@given(st.lists(hits, max_size=12), st.floats(0.1, 1))
def test_br3_dedupe_is_idempotent_shrinks_and_loses_no_entity(
    found: list[Hit], threshold: float
) -> None:
    once = dedupe(found, threshold)

    assert len(once) <= len(found)
    assert dedupe(once, threshold) == once
    assert {e for h in once for e in h.entities} == {e for h in found for e in h.entities}
    assert len({h.id for h in once}) == len(once)


@given(st.lists(hits, max_size=12))
def test_br3_what_remains_differs_enough_or_contradicts(found: list[Hit]) -> None:
    once = dedupe(found, 0.85)

    for i, a in enumerate(once):
        for b in once[i + 1 :]:
            alike = bool(words(a.text)) and same_form(a.text) == same_form(b.text)
            replaced = bool(a.metadata.get("superseded_by")) != bool(
                b.metadata.get("superseded_by")
            )
            assert not alike or replaced


@given(hits, st.integers(2, 5))
def test_br3_copies_of_one_record_never_validate_each_other(hit: Hit, count: int) -> None:
    [one] = dedupe([hit] * count)

    assert "cross_validated" not in one.metadata


@given(st.lists(hits, max_size=8), st.lists(relations, max_size=8), st.floats(1, 10))
def test_br4_boost_keeps_order_and_never_lowers_or_exceeds(
    found: list[Hit], edges: list[Relation], factor: float
) -> None:
    around = {r.source: tuple(e for e in edges if e.source == r.source) for r in edges}

    raised = boost(found, around, factor)

    assert [h.id for h in raised] == [h.id for h in found]
    for before, after in zip(found, raised, strict=True):
        assert before.relevance <= after.relevance <= 1
        assert before.entities == after.entities[: len(before.entities)]


@given(st.lists(hits, max_size=12))
def test_br5_rank_is_a_permutation_by_score_within_0_and_1(found: list[Hit]) -> None:
    ranked = rank(found, NOW)

    assert sorted(h.id for h in ranked) == sorted(h.id for h in found)
    assert all(0 <= h.score <= 1 for h in ranked)
    assert [h.score for h in ranked] == sorted((h.score for h in ranked), reverse=True)


@given(hits, units, units)
def test_br5_more_relevance_is_never_a_lower_score(hit: Hit, a: float, b: float) -> None:
    low, high = sorted((a, b))

    [less] = rank([hit._replace(relevance=low)], NOW)
    [more] = rank([hit._replace(relevance=high)], NOW)

    assert less.score <= more.score


@given(st.lists(hits, max_size=6), st.text(max_size=30))
def test_br10_staleness_marks_and_changes_nothing_else(found: list[Hit], now: str) -> None:
    marked = mark_stale(found, now)

    assert [h._replace(metadata={}) for h in marked] == [h._replace(metadata={}) for h in found]
    assert all(isinstance(h.metadata["stale"], bool) for h in marked)


@given(st.lists(relations, max_size=20), vocabulary, st.integers(-1, 5))
def test_br8_walks_end_are_connected_and_bounded(
    edges: list[Relation], start: str, depth: int
) -> None:
    def around(names: Sequence[str]) -> list[Relation]:
        return [r for r in edges if r.source in names or r.target in names]

    for path in walk([start], around, depth=depth):
        assert 1 <= len(path) <= min(max(depth, 0), MAX_DEPTH)
        at = start
        for relation in path:
            assert at in (relation.source, relation.target)
            at = relation.target if relation.source == at else relation.source


@given(st.lists(hits, max_size=10), st.integers(0, 2500))
def test_render_keeps_its_budget_its_fence_and_its_bytes(found: list[Hit], max_chars: int) -> None:
    text = render(found, heading="On record:", max_chars=max_chars)

    assert len(text) <= max_chars
    assert render(found, heading="On record:", max_chars=max_chars) == text
    if text:
        assert text.count(OPEN_FENCE) == text.count(CLOSE_FENCE) == 1
        assert text.split("\n")[0] == OPEN_FENCE
        assert text.split("\n")[-1] == CLOSE_FENCE


@given(st.lists(hits, max_size=12), texts)
def test_push_gives_a_few_of_what_it_got_and_nothing_seen(found: list[Hit], prompt: str) -> None:
    query = parse(prompt, plain=True)
    fresh = above_floor(found, query)

    assert all(hit in found for hit in fresh)
    assert above_floor(found, query, seen={h.id for h in found}) == []
    assert len(choose(fresh, query)) <= 6


@given(st.lists(hits, max_size=12))
def test_collapse_leaves_one_of_each_id_in_order(found: list[Hit]) -> None:
    once = collapse(found)

    assert [h.id for h in once] == list(dict.fromkeys(h.id for h in found))
