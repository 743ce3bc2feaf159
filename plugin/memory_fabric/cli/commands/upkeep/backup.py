"""backup: copy the databases."""

import os

from memory_fabric.cli import environment, progress, show
from memory_fabric.store import backup as backups


def backup(as_json: show.AsJson = False) -> int:
    """Make a verified copy of each database; the newest five are kept.

    They are in `backups/` next to the database.
    """
    with environment.open_memory() as memory, progress.bar("Copying", quiet=as_json) as tell:
        made = [backups.create(database.path, progress=tell) for database in memory.databases()]
        failures = list(memory.failures)
    if as_json:
        show.json_out({"made": made, "failures": failures})
    else:
        for path in made:
            show.line(f"{path} ({os.path.getsize(path) / 1024:.0f} KB)")
        if not made and not failures:
            show.line("Nothing to copy: nothing is stored yet.")
        for failure in failures:
            show.warn(failure)
    return 1 if failures else 0
