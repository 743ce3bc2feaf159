"""Conversion of candidates to hits in normal form (BR-2), most relevant first.

`metadata["coverage"]` is the share of the question's weight that the text holds (see `relevance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from memory_fabric.language import concepts
from memory_fabric.language.concepts import Concept
from memory_fabric.models import Hit, Query
from memory_fabric.recall.relevance import Measured, entities_of, measure
from memory_fabric.store.search import Candidate
from memory_fabric.text import name_key, stem, words

MOST = 0.99  # less than an exact name
MAX_NAME_CHARS = 200
# The trust of a memory from a shared journal.
FOREIGN = "foreign"
NO_SESSIONS: Mapping[str, float] = {}


def normalize(
    candidates: Sequence[Candidate],
    query: Query,
    now: str,
    *,
    wide: bool = False,
    explain: bool = False,
    sessions: Mapping[str, float] = NO_SESSIONS,
    most: int = 0,
) -> list[Hit]:
    """Return hits in normal form, most relevant first.

    Candidates that miss an exact phrase or hold an excluded word are left out. `now` (ISO 8601)
    resolves times such as "last week". With `wide` synonyms of the question's words count; with
    `explain` the metadata holds the `parts` of each relevance. `sessions` are scores of sessions
    that the question carries on (0-1). With `most`, only that many memories of each source are
    returned (`best_of_each_source`), and all hits of each: to make all into hits would take longer
    than to measure them.
    """
    measured = measure(
        _worth_measuring(candidates, query), query, now, wide=wide, sessions=sessions
    )
    _mark_exact(measured, _exact_names(query))
    if most:
        measured = _best_measured(measured, most)
    wanted = concepts.concepts(query)
    return most_relevant_first([_hit(item, wanted, explain) for item in measured])


def best_of_each_source(
    memories: Iterable[Any], most: int, origin: Callable[[Any], tuple[str, bool]]
) -> list[Any]:
    """Return the first `most` memories of each source; half as many of shared ones.

    `origin` returns the source of a memory, and True if it is shared.
    """
    counts: dict[str, int] = {}
    best = []
    for memory in memories:
        source, is_shared = origin(memory)
        source = "others" if is_shared else source
        counts[source] = counts.get(source, 0) + 1
        if counts[source] <= (max(1, most // 2) if is_shared else most):
            best.append(memory)
    return best


def _mark_exact(measured: Sequence[Measured], exact: tuple[str, ...]) -> None:
    is_exact = cache(lambda name: name_key(name) in exact)
    for item in measured if exact else ():
        entity = item.candidate.entity
        item.is_exact = bool(entity) and item.candidate.source == "graph" and is_exact(entity)


def _best_measured(measured: Sequence[Measured], most: int) -> list[Measured]:
    """Return the measured candidates of the best memories of each source.

    Several candidates may be of one memory: a record and its observations.
    """
    ordered = sorted(measured, key=lambda one: one.candidate.id)
    ordered.sort(key=lambda one: one.candidate.timestamp, reverse=True)
    ordered.sort(key=_relevance, reverse=True)
    same: dict[str, list[Measured]] = {}
    for one in ordered:
        same.setdefault(one.candidate.id, []).append(one)
    best = best_of_each_source(same.values(), most, _origin)
    return [one for memory in best for one in memory]


def _origin(same: Sequence[Measured]) -> tuple[str, bool]:
    """Return the source of a memory, a record before its copies, and True if it is shared."""
    told = next((one for one in same if one.candidate.source == "records"), same[0]).candidate
    return told.source, told.metadata.get("trust") == FOREIGN


def most_relevant_first(hits: Sequence[Hit]) -> list[Hit]:
    """Sort the hits by relevance, then newer first, then by id to be deterministic."""
    ordered = sorted(hits, key=lambda hit: hit.id)
    ordered.sort(key=lambda hit: hit.timestamp, reverse=True)
    ordered.sort(key=lambda hit: hit.relevance, reverse=True)
    return ordered


def _worth_measuring(candidates: Sequence[Candidate], query: Query) -> list[Candidate]:
    """Drop candidates that miss a phrase, and entities whose observations or records are present.

    Entities stay if the question is just their name.
    """
    exact = _exact_names(query)
    spoken = {
        (c.store, name)
        for c in candidates
        if c.source in ("graph", "records") and not c.metadata.get("whole_entity")
        for name in (entities_of(c) if c.source == "records" else (c.entity,))
        if c.source == "graph" or name_key(name) not in exact
    }
    worthwhile = [
        c
        for c in candidates
        if not c.metadata.get("whole_entity") or (c.store, c.entity) not in spoken
    ]
    for phrase in query.phrases:
        phrase_words = words(phrase)
        worthwhile = [c for c in worthwhile if _holds(words(_whole_text(c)), phrase_words)]
    if query.excluded:
        out = frozenset(map(stem, query.excluded))
        worthwhile = [c for c in worthwhile if out.isdisjoint(concepts.stems_of(_whole_text(c)))]
    return worthwhile


def _holds(text: list[str], phrase: list[str]) -> bool:
    first, size = phrase[0], len(phrase)
    return any(w == first and text[i : i + size] == phrase for i, w in enumerate(text))


def _whole_text(candidate: Candidate) -> str:
    why = candidate.metadata.get("why") or ""
    return f"{candidate.text} {why} {' '.join(entities_of(candidate))}"


def _exact_names(query: Query) -> tuple[str, ...]:
    """Return the keys of a question that is just one name; none for any other question."""
    if len(query.asked) > MAX_NAME_CHARS:
        return ()
    return name_key(query.asked.strip(" ?!.\n\t")), name_key("".join(words(query.asked)))


def _hit(one: Measured, wanted: Sequence[Concept], explain: bool) -> Hit:
    candidate = one.candidate
    metadata: Mapping[str, Any] = {
        **candidate.metadata,
        "store": candidate.store,
        "coverage": round(1.0 if one.is_exact else one.covered, 4),
        "matched": [c.text for i, c in enumerate(wanted) if one.mask >> i & 1],
    }
    if one.replaces:
        metadata = {**metadata, "replaces": one.replaces}
    if explain:
        metadata = {**metadata, "parts": {"exact name": 1.0} if one.is_exact else one.parts()}
    return Hit(
        id=candidate.id,
        text=candidate.text,
        source=candidate.source,
        timestamp=candidate.timestamp,
        relevance=_relevance(one),
        entities=one.entities,
        metadata=metadata,
    )


def _relevance(one: Measured) -> float:
    return 1.0 if one.is_exact else min(MOST, one.relevance)
