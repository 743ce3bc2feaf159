"""Python's collector of cycles in a server: what was loaded stays, and a call makes hardly any."""

from __future__ import annotations

import gc

# So many new objects are made before the collector looks for cycles among them: a call makes some
# thousand, and for the usual 700 it would look several times.
YOUNG_OBJECTS = 20_000


def settle() -> None:
    """Let the collector pass over what is there now, and look seldom from here on."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()
