"""Repair of a damaged database: it is moved aside, then rebuilt from a backup and the journal."""

import os
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from memory_fabric.errors import BadInput, FabricError, NotFound, StoreCorrupt, StoreUnavailable
from memory_fabric.models import Progress
from memory_fabric.store import files, journal, write
from memory_fabric.store.database import SUSPECT, Database, open_database
from memory_fabric.store.operations.rows import UNKNOWN_TYPE
from memory_fabric.store.upkeep import backup
from memory_fabric.text import many

FULL_TEXT = (
    *("entities_fts", "observations_fts", "records_fts", "episodes_fts"),
    *("entities_trigrams", "observations_trigrams"),
)


def rebuild(
    path: str, kind: str, journal_path: str, progress: Progress | None = None
) -> tuple[Database, str]:
    """Replace a damaged or lost database; return the new database and a message for the user. The
    damaged file is renamed to `<name>.corrupt-<time>`, the newest consistent backup is restored,
    and the journal is replayed. If the database is intact after all, only operations that it lacks
    are applied. If a repair is interrupted, the next one completes it. Raises StoreUnavailable.
    """
    try:
        with files.Locked(path + ".repair.lock", timeout_s=30):
            if _is_intact(path, progress):
                db = _open(path, kind)
                missing, _ = replay(db, journal_path, progress)
                text = f"Restored {many(missing, 'change')} from the journal."
                return db, text if missing else ""
            aside = f"{path}.corrupt-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
            for ending in filter(os.path.exists, (f"{path}-wal", f"{path}-shm")):
                os.replace(ending, aside + ending.removeprefix(path))
            aside = aside if files.size_of(path) else ""  # a lost file cannot be moved aside
            if aside:
                os.replace(path, aside)
            files.remove(path + SUSPECT)
            source = next((b for b in backup.list_backups(path) if backup.is_sound(b)), "")
            if source:
                shutil.copyfile(source, path + ".tmp")
                os.chmod(path + ".tmp", 0o600)
                os.replace(path + ".tmp", path)
            db = _open(path, kind)
            applied, refused = replay(db, journal_path, progress)
            rescued = sum(_replayed(db, value) is True for value in _unjournaled(aside))
            origin = f"the backup {os.path.basename(source)}" if source else "no backup"
            damaged = f"A damaged memory was set aside as {aside} and"
            what = damaged if aside else "A lost memory was"
            text = f"{what} rebuilt from {origin} and {applied + rescued} journalled changes."
            return db, text + (f" Unreadable: {many(refused, 'line')}." if refused else "")
    except (OSError, TimeoutError) as error:
        raise StoreUnavailable(path, f"{path} could not be rebuilt: {error}") from error


def replay(db: Database, journal_path: str, progress: Progress | None = None) -> tuple[int, int]:
    """Apply the journal's operations that the database lacks. Return the counts of operations
    applied and of unusable lines. Progress starts at 50 %: `repair_indexes` reports the first half.
    """
    size, read, counts = files.size_of(journal_path), 0, Counter[bool | None]()
    marked: list[tuple[str]] = []
    for line in files.lines_in(journal_path, journal.MAX_JOURNAL_BYTES):
        read += len(line) + 1
        if progress is not None:
            progress(size + read, 2 * size)
        if not line.strip():
            continue
        value = files.parsed(line.decode("utf-8", "replace").removeprefix("\ufeff")) or {}
        # Look up the id first: parsing an operation redacts its texts again, which is far slower.
        known = db.row("SELECT journaled FROM operations WHERE id = ?", (str(value.get("id")),))
        if not known:
            counts[_replayed(db, value)] += 1
        if not (known and known[0]):
            marked.append((str(value.get("id")),))
    with db.transaction() as connection:
        connection.executemany("UPDATE operations SET journaled = 1 WHERE id = ?", marked)
    return counts[True], counts[None]


def _replayed(db: Database, value: Mapping[str, Any]) -> bool | None:
    """Apply a journal line; return True, False (applied before) or None (cannot be applied)."""
    operation = write.from_object(value)
    if operation is None:
        return None
    try:
        return "applied_before" not in write.apply(db, operation)
    except (NotFound, BadInput) as error:
        if operation.kind != "add_observations" or isinstance(error, BadInput):
            return None
    # An entity created by a team member is in no local journal: create it with these observations.
    about = ((item["entityName"], item["contents"]) for item in operation.payload["observations"])
    entities = [{"name": n, "entityType": UNKNOWN_TYPE, "observations": ts} for n, ts in about]
    return _replayed(db, {**value, "kind": "create_entities", "payload": {"entities": entities}})


def _open(path: str, kind: str) -> Database:
    db = open_database(path, kind, create=True)
    assert db is not None
    return db


def _unjournaled(aside: str) -> list[dict[str, Any]]:
    """Return the readable operations of the damaged file `aside` not yet written to the journal."""
    operations: list[dict[str, Any]] = []
    if not aside:
        return operations
    waiting = "SELECT id, kind, payload, provenance FROM operations WHERE journaled = 0"
    try:
        with closing(sqlite3.connect(aside)) as connection:
            for id_, kind, *texts in connection.execute(f"{waiting} ORDER BY seq"):
                payload, provenance = map(files.parsed, texts)
                parts = {"payload": payload, "provenance": provenance}
                operations.append({"id": id_, "kind": kind} | parts)
    except (sqlite3.Error, TypeError):
        return operations  # the remaining rows of the table are unreadable
    return operations


def _is_intact(path: str, progress: Progress | None) -> bool:
    """Return True if the file is not empty and SQLite finds no damage, for instance because another
    process has repaired it. Full-text indexes that do not match are rebuilt.
    """
    if not files.size_of(path):
        return False
    try:
        db = _open(path, "")
        try:
            if db.rows("PRAGMA quick_check") != [("ok",)]:
                return False
            repair_indexes(db, progress)
        finally:
            db.close()
    except FabricError:
        return False
    files.remove(path + SUSPECT)
    return True


def repair_indexes(db: Database, progress: Progress | None = None) -> list[str]:
    """Rebuild the full-text indexes that do not match their tables; return their names."""
    unfit = []
    for number, table in enumerate(FULL_TEXT):
        if progress is not None:
            progress(number, 2 * len(FULL_TEXT))
        if not index_matches(db, table):
            unfit.append(table)
            with db.transaction() as c:
                c.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
    return unfit


def mismatched_indexes(db: Database) -> list[str]:
    """Return the names of the full-text indexes that do not match their tables."""
    return [table for table in FULL_TEXT if not index_matches(db, table)]


def index_matches(db: Database, table: str) -> bool:
    """Return True if a full-text index matches its texts; changes are blocked during the check."""
    try:
        with db.transaction() as c:
            c.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except StoreCorrupt:
        return False
    return True
