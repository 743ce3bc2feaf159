"""SQLite database files: opening, journal mode, migration, transactions, error translation."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from itertools import chain
from typing import Any

from memory_fabric import deadline, errors
from memory_fabric.errors import DeadlinePassed, StoreCorrupt, StoreReadOnly, StoreUnavailable
from memory_fabric.models import Graph
from memory_fabric.store import files, schema
from memory_fabric.store.files import as_address
from memory_fabric.store.home import launch_marks

# Milliseconds to wait for another writer's lock; a hook waits no longer than its event allows.
BUSY_MS = 5000
# For `prioritize_writes`: seconds between attempts to get the lock, and the number of pages in the
# write-ahead log after which this process writes a checkpoint.
ASK_S, PAGES_OF_OTHERS = 0.0005, 16_000
# The key of a temporary row in `meta` that is written to test if the database is writable.
PROOF = "proof"
# SQLite virtual-machine steps between two checks of the deadline.
STEPS_PER_CHECK = 5000
# The suffix of a file that marks a database as damaged; the next writer checks that database.
SUSPECT = ".suspect"
# Seconds of retrying to set a new file's journal mode, as SQLite does not wait for a locked file.
SWITCH_S = 2.0

_BUSY, _CORRUPT = ("SQLITE_BUSY", "SQLITE_LOCKED"), ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_REFUSED = ("SQLITE_CONSTRAINT", "SQLITE_TOOBIG", "SQLITE_MISMATCH", "SQLITE_RANGE")
_READ_ONLY = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
_DISK = "It may be full, over a quota, or failing."
# Prefixes of SQLite's error names, each with the class, message and remedy of our error.
_ERRORS: tuple[tuple[tuple[str, ...], type[StoreUnavailable], str, str], ...] = (
    (_CORRUPT, StoreCorrupt, "{path} is damaged.", "Run memory-fabric repair."),
    (_READ_ONLY, StoreReadOnly, "{path} cannot be written.", "Check its permissions."),
    (("SQLITE_FULL",), StoreUnavailable, "The disk is full.", "Free some space."),
    (_BUSY, StoreUnavailable, "Another process is writing this memory.", ""),
    (("SQLITE_IOERR",), StoreUnavailable, "The disk refused {path}: {error}.", _DISK),
    (_REFUSED, errors.StoreRefuses, "{path}: {error}.", ""),
)
Values = Sequence[Any]


class Database:
    """An open "project" or "user" database. A `newer` release's schema makes it read-only."""

    def __init__(self, path: str, kind: str, connection: sqlite3.Connection) -> None:
        self.path, self.kind, self.connection = path, kind, connection
        connection.isolation_level = None
        self.newer = False
        self.read_only = False
        # True for a connection to a copy in memory, which does not see later changes of the file.
        self.is_copy = False
        # True if temporary SQL views hide the rows of some domains (store.scoped_memory).
        self.is_scoped = False
        # The reason why the database is read-only for now; the next use tries to open it again.
        self.stopgap = ""
        self.synchronous = ""
        # True during work of which only the last commit must be durable; lost steps are repeated.
        self.waits_for_last = False
        # A cache for `graph.read_if_small`: the data's version, and the graph (None if too large).
        self.kept: tuple[tuple[int, int], Graph | None] | None = None
        # True if transactions poll for the write lock instead of using SQLite's timeout.
        self.prioritized = False
        self.busy_ms = -1
        # For `commit_held`: whether commits are postponed, how many, whether one must be durable.
        self.held, self.held_parts, self.held_durable = False, 0, False
        self._file = _identity(path)

    def wait_within_limits(self) -> None:
        """Limit SQLite's busy timeout to the time that remains for the current event."""
        limit = deadline.current()
        if limit.is_limited:
            busy_ms = int(limit.wait_s(BUSY_MS / 1000) * 1000)
            if busy_ms != self.busy_ms:
                self.connection.execute(f"PRAGMA busy_timeout = {busy_ms}")
                self.busy_ms = busy_ms

    def prioritize_writes(self) -> None:
        """Poll often for the write lock, to get it although another process writes constantly."""
        if not self.prioritized:
            self.connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_OF_OTHERS}")
            self.prioritized = True

    def is_current(self) -> bool:
        """Return True if the path still leads to the opened file (by device and inode)."""
        return self._file == _identity(self.path)

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query. Raises StoreUnavailable or DeadlinePassed."""
        try:
            self.wait_within_limits()
            return self.connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            failure = translated(self.path, error)
            if isinstance(failure, StoreCorrupt):
                mark_suspect(self.path)
            raise failure from error

    def row(self, sql: str, values: Values = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None. Raises the same errors as `rows`."""
        return next(iter(self.rows(sql, values)), None)

    def transaction(self, *, durable: bool = True) -> Transaction:
        """Return a `Transaction`; if not `durable`, a power failure may undo its changes."""
        return Transaction(self, durable)

    def prove(self, size: int) -> None:
        """Test if `size` bytes can be written; raise the error if not. 0 tests only the lock."""
        if not size:
            with self.transaction():
                return
        with self.transaction() as connection:
            # Write random data, because a compressing file system needs almost no space for zeros.
            connection.execute(
                "INSERT OR REPLACE INTO meta VALUES (?, hex(randomblob(?)))", (PROOF, size // 2)
            )
        with self.transaction(durable=False) as connection:
            connection.execute("DELETE FROM meta WHERE key = ?", (PROOF,))

    def commit_held(self, mark: str, value: str) -> None:
        """Commit an event's postponed changes and `meta[mark] = value`. Raises StoreUnavailable."""
        connection, durable = self.connection, self.held_durable
        self.held_parts, self.held_durable = 0, False
        if not connection.in_transaction:  # after an error, SQLite has rolled back all changes
            raise StoreUnavailable(self.path, "The changes of this event were undone.")
        try:
            if mark:
                connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (mark, value))
            launch_marks.update(connection, self.path)
            connection.execute("COMMIT")
            if durable:
                files.sync(self.path + "-wal")
        except (sqlite3.Error, OSError) as error:
            raise translated(self.path, error) from error

    def data_version(self) -> int:
        """Return a number that changes when another connection commits."""
        return int(self.rows("PRAGMA data_version")[0][0])

    def check_point(self) -> None:
        """Copy as much of the write-ahead log into the database as readers permit. Never raises."""
        try:
            self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error:
            return  # a later check-point copies the remaining pages

    def close(self) -> None:
        """Close the connection; a file's last connection also checkpoints the write-ahead log."""
        self.connection.close()


class Transaction:
    """A context manager for BEGIN IMMEDIATE … COMMIT; yields the connection, translates errors."""

    def __init__(self, database: Database, durable: bool) -> None:
        self.database, self.durable = database, durable and not database.waits_for_last
        self.is_part = False

    def __enter__(self) -> sqlite3.Connection:
        if not self.database.is_current():
            problem = f"{self.database.path} was removed or replaced."
            raise StoreUnavailable(self.database.path, problem, remedy="Run memory-fabric repair.")
        # Refuse: a read-only database may be a copy in memory, whose changes would be lost.
        if self.database.read_only:
            problem = self.database.stopgap or f"{self.database.path} cannot be written."
            remedy = "" if self.database.stopgap else "Check its permissions."
            raise StoreReadOnly(self.database.path, problem, remedy=remedy)
        connection = self.database.connection
        try:
            self.is_part = self.database.held and connection.in_transaction
            if self.is_part:
                deadline.current().check("a change")
                connection.execute("SAVEPOINT part")
                return connection
            # In WAL mode, `synchronous = NORMAL` is enough if a power failure may undo the changes.
            level = "FULL" if self.durable else "NORMAL"
            if self.database.synchronous != level:
                (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
                level = level if mode == "wal" else "FULL"
                connection.execute(f"PRAGMA synchronous = {level}")
                self.database.synchronous = level
            self._begin(connection)
            # Stop if another process has migrated the file to a newer schema since it was opened.
            self.database.newer = _version(connection) > schema.LATEST
            if self.database.newer:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise translated(self.database.path, error) from error
        if self.database.newer:
            problem = "A newer memory-fabric has changed this memory."
            remedy = "Restart Claude Code so that every process runs the same release."
            raise errors.StoreNewer(self.database.path, problem, remedy=remedy)
        return connection

    def __exit__(self, kind: type[BaseException] | None, error: Any, _trace: object) -> None:
        connection = self.database.connection
        if self.database.held and (self.is_part or not kind):
            undone = bool(kind)
            if undone and connection.in_transaction:
                connection.execute("ROLLBACK TO part")
            if self.is_part and connection.in_transaction:
                connection.execute("RELEASE part")
            if not undone:
                self.database.held_parts += 1
                self.database.held_durable |= self.durable and self.database.synchronous != "FULL"
            if isinstance(error, sqlite3.Error):
                raise translated(self.database.path, error) from error
            return
        if not kind:
            launch_marks.update(connection, self.database.path)
        try:
            connection.execute("ROLLBACK" if kind else "COMMIT")
        except sqlite3.Error as failure:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if not kind:
                raise translated(self.database.path, failure) from failure
        if isinstance(error, sqlite3.Error):
            raise translated(self.database.path, error) from error

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Acquire the write lock within the event's time limit or, if `prioritized`, by polling."""
        if not self.database.prioritized:
            deadline.current().check("a change")
            self.database.wait_within_limits()
            connection.execute("BEGIN IMMEDIATE")
            return
        # Only BEGIN polls. COMMIT needs the timeout: without a write-ahead log, it awaits readers.
        (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")
        give_up = time.monotonic() + BUSY_MS / 1000
        try:
            while True:
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as error:
                    is_busy = error.sqlite_errorname.startswith("SQLITE_BUSY")
                    if not is_busy or time.monotonic() >= give_up:
                        raise
                time.sleep(ASK_S)
        finally:
            connection.execute(f"PRAGMA busy_timeout = {before}")


def open_database(path: str, kind: str, *, create: bool, busy_ms: int = BUSY_MS) -> Database | None:
    """Open a database and migrate it to the latest schema. If the file is missing, create it if
    `create`, else return None. The deadline interrupts queries, not migrations; if it is `hurried`,
    because the user waits, an old schema is an error. Raises StoreUnavailable, DeadlinePassed.
    """
    if not os.path.exists(path):
        if not create:
            return None
        try:
            files.make_folder(os.path.dirname(path))
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            why = f"{path} cannot be made: {error.strerror}."
            raise StoreReadOnly(path, why, remedy="Check MEMORY_FABRIC_HOME.") from error
    expect_file(path)
    try:
        return _prepared(_connected(path, kind, busy_ms))
    except StoreUnavailable as error:
        cause = getattr(error.__cause__, "sqlite_errorname", "") or ""
        if not cause.startswith(("SQLITE_IOERR", "SQLITE_FULL", "SQLITE_CANTOPEN")):
            raise
        # If SQLite cannot create its side files, for instance on a full disk, open read-only.
        database = _prepared(_connected(path, kind, busy_ms, read_only=True))
        database.stopgap = str(error)
        return database


def open_to_look(path: str, kind: str) -> Database | None:
    """Open a database read-only, even with an old schema; return None if the file is missing."""
    if not os.path.exists(path):
        return None
    expect_file(path)
    address = f"file:{as_address(path)}?mode=ro"
    try:
        connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise translated(path, error) from error
    database = Database(path, kind, connection)
    database.read_only = True
    return database


def open_to_show(path: str, kind: str) -> Database | None:
    """Open a database read-only; if it is old, migrate a copy in memory. Return None if missing."""
    database = open_to_look(path, kind)
    return _prepared(database) if database else None


def _prepared(database: Database) -> Database:
    try:
        version = _version(database.connection)
        database.newer = version > schema.LATEST
        if version < schema.LATEST:
            _migrate(database, version)
        database.connection.execute("PRAGMA foreign_keys = ON")
        # Check the deadline during queries. Python then also runs signal handlers, so Ctrl-C works.
        database.connection.set_progress_handler(deadline.is_over, STEPS_PER_CHECK)
    except (sqlite3.Error, OSError) as error:
        database.close()
        raise translated(database.path, error) from error
    except BaseException:
        database.close()
        raise
    return database


def expect_file(path: str) -> None:
    """Raise StoreUnavailable if the path is a pipe or device, because SQLite might block on it."""
    try:
        files.expect_regular(*(path + ending for ending in ("", "-wal", "-shm", "-journal")))
    except OSError as error:
        raise StoreUnavailable(path, str(error), remedy="Move it away.") from error


def is_lost(path: str, journal_path: str) -> bool:
    """Return True if the database is missing or empty, but its journal or backups still exist."""
    if files.size_of(path):
        return False
    return bool(files.size_of(journal_path)) or os.path.isdir(files.backups_of(path))


def mark_suspect(path: str) -> None:
    """Mark a database as damaged, so that the next process with enough time repairs it."""
    try:
        os.close(os.open(path + SUSPECT, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError:
        return  # read-only folder; a process that can repair the file detects the damage itself


def is_suspect(path: str) -> bool:
    """Return True if a process has marked this database as damaged."""
    return os.path.exists(path + SUSPECT)


def translated(path: str, error: sqlite3.Error | OSError) -> StoreUnavailable | DeadlinePassed:
    """Return our error for an SQLite or disk error; raise KeyboardInterrupt if Ctrl-C caused it."""
    name, limit = getattr(error, "sqlite_errorname", "") or "", deadline.current()
    if name.startswith("SQLITE_INTERRUPT"):
        if not limit.is_limited:
            raise KeyboardInterrupt
        return DeadlinePassed("The time for this event was over.")
    if name.startswith(_BUSY) and limit.is_limited:
        limit.lock_s = 0.0  # wait for no database lock again during this event
    for beginnings, kind, sentence, remedy in _ERRORS:
        if name.startswith(beginnings):
            return kind(path, sentence.format(path=path, error=error), remedy=remedy)
    return StoreUnavailable(path, f"{path}: {error}.")


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_writable(path: str) -> bool:
    """Return True if this process may write the database at `path` and create files beside it."""
    return os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)


def _connected(path: str, kind: str, busy_ms: int, *, read_only: bool = False) -> Database:
    read_only = read_only or not is_writable(path)
    address, connection = f"file:{as_address(path)}?mode=ro", None
    try:
        if not read_only:
            busy_ms = int(deadline.current().wait_s(busy_ms / 1000) * 1000)
            connection = sqlite3.connect(path, timeout=busy_ms / 1000, check_same_thread=False)
        elif files.size_of(path + "-wal"):
            connection = sqlite3.connect(address, uri=True, check_same_thread=False)
            try:
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            except sqlite3.OperationalError:  # the write-ahead log is not readable
                connection.close()
                connection = None
        if connection is None:  # there is no write-ahead log, or it cannot be read
            address += "&immutable=1"
            connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise translated(path, error) from error
    database = Database(path, kind, connection)
    database.read_only = read_only
    database.busy_ms = -1 if read_only else busy_ms
    return database


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _migrate(database: Database, version: int) -> None:
    if 0 < version < schema.OLDEST:
        problem = f"{database.path} was written by a version from before the first release."
        remedy = "Export it with that version, move it away, and import the export."
        raise StoreUnavailable(database.path, problem, remedy=remedy)
    if version and deadline.current().hurried:
        problem = "This memory is of an older release and has not been brought up to date yet."
        remedy = "The next session start does it, or memory-fabric status."
        raise StoreUnavailable(database.path, problem, remedy=remedy)
    if database.read_only:  # a read-only database is migrated as a copy in memory
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        database.connection.backup(copy)
        database.connection.close()
        database.connection, database.is_copy = copy, True
    elif version:
        from memory_fabric.store.upkeep import backup  # imported only for a migration

        backup.create(database.path, f"-v{version}")
    if not version:
        _choose_journal(database.connection)
    database.connection.execute("BEGIN IMMEDIATE")
    # Read the version again, because another process may have migrated the database first.
    version = _version(database.connection)
    if version < schema.LATEST:
        later = range(version + 1, schema.LATEST + 1)
        steps = [schema.STEPS[number] for number in later] if version else []
        for statement in chain(*steps) if steps else schema.whole().split("\n\n"):
            database.connection.execute(statement)
        database.connection.execute(f"PRAGMA user_version = {schema.LATEST}")
    database.connection.execute("COMMIT")


def _choose_journal(connection: sqlite3.Connection) -> None:
    give_up = time.monotonic() + deadline.current().wait_s(SWITCH_S)
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            # If another process creates the file too, SQLite fails instead of waiting: retry.
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.005)
