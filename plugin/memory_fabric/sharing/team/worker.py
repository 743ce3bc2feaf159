"""The detached process that exchanges operations; see team.trigger for its start."""

import os
import sqlite3

from memory_fabric.config import read_settings
from memory_fabric.errors import FabricError
from memory_fabric.sharing.team import sync
from memory_fabric.store import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.settings_file import settings_of
from memory_fabric.timeout import time_limit

# Its lifetime, however slow the server is; a later process goes on.
LIFE_S = 600.0
NICENESS = 5


def main() -> int:
    """Exchange what is due; failures are logged. Return 1 after a failure."""
    settings = read_settings(os.environ, {})
    try:
        os.nice(NICENESS)
        settings = settings_of(os.environ)
        if not sync.may_exchange(settings):
            return 0
        with time_limit(LIFE_S, _late):
            memory = Memory.open(settings)
            try:
                found = sync.exchange_due(memory)
            finally:
                memory.close()
    except (FabricError, OSError, ValueError, sqlite3.Error) as error:
        log.note(settings.home, settings.data_dir, f"team: {error}")
        return 1
    return 1 if any(result.failure for result in found) else 0


def _late() -> None:
    raise TimeoutError(f"the exchange took more than {LIFE_S:.0f} s; the next one goes on")
