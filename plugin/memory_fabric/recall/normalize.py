"""Conversion of candidates to hits in normal form (BR-2), most relevant first.

`metadata["coverage"]` is the share of the question's weight that the text holds (see `relevance`).
"""

from __future__ import annotations

from memory_fabric.language import concepts
from memory_fabric.models import Hit
from memory_fabric.recall.relevance import entities_of, measure
from memory_fabric.text import name_key, stem, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from memory_fabric.language.concepts import Concept
    from memory_fabric.models import Query
    from memory_fabric.recall.relevance import Measured
    from memory_fabric.store.search import Candidate

MOST = 0.99  # less than an exact name
MAX_NAME_CHARS = 200
NO_SESSIONS: Mapping[str, float] = {}


def normalize(
    candidates: Sequence[Candidate],
    query: Query,
    now: str,
    *,
    wide: bool = False,
    explain: bool = False,
    sessions: Mapping[str, float] = NO_SESSIONS,
) -> list[Hit]:
    """Return hits in normal form, most relevant first.

    Candidates that miss an exact phrase or hold an excluded word are left out. `now` (ISO 8601)
    resolves times such as "last week". With `wide` synonyms of the question's words count; with
    `explain` the metadata holds the `parts` of each relevance. `sessions` are scores of sessions
    that the question carries on (0-1).
    """
    measured = measure(
        _worth_measuring(candidates, query), query, now, wide=wide, sessions=sessions
    )
    wanted, exact = concepts.concepts(query), _exact_names(query)
    return most_relevant_first([_hit(one, wanted, exact, explain) for one in measured])


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
    kept = [
        c
        for c in candidates
        if not c.metadata.get("whole_entity") or (c.store, c.entity) not in spoken
    ]
    for phrase in query.phrases:
        held = words(phrase)
        kept = [c for c in kept if _holds(words(_whole_text(c)), held)]
    if query.excluded:
        out = frozenset(map(stem, query.excluded))
        kept = [c for c in kept if out.isdisjoint(concepts.stems_of(_whole_text(c)))]
    return kept


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


def _hit(one: Measured, wanted: Sequence[Concept], exact: tuple[str, ...], explain: bool) -> Hit:
    candidate = one.candidate
    name = name_key(candidate.entity) if candidate.source == "graph" else ""
    is_exact = bool(name) and name in exact
    metadata: Mapping[str, Any] = {
        **candidate.metadata,
        "store": candidate.store,
        "coverage": round(1.0 if is_exact else one.covered, 4),
        "matched": [c.text for i, c in enumerate(wanted) if one.mask >> i & 1],
    }
    if one.replaces:
        metadata = {**metadata, "replaces": one.replaces}
    if explain:
        metadata = {**metadata, "parts": {"exact name": 1.0} if is_exact else one.parts()}
    return Hit(
        id=candidate.id,
        text=candidate.text,
        source=candidate.source,
        timestamp=candidate.timestamp,
        relevance=1.0 if is_exact else min(MOST, one.relevance),
        entities=entities_of(candidate),
        metadata=metadata,
    )
