"""End of an answer: behind a hit that holds the whole question, only hits that hold much of it."""

from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.models import SAID_BEFORE, Hit, Query
from memory_fabric.recall.dedupe import coverage

# A hit with the first share of the question's weight holds the whole; others need the second one.
WHOLE, MUCH = 0.95, 0.4
# A question of one subject word is held by everything about the subject.
LEAST_WORDS = 2


def cut_off(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """Return the ranked hits without those that share a little with a question that is answered.

    The first hit decides, if it is a record: an observation is one of many about its entity, and a
    turn one of a conversation. Hits that were found by their meaning, the older side of a
    contradiction and everything around a name whose relations are asked for stay.
    """
    first = hits[0] if hits else None
    if first is None or first.source != "records" or query.traverse:
        return list(hits)
    if coverage(first) < WHOLE or len(first.metadata.get("matched") or ()) < LEAST_WORDS:
        return list(hits)
    return [hit for hit in hits if coverage(hit) >= MUCH or _stays(hit)]


def _stays(hit: Hit) -> bool:
    return "similarity" in hit.metadata or SAID_BEFORE in hit.metadata
