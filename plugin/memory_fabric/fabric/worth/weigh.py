"""From signs to a chance: a linear model, whose weights `benchmarks/train_capture.py` has found."""

from __future__ import annotations

from math import exp

from memory_fabric.fabric.worth.weights import BIAS, KIND_BIASES, KINDS, SCALE, WEIGHTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def chance(signs: Iterable[str]) -> float:
    """How likely a sentence with these signs is worth keeping, 0 to 1."""
    total = BIAS + sum(WEIGHTS[sign][0] for sign in signs if sign in WEIGHTS)
    return 1 / (1 + exp(-max(-30.0, min(30.0, total / SCALE))))


def kind(signs: Iterable[str]) -> str:
    """The type of record that such a sentence would make."""
    totals = list(KIND_BIASES)
    for sign in signs:
        for place, weight in enumerate(WEIGHTS.get(sign, ())[1:]):
            totals[place] += weight
    return KINDS[max(range(len(KINDS)), key=lambda place: totals[place])]
