"""Similarity of meaning between a question and texts, for reranking.

A text's vector is the sum of its pieces' vectors, each weighted by its rarity among the texts at
hand, less the mean of all of them. Rarity and mean come from these texts alone, so that nothing has
to be stored, kept current or forgotten; statistics of the whole store were measured and are no
better (docs/decisions/0016-embeddings-are-an-extra.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.semantic.model import Model

# The last digits depend on the machine; the order of an answer must not.
DIGITS = 4
# The mean of a few texts is as much each of them as what they share; so many more that share
# nothing count with them.
UNHEARD_TEXTS = 10


def similarities(model: Model, question: str, texts: Sequence[str]) -> list[float]:
    """For each text its nearness to the question, −1 to 1; 0 where nothing can be said."""
    if not texts:
        return []
    every = [model.pieces(text) for text in (*texts, question)]
    lengths = np.array([len(pieces) for pieces in every])
    said = lengths > 0
    if not said[-1] or not said[:-1].any():
        return [0.0] * len(texts)
    flat = np.array([piece for pieces in every for piece in pieces], dtype=np.int64)
    distinct, place = np.unique(flat, return_inverse=True)
    cells = np.repeat(np.arange(len(every)), lengths) * len(distinct) + place
    counts = np.bincount(cells, minlength=len(every) * len(distinct)).reshape(len(every), -1)
    # The fewer texts hold a piece, the more it tells.
    rarity = np.log1p(len(texts) / ((counts[:-1] > 0).sum(axis=0) + 0.5))
    weighted = (model.vectors(distinct) * rarity[:, None]).astype(np.float32)
    # Sums and products row by row: a product of matrices would start threads, which cost ten times
    # as much where the processors are busy.
    starts = (np.cumsum(lengths) - lengths)[said]
    vectors = np.zeros((len(every), weighted.shape[1]), dtype=np.float32)
    vectors[said] = _unit(np.add.reduceat(weighted[place], starts, axis=0))
    mean = vectors[:-1].sum(axis=0) / (said[:-1].sum() + UNHEARD_TEXTS)
    centred = _unit(vectors - mean)
    near = np.clip((centred[:-1] * centred[-1]).sum(axis=1), -1.0, 1.0) * said[:-1]
    return [round(float(value), DIGITS) for value in near]


def _unit(rows: Any) -> Any:
    """The rows at length 1; those without a direction stay zero."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 1e-6)
