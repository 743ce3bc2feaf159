"""A damaged database is set aside, rebuilt from backup and journal, and the user is told once."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.errors import StoreUnavailable
from memory_fabric.health import tiers as status
from memory_fabric.models import Entity, Operation
from memory_fabric.sharing.git import location
from memory_fabric.store import database, files, write
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.tiers import sync
from memory_fabric.store.upkeep import backup, repair
from store.support import USER, World, create, entity, names, pagination
from store.support import database as opened


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def entities(memory: Memory) -> list[str]:
    return names(graph.read_graph(opened(memory)).entities)


def closed(memory: Memory) -> Path:
    path = Path(opened(memory).path)
    memory.close()
    return path


def damage(path: Path) -> None:
    path.write_bytes(b"garbage" * 1000)


def aside(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.iterdir() if ".corrupt-" in p.name)


def test_a_process_that_does_not_repair_works_without_the_damaged_database(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    create(memory, entity("Ann"), store="user")
    memory.flush()
    path = closed(memory)
    damage(path)
    memory = world.memory()
    assert [db.kind for db in memory.databases()] == ["user"]
    assert memory.failures == [f"graph (project): {path} is damaged. Run memory-fabric repair."]
    assert create(memory, entity("later"))["queued"]
    assert aside(path) == []


def test_a_damaged_database_is_rebuilt_from_the_journal_and_reported_once(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api", "a"))
    memory.remember(pagination(), USER)
    memory.flush()
    before = graph.read_graph(opened(memory))
    path = closed(memory)
    damage(path)
    memory = world.memory(repair=True)
    assert graph.read_graph(opened(memory)) == before
    [told] = memory.messages
    assert "no backup and 2 journalled changes" in told
    [name] = aside(path)
    assert re.fullmatch(r"graph\.db\.corrupt-\d{8}T\d{6}", name) and name in told
    assert (path.parent / name).read_bytes() == b"garbage" * 1000
    memory.close()
    again = world.memory(repair=True)
    assert graph.read_graph(opened(again)) == before
    assert again.messages == [] and aside(path) == [name]


@pytest.mark.parametrize("contents", [b"garbage" * 1000, b""])
def test_a_repair_uses_the_newest_intact_backup(world: World, contents: bytes) -> None:
    memory = world.memory()
    create(memory, entity("one"))
    path = Path(opened(memory).path)
    first = backup.create(str(path))
    create(memory, entity("two"))
    newest = backup.create(str(path))
    create(memory, entity("three"))
    memory.flush()
    closed(memory)
    damage(path)
    Path(newest).write_bytes(contents)
    memory = world.memory(repair=True)
    assert entities(memory) == ["one", "two", "three"]
    assert os.path.basename(first) in memory.messages[0]


def test_a_damaged_database_is_not_rebuilt_if_its_backups_cannot_be_listed(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    path = closed(memory)
    backup.create(str(path))
    folder = Path(files.backups_of(str(path)))
    hidden = folder.rename(folder.with_name("hidden"))
    folder.symlink_to(folder)
    damage(path)
    with pytest.raises(StoreUnavailable, match="could not be rebuilt"):
        repair.rebuild(str(path), "project", memory.journal_of("project"))
    folder.unlink()
    hidden.rename(folder)
    db, _ = repair.rebuild(str(path), "project", memory.journal_of("project"))
    assert names(graph.read_graph(db).entities) == ["api"]


def test_rows_missing_from_the_journal_are_recovered_from_the_damaged_file(world: World) -> None:
    memory = world.memory()
    create(memory, entity("journalled"))
    memory.flush()
    create(memory, entity("only in the database"))
    path = closed(memory)
    with sqlite3.connect(path) as connection:
        [(root,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entities'")
    connection.close()
    with open(path, "r+b") as stream:
        stream.seek((root - 1) * 4096)
        stream.write(b"\xff" * 4096)
    memory = world.memory()
    db = memory.databases()[0]
    with pytest.raises(Exception, match="damaged"):
        graph.read_graph(db)
    assert database.is_suspect(str(path))
    memory.close()
    memory = world.memory(repair=True)
    assert entities(memory) == ["journalled", "only in the database"]
    assert not database.is_suspect(str(path))
    assert len(aside(path)) == 1


def test_a_database_wrongly_suspected_of_damage_is_left_unchanged(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    path = closed(memory)
    database.mark_suspect(str(path))
    memory = world.memory(repair=True)
    assert entities(memory) == ["api"] and memory.messages == []
    assert not database.is_suspect(str(path)) and aside(path) == []


def test_a_broken_full_text_index_is_rebuilt_in_place(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api", "speaks HTTP"))
    path = closed(memory)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM observations_fts_data WHERE id > 10")
    connection.close()
    database.mark_suspect(str(path))
    memory = world.memory(repair=True)
    found = opened(memory).rows(
        "SELECT rowid FROM observations_fts WHERE observations_fts MATCH 'http'"
    )
    assert found == [(1,)]
    assert memory.messages == [] and entities(memory) == ["api"]


def test_repairing_the_indexes_rebuilds_and_names_only_those_that_do_not_match(
    world: World,
) -> None:
    memory = world.memory()
    create(memory, entity("api", "speaks HTTP"))
    db = opened(memory)
    unfit = ["observations_fts", "entities_trigrams"]
    with db.transaction() as c:
        for table in unfit:
            c.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")

    assert repair.mismatched_indexes(db) == unfit
    assert repair.repair_indexes(db) == unfit
    assert repair.mismatched_indexes(db) == repair.repair_indexes(db) == []


def test_journalled_observations_of_an_entity_that_the_journal_lacks_are_restored(
    world: World,
) -> None:
    memory = world.memory()
    db, path = opened(memory), memory.journal_of("project")
    by = USER._replace(at="2026")
    about: dict[str, Any] = {
        "observations": [{"entityName": "theirs", "contents": ["is fast", "is old"]}]
    }
    gone: dict[str, Any] = {"entity": "nobody", "aliases": ["x"]}
    added, refused = (
        write.as_object(Operation(f"op-{kind}", kind, payload, by))
        for kind, payload in (("add_observations", about), ("alias", gone))
    )
    files.append_lines(path, [added, refused, added])

    assert repair.replay(db, path) == (1, 1)

    assert graph.read_graph(db).entities == (Entity("theirs", "unknown", ("is fast", "is old")),)
    assert repair.replay(db, path) == (0, 1)


def test_two_processes_rebuild_a_database_only_once(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    memory.flush()
    path = closed(memory)
    damage(path)
    script = """
import os
from memory_fabric.config import read_settings
from memory_fabric.store.memory import Memory
memory = Memory.open(read_settings(os.environ, {}), repair=True)
memory.database("project", create=True)
print(len(memory.messages))
"""
    processes = [world.start(script) for _ in range(3)]
    said = []
    for process in processes:
        output, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
        said.append(output.strip())
    assert sorted(said) == ["0", "0", "1"]
    assert len(aside(path)) == 1
    assert entities(world.memory()) == ["api"]


def test_a_rebuild_skips_bad_lines_of_the_journal(world: World) -> None:
    memory = world.memory()
    create(memory, entity("one"))
    memory.flush()
    journal_path = Path(memory.journal_of("project"))
    with open(journal_path, "ab") as stream:
        stream.write(b'{"id": "torn')
    create(memory, entity("two"))
    memory.flush()
    damage(closed(memory))
    memory = world.memory(repair=True)
    assert entities(memory) == ["one", "two"]
    assert "Unreadable: 1 line." in memory.messages[0]


def test_a_change_is_queued_if_the_open_database_is_damaged(world: World) -> None:
    memory = world.memory()
    create(memory, entity("one"))
    path = Path(opened(memory).path)
    opened(memory).connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    opened(memory).connection.execute("PRAGMA cache_size = 0")
    with open(path, "r+b") as stream:
        stream.write(b"\xff" * path.stat().st_size)
    assert create(memory, entity("two"))["queued"]
    assert database.is_suspect(str(path))


# --- backups -------------------------------------------------------------------------------------


def test_backups_are_verified_rotated_and_readable_by_the_owner_only(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    path = opened(memory).path
    copies = [backup.create(path) for _ in range(7)]
    assert backup.list_backups(path) == sorted(copies, reverse=True)[:5]
    assert all(backup.is_sound(copy) for copy in backup.list_backups(path))
    assert os.stat(copies[-1]).st_mode & 0o777 == 0o600
    assert 0 <= (backup.age_s(path) or 0) < 600


def test_a_labelled_backup_reports_the_pages_copied_and_files_of_others_do_not_count(
    world: World,
) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    path = opened(memory).path
    told: list[tuple[int, int]] = []
    copy = backup.create(path, "-before-merge", lambda done, of: told.append((done, of)))
    for name in ("other-20260101T000000.db", "graph-20260101T000000.txt", "graph.db"):
        Path(copy).with_name(name).write_text("")

    assert copy.endswith("-before-merge.db") and backup.is_sound(copy)
    assert told == sorted(told) and told[-1][0] == told[-1][1] > 0
    assert backup.list_backups(path) == [copy]


@pytest.mark.parametrize("whole", [True, False])
def test_a_backup_without_a_schema_is_unsound(tmp_path: Path, *, whole: bool) -> None:
    (tmp_path / "empty.db").touch()

    assert not backup.is_sound(str(tmp_path / "empty.db"), whole=whole)


def test_only_two_backups_of_a_large_database_are_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    path = opened(memory).path
    monkeypatch.setattr(backup, "LARGE_BYTES", os.path.getsize(path) - 1)

    copies = [backup.create(path) for _ in range(4)]

    assert backup.list_backups(path) == [copies[3], copies[2]]


def test_the_name_of_a_backup_contains_its_time_with_nanoseconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    monkeypatch.setattr(time, "time_ns", lambda: 1_800_000_000_002_000_000)

    copy = backup.create(opened(memory).path)

    assert copy.endswith("-20270115T080000-002000000.db")


def test_the_next_repair_after_a_killed_backup_uses_an_earlier_complete_backup(
    world: World,
) -> None:
    memory = world.memory()
    create(memory, *[entity(f"e{number}", "x" * 900) for number in range(400)])
    path = opened(memory).path
    whole = backup.create(path)
    memory.flush()
    script = """
import os, signal, sys
from memory_fabric.store.upkeep import backup
backup.PAGES = 8
backup.create(sys.argv[1], progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))
"""
    killed = world.start(script, path)
    killed.communicate(timeout=200)
    assert killed.returncode == -signal.SIGKILL
    left = [name for name in os.listdir(files.backups_of(path)) if name.endswith(".tmp")]

    damage(closed(memory))
    rebuilt = world.memory(repair=True)

    assert left
    assert backup.list_backups(path) == [whole]
    assert len(entities(rebuilt)) == 400
    assert os.path.basename(whole) in rebuilt.messages[0]


def test_backing_up_a_damaged_database_fails_and_keeps_the_earlier_backup(world: World) -> None:
    memory = world.memory()
    create(memory, *[entity(f"e{i}", "x" * 900) for i in range(40)])
    path = closed(memory)
    good = backup.create(str(path))
    with open(path, "r+b") as stream:
        stream.seek(path.stat().st_size // 2)
        stream.write(b"\xff" * (path.stat().st_size // 2))
    with pytest.raises(sqlite3.Error):
        backup.create(str(path))
    assert backup.list_backups(str(path)) == [good]
    assert os.listdir(files.backups_of(str(path))) == [os.path.basename(good)]


def test_a_backup_is_due_once_a_day(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    assert len(sync.backup_when_due(memory)) == 1
    assert sync.backup_when_due(memory) == []
    [copy] = backup.list_backups(opened(memory).path)
    os.utime(copy, (0, 0))
    assert len(sync.backup_when_due(memory)) == 1


def test_the_age_of_the_newest_backup_is_none_if_there_are_no_backups(tmp_path: Path) -> None:
    assert backup.age_s(str(tmp_path / "graph.db")) is None
    assert not backup.is_sound(str(tmp_path / "missing.db"))


def test_rebuilding_a_database_in_an_unusable_folder_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file" / "graph.db")
    with pytest.raises(Exception, match="could not be rebuilt"):
        repair.rebuild(path, "project", path + ".jsonl")


def test_the_status_reads_the_journal_of_a_large_memory_completely(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("api", "is here"))
    memory.flush()
    with open(memory.journal_of("project"), "ab") as file:
        file.writelines(b" " * (1 << 20) + b"\n" for _ in range(66))

    graph_tier = status.tiers(memory, 0.0)[0]

    assert graph_tier.findings == ()


def test_the_status_reports_that_a_shared_journal_exceeds_the_size_limit(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("api", "is here"))
    memory.flush()
    path = location.journal_file(memory)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"<<<<<<< ours\n")
        file.truncate(files.MAX_LINES_BYTES + 1)

    local_tier = status.tiers(memory, 0.0)[1]

    reasons = [finding.reason for finding in local_tier.findings if path in finding.reason]
    assert len(reasons) == 1
    assert "is larger than" in reasons[0]


def test_a_repair_reads_only_operations_that_the_database_does_not_contain(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = world.memory()
    create(memory, entity("one", "is there"))
    path = opened(memory).path
    backup.create(path)
    create(memory, entity("two", "came later"))
    memory.flush()
    damage(closed(memory))
    read: list[object] = []

    def from_object(value: Mapping[str, Any]) -> Operation | None:
        read.append(value["payload"])
        return real(value)

    real = write.from_object
    monkeypatch.setattr(write, "from_object", from_object)
    memory = world.memory(repair=True)

    assert entities(memory) == ["one", "two"]
    assert read == [{"entities": [entity("two", "came later")]}]


def test_rows_that_the_journal_lacks_are_added_to_it_after_a_repair(world: World) -> None:
    memory = world.memory()
    create(memory, entity("journalled"))
    memory.flush()
    create(memory, entity("not yet"))
    path = opened(memory).path
    memory.close()
    database.mark_suspect(path)
    memory = world.memory(repair=True)
    assert entities(memory) == ["journalled", "not yet"]

    memory.flush()

    lines = Path(memory.journal_of("project")).read_text("utf-8").splitlines()
    assert [line.count('"not yet"') for line in lines] == [0, 1]


def test_the_progress_of_a_repair_never_decreases(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    memory.flush()
    create(memory, entity("db"))
    memory.flush()
    path = opened(memory).path
    memory.close()
    told: list[float] = []

    repair.rebuild(
        path,
        "project",
        memory.journal_of("project"),
        lambda done, of: told.append(done / of),
    )

    assert told == sorted(told)
    assert told[0] == 0
    assert told[-1] == 1


@pytest.mark.parametrize("of_domains", [{}, {"only": ["general"]}])
def test_a_forgotten_turn_stays_forgotten_when_the_database_is_rebuilt(
    world: World, of_domains: dict[str, list[str]]
) -> None:
    memory = world.memory()
    turn = {"id": "0001-turn", "session": "s1", "role": "user", "text": "My name is Ann."}
    read = {"episodes": [turn | {"created_at": "2026-01-15T10:00:00.000Z"}]}
    memory.write("add_episodes", read, USER)
    memory.write("forget", {"ids": [], "turns": ["0001-turn"], **of_domains}, USER)
    memory.flush()
    damage(closed(memory))

    memory = world.memory(repair=True)
    memory.write("add_episodes", read, USER)  # the transcript is read again

    assert opened(memory).rows("SELECT text FROM episodes") == []
