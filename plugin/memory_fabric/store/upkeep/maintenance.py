"""Backups and expiry after a session's end, in a detached process; only one runs at a time."""

import math
import os
import sqlite3
import time
from collections.abc import Mapping

from memory_fabric import ids, processes
from memory_fabric.config import read_settings
from memory_fabric.errors import FabricError
from memory_fabric.store import files
from memory_fabric.store.history import candidates
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import sync
from memory_fabric.store.upkeep import backup, filesystem

# Days to keep a session's list of shown memories, which it needs if it is resumed after weeks.
SESSIONS_KEPT_DAYS = 90
# A crashed session may be resumed on the same day, and then needs its local records.
LOCAL_KEPT_DAYS = 1
# A candidate that was not repeated within this time was not worth remembering.
CANDIDATES_KEPT_DAYS = 90
LOCK = "maintenance.lock"
# Days and sessions after which (both) an unconfirmed note of the assistant becomes a candidate.
UNCONFIRMED_TOLD_DAYS, UNCONFIRMED_TOLD_SESSIONS = 60, 10


def is_due(memory: Memory) -> bool:
    """Return True if a backup is due, or if a database's last maintenance was over a day ago."""
    # The modification time (ns) of the folder of backups is the time of the last maintenance.
    stamps = [files.stamp(files.backups_of(database.path)) for database in memory.databases()]
    ages_s = [time.time() - stamp[1] / 1e9 if stamp else math.inf for stamp in stamps]
    is_expiry_due = any(abs(age_s) > backup.EVERY_S for age_s in ages_s)
    return is_expiry_due or any(backup.is_due(database.path) for database in memory.databases())


def start(environ: Mapping[str, str], project_dir: str) -> int:
    """Start the detached process, which outlives the session, and return its process id."""
    environ = {**environ, "CLAUDE_PROJECT_DIR": project_dir}
    return processes.start("store.upkeep.maintenance", environ)


def main() -> None:
    """Run the maintenance in this process, and log failures."""
    settings = read_settings(os.environ, {})
    try:
        table = files.read_toml(os.path.join(settings.home, "config.toml"))
        settings = read_settings(os.environ, table)
        with files.Locked(os.path.join(settings.home, LOCK), timeout_s=0):
            run(Memory.open(settings), settings.episodes_keep_days)
    except TimeoutError:
        return  # another process is running the maintenance
    except (FabricError, OSError, ValueError, sqlite3.Error) as error:
        log.note(settings.home, settings.data_dir, f"maintenance: {error}")


def run(memory: Memory, keep_days: int) -> None:
    """Make due backups, delete old data and leftover files, and demote unconfirmed notes. Turns and
    the content of ingested texts are deleted after `keep_days` days (0: at once).
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
    for path in filesystem.leftovers(filesystem.all_paths(folders), time.time()):
        os.unlink(path)
    memory.close()


def _ago(days: int) -> str:
    return ids.timestamp(time.time() - days * 24 * 3600)
