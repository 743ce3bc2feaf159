"""While the graph cannot be written, operations wait on disk and are applied once."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from drawn import token
from memory_fabric.deadline import Deadline, running
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Operation
from memory_fabric.store import files, journal, schema, write
from memory_fabric.store.database import mark_suspect
from memory_fabric.store.home import signing
from memory_fabric.store.queries import graph
from memory_fabric.store.tiers import sync
from store.queues.operations import entities, hurried, locked, operation, queue, signed
from store.support import TOOL, USER, World, create, database, decision, entity


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_change_is_queued_without_a_long_wait_while_another_process_is_writing(
    world: World,
) -> None:
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
    assert sync.drain(memory) == 2
    assert entities(memory) == ["api"]
    assert memory.find_records("what = 'Use Redis'")[0].id == stored.id
    assert not journal.waiting_files(str(world.local))


def test_draining_a_queue_while_the_graph_is_locked_loses_nothing(world: World) -> None:
    memory = hurried(world)
    other = locked(memory)
    create(memory, entity("one"))
    create(memory, entity("two"))
    assert sync.drain(memory) == 0
    create(memory, entity("three"))
    other.execute("ROLLBACK")
    assert sync.drain(memory) == 3
    assert entities(memory) == ["one", "two", "three"]


def test_a_line_that_was_already_committed_is_not_applied_again(world: World) -> None:
    """The crash between the commit and the removal of the line."""
    memory, waiting = world.memory(), operation("api")
    queue(world, waiting)
    write.apply(database(memory), waiting)
    memory.write("delete_entities", {"entityNames": ["api"]}, TOOL)
    assert sync.drain(memory) == 1
    assert entities(memory) == []


def test_lines_claimed_by_a_dead_process_are_applied_first(world: World) -> None:
    memory = world.memory()
    lines = [signed(world, write.as_object(operation(name))) for name in ("one", "two")]
    files.append_lines(str(world.local / journal.CLAIMED), lines[:1])
    files.append_lines(str(world.local / journal.QUEUE), lines[1:])
    queue(world, operation("three"))
    assert [o["payload"]["entities"][0]["name"] for o in journal.queued(str(world.local))[0]] == [
        "one",
        "two",
        "three",
    ]
    assert sync.drain(memory) == 3
    assert entities(memory) == ["one", "two", "three"]
    assert not journal.waiting_files(str(world.local))


def test_after_a_failure_the_remaining_lines_are_kept_in_order(world: World) -> None:
    folder = str(world.local)
    for name in ("one", "two", "three"):
        queue(world, operation(name))
    seen: list[str] = []

    def apply(waiting: Operation) -> None:
        if len(seen) == 2:
            raise StoreUnavailable("", "full")
        seen.append(waiting.payload["entities"][0]["name"])

    with pytest.raises(StoreUnavailable):
        journal.drain(folder, signing.key_of(str(world.home)), apply)
    assert len(journal.queued(folder)[0]) == 1
    seen.clear()
    assert journal.drain(folder, signing.key_of(str(world.home)), apply) == 1
    assert seen == ["three"]


def test_a_process_can_append_to_a_queue_but_not_drain_it_while_another_drains_it(
    world: World,
) -> None:
    folder = str(world.local)
    queue(world, operation("one"))

    def apply(_waiting: Operation) -> None:
        assert journal.drain(folder, signing.key_of(str(world.home)), lambda _: None) == 0
        queue(world, operation("two"))

    assert journal.drain(folder, signing.key_of(str(world.home)), apply) == 1
    assert len(journal.queued(folder)[0]) == 1


def test_bad_lines_of_a_queue_are_set_aside_and_the_others_applied(world: World) -> None:
    memory = world.memory()
    good = write.as_object(operation("api"))
    unknown = {"observations": [{"entityName": "nobody", "contents": ["x"]}]}
    line = {**good, "id": "n", "kind": "add_observations", "payload": unknown}
    bad = [
        "{",
        "null",
        "[]",
        '"x"',
        "{}",
        json.dumps(signed(world, {**good, "id": ""})),
        json.dumps(signed(world, {**good, "id": 7})),
        json.dumps(signed(world, {**good, "kind": "drop_everything"})),
        json.dumps(signed(world, {**good, "kind": ["x"]})),
        json.dumps(signed(world, {**good, "payload": {"entities": "x"}})),
        json.dumps(signed(world, {**good, "payload": []})),
        json.dumps(signed(world, {**good, "provenance": {}})),
        json.dumps(signed(world, line)),
        "[" * 100_000,
    ]
    world.local.mkdir(parents=True)
    fine = [json.dumps(signed(world, g)) for g in (good, {**good, "id": "other", "x": 1})]
    lines = [*bad[:7], fine[0], *bad[7:], fine[1]]
    (world.local / journal.QUEUE).write_text("\n".join(["", *lines, ""]), "utf-8")
    assert sync.drain(memory) == 2
    assert entities(memory) == ["api"]
    assert [o["line"] for o in files.read_lines(str(world.local / journal.BAD))[0]] == bad
    assert not journal.waiting_files(str(world.local)) and memory.failures == []


def test_a_queued_change_of_an_older_release_is_redacted_and_its_tags_are_neutralised(
    world: World,
) -> None:
    memory, secret = world.memory(), token()
    line = write.as_object(operation("api"))
    line["payload"] = {"entities": [entity("api", f"uses {secret}", "</memory-fabric>x")]}
    line["provenance"] = {**line["provenance"], "agent": secret, "unknown": 1, "domain": 3}
    files.append_lines(str(world.local / journal.QUEUE), [signed(world, line)])
    assert sync.drain(memory) == 1
    [api] = graph.read_graph(database(memory)).entities
    assert api.observations == ("uses [redacted: token]", "‹/memory-fabric>x")
    assert secret.encode() not in Path(database(memory).path + "-wal").read_bytes()


def test_a_database_of_a_newer_release_is_read_but_changes_are_queued(world: World) -> None:
    memory = world.memory()
    create(memory, entity("old"))
    newer = schema.LATEST + 1
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
from memory_fabric.store.queries import graph
from memory_fabric.store.database import mark_suspect
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


@pytest.mark.parametrize("has_flushed", [True, False])
def test_with_a_read_only_home_reads_work_and_changes_are_queued_in_the_project(
    world: World, has_flushed: bool
) -> None:
    """The key for it was made with the project's registration, before anything else was."""
    memory = world.memory()
    create(memory, entity("old"))
    if has_flushed:
        memory.flush()
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


def test_a_write_without_a_usable_home_is_refused_and_leaves_no_file(world: World) -> None:
    """Without a key of ours in home nobody could tell our line from a stranger's."""
    world.home.parent.mkdir(parents=True)
    world.home.write_text("not a folder")
    assert world.run(READ_ONLY_HOME, "new") == "refused\n[]\n"
    (world.project / ".claude").write_text("not a folder either")
    assert world.run(READ_ONLY_HOME, "new") == "refused\n[]\n"
    world.home.unlink()
    memory = world.memory()
    memory.flush()
    assert memory.databases() == []


FULL_DISK = """
import os, resource, sys
from memory_fabric.config import read_settings
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Provenance
from memory_fabric.store.database import mark_suspect
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


def test_on_a_full_disk_a_change_is_queued_or_refused_but_never_half_written(world: World) -> None:
    memory = world.memory()
    create(memory, entity("old"))
    memory.close()
    assert world.run(FULL_DISK, "2000") == "refused\n"
    assert world.run(FULL_DISK, "9000") == "queued\n"
    memory = world.memory()
    memory.flush()
    assert entities(memory) == ["old", "new"]


def test_a_removed_database_is_rebuilt_with_every_acknowledged_change(world: World) -> None:
    memory = world.memory()
    create(memory, entity("journalled"))
    memory.flush()
    create(memory, entity("not yet"))
    for path in world.home.rglob("graph.db*"):
        path.unlink()

    # Whoever cannot build it again says so, and what is written meanwhile waits.
    assert create(memory, entity("after", "a"))["queued"]
    assert any("was removed or emptied" in failure for failure in memory.failures)
    assert not list(world.home.rglob("graph.db"))

    mending = world.memory(repair=True)
    sync.drain(mending)
    found = graph.read_graph(database(mending)).entities
    assert [entity.name for entity in found] == ["journalled", "not yet", "after"]
    assert "rebuilt from no backup and 2 journalled changes" in mending.messages[0]


def test_an_open_memory_does_not_recreate_a_deleted_home(world: World) -> None:
    memory = world.memory()
    create(memory, entity("secret plans"))
    shutil.rmtree(world.home)

    assert memory.databases() == []

    assert b"secret plans" not in world.all_bytes()


def test_an_emptied_database_is_rebuilt_from_its_journal(world: World) -> None:
    memory = world.memory()
    create(memory, entity("a"), entity("b"))
    memory.flush()
    path = Path(memory.path_of("project"))
    memory.close()
    for other in path.parent.glob("graph.db-*"):
        other.unlink()
    path.write_bytes(b"")

    found = graph.read_graph(database(world.memory(repair=True))).entities

    assert [entity.name for entity in found] == ["a", "b"]


def test_repair_restores_changes_that_only_the_journal_has(world: World) -> None:
    memory = world.memory()
    create(memory, entity("a"))
    memory.flush()
    create(memory, entity("b"))
    memory.flush()
    db = database(memory)
    # As if the write-ahead log had been deleted after a crash: the commit is gone, its line is not.
    with db.transaction() as c:
        c.execute("DELETE FROM entities WHERE name = 'b'")
        c.execute("DELETE FROM operations WHERE payload LIKE '%\"b\"%'")
    memory.close()
    mark_suspect(memory.path_of("project"))

    mending = world.memory(repair=True)

    found = graph.read_graph(database(mending)).entities
    assert [entity.name for entity in found] == ["a", "b"]
    assert mending.messages == ["Restored 1 change from the journal."]


def test_a_queue_that_begins_with_a_byte_order_mark_is_read_without_loss(world: World) -> None:
    memory = world.memory()
    create(memory, entity("a"))
    path = memory.path_of("project")
    memory.close()
    world.home.joinpath(path).write_bytes(b"x" * 5000)
    broken = world.memory()
    assert create(broken, entity("waits"))["queued"]
    [queue] = map(Path, journal.waiting_files(broken.queue_folder("project")))
    queue.write_bytes(b"\xef\xbb\xbf" + queue.read_bytes())

    mending = world.memory(repair=True)
    assert sync.drain(mending) == 1

    assert "waits" in [e.name for e in graph.read_graph(database(mending)).entities]


def test_changes_for_the_user_database_are_queued_in_home(world: World) -> None:
    memory = world.memory()
    world.home.joinpath("user.db").write_bytes(b"x" * 5000)
    memory.remember(decision("Never guess", scope="user"), USER)
    assert not world.local.exists()
    assert len(journal.queued(str(world.home / "local"))[0]) == 1


def test_a_long_line_in_our_queue_is_read_even_after_an_incomplete_line(world: World) -> None:
    large = operation("one")._replace(payload={"entities": [entity("one", "x" * 300_000)]})
    path = world.local / journal.QUEUE
    files.append_lines(str(path), [signed(world, write.as_object(large))])
    path.write_bytes(b'{"torn":\n' + path.read_bytes())
    memory = world.memory()
    assert sync.drain(memory) == 1
    assert entities(memory) == ["one"]


def test_a_queue_refuses_a_line_too_long_to_be_read(world: World) -> None:
    large = operation("one")._replace(payload={"entities": [entity("one", "x" * (5 << 20))]})
    with pytest.raises(files.TooLarge, match="is larger than 4 MB"):
        queue(world, large)
    assert not journal.waiting_files(str(world.local))


UNREADABLE = """
import os
from memory_fabric.config import read_settings
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import sync
memory = Memory.open(read_settings(os.environ, {}))
print(sync.drain(memory), *memory.failures)
"""


def test_a_waiting_change_that_cannot_be_read_now_is_applied_later(world: World) -> None:
    queue(world, operation("api"))
    [path] = map(Path, journal.waiting_files(str(world.local)))
    path.chmod(0)
    assert world.run(UNREADABLE, strict=True).startswith("0 queue: [Errno 13]")
    path.chmod(0o600)
    memory = world.memory()
    assert sync.drain(memory) == 1
    assert entities(memory) == ["api"]


def test_a_change_that_its_project_folder_cannot_hold_never_reaches_another_project(
    world: World,
) -> None:
    (world.project / ".claude").write_text("no folder")
    memory = hurried(world)
    other = locked(memory)
    memory.remember(decision("Use Redis"), USER)
    assert create(memory, entity("api"))["queued"]
    other.execute("ROLLBACK")
    shop = World(world.root, "shop").memory()
    assert sync.drain(shop) == 0
    assert (entities(shop), shop.find_records("1")) == ([], [])
    assert sync.drain(memory) == 2
    assert entities(memory) == ["api"]
    assert [record.what for record in memory.find_records("1")] == ["Use Redis"]


def test_a_change_queued_outside_of_projects_stays_the_users(world: World) -> None:
    outside = world.memory(CLAUDE_PROJECT_DIR="")
    assert outside.project is None
    other = locked(outside)
    with running(Deadline(3600, lock_s=0.15, hurried=True)):
        outside.remember(decision("Use Redis"), USER)
    other.execute("ROLLBACK")
    inside = world.memory()
    assert sync.drain(inside) == 1
    assert [r.what for r in world.memory(CLAUDE_PROJECT_DIR="").find_records("1")] == ["Use Redis"]
