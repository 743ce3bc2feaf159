"""What is due at a session's end and would not fit into the client's 1.5 s: backups, expired turns.

Runs as a detached process of its own, one at a time, and ends by itself.
"""

from __future__ import annotations

import os
import sys
import time

from memory_fabric import ids
from memory_fabric.config import read_settings
from memory_fabric.errors import FabricError
from memory_fabric.store import backup, files, log
from memory_fabric.store.memory import Memory
from memory_fabric.store.sqlite import sqlite3
from memory_fabric.store.tiers import sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ENTRY = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from memory_fabric.store.health import maintenance; maintenance.main()"
)
# A session may be resumed after weeks; then its ledger still counts.
SESSIONS_KEPT_DAYS = 90
# A session that broke off may be taken up again the same day; then what is local to it still holds.
LOCAL_KEPT_DAYS = 1
# What was said once and not again for so long was not worth a memory.
CANDIDATES_KEPT_DAYS = 90
LOCK = "maintenance.lock"


def is_due(memory: Memory) -> bool:
    """Whether a backup of one of the open databases is older than a day."""
    ages = [backup.age_s(database.path) for database in memory.databases()]
    return any(age is None or age > sync.BACKUP_EVERY_S for age in ages)


def start(environ: Mapping[str, str], project_dir: str) -> int:
    """Start it detached, and return its process id; it outlives the session."""
    root = os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    )
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", "-c", ENTRY, root],
        {**environ, "CLAUDE_PROJECT_DIR": project_dir},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
        setsid=True,
    )


def main() -> None:
    """The detached process: do what is due, note what failed in the log."""
    settings = read_settings(os.environ, {})
    try:
        table = files.read_toml(os.path.join(settings.home, "config.toml"))
        settings = read_settings(os.environ, table)
        with files.Locked(os.path.join(settings.home, LOCK), timeout_s=0):
            run(Memory.open(settings), settings.episodes_keep_days)
    except TimeoutError:
        return  # another one is at it
    except (FabricError, OSError, ValueError, sqlite3.Error) as error:
        log.note(settings.home, settings.data_dir, f"maintenance: {error}")


def run(memory: Memory, keep_days: int) -> None:
    """Drop what is local to sessions that broke off, back up what is due, and drop turns and texts
    of other programs older than `keep_days` (0: all), old sessions and old candidates.
    """
    sync.expire_local(memory, _ago(LOCAL_KEPT_DAYS))
    sync.backup_when_due(memory)
    sync.expire_episodes(memory, _ago(keep_days))
    sync.expire_texts(memory, _ago(keep_days))
    sync.expire_sessions(memory, _ago(SESSIONS_KEPT_DAYS))
    sync.expire_candidates(memory, _ago(CANDIDATES_KEPT_DAYS))
    memory.close()


def _ago(days: int) -> str:
    return ids.timestamp(time.time() - days * 24 * 3600)
