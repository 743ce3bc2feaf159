"""Transactions: their errors, their waits for locks, and when they reach the disk."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

from memory_fabric.deadline import Deadline, running
from memory_fabric.errors import (
    DeadlinePassed,
    StoreCorrupt,
    StoreReadOnly,
    StoreRefuses,
    StoreUnavailable,
)
from memory_fabric.store import database
from memory_fabric.store.database import Database, open_database


def opened(path: Path, **how: float | int | None) -> Database:
    found = open_database(str(path), "project", create=True, **how)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_transaction_waits_for_another_writer_no_longer_than_configured(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    first, second = opened(path), opened(path, busy_ms=50)
    with first.transaction():
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="Another process"), second.transaction():
            raise AssertionError("two writers")
        assert time.monotonic() - began < 5
        assert second.rows("SELECT * FROM meta") == []


def test_a_query_past_its_deadline_is_interrupted(tmp_path: Path) -> None:
    db = opened(tmp_path / "graph.db")
    db.connection.set_progress_handler(lambda: True, 1000)
    endless = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    )
    with running(Deadline(3600)), pytest.raises(DeadlinePassed):
        db.rows(endless)
    with pytest.raises(KeyboardInterrupt):  # without a deadline only Ctrl-C ends a query
        db.rows(endless)
    opened(tmp_path / "other.db").close()
    for limit in (Deadline(-1), Deadline(3600, work_s=-1)):
        with running(limit):
            late = opened(tmp_path / "other.db")
            with pytest.raises(DeadlinePassed):
                late.rows(endless)
            with pytest.raises(DeadlinePassed, match="before a change"), late.transaction():
                raise AssertionError("begun")
        assert late.rows("SELECT 1") == [(1,)]


def test_an_error_within_a_transaction_or_its_commit_rolls_it_back(tmp_path: Path) -> None:
    db = opened(tmp_path / "graph.db")
    with pytest.raises(ValueError, match="mine"), db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('a', 'b')")
        raise ValueError("mine")
    with pytest.raises(StoreUnavailable), db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('a', 'b')")
        c.execute("INSERT INTO meta VALUES ('a', 'b')")
    with pytest.raises(StoreRefuses), db.transaction() as c:
        c.execute("PRAGMA defer_foreign_keys = ON")  # so that the commit itself fails
        c.execute("INSERT INTO aliases (key, alias, entity) VALUES ('x', 'x', 999)")
    assert db.rows("SELECT * FROM meta") == []
    assert not db.connection.in_transaction


def test_writing_to_an_open_database_is_refused_after_its_file_was_removed(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    db = opened(path)
    path.unlink()
    assert not db.is_current()
    with pytest.raises(StoreUnavailable, match="removed"), db.transaction():
        raise AssertionError("written into nowhere")


def test_a_refused_write_gives_the_reason_why_the_database_is_read_only(tmp_path: Path) -> None:
    db = opened(tmp_path / "graph.db")
    db.read_only = True

    with pytest.raises(StoreReadOnly, match="cannot be written") as forbidden, db.transaction():
        raise AssertionError("written")
    db.stopgap = "The disk is full."
    with pytest.raises(StoreReadOnly) as full, db.transaction():
        raise AssertionError("written")

    assert forbidden.value.remedy == "Check its permissions."
    assert str(full.value) == "The disk is full."


def failed(name: str) -> sqlite3.Error:
    """An error as SQLite raises it, with the name of its extended result code."""
    error = sqlite3.OperationalError("no luck")
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("SQLITE_CORRUPT_VTAB", StoreCorrupt, "damaged"),
        ("SQLITE_NOTADB", StoreCorrupt, "damaged"),
        ("SQLITE_READONLY_DIRECTORY", StoreReadOnly, "permissions"),
        ("SQLITE_CANTOPEN", StoreReadOnly, "permissions"),
        ("SQLITE_FULL", StoreUnavailable, "disk is full"),
        ("SQLITE_BUSY_SNAPSHOT", StoreUnavailable, "Another process"),
        ("SQLITE_LOCKED", StoreUnavailable, "Another process"),
        ("SQLITE_IOERR_WRITE", StoreUnavailable, "no luck"),
        ("SQLITE_TOOBIG", StoreRefuses, "no luck"),
        ("SQLITE_ERROR", StoreUnavailable, "no luck"),
    ],
)
def test_an_error_of_sqlite_is_reported_by_its_cause(
    name: str, kind: type[StoreUnavailable], said: str
) -> None:
    found = database.translated("/x.db", failed(name))

    assert type(found) is kind
    assert found.path == "/x.db" and said in str(found)


def test_an_event_waits_for_no_further_lock_after_one_timed_out() -> None:
    busy, limited, unlimited = failed("SQLITE_BUSY"), Deadline(3600, lock_s=7.0), Deadline()
    with running(unlimited):
        database.translated("/x.db", busy)
    with running(limited):
        database.translated("/x.db", failed("SQLITE_FULL"))
        before = limited.lock_s
        database.translated("/x.db", busy)

    assert (before, limited.lock_s) == (7.0, 0.0)
    assert unlimited.lock_s > 7.0


def test_sqlite_waits_for_a_lock_no_longer_than_the_event_permits(tmp_path: Path) -> None:
    timeout, path = "PRAGMA busy_timeout", tmp_path / "graph.db"
    db = opened(path)
    assert db.row(timeout) == (database.BUSY_MS,)
    for lock_s, expected_ms in ((0.25, 250), (60.0, database.BUSY_MS)):
        with running(Deadline(3600, lock_s=lock_s)):
            assert db.row(timeout) == opened(path).row(timeout) == (expected_ms,)


def level_after(db: Database, *, durable: bool) -> object:
    with db.transaction(durable=durable):
        pass
    return db.row("PRAGMA synchronous")


def test_only_durable_changes_with_a_write_ahead_log_wait_for_the_disk(tmp_path: Path) -> None:
    db = opened(tmp_path / "graph.db")
    full, normal = (2,), (1,)

    assert level_after(db, durable=False) == normal
    assert level_after(db, durable=True) == full
    db.waits_for_last = True
    assert level_after(db, durable=True) == normal
    db.close()
    connection = sqlite3.connect(tmp_path / "graph.db")
    connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    connection.close()
    assert level_after(opened(tmp_path / "graph.db"), durable=False) == full


def put(db: Database, key: str, *, durable: bool = True) -> None:
    with db.transaction(durable=durable) as c:
        c.execute("INSERT INTO meta VALUES (?, '')", (key,))


def keys(db: Database) -> list[str]:
    return [row[0] for row in db.rows("SELECT key FROM meta ORDER BY key")]


def test_the_changes_of_an_event_are_committed_together_without_those_that_failed(
    tmp_path: Path,
) -> None:
    db, other = opened(tmp_path / "graph.db"), opened(tmp_path / "graph.db")
    db.held = True
    with pytest.raises(ValueError, match="first"), db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('failed', '')")
        raise ValueError("first")
    assert (db.held_parts, db.connection.in_transaction) == (0, False)

    put(db, "a")
    with pytest.raises(ValueError, match="mine"), db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('failed', '')")
        raise ValueError("mine")
    with pytest.raises(StoreRefuses):
        put(db, "a")
    put(db, "b")
    with running(Deadline(-1)), pytest.raises(DeadlinePassed):
        put(db, "late")
    assert (db.held_parts, keys(db), keys(other)) == (2, ["a", "b"], [])

    db.commit_held("mark", "done")
    assert (db.held_parts, keys(other)) == (0, ["a", "b", "mark"])
    put(db, "c")
    db.commit_held("", "done")
    assert keys(other) == ["a", "b", "c", "mark"]
    with pytest.raises(StoreUnavailable, match="were undone"):
        db.commit_held("mark", "again")


def test_a_durable_change_among_others_of_an_event_is_synced_when_they_are_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, synced = opened(tmp_path / "graph.db"), list[int]()
    db.held = True
    monkeypatch.setattr(os, "fsync", synced.append)

    def syncs(*durable: bool) -> int:
        synced.clear()
        for is_durable in durable:
            put(db, f"k{len(keys(db))}", durable=is_durable)
        db.commit_held("", "")
        return len(synced)

    assert syncs(False, False) == 0
    assert syncs(False, True, False) == 1
    assert syncs(True, False) == 0  # SQLite itself syncs this commit
    assert syncs(False) == 0
