"""The number of cases in one run: some by default, all with `scripts/test --thorough`."""

from __future__ import annotations

import os

FEW = 25
IS_THOROUGH = bool(os.environ.get("THOROUGH"))


def examples(most: int = 100, few: int = FEW) -> int:
    """Return `most` in a thorough run, else at most `few`."""
    return most if IS_THOROUGH else min(most, few)


def stride() -> int:
    """Return how far a walk over numbered steps goes each time: one step in a thorough run."""
    return 1 if IS_THOROUGH else 3
