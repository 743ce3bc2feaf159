"""Writes with priority: a process that asks for the lock until it has it, within a time."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from memory_fabric.errors import StoreUnavailable
from memory_fabric.store import database
from memory_fabric.store.database import Database, open_database
from waiting import until


def opened(path: Path, **how: int) -> Database:
    found = open_database(str(path), "project", create=True, **how)
    assert found is not None
    return found


def test_a_prioritized_writer_waits_until_another_writer_has_finished(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    first, other = opened(path), opened(path)
    first.prioritize_writes()
    first.prioritize_writes()
    begun, done = threading.Event(), threading.Event()

    def write() -> None:
        begun.set()
        with first.transaction() as c:
            c.execute("INSERT INTO meta VALUES ('first', 'a')")
        done.set()

    with other.transaction():
        writer = threading.Thread(target=write)
        writer.start()
        assert begun.wait(60)
        assert not done.is_set()
    writer.join(60)

    assert done.is_set()
    assert other.row("SELECT value FROM meta WHERE key = 'first'") == ("a",)


def without_a_log(path: Path) -> None:
    """Make it a database as on a network disk, where a commit waits for who reads."""
    opened(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    connection.close()


def until_a_writer_waits(path: Path) -> None:
    """Return once somebody waits to commit: no new reader is let in then."""

    def is_kept_out() -> bool:
        try:
            with closing(sqlite3.connect(path, timeout=0)) as knocking:
                knocking.execute("SELECT count(*) FROM meta").fetchone()
        except sqlite3.OperationalError:
            return True
        return False

    until(is_kept_out, "somebody waits")


def test_a_prioritized_writer_waits_for_readers_if_write_ahead_logging_is_off(
    tmp_path: Path,
) -> None:
    path = tmp_path / "graph.db"
    without_a_log(path)
    first, reader = opened(path), opened(path)
    first.prioritize_writes()
    errors: list[Exception] = []

    def write() -> None:
        try:
            with first.transaction() as c:
                c.execute("INSERT INTO meta VALUES ('first', 'a')")
        except StoreUnavailable as error:
            errors.append(error)

    reader.connection.execute("BEGIN")
    reader.rows("SELECT * FROM meta")
    writer = threading.Thread(target=write)
    writer.start()
    until_a_writer_waits(path)
    reader.connection.execute("COMMIT")
    writer.join(60)

    assert errors == []
    assert reader.row("SELECT value FROM meta WHERE key = 'first'") == ("a",)


def test_prioritized_writes_do_not_change_the_timeout_of_reads(tmp_path: Path) -> None:
    db = opened(tmp_path / "graph.db", busy_ms=1234)
    db.prioritize_writes()
    with db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('first', 'a')")

    assert db.row("PRAGMA busy_timeout") == (1234,)


def test_a_prioritized_writer_gives_up_after_the_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_MS", 50)
    first, other = opened(tmp_path / "graph.db"), opened(tmp_path / "graph.db")
    first.prioritize_writes()

    with (
        other.transaction(),
        pytest.raises(StoreUnavailable, match="Another process is writing"),
        first.transaction(),
    ):
        raise AssertionError("two held the lock")
