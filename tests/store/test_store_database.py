"""One database: made by whoever is first, migrated, and honest about what is wrong with it."""

from __future__ import annotations

import gzip
import os
import sqlite3
import stat
from pathlib import Path

import pytest

from memory_fabric.deadline import Deadline, running
from memory_fabric.errors import (
    StoreCorrupt,
    StoreNewer,
    StoreReadOnly,
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


FULL_BEFORE = """
import resource, sys
from memory_fabric.store.database import open_database
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
db = open_database(sys.argv[1], "project", create=False)
print(db.read_only, db.rows("SELECT key FROM meta"))
"""


def test_a_database_on_a_full_disk_is_opened_to_be_read(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    db = opened(path)
    with db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('old', '')")
    db.close()

    said = World(tmp_path / "w").run(FULL_BEFORE, str(path))

    assert said == "True [('old',)]\n"


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
    db.connection.execute(f"PRAGMA max_page_count = {pages + 14}")

    db.prove(0)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="The disk is full"):
            db.prove(64 << 10)
    db.connection.execute(f"PRAGMA max_page_count = {pages + 40}")
    db.prove(64 << 10)

    assert db.rows("SELECT * FROM meta") == []


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


def test_opening_a_database_only_for_reading_changes_no_file_even_if_its_schema_is_older(
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


def test_a_database_is_writable_only_if_side_files_can_be_created_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "graph.db")
    for writable in ({path}, {str(tmp_path)}, {path, str(tmp_path)}):
        monkeypatch.setattr(os, "access", lambda name, _mode, these=writable: name in these)
        assert database.is_writable(path) == (len(writable) == 2)
