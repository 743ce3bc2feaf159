"""The detached process that embeds new memories; see setup.extras for its start."""

import os
import sqlite3
import time

from memory_fabric.config import read_settings
from memory_fabric.errors import FabricError
from memory_fabric.semantic import measure
from memory_fabric.store import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.switches import settings_of

# Its lifetime; a later process goes on.
LIFE_S = 900.0
NICENESS = 10


def main() -> int:
    """Embed what has no vector; failures are logged. Return 1 after a failure."""
    settings = read_settings(os.environ, {})
    try:
        os.nice(NICENESS)
        settings = settings_of(os.environ)
        similarity_measure = measure.measure_for(settings)
        if similarity_measure is None or not settings.writes:
            return 1
        model = similarity_measure.model
        from memory_fabric.semantic.update import embed_all  # with numpy, which is reached now

        memory = Memory.open(settings)
        try:
            embed_all(memory, model, give_up_s=time.monotonic() + LIFE_S)
        finally:
            memory.close()
    except TimeoutError:
        return 0  # another process does it
    except (FabricError, OSError, ValueError, sqlite3.Error) as error:
        log.note(settings.home, settings.data_dir, f"semantic: {error}")
        return 1
    return 0
