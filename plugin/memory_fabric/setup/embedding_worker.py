"""Start of the process that embeds new memories, where the extra `semantic` is installed.

    hook or server ── start_when_due() ──▶ semantic.worker, detached ──▶ table `vectors`

This module imports nothing of the extra: hooks use it after their reply.
"""

from __future__ import annotations

import os
import time

from memory_fabric import detached
from memory_fabric.setup.packages import MARKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.config import Settings
    from memory_fabric.store.database import Database

KIND = "semantic"
# The lock of the process in home; its time is that of the last start.
LOCK = "embedding.lock"
# Loading the model costs half a second of CPU time, so turns in a row share one process.
EVERY_S = 30.0
_NEWEST = (
    ("records", "SELECT max(seq) FROM records"),
    ("observations", "SELECT max(id) FROM observations WHERE record = ''"),
    ("episodes", "SELECT max(id) FROM episodes WHERE role = 'user'"),
)


def start_when_due(settings: Settings, databases: Sequence[Database]) -> int:
    """Start the process if the extra is installed and a new memory has no vector.

    Returns its process id, 0 if none was started. Raises StoreUnavailable.
    """
    if not settings.semantic or not settings.writes or not _is_installed(settings):
        return 0
    if _ran_lately(settings.home) or not any(map(is_due, databases)):
        return 0
    return start(settings)


def is_due(database: Database) -> bool:
    """True if a memory is newer than the newest one that has a vector."""
    for kind, newest in _NEWEST:
        row = database.row(
            f"SELECT ({newest}) > coalesce((SELECT max(row) FROM vectors WHERE kind = ?), 0)",
            (kind,),
        )
        if row and row[0]:
            return True
    return False


def start(settings: Settings) -> int:
    """Start the process detached and return its id; it outlives the session."""
    return detached.start(
        "semantic.worker",
        {
            **os.environ,
            "MEMORY_FABRIC_HOME": settings.home,
            "CLAUDE_PROJECT_DIR": settings.project_dir,
            "CLAUDE_PLUGIN_DATA": settings.data_dir,
            "CLAUDE_PLUGIN_ROOT": settings.plugin_root,
        },
    )


def _is_installed(settings: Settings) -> bool:
    """True if `memory-fabric semantic on` has filled a folder here; costs one listing."""
    try:
        names = os.listdir(settings.data_dir) if settings.data_dir else []
    except OSError:
        return False
    return any(
        name.startswith(f"{KIND}-")
        and os.path.exists(os.path.join(settings.data_dir, name, MARKER))
        for name in names
    )


def _ran_lately(home: str) -> bool:
    try:
        return 0 <= time.time() - os.stat(os.path.join(home, LOCK)).st_mtime < EVERY_S
    except OSError:
        return False
