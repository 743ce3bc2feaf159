"""The number of cases in one run: some by default, all with `scripts/test --thorough`."""

from __future__ import annotations

import os
import random

FEW = 25
IS_THOROUGH = bool(os.environ.get("THOROUGH"))


def examples(most: int = 100, few: int = FEW) -> int:
    """Return `most` in a thorough run, else at most `few`."""
    return most if IS_THOROUGH else min(most, few)


def first_and_stride() -> tuple[int, int]:
    """Return where a walk over numbered steps begins and how far it goes each time.

    All steps in a thorough run, else every third, from a first one that differs from run to run.
    """
    return (1, 1) if IS_THOROUGH else (random.randint(1, 3), 3)
