"""Figures of ranked retrieval: recall, reciprocal rank, and how sure a mean is."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

RESAMPLED = 500


def recall_at(count: int, ranked: Sequence[str], gold: set[str]) -> float:
    """The share of the gold documents among the first so many, 0–1; 0 without gold."""
    return len(gold.intersection(ranked[:count])) / len(gold) if gold else 0.0


def reciprocal_rank(ranked: Sequence[str], gold: set[str]) -> float:
    """1 for a first place, 1/2 for a second, … 0 where none is found."""
    return next((1 / place for place, id_ in enumerate(ranked, 1) if id_ in gold), 0.0)


def mean(values: Iterable[float]) -> float:
    """The mean; 0 of nothing."""
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean, the same for the same values."""
    if not values:
        return 0.0, 0.0
    chance = random.Random(0)
    means = sorted(mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLED))
    return means[RESAMPLED // 40], means[-1 - RESAMPLED // 40]


def wilson(count: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's formula; 0 and 1 of nothing."""
    if not total:
        return 0.0, 1.0
    z, share = 1.96, count / total
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
