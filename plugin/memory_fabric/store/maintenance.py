"""Maintenance after a session's end, too slow for the client's limit of 1.5 s: backups, expiry.

Runs as a detached process, one at a time, and ends by itself.
"""

import os
import sqlite3
import time
from collections.abc import Mapping

from memory_fabric import ids, processes
from memory_fabric.config import read_settings
from memory_fabric.errors import FabricError
from memory_fabric.store import backup, files, filesystem, log
from memory_fabric.store.history import candidates
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import sync

# A session may be resumed after weeks; then its ledger still counts.
SESSIONS_KEPT_DAYS = 90
# A crashed session may be resumed the same day; then its local records still apply.
LOCAL_KEPT_DAYS = 1
# A candidate that did not occur again for this long was not worth remembering.
CANDIDATES_KEPT_DAYS = 90
LOCK = "maintenance.lock"
# A note of the assistant alone is told for this many days or sessions, whichever is longer.
UNCONFIRMED_TOLD_DAYS, UNCONFIRMED_TOLD_SESSIONS = 60, 10


def is_due(memory: Memory) -> bool:
    """Return True if a database has a backup due, or nothing has expired in it for a day."""
    return any(backup.is_due(db.path) or not _ran_today(db.path) for db in memory.databases())


def _ran_today(path: str) -> bool:
    """Return True if this ran for a database within a day: the folder of backups has the time."""
    try:
        return time.time() - os.path.getmtime(files.backups_of(path)) <= backup.EVERY_S
    except OSError:
        return False


def start(environ: Mapping[str, str], project_dir: str) -> int:
    """Start the detached process, which outlives the session, and return its id."""
    return processes.start("store.maintenance", {**environ, "CLAUDE_PROJECT_DIR": project_dir})


def main() -> None:
    """Run the detached process; failures are logged."""
    settings = read_settings(os.environ, {})
    try:
        table = files.read_toml(os.path.join(settings.home, "config.toml"))
        settings = read_settings(os.environ, table)
        with files.Locked(os.path.join(settings.home, LOCK), timeout_s=0):
            run(Memory.open(settings), settings.episodes_keep_days)
    except TimeoutError:
        return  # another process runs the maintenance
    except (FabricError, OSError, ValueError, sqlite3.Error) as error:
        log.note(settings.home, settings.data_dir, f"maintenance: {error}")


def run(memory: Memory, keep_days: int) -> None:
    """Back up what is due and delete what has expired: turns and ingested texts after `keep_days`
    (0: all), the rest after fixed times.
    """
    sync.expire(memory, "local", _ago(LOCAL_KEPT_DAYS))
    sync.backup_when_due(memory)
    sync.expire(memory, "turns", _ago(keep_days))
    sync.expire(memory, "texts", _ago(keep_days))
    sync.expire(memory, "sessions", _ago(SESSIONS_KEPT_DAYS))
    sync.expire(memory, "candidates", _ago(CANDIDATES_KEPT_DAYS))
    candidates.distrust_without_words(memory)
    candidates.demote_unconfirmed(memory, _ago(UNCONFIRMED_TOLD_DAYS), UNCONFIRMED_TOLD_SESSIONS)
    for database in memory.databases():
        os.utime(files.backups_of(database.path))
    folders = [memory.settings.home, *([memory.project.local] if memory.project else [])]
    filesystem.delete(filesystem.leftovers(filesystem.all_paths(folders), time.time()))
    memory.close()


def _ago(days: int) -> str:
    return ids.timestamp(time.time() - days * 24 * 3600)
