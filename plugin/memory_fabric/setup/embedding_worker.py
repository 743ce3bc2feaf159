"""Start of the process that embeds new memories, where the extra `semantic` is installed.

    hook or server ── start_when_due() ──▶ semantic.worker, detached ──▶ table `vectors`

This module imports nothing of the extra: hooks use it after their reply.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from memory_fabric import processes
from memory_fabric.config import Settings, environment
from memory_fabric.setup.packages import MARKER
from memory_fabric.store.database import Database

KIND = "semantic"
# The lock of the process in home; its time is that of the last start.
LOCK = "embedding.lock"
# Loading the model costs half a second of CPU time, so turns in a row share one process.
EVERY_S = 30.0
# The rows `t` of each table that get a vector; their keys grow with time.
EMBEDDED = {
    "records": "t.status = 'active'",
    "observations": "t.record = ''",
    "episodes": "t.role = 'user'",
}
KEYS = {"records": "seq", "observations": "id", "episodes": "id"}
# Only the newest rows are looked at, in 5 ms: the process finds older ones when it is next started.
MAX_KEYS_READ = 5000


def start_when_due(settings: Settings, databases: Sequence[Database]) -> int:
    """Start the process if the extra is installed and a new memory has no vector.

    Returns its process id, 0 if none was started. Raises StoreUnavailable.
    """
    if not settings.semantic or not settings.writes or _ran_lately(settings.home):
        return 0
    if not _is_installed(settings) or not any(map(is_due, databases)):
        return 0
    return start(settings)


def is_due(database: Database) -> bool:
    """True if one of the newest memories has no vector."""
    for table, condition in EMBEDDED.items():
        key = KEYS[table]
        row = database.row(
            f"SELECT 1 FROM {table} AS t LEFT JOIN vectors AS v ON v.kind = ? AND v.row = t.{key} "
            f"WHERE v.row IS NULL AND {condition} "
            f"AND t.{key} > (SELECT max({key}) FROM {table}) - ? LIMIT 1",
            (table, MAX_KEYS_READ),
        )
        if row is not None:
            return True
    return False


def start(settings: Settings) -> int:
    """Start the process detached and return its id; it outlives the session."""
    return processes.start(
        "semantic.worker",
        {
            **environment(),
            "MEMORY_FABRIC_HOME": settings.home,
            "CLAUDE_PROJECT_DIR": settings.project_dir,
            "CLAUDE_PLUGIN_DATA": settings.data_dir,
            "CLAUDE_PLUGIN_ROOT": settings.plugin_root,
        },
    )


def _is_installed(settings: Settings) -> bool:
    """True if `memory-fabric semantic on` has filled the folder of this interpreter and release."""
    from memory_fabric.setup import extras  # late: only after a hook's reply

    folder = extras.folder_of(KIND, settings.data_dir, settings.plugin_root)
    return bool(folder) and os.path.exists(os.path.join(folder, MARKER))


def _ran_lately(home: str) -> bool:
    try:
        return 0 <= time.time() - os.stat(os.path.join(home, LOCK)).st_mtime < EVERY_S
    except OSError:
        return False
