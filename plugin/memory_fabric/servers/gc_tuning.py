"""Garbage collection tuned for a server: loaded modules stay, and calls make few cycles."""

from __future__ import annotations

import gc

# So many new objects are made before the collector looks for cycles among them: a call makes some
# thousand, and for the usual 700 it would look several times.
YOUNG_OBJECTS = 20_000


def settle() -> None:
    """Exclude existing objects from garbage collection, and run it less often."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()
