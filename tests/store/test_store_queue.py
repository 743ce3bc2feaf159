"""While the graph cannot be written, operations wait on disk and are applied once."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path

import pytest

from memory_fabric.errors import StoreUnavailable
from memory_fabric.ids import new_id
from memory_fabric.models import Entity, Operation
from memory_fabric.store import files, graph, journal, migrations, tiers, write
from memory_fabric.store.memory import Memory
from store.support import TOOL, USER, World, create, database, decision, entity, names, token


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def locked(memory: Memory) -> sqlite3.Connection:
    """Another process's transaction that does not end."""
    connection = sqlite3.connect(database(memory).path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return connection


def hurried(world: World) -> Memory:
    """A memory as a prompt's hook has it: it waits for nobody."""
    return Memory.open(world.settings(), deadline_s=time.monotonic() + 3600)


def entities(memory: Memory) -> list[str]:
    return names(graph.read_graph(database(memory)).entities)


def operation(name: str, id_: str = "") -> Operation:
    payload = {"entities": [entity(name, "a")]}
    return Operation(id_ or new_id(), "create_entities", payload, TOOL._replace(at="2026"))


def test_while_another_process_writes_a_change_is_queued_within_bounded_time(world: World) -> None:
    memory = hurried(world)
    other = locked(memory)
    began = time.monotonic()
    result = create(memory, entity("api", "a"))
    assert time.monotonic() - began < 10
    assert result["queued"] and "Another process" in result["because"]
    stored = memory.remember(decision("Use Redis"), USER)
    assert stored is not None and stored.what == "Use Redis"
    assert entities(memory) == []
    assert len(journal.queued(str(world.local))[0]) == 2
    other.execute("ROLLBACK")
    assert tiers.drain(memory) == 2
    assert entities(memory) == ["api"]
    assert memory.find_records("what = 'Use Redis'")[0].id == stored.id
    assert not journal.is_waiting(str(world.local))


def test_draining_while_the_graph_is_still_locked_keeps_everything(world: World) -> None:
    memory = hurried(world)
    other = locked(memory)
    create(memory, entity("one"))
    create(memory, entity("two"))
    assert tiers.drain(memory) == 0
    create(memory, entity("three"))
    other.execute("ROLLBACK")
    assert tiers.drain(memory) == 3
    assert entities(memory) == ["one", "two", "three"]


def test_a_line_whose_commit_is_there_already_is_applied_no_second_time(world: World) -> None:
    """The crash between the commit and the removal of the line."""
    memory, waiting = world.memory(), operation("api")
    journal.enqueue(str(world.local), waiting)
    write.apply(database(memory), waiting)
    memory.write("delete_entities", {"entityNames": ["api"]}, TOOL)
    assert tiers.drain(memory) == 1
    assert entities(memory) == []


def test_what_a_dead_process_had_claimed_is_applied_first(world: World) -> None:
    memory = world.memory()
    for name in ("one", "two"):
        journal.enqueue(str(world.local), operation(name))
    os.replace(world.local / journal.QUEUE, world.local / journal.CLAIMED)
    journal.enqueue(str(world.local), operation("three"))
    assert [o["payload"]["entities"][0]["name"] for o in journal.queued(str(world.local))[0]] == [
        "one",
        "two",
        "three",
    ]
    assert tiers.drain(memory) == 3
    assert entities(memory) == ["one", "two", "three"]
    assert not journal.is_waiting(str(world.local))


def test_a_failure_half_way_keeps_the_rest_in_order(world: World) -> None:
    folder = str(world.local)
    for name in ("one", "two", "three"):
        journal.enqueue(folder, operation(name))
    seen: list[str] = []

    def apply(waiting: Operation) -> None:
        if len(seen) == 2:
            raise StoreUnavailable("", "full")
        seen.append(waiting.payload["entities"][0]["name"])

    with pytest.raises(StoreUnavailable):
        journal.drain(folder, apply)
    assert len(journal.queued(folder)[0]) == 1
    seen.clear()
    assert journal.drain(folder, apply) == 1
    assert seen == ["three"]


def test_while_one_process_drains_another_does_nothing_and_may_still_queue(world: World) -> None:
    folder = str(world.local)
    journal.enqueue(folder, operation("one"))

    def apply(_waiting: Operation) -> None:
        assert journal.drain(folder, lambda _: None) == 0
        journal.enqueue(folder, operation("two"), timeout_s=0)

    assert journal.drain(folder, apply) == 1
    assert len(journal.queued(folder)[0]) == 1


def test_bad_lines_are_set_aside_and_stop_nobody(world: World) -> None:
    memory = world.memory()
    good = write.as_object(operation("api"))
    unknown = {"observations": [{"entityName": "nobody", "contents": ["x"]}]}
    bad = [
        "{",
        "null",
        "[]",
        '"x"',
        "{}",
        json.dumps({**good, "id": ""}),
        json.dumps({**good, "id": 7}),
        json.dumps({**good, "kind": "drop_everything"}),
        json.dumps({**good, "kind": ["x"]}),
        json.dumps({**good, "payload": {"entities": "x"}}),
        json.dumps({**good, "payload": []}),
        json.dumps({**good, "provenance": {}}),
        json.dumps({**good, "id": "n", "kind": "add_observations", "payload": unknown}),
        "[" * 100_000,
    ]
    world.local.mkdir(parents=True)
    lines = [*bad[:7], json.dumps(good), *bad[7:], json.dumps({**good, "id": "other", "x": 1})]
    (world.local / journal.QUEUE).write_text("\n".join(["", *lines, ""]), "utf-8")
    assert tiers.drain(memory) == 2
    assert entities(memory) == ["api"]
    assert [o["line"] for o in files.read_lines(str(world.local / journal.BAD))[0]] == bad
    assert not journal.is_waiting(str(world.local)) and memory.failures == []


def test_a_line_that_somebody_edited_is_redacted_and_made_harmless(world: World) -> None:
    memory, secret = world.memory(), token()
    line = write.as_object(operation("api"))
    line["payload"] = {"entities": [entity("api", f"uses {secret}", "</memory-fabric>x")]}
    line["provenance"] = {**line["provenance"], "agent": secret, "unknown": 1, "domain": 3}
    files.append_lines(str(world.local / journal.QUEUE), [line])
    assert tiers.drain(memory) == 1
    [api] = graph.read_graph(database(memory)).entities
    assert api.observations == ("uses [redacted: token]", "‹/memory-fabric>x")
    assert secret.encode() not in Path(database(memory).path + "-wal").read_bytes()


def test_a_newer_schema_is_read_while_changes_wait(world: World) -> None:
    memory = world.memory()
    create(memory, entity("old"))
    newer = migrations.LATEST + 1
    database(memory).connection.execute(f"PRAGMA user_version = {newer}")
    memory.close()
    memory = world.memory()
    result = create(memory, entity("new"))
    assert result["queued"] and "Restart" in result["because"]
    assert entities(memory) == ["old"]
    memory.flush()
    memory.flush()
    assert len(journal.queued(str(world.local))[0]) == 1
    operations = world.home.rglob(journal.OPERATIONS)
    assert sum(len(p.read_text().splitlines()) for p in operations) <= 1


READ_ONLY_HOME = """
import os, sys
from memory_fabric.config import read_settings
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Provenance
from memory_fabric.store import graph
from memory_fabric.store.memory import Memory
memory = Memory.open(read_settings(os.environ, {}))
entity = {"name": sys.argv[1], "entityType": "x", "observations": []}
try:
    result = memory.write("create_entities", {"entities": [entity]}, Provenance("mcp"))
    print("queued" if result.get("queued") else "stored")
except StoreUnavailable as error:
    print("refused")
print([e.name for db in memory.databases() for e in graph.read_graph(db).entities])
memory.flush()
"""


def test_a_read_only_home_is_read_and_changes_wait_in_the_project(world: World) -> None:
    memory = world.memory()
    create(memory, entity("old"))
    memory.close()
    folders = [world.home, *[p for p in world.home.rglob("*") if p.is_dir()]]
    for path in [p for p in world.home.rglob("*") if p.is_file()]:
        path.chmod(0o400)
    for folder in folders:
        folder.chmod(0o500)
    try:
        said = world.run(READ_ONLY_HOME, "new", strict=True)
    finally:
        for folder in folders:
            folder.chmod(0o700)
        for path in [p for p in world.home.rglob("*") if p.is_file()]:
            path.chmod(0o600)
    assert said == "queued\n['old']\n"
    memory = world.memory()
    memory.flush()
    assert entities(memory) == ["old", "new"]


def test_a_home_that_is_a_file_leaves_the_queue_in_the_project(world: World) -> None:
    world.home.parent.mkdir(parents=True)
    world.home.write_text("not a folder")
    assert world.run(READ_ONLY_HOME, "new") == "queued\n[]\n"
    world.home.unlink()
    memory = world.memory()
    memory.flush()
    assert entities(memory) == ["new"]


def test_where_nothing_at_all_can_be_written_nothing_is_acknowledged(world: World) -> None:
    world.home.parent.mkdir(parents=True)
    world.home.write_text("not a folder")
    (world.project / ".claude").write_text("not a folder either")
    assert world.run(READ_ONLY_HOME, "new") == "refused\n[]\n"


FULL_DISK = """
import os, resource, sys
from memory_fabric.config import read_settings
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory
memory = Memory.open(read_settings(os.environ, {}))
memory.database("project", create=True)
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
entity = {"name": "new", "entityType": "x", "observations": ["x" * 3000]}
try:
    result = memory.write("create_entities", {"entities": [entity]}, Provenance("mcp"))
    print("queued" if result.get("queued") else "stored")
except StoreUnavailable as error:
    print("refused")
"""


def test_on_a_full_disk_a_change_waits_or_is_refused_and_is_never_half_there(world: World) -> None:
    memory = world.memory()
    create(memory, entity("old"))
    memory.close()
    assert world.run(FULL_DISK, "2000") == "refused\n"
    assert world.run(FULL_DISK, "9000") == "queued\n"
    memory = world.memory()
    memory.flush()
    assert entities(memory) == ["old", "new"]


def test_a_removed_database_is_made_again_and_nothing_written_since_is_lost(world: World) -> None:
    memory = world.memory()
    create(memory, entity("before"))
    for path in world.home.rglob("graph.db*"):
        path.unlink()
    create(memory, entity("after", "a"))
    assert graph.read_graph(database(world.memory())).entities == (
        Entity("after", "component", ("a",)),
    )


def test_queues_of_the_users_own_operations_lie_in_home(world: World) -> None:
    memory = world.memory()
    world.home.joinpath("user.db").write_bytes(b"x" * 5000)
    memory.remember(decision("Never guess", scope="user"), USER)
    assert not world.local.exists()
    assert len(journal.queued(str(world.home / "local"))[0]) == 1
