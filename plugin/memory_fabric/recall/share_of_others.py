"""The share that claims of others have in what is told unasked: nobody fills it alone.

Whoever writes to a shared journal or log may write any number of claims under his name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Claim = TypeVar("Claim")

# The shares of the places, of all others together and of one author, beside one's own memories.
TOGETHER, EACH = 1 / 3, 1 / 5
# The share of one author where nothing of one's own is told.
EACH_ALONE = 1 / 2


def within_share(
    claims: Iterable[Claim], author: Callable[[Claim], str], places: int, *, beside_own: bool
) -> list[Claim]:
    """Return the first claims of others that fit in their share of the places, in order."""
    together = int(places * TOGETHER) if beside_own else places
    each = max(1, int(places * (EACH if beside_own else EACH_ALONE)))
    counts: dict[str, int] = {}
    kept = []
    for claim in claims:
        name = author(claim)
        counts[name] = counts.get(name, 0) + 1
        if counts[name] <= each:
            kept.append(claim)
    return kept[:together]
