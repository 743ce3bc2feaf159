"""From signs to a chance: a linear model, whose weights `benchmarks/train_capture.py` has found."""

from __future__ import annotations

from math import exp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def chance(signs: Iterable[str]) -> float:
    """How likely a sentence with these signs is worth keeping, 0 to 1."""
    from memory_fabric.capture.worth import weights  # two thousand: only who is in doubt loads them

    known = weights.WEIGHTS
    total = weights.BIAS + sum(known[sign][0] for sign in signs if sign in known)
    return 1 / (1 + exp(-max(-30.0, min(30.0, total / weights.SCALE))))


def kind(signs: Iterable[str]) -> str:
    """The type of record that such a sentence would make."""
    from memory_fabric.capture.worth import weights

    totals = list(weights.KIND_BIASES)
    for sign in signs:
        for place, weight in enumerate(weights.WEIGHTS.get(sign, ())[1:]):
            totals[place] += weight
    return weights.KINDS[max(range(len(totals)), key=lambda place: totals[place])]
