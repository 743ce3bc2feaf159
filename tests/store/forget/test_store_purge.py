"""Purge: what was erased stands in no byte of ours, and nothing else is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.config import PURGING
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.models import Provenance
from memory_fabric.store import journal
from memory_fabric.store.conversations import sessions
from memory_fabric.store.forget import plan, purge_rows
from memory_fabric.store.forget import purge as purging
from memory_fabric.store.graph_file.mirror import home_of, open_mirrored
from memory_fabric.store.history import changes, merge, undo
from memory_fabric.store.home import log, signing
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.upkeep import backup, repair
from store.support import (
    TOOL,
    USER,
    World,
    create,
    database,
    decision,
    entity,
    observations_of,
    relation,
)

SECRET = "Ann Smith will leave the company in May"
WHY = "she told\nBob  about it in private"
KEPT = "Use cursor-based pagination for all list endpoints"
BY = Provenance("cli", trust="user")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def episode(number: int, text: str) -> dict[str, str]:
    at = "2026-01-15T10:00:00.000Z"
    return {"id": f"u{number}", "session": "s1", "role": "user", "text": text, "created_at": at}


def queue_line(world: World, memory: Memory, text: str) -> None:
    """A change that waits in the queue, as a process left it that could not write the graph."""
    line: dict[str, Any] = {
        "id": "01a1fc36-f640-7ceb-bdf0-00000000000a",
        "kind": "create_entities",
        "store": "project",
        "payload": {"entities": [entity("waiting", text, "waits in the queue")]},
        "provenance": TOOL._replace(at="2026-01-15T10:00:00.000Z")._asdict(),
    }
    key = signing.key_of(memory.settings.home)
    line["signature"] = signing.signature(line, key)
    folder = world.local
    folder.mkdir(parents=True, exist_ok=True)
    (folder / journal.QUEUE).write_text(json.dumps(line, ensure_ascii=False) + "\n", "utf-8")


def filled(world: World) -> str:
    """A world that holds the secret wherever we can keep it; the id of its record."""
    memory = world.memory()
    record = memory.remember(decision(SECRET, why=WHY, id=""), USER)
    memory.remember(decision(KEPT), USER)
    assert record is not None
    create(memory, entity("Ann", SECRET, "likes tea"), entity("Redis", "is fast"))
    memory.write(
        "delete_observations",
        {"deletions": [{"entityName": "Ann", "observations": [SECRET]}]},
        TOOL,
    )
    memory.write(
        "add_episodes",
        {
            "episodes": [
                episode(1, f"listen: {SECRET.upper()}, yes"),
                episode(2, "ann smith  will leave\nthe company in may"),
                episode(3, "What about the pagination?"),
            ]
        },
        TOOL,
    )
    db = database(memory)
    now = "2026-01-15T10:00:00.000Z"
    sessions.touch(db, "s1", now)
    sessions.set_fields(db, "s1", block=f"- {SECRET}")
    sessions.save_checkpoint(db, "s1", {"task": f'{SECRET} "quoted"', "files": ["a.py"]})
    sessions.record_injections(db, "s1", "", [f"record:{record.id}"], "prompt", now)
    sessions.save_task(db, "t1", "s1", "writer", f"Say that {SECRET}", now)
    memory.flush()
    backup.create(db.path)
    log.add(memory.settings.home, f"Remembered: {SECRET}")
    log.note(memory.settings.home, "", f"could not read {SECRET}")
    log.note(memory.settings.home, "", "another line")
    for ending in ("", "-wal"):
        shutil.copyfile(db.path, f"{db.path}.corrupt-20260101T000000{ending}")
    with (world.local / journal.BAD).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"line": json.dumps({"what": SECRET})}) + "\n")
        lines.write(json.dumps({"line": "unreadable"}) + "\n")
    with Path(memory.journal_of("project")).open("a", encoding="utf-8") as lines:
        lines.write('{"torn": "' + SECRET + "\n")
    queue_line(world, memory, SECRET)
    memory.close()
    return record.id


def purge(memory: Memory, text: str, **how: bool) -> purging.Purged:
    return purging.purge(memory, purging.find(memory, text, **how), BY)


def assert_gone(world: World) -> None:
    everything = world.all_bytes()
    for text in (SECRET, SECRET.upper(), "she told", "leave\nthe company", "Ann Smith"):
        assert text.encode() not in everything, text
        assert json.dumps(text)[1:-1].encode() not in everything, text


def test_purged_text_remains_in_no_file(world: World) -> None:
    id_ = filled(world)
    assert SECRET.encode() in world.native().read_bytes()
    spare = world.root / "data"
    log.note("", str(spare), f"home could not be written: {SECRET}")
    memory = world.memory(CLAUDE_PLUGIN_DATA=str(spare))

    done = purge(memory, id_)

    memory.close()
    assert done.memories == 1
    assert_gone(world)


def test_a_purge_keeps_all_other_memories(world: World) -> None:
    id_ = filled(world)
    memory = world.memory()

    purge(memory, id_)

    assert observations_of(database(memory), "Ann") == ("likes tea",)
    assert observations_of(database(memory), "waiting") == ("waits in the queue",)
    assert [r.what for r in memory.find_records("1")] == [KEPT]
    texts = [row[0] for row in database(memory).rows("SELECT text FROM episodes")]
    assert texts == ["listen: [erased], yes", "[erased]", "What about the pagination?"]
    assert KEPT in world.native().read_text("utf-8")
    assert "another line" in (world.home / "logs" / log.LOG_NAME).read_text("utf-8")
    assert "unreadable" in (world.local / journal.BAD).read_text("utf-8")


def test_queued_changes_unrelated_to_a_purge_are_still_applied(world: World) -> None:
    filled(world)
    memory = world.memory()

    purge(memory, SECRET)

    assert observations_of(database(memory), "waiting") == ("waits in the queue",)
    assert not (world.local / journal.QUEUE).exists()


def test_a_rebuilt_database_contains_everything_but_the_purged_memory(world: World) -> None:
    id_ = filled(world)
    memory = world.memory()
    purge(memory, id_)
    path, journal_path = memory.path_of("project"), memory.journal_of("project")
    memory.close()
    shutil.rmtree(Path(path).parent / "backups")
    for ending in ("", "-wal", "-shm"):
        Path(path + ending).unlink(missing_ok=True)

    db, _ = repair.rebuild(path, "project", journal_path)

    assert observations_of(db, "Ann") == ("likes tea",)
    assert observations_of(db, "Redis") == ("is fast",)
    assert db.rows("SELECT what FROM records") == [(KEPT,)]
    assert db.row("SELECT 1 FROM tombstones WHERE id = ?", (id_,)) is not None
    db.close()
    assert_gone(world)


def test_a_purge_leaves_exactly_one_intact_backup_of_each_database(world: World) -> None:
    id_ = filled(world)
    memory = world.memory()

    done = purge(memory, id_)

    assert sorted(done.backups) == sorted(
        copy for db in memory.databases() for copy in backup.list_backups(db.path)
    )
    assert all(map(backup.is_sound, done.backups))


def test_undoing_all_remaining_changes_does_not_restore_a_purged_memory(world: World) -> None:
    id_ = filled(world)
    memory = world.memory()
    purge(memory, id_)

    for change in changes.read_all(memory):
        if not undo.prospect(change):
            undo.undo(memory, [change], BY)

    memory.close()
    assert_gone(world)


def test_purging_an_entity_keeps_observations_of_other_entities_that_mention_the_entity(
    world: World,
) -> None:
    memory = world.memory()
    create(memory, entity("Ann", "has a garden in Leeds"), entity("Bob", "Ann is his sister"))
    memory.write("create_relations", {"relations": [relation("Bob", "knows", "Ann")]}, TOOL)
    merge.change_aliases(memory, "Ann", ["Annabella"], BY)
    found = purging.find(memory, "Annabella")

    counts, _ = purging.preview(memory, found)
    purging.purge(memory, found, BY)

    assert counts["mentions"] == 1
    whole = graph.read_graph(database(memory))
    assert [(e.name, e.observations) for e in whole.entities] == [("Bob", ("Ann is his sister",))]
    assert whole.relations == ()
    memory.close()
    everything = world.all_bytes()
    for text in (b"garden in Leeds", b"Annabella", b'"Ann"'):
        assert text not in everything


def test_purging_an_entity_keeps_the_same_observation_of_another_entity(
    world: World,
) -> None:
    memory = world.memory()
    slow = "answers within a second"
    create(memory, entity("api", slow, "is called by nobody"), entity("web", slow))
    found = purging.find(memory, "api", exact=True)

    counts, _ = purging.preview(memory, found)
    purging.purge(memory, found, BY)

    assert counts["shared"] == 1
    assert observations_of(database(memory), "web") == (slow,)
    memory.close()
    assert b"is called by nobody" not in world.all_bytes()


def test_the_preview_reports_what_would_be_purged_and_changes_nothing(world: World) -> None:
    id_ = filled(world)
    memory = world.memory()

    counts, _ = purging.preview(memory, purging.find(memory, id_))

    assert counts.items() >= {"turns": 2, "tasks": 1, "blocks": 2}.items()
    assert counts.items() >= {"backups": 1, "set_aside": 2}.items()
    memory.close()
    assert SECRET.encode() in world.all_bytes()


def test_a_memory_that_was_forgotten_before_can_be_purged(world: World) -> None:
    id_ = filled(world)
    (world.local / journal.QUEUE).unlink()  # else it would be said again
    memory = world.memory()
    plan.forget(memory, plan.find(memory, id_), BY)
    with pytest.raises(NotFound):
        plan.find(memory, id_)

    purge(memory, id_)

    memory.close()
    assert_gone(world)


def test_purging_a_user_record_erases_its_text_from_every_project(world: World) -> None:
    memory = world.memory()
    record = memory.remember(decision(SECRET, scope="user"), USER)
    assert record is not None
    memory.flush()
    other = World(world.root, "shop")
    theirs = other.memory()
    create(theirs, entity("shop", "sells tea"))
    sessions.touch(database(theirs), "s9", "2026-01-15T10:00:00.000Z")
    sessions.set_fields(database(theirs), "s9", block=SECRET)
    theirs.flush()
    theirs.close()
    assert SECRET in other.native().read_text("utf-8")

    purge(memory, record.id)

    memory.close()
    assert_gone(world)


def test_a_purge_reports_files_of_another_project_that_contain_the_same_text(world: World) -> None:
    other = World(world.root, "shop").memory()
    create(other, entity("Ann", SECRET))
    other.close()
    memory = world.memory()
    create(memory, entity("Ann", SECRET))

    done = purge(memory, "Ann", exact=True)

    assert done.elsewhere and all("shop" in path for path in done.elsewhere)


def test_a_purge_is_refused_if_the_memory_changed_after_the_preview(world: World) -> None:
    memory = world.memory()
    create(memory, entity("Ann", "has a garden in Leeds"))
    found = purging.find(memory, "Ann", exact=True)
    create(memory, entity("Ann", "has a dog"))

    with pytest.raises(BadInput, match="changed meanwhile"):
        purging.purge(memory, found, BY)


def test_a_purge_succeeds_while_another_process_has_the_database_open(world: World) -> None:
    id_ = filled(world)
    other = world.memory()
    assert database(other).rows("SELECT count(*) FROM records") == [(2,)]
    memory = world.memory()

    purge(memory, id_)

    assert database(other).rows("SELECT what FROM records") == [(KEPT,)]
    other.close()
    memory.close()
    assert_gone(world)


def test_a_purge_interrupted_by_another_writer_is_completed_by_the_next_purge(world: World) -> None:
    id_ = filled(world)
    memory, other = world.memory(), world.memory()
    database(memory).connection.execute("PRAGMA busy_timeout = 50")
    with database(other).transaction(), pytest.raises(StoreUnavailable, match="Another process"):
        purge(memory, id_)

    assert purging.pending(memory.settings.home) == id_
    assert purging.resume(memory, BY) is not None

    other.close()
    memory.close()
    assert_gone(world)


def test_a_purge_interrupted_by_a_reader_is_completed_by_the_next_purge(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = filled(world)
    memory, other = world.memory(), world.memory()
    monkeypatch.setattr(purge_rows, "CHECKPOINT_S", 0.0)
    database(memory).connection.execute("PRAGMA busy_timeout = 50")
    reading = database(other).connection.execute("SELECT what FROM records")
    reading.fetchone()
    with pytest.raises(StoreUnavailable, match="still holds old pages"):
        purge(memory, id_)

    reading.close()
    assert purging.resume(memory, BY) is not None

    other.close()
    memory.close()
    assert_gone(world)


KILLED = """
import os, signal, sys
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance
from memory_fabric.store.forget import purge as purging
from memory_fabric.store.memory import Memory

memory = Memory.open(read_settings(os.environ, {}))
found = purging.find(memory, sys.argv[1])
left = int(sys.argv[2])

def count(event, arguments):
    global left
    if event in ("os.rename", "os.remove", "sqlite3.connect", "fcntl.flock"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count)
purging.purge(memory, found, Provenance("cli", trust="user"))
"""


@pytest.mark.parametrize("after", [2, 5, 9, 12, 14, 17, 21, 24])
def test_a_killed_purge_is_completed_by_the_next_purge(world: World, after: int) -> None:
    id_ = filled(world)
    if not after % 3:  # by the words, too
        id_ = SECRET
    process = world.start(KILLED, id_, str(after))
    _, errors = process.communicate(timeout=120)
    assert process.returncode in (0, -signal.SIGKILL), errors

    memory = world.memory()
    completed = purging.resume(memory, BY)
    if completed is None and process.returncode:  # it had not begun
        purge(memory, id_)

    assert observations_of(database(memory), "Ann") == ("likes tea",)
    assert observations_of(database(memory), "Redis") == ("is fast",)
    assert [r.what for r in memory.find_records("1")] == [KEPT]
    assert not os.path.exists(world.home / PURGING)
    memory.close()
    assert_gone(world)


def served_file(world: World) -> Path:
    """A file to be served that holds the secret in lines of every kind, and other things."""
    path = world.root / "notes" / "memory.jsonl"
    path.parent.mkdir()
    lines: list[dict[str, Any]] = [
        {"type": "note", "text": SECRET},
        {"type": "note", "text": "stays"},
        {"type": "entity", "name": "Ann", "entityType": "person", "observations": [SECRET, "tea"]},
        {"type": "entity", "name": "Bob", "entityType": "person", "observations": [], "x": SECRET},
    ]
    text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
    path.write_text(f"{text}\n{{torn {SECRET}", "utf-8")
    return path


def test_a_purge_erases_the_text_from_the_graph_file_and_its_side_files(
    world: World,
) -> None:
    path = served_file(world)
    world.home.mkdir(parents=True)
    aside = world.home / "set-aside.jsonl"
    aside.write_text(json.dumps({"file": str(path), "line": SECRET}) + "\n", "utf-8")
    memory = open_mirrored(world.settings(MEMORY_FILE_PATH=str(path)), lambda _: None)
    create(memory, entity("Ann", "ours"))
    memory.flush()
    Path(f"{path}.123-456.tmp").write_text(SECRET)  # a killed process left it
    assert world.all_bytes().count(SECRET.encode()) > 5

    purged = purging.purge(memory, purging.find(memory, SECRET), BY)

    assert SECRET.encode() not in world.all_bytes()
    assert purged.elsewhere == ()
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert found == [
        {"type": "note", "text": "stays"},
        {
            "type": "entity",
            "name": "Ann",
            "entityType": "person",
            "observations": ["tea", "ours"],
        },
        {"type": "entity", "name": "Bob", "entityType": "person", "observations": []},
    ]
    memory.refresh()
    memory.flush()
    assert SECRET.encode() not in world.all_bytes()
    memory.close()


def test_a_purge_fails_while_the_served_graph_file_is_unwritable(world: World) -> None:
    path = served_file(world)
    settings = world.settings(MEMORY_FILE_PATH=str(path))
    memory = open_mirrored(settings, lambda _: None)
    found = purging.find(memory, SECRET)
    away = path.with_name("away.jsonl")
    path.rename(away)
    path.mkdir()

    with pytest.raises(StoreUnavailable, match="Repeat the command"):
        purging.purge(memory, found, BY)
    path.rmdir()
    away.rename(path)

    assert purging.pending(memory.settings.home) == SECRET
    assert purging.resume(memory, BY) is not None
    assert SECRET.encode() not in world.all_bytes()
    memory.close()


def test_a_purge_reports_but_does_not_change_other_graph_files_with_the_words(
    world: World,
) -> None:
    path = served_file(world)
    open_mirrored(world.settings(MEMORY_FILE_PATH=str(path)), lambda _: None).close()
    before = path.read_bytes()
    memory = world.memory()
    create(memory, entity("Ann", SECRET))

    purged = purging.purge(memory, purging.find(memory, SECRET), BY)

    assert str(path) in purged.elsewhere
    assert str(Path(home_of(str(world.home), str(path))) / "user.db") in purged.elsewhere
    assert path.read_bytes() == before
    memory.close()
