"""Undo: which change is meant, what it takes back, and what others did since."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Provenance
from memory_fabric.store import journal
from memory_fabric.store.forget import plan
from memory_fabric.store.history import changes, merge, undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.tiers import memory_md
from store.support import (
    TOOL,
    USER,
    World,
    create,
    database,
    entity,
    names,
    observations_of,
    pagination,
)

BY = Provenance("cli", trust="user", session="s2")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def memory(world: World) -> Memory:
    return world.memory()


def entities(memory: Memory) -> list[str]:
    return [name for db in memory.databases() for name in names(graph.read_graph(db).entities)]


def undo_last(memory: Memory) -> undo.Undone:
    (done,) = undo.undo(memory, [undo.last(memory)], BY)
    return done


def test_repeated_undo_reverts_changes_from_newest_to_oldest(memory: Memory) -> None:
    create(memory, entity("one", "a"))
    create(memory, entity("two", "b"))

    undo_last(memory)
    after_one = entities(memory)
    undo_last(memory)

    assert (after_one, entities(memory)) == (["one"], [])
    with pytest.raises(NotFound, match="nothing to undo"):
        undo.last(memory)


def test_undo_reverts_the_newest_change_of_either_database(memory: Memory) -> None:
    create(memory, entity("mine"), store="user")
    create(memory, entity("ours"), store="project")
    create(memory, entity("mine too"), store="user")

    undo_last(memory)
    undo_last(memory)

    assert entities(memory) == ["mine"]


def test_undo_skips_a_forget_operation_that_deleted_nothing(memory: Memory) -> None:
    create(memory, entity("one", "a"))
    memory.write("delete_relations", {"relations": []}, TOOL, store="project")
    memory.write("forget", {"ids": []}, TOOL, store="project")

    assert undo.last(memory).kind in ("create_entities", "delete_relations")


@pytest.mark.parametrize("part", [slice(None), slice(-8, None), slice(0, 30)])
def test_a_change_is_found_by_the_start_or_end_of_its_id(memory: Memory, part: slice) -> None:
    create(memory, entity("one", "a"))
    id_ = undo.last(memory).id

    assert changes.by_id(memory, id_[part]).id == id_


def test_an_id_that_matches_several_or_no_changes_is_refused(memory: Memory) -> None:
    create(memory, entity("one"))
    create(memory, entity("two"))
    first, second = (c.id for c in changes.read_all(memory))
    common = first[: next(i for i in range(36) if first[i] != second[i])]

    with pytest.raises(BadInput, match="several changes"):
        changes.by_id(memory, common)
    for unknown in ("ffffffffffff", "ff", "%%%%%%%%"):
        with pytest.raises(NotFound, match="history shows ids"):
            changes.by_id(memory, unknown)


def test_an_undo_can_itself_be_undone_by_its_id(memory: Memory) -> None:
    create(memory, entity("one", "a"))
    done = undo_last(memory)

    undo.undo(memory, [changes.by_id(memory, done.by)], BY)

    assert observations_of(database(memory), "one") == ("a",)
    first = changes.read_all(memory)[-1]
    assert not first.undone


def test_a_change_that_is_already_undone_is_skipped_and_reported(memory: Memory) -> None:
    create(memory, entity("one", "a"))
    change = undo.last(memory)
    undo.undo(memory, [change], BY)

    (again,) = undo.undo(memory, [changes.by_id(memory, change.id)], BY)

    assert (again.by, again.because) == ("", "it is undone already")


def test_an_undo_waits_in_the_queue_if_the_database_is_missing(memory: Memory) -> None:
    create(memory, entity("one", "a"))
    memory.flush()
    last = undo.last(memory)
    Path(database(memory).path).unlink()

    (done,) = undo.undo(memory, [last], BY)

    assert done.because == "it waits in the queue"
    assert [line["kind"] for line in journal.queued(memory.queue_folder("project"))[0]] == ["undo"]


def test_all_changes_of_a_session_are_undone_newest_first_in_both_databases(memory: Memory) -> None:
    other = TOOL._replace(session="other")
    create(memory, entity("ours", "a"), store="project")
    memory.write("create_entities", {"entities": [entity("theirs", "b")]}, other, store="project")
    create(memory, entity("mine", "c"), store="user")
    said = {"observations": [{"entityName": "ours", "contents": ["d"]}]}
    memory.write("add_observations", said, TOOL)
    undo_last(memory)

    chosen = undo.of_session(memory, "s1")
    done = undo.undo(memory, chosen, BY)

    assert [c.at for c in chosen] == sorted((c.at for c in chosen), reverse=True)
    assert [bool(one.by) for one in done] == [False, True, True]
    assert entities(memory) == ["theirs"]


def test_undoing_a_session_keeps_its_conversation_turns(memory: Memory) -> None:
    turn = {"id": "u1", "session": "s1", "role": "user", "text": "hello", "created_at": "2026"}
    memory.write("add_episodes", {"episodes": [turn]}, TOOL)
    create(memory, entity("one"))

    undo.undo(memory, undo.of_session(memory, "s1"), BY)

    assert database(memory).rows("SELECT text FROM episodes") == [("hello",)]


def test_undoing_a_session_without_changes_is_reported(memory: Memory) -> None:
    for session in ("nobody", ""):
        with pytest.raises(NotFound, match="No change was made"):
            undo.of_session(memory, session)


def test_undoing_the_creation_of_an_entity_keeps_observations_added_later(memory: Memory) -> None:
    create(memory, entity("one", "a"))
    said = {"observations": [{"entityName": "one", "contents": ["b"]}]}
    memory.write("add_observations", said, USER)

    undo.undo(memory, [changes.read_all(memory)[-1]], BY)

    assert observations_of(database(memory), "one") == ("b",)


def test_undoing_a_record_marks_it_as_forgotten_and_removes_it_from_memory_md(
    world: World, memory: Memory
) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None
    memory.flush()

    done = undo_last(memory)

    lines = (world.local / journal.DECISIONS).read_text("utf-8").splitlines()
    assert json.loads(lines[-1])["forgotten"] is True
    assert record.id not in world.native().read_text("utf-8")
    undo.undo(memory, [changes.by_id(memory, done.by)], BY)
    lines = (world.local / journal.DECISIONS).read_text("utf-8").splitlines()
    assert json.loads(lines[-1])["what"] == record.what
    notes = memory_md.locate(str(world.root / ".claude"), str(world.project))
    assert record.id in memory_md.shown_lines(notes)


def test_undoing_a_forget_operation_restores_everything(memory: Memory) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None
    before = graph.read_graph(database(memory))
    plan.forget(memory, plan.find(memory, record.id), BY)

    undo_last(memory)

    assert graph.read_graph(database(memory)) == before
    assert memory.find_records("id = ?", (record.id,)) != []
    assert database(memory).rows("SELECT * FROM tombstones") == []


def test_undoing_a_deletion_does_not_restore_an_entity_forgotten_later(memory: Memory) -> None:
    create(memory, entity("Ann", "likes tea", "has a dog"))
    gone = {"deletions": [{"entityName": "Ann", "observations": ["likes tea"]}]}
    memory.write("delete_observations", gone, TOOL)
    deletion = undo.last(memory)
    plan.forget(memory, plan.find(memory, "Ann"), BY)

    undo.undo(memory, [deletion], BY)

    assert entities(memory) == []


def test_undoing_a_merge_separates_the_entities_and_keeps_later_observations(
    memory: Memory,
) -> None:
    create(memory, entity("Redis", "is fast"), entity("redis-server", "is fast", "listens on 6379"))
    merge.merge(memory, merge.plan(memory, "Redis", ["redis-server"]), BY)
    said = {"observations": [{"entityName": "Redis", "contents": ["is old"]}]}
    memory.write("add_observations", said, TOOL)

    undo.undo(memory, [changes.read_all(memory)[1]], BY)

    db = database(memory)
    assert observations_of(db, "Redis") == ("is fast", "is old")
    assert observations_of(db, "redis-server") == ("is fast", "listens on 6379")
    assert db.rows("SELECT * FROM aliases") == []


def of_both_databases(memory: Memory) -> None:
    create(memory, entity("Makefile", "calls docker compose"))
    mine = {"entities": [entity("Makefile", "is indented by tabs")]}
    memory.write("create_entities", mine, TOOL, store="user")


def test_one_undo_brings_back_an_entity_that_was_deleted_from_both_databases(
    memory: Memory,
) -> None:
    of_both_databases(memory)
    before = graph.read_all(memory.databases())
    memory.write("delete_entities", {"entityNames": ["Makefile"]}, TOOL)
    assert graph.read_all(memory.databases()).entities == ()

    chosen = changes.together(memory, undo.last(memory))
    done = undo.undo(memory, chosen, BY)

    assert [one.because for one in done] == ["", ""]
    assert graph.read_all(memory.databases()) == before


def test_one_undo_brings_back_what_was_forgotten_in_both_databases(memory: Memory) -> None:
    of_both_databases(memory)
    before = graph.read_all(memory.databases())
    plan.forget(memory, plan.find(memory, "Makefile"), BY)

    undo.undo(memory, changes.together(memory, undo.last(memory)), BY)

    assert graph.read_all(memory.databases()) == before
