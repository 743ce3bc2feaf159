"""Reranking by similarity of meaning, where a model can measure it (the warm path).

Relevance is 1 − e^(−raw). Similarity is added to raw, so it changes a doubtful hit more than an
almost certain one, and keeps relevance within 0–1.
"""

from __future__ import annotations

import math

from memory_fabric.recall.normalize import MOST, most_relevant_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory_fabric.models import Hit, Query

    # A function from a question and texts to the similarity of each text, −1 to 1.
    Similarity = Callable[[str, Sequence[str]], Sequence[float]]

# Measured on development conversations; half or double of it is still a gain.
WEIGHT = 1.0
# The candidates of one source; later hits would not move to the top.
MEASURED = 200


def rerank(hits: Sequence[Hit], similarity_by_id: Mapping[str, float]) -> list[Hit]:
    """Add the similarity to the hits' relevance; exact names stay above all.

    Each measured hit carries `similarity`. Without any measure the hits are unchanged.
    """
    if not similarity_by_id:
        return list(hits)
    return most_relevant_first([_moved(hit, similarity_by_id.get(hit.id)) for hit in hits])


def measured(hits: Sequence[Hit], query: Query, similarity: Similarity) -> dict[str, float]:
    """Return the similarity of the first hits to the question, by id; a record's reason counts,
    too.
    """
    hits = hits[:MEASURED]
    if not hits:
        return {}
    texts = [f"{hit.text} {hit.metadata.get('why') or ''}".rstrip() for hit in hits]
    near = similarity(query.asked, texts)
    return {hit.id: value for hit, value in zip(hits, near, strict=False)}


def _moved(hit: Hit, similarity: float | None) -> Hit:
    if similarity is None or math.isnan(similarity):
        return hit
    near = max(-1.0, min(1.0, similarity))
    metadata = {**hit.metadata, "similarity": round(near, 4)}
    if hit.relevance >= 1.0:
        return hit._replace(metadata=metadata)
    relevance = 1 - (1 - hit.relevance) * math.exp(-WEIGHT * near)
    return hit._replace(relevance=max(0.0, min(MOST, relevance)), metadata=metadata)
