"""Reranking by similarity of meaning, where a model can measure it (the warm path).

Relevance is 1 − e^(−raw). Similarity is added to raw, so it changes a doubtful hit more than an
almost certain one, and keeps relevance within 0–1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from memory_fabric.models import Hit, Query
from memory_fabric.recall.normalize import MOST, most_relevant_first
from memory_fabric.store.database import Database


class Similarity(Protocol):
    """Similarity of meaning, as semantic.measure gives it; everything is empty without it."""

    def nearest(
        self, database: Database, question: str, most: dict[str, int]
    ) -> list[tuple[str, int]]:
        """Return (table, row number) of stored rows near to a question, nearest first."""

    def similarities(
        self, databases: Sequence[Database], question: str, hits: Sequence[Hit]
    ) -> dict[str, float]:
        """Return the similarity of hits, −1 to 1, by id, as far as it is known."""


# Measured on development conversations; half or double of it is still a gain.
WEIGHT = 1.5
# Turns say less of what they mean than what was written down.
TURN_WEIGHT = 1.0
# The candidates of one source; later hits would not move to the top.
MEASURED = 200


def rerank(hits: Sequence[Hit], similarity_by_id: Mapping[str, float]) -> list[Hit]:
    """Add the similarity to the hits' relevance; exact names stay above all.

    Each measured hit carries `similarity`. Without any measure the hits are unchanged.
    """
    if not similarity_by_id:
        return list(hits)
    return most_relevant_first([_moved(hit, similarity_by_id.get(hit.id)) for hit in hits])


def measured(
    hits: Sequence[Hit], query: Query, databases: Sequence[Database], similarity: Similarity
) -> dict[str, float]:
    """Return the similarity of the first hits to the question, by id."""
    return similarity.similarities(databases, query.asked, hits[:MEASURED]) if hits else {}


def _moved(hit: Hit, similarity: float | None) -> Hit:
    if similarity is None or math.isnan(similarity):
        return hit
    near = max(-1.0, min(1.0, similarity))
    metadata = {**hit.metadata, "similarity": round(near, 4)}
    if hit.relevance >= 1.0:
        return hit._replace(metadata=metadata)
    weight = TURN_WEIGHT if hit.source == "episodes" else WEIGHT
    relevance = 1 - (1 - hit.relevance) * math.exp(-weight * near)
    return hit._replace(relevance=max(0.0, min(MOST, relevance)), metadata=metadata)
