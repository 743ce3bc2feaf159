"""The final order (BR-5): 0.3 recency + 0.5 relevance + 0.2 authority, lower if outdated.

Recency decides between hits that are as relevant as the best. A clearly less relevant hit counts as
old: otherwise noise of today would rank above an old exact answer (docs/decisions/0017).
"""

from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.language.time_hints import days_between
from memory_fabric.models import Hit
from memory_fabric.recall.staleness import is_over

RECENCY_WEIGHT, RELEVANCE_WEIGHT, AUTHORITY_WEIGHT = 0.3, 0.5, 0.2
RECENCY_DAYS, LEAST_RECENCY = 30, 0.1
# The distance from the most relevant hit over which recency fades to nothing.
AS_RELEVANT = 0.05
CROSS_VALIDATED, IN_GRAPH, PLAIN = 1.3, 1.1, 1.0
# Divides authority, so that a score stays within 0-1.
MOST_AUTHORITY = CROSS_VALIDATED
# The factor of a replaced memory, which ranks below its replacement.
SUPERSEDED_FACTOR = 0.5
# A turn ranks below a record that is about as relevant: the record says what it came to.
TURN_FACTOR = 0.85
TRUST_FACTORS = {"tool": 0.85, "foreign": 0.8}
# The types that a question's intent asks for (parse.INTENTS). They count as more relevant by
# AS_RELEVANT, so that of hits that are about as relevant these come first.
ASKED_TYPES = {
    "relationship": ("relation",),
    "decision": ("decision",),
    "problem": ("problem", "blocker", "solution", "antipattern"),
    "preference": ("preference", "constraint"),
    "pattern": ("pattern", "antipattern"),
    "howto": ("solution", "pattern", "constraint"),
}


def rank(hits: Sequence[Hit], now: str, *, past: bool = False, intent: str = "") -> list[Hit]:
    """Return the hits with scores, highest first; equal ones by relevance, newer first, then id.

    If the question asks for the `past`, replaced memories count as much as current ones; those of
    the kind that its `intent` asks for count a little more.
    """
    most = max((hit.relevance for hit in hits), default=0.0)
    scored = [hit._replace(score=score(hit, now, most, past=past, intent=intent)) for hit in hits]
    scored.sort(key=lambda hit: hit.id)
    scored.sort(key=lambda hit: hit.timestamp, reverse=True)
    scored.sort(key=lambda hit: (hit.score, hit.relevance), reverse=True)
    return scored


def score(hit: Hit, now: str, most: float = 0.0, *, past: bool = False, intent: str = "") -> float:
    """Return the score of one hit, 0-1; `most` is the relevance of the most relevant hit."""
    return sum(_summands(hit, now, most, intent)) * _factor(hit, now, past)


def with_score_parts(
    hits: Sequence[Hit], now: str, *, past: bool = False, intent: str = ""
) -> list[Hit]:
    """Return the ranked hits with the parts of their score: three summands, and a factor."""
    most = max((hit.relevance for hit in hits), default=0.0)
    found = []
    for hit in hits:
        values = (*_summands(hit, now, most, intent), _factor(hit, now, past))
        named = zip(("recency", "relevance", "authority", "times"), values, strict=True)
        parts = {name: round(value, 4) for name, value in named}
        found.append(hit._replace(metadata={**hit.metadata, "score_parts": parts}))
    return found


def _summands(hit: Hit, now: str, most: float, intent: str) -> tuple[float, float, float]:
    kind = hit.metadata.get("type") or hit.metadata.get("entityType")
    more = AS_RELEVANT if kind in ASKED_TYPES.get(intent, ()) else 0.0
    relevance = min(1.0, hit.relevance + more)
    behind = max(0.0, most - relevance) / AS_RELEVANT
    fresh = LEAST_RECENCY + (recency(hit.timestamp, now) - LEAST_RECENCY) * max(0.0, 1 - behind)
    return (
        RECENCY_WEIGHT * fresh,
        RELEVANCE_WEIGHT * relevance,
        AUTHORITY_WEIGHT * authority(hit) / MOST_AUTHORITY,
    )


def _factor(hit: Hit, now: str, past: bool) -> float:
    over = SUPERSEDED_FACTOR if not past and is_over(hit, now) else 1.0
    said = TURN_FACTOR if hit.source == "episodes" else 1.0
    return over * said * TRUST_FACTORS.get(str(hit.metadata.get("trust", "")), 1.0)


def recency(stamp: str, now: str) -> float:
    """Return 1.0 for now, falling to 0.1 after 27 days and for an unknown time."""
    days = days_between(stamp, now)
    return LEAST_RECENCY if days is None else max(LEAST_RECENCY, 1 - days / RECENCY_DAYS)


def authority(hit: Hit) -> float:
    """Return the weight of a hit's origin: two sources, then the graph, then past turns."""
    if hit.metadata.get("cross_validated"):
        return CROSS_VALIDATED
    return IN_GRAPH if hit.source in ("graph", "records") else PLAIN
