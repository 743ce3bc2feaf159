"""One database: made by whoever is first, migrated, and honest about what is wrong with it."""

from __future__ import annotations

import gzip
import os
import sqlite3
import stat
import time
from pathlib import Path

import pytest

from memory_fabric.deadline import Deadline, running
from memory_fabric.errors import (
    DeadlinePassed,
    StoreCorrupt,
    StoreNewer,
    StoreReadOnly,
    StoreRefuses,
    StoreUnavailable,
)
from memory_fabric.ids import new_id
from memory_fabric.models import Operation
from memory_fabric.store import database, schema, write
from memory_fabric.store.database import Database, open_database
from memory_fabric.store.files import as_address
from memory_fabric.store.queries import graph
from memory_fabric.store.upkeep import backup
from store.support import USER, World


def opened(path: Path, **how: float | int | None) -> Database:
    found = open_database(str(path), "project", create=True, **how)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_database_is_created_for_its_owner_with_a_write_ahead_log(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "graph.db"
    db = opened(path)
    assert db.row("PRAGMA user_version") == (schema.LATEST,)
    assert db.row("PRAGMA journal_mode") == ("wal",)
    assert db.row("PRAGMA synchronous") == (2,)
    assert db.row("PRAGMA foreign_keys") == (1,)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_missing_database_is_not_created_unless_requested(tmp_path: Path) -> None:
    assert open_database(str(tmp_path / "graph.db"), "project", create=False) is None
    assert os.listdir(tmp_path) == []


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / "graph.db").write_bytes(b"")
    db = open_database(str(tmp_path / "graph.db"), "project", create=False)
    assert db is not None and db.rows("SELECT * FROM entities") == []


CREATE = """
import sys
from memory_fabric.store.database import open_database
sys.stdin.readline()
db = open_database(sys.argv[1], "project", create=True)
with db.transaction() as c:
    c.execute("INSERT INTO meta VALUES (?, '')", (sys.argv[2],))
"""


def test_eight_processes_create_one_database_concurrently(tmp_path: Path) -> None:
    world, path = World(tmp_path / "w"), tmp_path / "home" / "graph.db"
    processes = [world.start(CREATE, str(path), str(i)) for i in range(8)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
    assert opened(path).row("SELECT count(*) FROM meta") == (8,)
    assert sorted(os.listdir(path.parent)) == ["graph.db", "graph.db-shm", "graph.db-wal"]


def test_an_older_schema_is_migrated_after_a_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.db"
    old = opened(path)
    with old.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('kept', 'yes')")
    old.close()
    step = ("CREATE TABLE later (x)", "INSERT INTO later VALUES (1)")
    monkeypatch.setattr(schema, "STEPS", {**schema.STEPS, schema.LATEST + 1: step})
    monkeypatch.setattr(schema, "LATEST", schema.LATEST + 1)
    db = opened(path)
    assert db.rows("SELECT * FROM later") == [(1,)]
    assert db.row("SELECT value FROM meta") == ("yes",)
    [copy] = backup.list_backups(str(path))
    assert copy.endswith(f"-v{schema.LATEST - 1}.db") and backup.is_sound(copy)


def test_a_damaged_backup_is_detected_even_if_its_path_contains_special_characters(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "50% #1?x"
    folder.mkdir()
    opened(folder / "graph.db").close()

    copy = backup.create(str(folder / "graph.db"))
    sound = backup.is_sound(copy)
    Path(copy).write_bytes(b"no database")

    assert (sound, backup.is_sound(copy)) == (True, False)


def schema_of(db: Database) -> list[tuple[str, str, str]]:
    parts = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY 2"
    return [(kind, name, " ".join(sql.split())) for kind, name, sql in db.rows(parts)]


STORED = sorted((Path(__file__).parent / "databases").glob("v*.db.gz"))


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.name)
def test_a_database_of_every_earlier_release_is_migrated(tmp_path: Path, stored: Path) -> None:
    path = tmp_path / "graph.db"
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    db = opened(path)
    assert db.row("PRAGMA user_version") == (schema.LATEST,)
    assert db.row("PRAGMA integrity_check") == ("ok",)
    fresh = opened(tmp_path / "fresh.db")
    assert schema_of(db) == schema_of(fresh)
    [api] = graph.open_nodes(db, ["api"]).entities
    assert api.observations == ("answers within 50 ms", "läuft auf Port 8080 / 缓存")
    (first,), (second,) = db.rows("SELECT id FROM records WHERE scope <> 'local' ORDER BY seq")
    edge = "SELECT type FROM relations"
    assert db.rows(edge) == [("uses",)]
    for record, left in ((first, [("uses",)]), (second, [])):
        write.apply(db, Operation(new_id(), "forget", {"ids": [record]}, USER._replace(at="2026")))
        assert db.rows(edge) == left


def test_a_migration_discards_old_estimates_of_whether_a_memory_was_used(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    path.write_bytes(gzip.decompress((STORED[0].parent / "v9.db.gz").read_bytes()))
    before = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    estimated = before.execute("SELECT memory, used FROM told").fetchall()
    before.close()

    kept = opened(path).rows("SELECT memory, followed, judged_at FROM told")

    assert estimated == [("record:1", 1)]
    assert kept == [("record:1", None, "")]


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.name)
def test_an_unwritable_database_with_an_older_schema_can_still_be_read(
    tmp_path: Path, stored: Path
) -> None:
    world = World(tmp_path)
    path = tmp_path / "old" / "graph.db"
    path.parent.mkdir()
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    path.chmod(0o400)
    path.parent.chmod(0o500)

    said = world.run(READ_OLD, str(path), strict=True)

    assert said.split("\n")[:2] == ["api True", "StoreReadOnly"]
    assert os.listdir(path.parent) == ["graph.db"]
    assert path.read_bytes() == gzip.decompress(stored.read_bytes())


READ_OLD = """
import sys
from memory_fabric.errors import StoreReadOnly
from memory_fabric.store.queries import graph
from memory_fabric.store.database import open_database
db = open_database(sys.argv[1], "project", create=False)
print(graph.open_nodes(db, ["api"]).entities[0].name, db.read_only)
try:
    with db.transaction() as c:
        c.execute("DELETE FROM entities")
except StoreReadOnly:
    print("StoreReadOnly")
"""


def test_a_process_that_the_user_is_waiting_for_does_not_migrate_a_database(
    tmp_path: Path,
) -> None:
    path = tmp_path / "graph.db"
    path.write_bytes(gzip.decompress(STORED[0].read_bytes()))

    hurried = Deadline(60, hurried=True)
    with running(hurried), pytest.raises(StoreUnavailable, match="older release"):
        opened(path)

    assert backup.list_backups(str(path)) == []
    assert opened(path).row("PRAGMA user_version") == (schema.LATEST,)
    with running(hurried):
        opened(path)


def test_the_repository_contains_a_test_database_for_every_earlier_schema() -> None:
    versions = range(schema.OLDEST, schema.LATEST)
    assert [path.name for path in STORED] == [f"v{n}.db.gz" for n in versions]


@pytest.mark.parametrize("version", range(1, schema.OLDEST))
def test_a_database_from_before_the_first_release_is_refused_without_being_changed(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "graph.db"
    connection = sqlite3.connect(path)
    connection.executescript(f"CREATE TABLE records (id); PRAGMA user_version = {version}")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(StoreUnavailable, match="before the first release") as raised:
        opened(path)

    assert not isinstance(raised.value, StoreCorrupt) and "import the export" in raised.value.remedy
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["graph.db"]


def test_migrating_a_database_of_the_oldest_supported_schema_loses_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    stored = Path(__file__).parents[1] / "hooks/handlers/home_of_5c9b80fb.db.gz"
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    before = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    assert before.execute("PRAGMA user_version").fetchone() == (schema.OLDEST,)
    named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%fts%'"
    rows = {
        table: before.execute(f'SELECT * FROM "{table}"').fetchall()
        for (table,) in before.execute(f"{named} AND name NOT LIKE '%trigrams%'").fetchall()
    }
    before.close()

    db = opened(path)

    assert db.row("PRAGMA user_version") == (schema.LATEST,) and sum(map(len, rows.values())) > 20
    for table, expected in rows.items():
        width = len(expected[0]) if expected else 0
        assert [row[:width] for row in db.rows(f'SELECT * FROM "{table}"')] == expected, table
    [copy] = backup.list_backups(str(path))
    assert copy.endswith(f"-v{schema.OLDEST}.db") and backup.is_sound(copy)


def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.db"
    opened(path).close()
    step = ("CREATE TABLE later (x)", "NO SQL")
    version = schema.LATEST
    monkeypatch.setattr(schema, "STEPS", {**schema.STEPS, schema.LATEST + 1: step})
    monkeypatch.setattr(schema, "LATEST", version + 1)
    with pytest.raises(StoreUnavailable):
        opened(path)
    monkeypatch.undo()
    db = opened(path)
    assert db.row("PRAGMA user_version") == (version,)
    assert db.rows("SELECT name FROM sqlite_master WHERE name = 'later'") == []


def test_a_database_with_a_newer_schema_can_be_read_but_not_written(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    opened(path).connection.execute(f"PRAGMA user_version = {schema.LATEST + 1}")
    db = opened(path)
    assert db.newer
    assert db.rows("SELECT * FROM entities") == []
    with pytest.raises(StoreNewer, match="Restart"), db.transaction():
        raise AssertionError("written")


def test_a_process_stops_writing_when_the_database_gets_a_newer_schema(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    live = opened(path)
    with live.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('before', '')")
    opened(path).connection.execute(f"PRAGMA user_version = {schema.LATEST + 1}")

    with pytest.raises(StoreNewer, match="Restart"), live.transaction():
        raise AssertionError("written")

    assert live.newer
    assert live.rows("SELECT key FROM meta") == [("before",)]


@pytest.mark.parametrize(
    "data", [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000, b"x" * 600]
)
def test_a_file_that_is_not_a_database_is_reported_as_damaged(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "graph.db"
    path.write_bytes(data)
    with pytest.raises(StoreCorrupt, match="repair") as raised:
        opened(path)
    assert raised.value.path == str(path)


def test_a_pipe_in_place_of_a_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    os.mkfifo(path)

    with pytest.raises(StoreUnavailable) as error:
        open_database(str(path), "project", create=True)

    assert error.value.remedy == "Move it away."


def test_a_database_is_marked_for_repair_if_a_read_finds_damage(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    db = opened(path)
    with db.transaction() as c:
        c.executemany("INSERT INTO meta VALUES (?, ?)", [(str(i), "x" * 500) for i in range(200)])
    db.close()
    with open(path, "r+b") as stream:
        stream.seek(os.path.getsize(path) - 12 * 4096)
        stream.write(b"\xff" * 12 * 4096)
    db = opened(path)
    with pytest.raises(StoreCorrupt):
        db.rows("SELECT * FROM meta")
    assert database.is_suspect(str(path))


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


def test_an_error_within_a_transaction_rolls_back_the_transaction(tmp_path: Path) -> None:
    db = opened(tmp_path / "graph.db")
    with pytest.raises(ValueError, match="mine"), db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('a', 'b')")
        raise ValueError("mine")
    with pytest.raises(StoreUnavailable), db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('a', 'b')")
        c.execute("INSERT INTO meta VALUES ('a', 'b')")
    assert db.rows("SELECT * FROM meta") == []
    assert not db.connection.in_transaction


def test_writing_to_an_open_database_is_refused_after_its_file_was_removed(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    db = opened(path)
    path.unlink()
    assert not db.is_current()
    with pytest.raises(StoreUnavailable, match="removed"), db.transaction():
        raise AssertionError("written into nowhere")


def test_a_database_path_below_a_file_is_reported_as_not_writable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreReadOnly, match="MEMORY_FABRIC_HOME"):
        opened(tmp_path / "file" / "graph.db")
    with pytest.raises(StoreUnavailable):
        opened(tmp_path)


READ_ONLY = """
import sys
from memory_fabric.errors import StoreReadOnly, StoreUnavailable
from memory_fabric.store.database import open_database
db = open_database(sys.argv[1], "project", create=True)
print(db.read_only, [row[0] for row in db.rows("SELECT key FROM meta ORDER BY key")])
try:
    with db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('c', '')")
except StoreUnavailable as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("still_open", [False, True])
def test_a_database_in_a_read_only_folder_is_read_including_the_newest_commits(
    tmp_path: Path, still_open: bool
) -> None:
    world, path = World(tmp_path / "w"), tmp_path / "home" / "graph.db"
    db = opened(path)
    with db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('a', '')")
    if not still_open:
        db.close()
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        said = world.run(READ_ONLY, str(path), strict=True)
    finally:
        path.parent.chmod(0o700)
    assert said.split("\n")[:2] == ["True ['a']", "StoreReadOnly"]


FULL = """
import resource, sys
from memory_fabric.errors import StoreUnavailable
from memory_fabric.store.database import open_database
db = open_database(sys.argv[1], "project", create=False)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
try:
    with db.transaction() as c:
        c.executemany("INSERT INTO meta VALUES (?, ?)", [(str(i), "x" * 900) for i in range(900)])
    print("written")
except StoreUnavailable as error:
    print(type(error).__name__)
print(db.rows("SELECT key FROM meta"))
"""


def test_a_full_disk_refuses_a_write_and_keeps_the_data(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    db = opened(path)
    with db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('old', '')")
    db.close()
    said = World(tmp_path / "w").run(FULL, str(path))
    assert said == "StoreUnavailable\n[('old',)]\n"
    assert opened(path).rows("SELECT key FROM meta") == [("old",)]


def test_a_database_whose_path_contains_url_characters_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a?b%20#c" / "graph.db"
    opened(path).close()
    script = READ_ONLY.replace("create=True", "create=False")
    path.parent.chmod(0o500)
    try:
        said = World(tmp_path / "w").run(script, str(path), strict=True)
    finally:
        path.parent.chmod(0o700)
    assert said.startswith("True []")


def test_commits_by_other_processes_are_detected_by_a_counter(tmp_path: Path) -> None:
    one, other = opened(tmp_path / "graph.db"), opened(tmp_path / "graph.db")
    before = one.data_version()
    assert one.data_version() == before
    with other.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('a', '')")
    assert one.data_version() != before


def test_sqlite_provides_the_full_text_module() -> None:
    sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE t USING fts5 (x)")


def test_checking_that_a_database_is_writable_leaves_no_rows(tmp_path: Path) -> None:
    db = opened(tmp_path / "graph.db")

    db.prove(64 << 10)
    db.prove(0)

    assert db.rows("SELECT * FROM meta") == []


def test_checking_that_a_database_is_writable_fails_on_a_full_disk(tmp_path: Path) -> None:
    db = opened(tmp_path / "graph.db")
    (pages,) = db.row("PRAGMA page_count") or (0,)
    db.connection.execute(f"PRAGMA max_page_count = {pages}")

    db.prove(0)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="The disk is full"):
            db.prove(64 << 10)

    assert db.rows("SELECT * FROM meta") == []


def test_the_check_that_a_database_is_writable_writes_as_many_bytes_as_requested(
    tmp_path: Path,
) -> None:
    db = opened(tmp_path / "graph.db")
    (pages,) = db.row("PRAGMA page_count") or (0,)

    db.connection.execute(f"PRAGMA max_page_count = {pages + 14}")
    with pytest.raises(StoreUnavailable, match="The disk is full"):
        db.prove(16 * 4096)
    db.connection.execute(f"PRAGMA max_page_count = {pages + 40}")
    db.prove(16 * 4096)


def test_unix_and_windows_database_paths_are_escaped_in_sqlite_uris() -> None:
    assert as_address("/home/ann/a%20b?c#d", "/") == "/home/ann/a%2520b%3fc%23d"
    assert as_address("C:\\Users\\Ann\\user.db", "\\") == "/C:/Users/Ann/user.db"


def test_a_missing_or_empty_database_is_lost_if_its_journal_or_backups_exist(
    tmp_path: Path,
) -> None:
    path, lines = tmp_path / "graph.db", tmp_path / "operations.jsonl"
    places = str(path), str(lines)
    assert not database.is_lost(*places)
    lines.write_text("")
    path.write_text("")
    assert not database.is_lost(*places)

    lines.write_text("{}")
    assert database.is_lost(*places)
    path.write_text("content")
    assert not database.is_lost(*places)
    path.unlink()
    lines.unlink()
    (tmp_path / "backups").mkdir()
    assert database.is_lost(*places)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_pipe_in_place_of_a_side_file_of_a_database_is_refused(
    tmp_path: Path, ending: str
) -> None:
    path = str(tmp_path / "graph.db")
    opened(tmp_path / "graph.db").close()
    os.mkfifo(path + ending)

    for look in (database.open_to_look, database.open_to_show):
        with pytest.raises(StoreUnavailable, match="no regular file"):
            look(path, "project")


def test_looking_at_a_database_changes_no_file_even_if_its_schema_is_older(
    tmp_path: Path,
) -> None:
    path = tmp_path / "graph.db"
    assert database.open_to_look(str(path), "user") is None
    assert database.open_to_show(str(path), "user") is None
    content = gzip.decompress(STORED[0].read_bytes())
    path.write_bytes(content)

    seen = database.open_to_look(str(path), "user")
    shown = database.open_to_show(str(path), "user")

    assert seen is not None and shown is not None
    assert (seen.kind, seen.read_only, seen.is_copy) == ("user", True, False)
    assert (shown.kind, shown.read_only, shown.is_copy) == ("user", True, True)
    assert seen.row("PRAGMA user_version") == (schema.OLDEST,)
    assert shown.row("PRAGMA user_version") == (schema.LATEST,)
    for db in (seen, shown):
        with pytest.raises(StoreReadOnly), db.transaction():
            raise AssertionError("written")
        db.close()
    assert path.read_bytes() == content and os.listdir(tmp_path) == ["graph.db"]


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


def test_a_database_is_writable_only_if_side_files_can_be_created_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "graph.db")
    for writable in ({path}, {str(tmp_path)}, {path, str(tmp_path)}):
        monkeypatch.setattr(os, "access", lambda name, _mode, these=writable: name in these)
        assert database.is_writable(path) == (len(writable) == 2)


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
def test_the_errors_of_sqlite_are_translated_to_our_own(
    name: str, kind: type[StoreUnavailable], said: str
) -> None:
    found = database.translated("/x.db", failed(name))

    assert type(found) is kind and isinstance(found, StoreUnavailable)
    assert found.path == "/x.db" and said in str(found)


def test_an_event_that_met_a_lock_waits_for_no_further_one() -> None:
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


def test_a_failed_commit_is_rolled_back_and_reported(tmp_path: Path) -> None:
    db = opened(tmp_path / "graph.db")

    with pytest.raises(StoreRefuses), db.transaction() as c:
        c.execute("PRAGMA defer_foreign_keys = ON")
        c.execute("INSERT INTO meta VALUES ('a', '')")
        c.execute("INSERT INTO aliases (key, alias, entity) VALUES ('x', 'x', 999)")

    assert not db.connection.in_transaction
    assert db.rows("SELECT * FROM meta") == []


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
