"""Backups of a database: created with SQLite's backup API, verified, and rotated."""

import os
import sqlite3
import time
from contextlib import closing

from memory_fabric.models import Progress
from memory_fabric.store import files

KEPT, KEPT_OF_LARGE = 5, 2
SUFFIX = ".db"
# Number of pages copied between two progress reports (8 MB).
PAGES = 2048
# A larger database is backed up weekly instead of daily; newer changes are in the journal.
LARGE_BYTES = 64 << 20
EVERY_S = 24 * 3600
LARGE_EVERY_S = 7 * EVERY_S


def create(path: str, label: str = "", progress: Progress | None = None) -> str:
    """Create a verified backup, delete old ones, return its path. Raises OSError, sqlite3.Error."""
    folder = files.backups_of(path)
    files.make_folder(folder)
    second, fraction = divmod(time.time_ns(), 10**9)  # read the clock once: names must sort by time
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(second)) + f"-{fraction:09d}"
    stem = os.path.splitext(os.path.basename(path))[0]
    copy = os.path.join(folder, f"{stem}-{stamp}{label}{SUFFIX}")
    begun = copy + ".tmp"
    os.close(os.open(begun, os.O_RDWR | os.O_CREAT, 0o600))
    tell = progress or (lambda _done, _of: None)
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(begun)) as target:
            if progress is not None:
                # Use a transaction, because a write by another process would restart the backup.
                source.execute("BEGIN")
                source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            pages = PAGES if progress else -1
            source.backup(target, pages=pages, progress=lambda _, left, of: tell(of - left, of))
            target.execute("PRAGMA journal_mode = DELETE")
        if not is_sound(begun):
            raise sqlite3.DatabaseError(f"the copy of {path} could not be read back")
        os.replace(begun, copy)
    except (OSError, sqlite3.Error, KeyboardInterrupt):
        for ending in (".tmp", ".tmp-journal"):
            files.remove(copy + ending)
        raise
    for old in list_backups(path)[KEPT_OF_LARGE if is_large(path) else KEPT :]:
        os.unlink(old)
    return copy


def list_backups(path: str) -> list[str]:
    """Return the paths of all backups of a database, newest first. Raises OSError."""
    folder, stem = files.backups_of(path), os.path.splitext(os.path.basename(path))[0]
    names = os.listdir(folder) if os.path.lexists(folder) else []
    mine = [name for name in names if name.startswith(f"{stem}-") and name.endswith(SUFFIX)]
    # A backup with a time in the future was made while the clock was wrong: it is the first to go.
    tomorrow = time.strftime(f"{stem}-%Y%m%dT%H%M%S", time.gmtime(time.time() + EVERY_S))
    mine.sort(key=lambda name: (name < tomorrow, name), reverse=True)
    return [os.path.join(folder, name) for name in mine]


def age_s(path: str) -> float | None:
    """Return the age of the newest backup in seconds; None if there is no backup."""
    copies = list_backups(path)
    return time.time() - os.path.getmtime(copies[0]) if copies else None


def is_due(path: str) -> bool:
    """Return True if there is no backup from the last day (for a large database, the last week)."""
    every_s = LARGE_EVERY_S if is_large(path) else EVERY_S
    newest_s = age_s(path)
    return newest_s is None or abs(newest_s) > every_s  # negative after a clock was wrong


def is_large(path: str) -> bool:
    """Return True if a database or backup is too large to be read every day."""
    return files.size_of(path) > LARGE_BYTES


def is_sound(path: str, *, whole: bool = True) -> bool:
    """Return True if SQLite can read a backup and it has tables; `whole` checks all content."""
    try:
        address = f"file:{files.as_address(path)}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            has_tables = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
            check = connection.execute("PRAGMA quick_check").fetchone() if whole else ("ok",)
            return has_tables and bool(check == ("ok",))
    except sqlite3.Error:
        return False
