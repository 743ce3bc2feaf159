"""Every change of own words is noticed: each row of the table is one way to change something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memory_fabric.capture import edit
from memory_fabric.models import Entity, Record
from memory_fabric.sharing.replica import heads, outbox
from memory_fabric.store import journal
from memory_fabric.store.history import undo
from memory_fabric.store.upkeep import backup
from sharing.journals import isolate
from sharing.replicas import Home, synced
from store.support import TOOL, USER, create, entity, observations_of, relation


def write(home: Home, kind: str, **payload: object) -> None:
    home.memory.write(kind, payload, TOOL, store="project")


def forget(home: Home, said: Record) -> None:
    home.memory.forget([said.id], USER)


def take_back(home: Home, said: Record) -> None:
    forget(home, said)
    home.push()
    assert undo.undo(home.memory, [undo.last(home.memory)], USER)


CHANGES: dict[str, Callable[[Home, Record], object]] = {
    "remember": lambda home, said: home.say("Use tabs"),
    "forget": forget,
    "undo": take_back,
    "supersede": lambda home, said: home.memory.remember(
        said._replace(id="", what="Use local time"), USER, supersedes=[said.id]
    ),
    "a reason": lambda home, said: home.say(said.what, why="clients are everywhere"),
    "put_record": lambda home, said: write(
        home,
        "put_record",
        record={"type": "decision", "what": "Use UTC always", "id": said.id, "status": "active"},
        seen_in=[],
    ),
    "create_entities": lambda home, said: create(home.memory, entity("db", "is 15")),
    "add_observations": lambda home, said: write(
        home, "add_observations", observations=[{"entityName": "api", "contents": ["is new"]}]
    ),
    "delete_observations": lambda home, said: write(
        home, "delete_observations", deletions=[{"entityName": "api", "observations": ["is old"]}]
    ),
    "create_relations": lambda home, said: home.relate("api", "needs", "Redis"),
    "delete_relations": lambda home, said: write(
        home, "delete_relations", relations=[relation("api", "uses", "Redis")]
    ),
    "delete_entities": lambda home, said: write(home, "delete_entities", entityNames=["api"]),
    "merge": lambda home, said: write(home, "merge", into="Redis", names=["api"]),
    "alias": lambda home, said: write(home, "alias", entity="api", aliases=["gateway"]),
    "forget an entity": lambda home, said: write(home, "forget", ids=[], entityNames=["api"]),
}


def prepared(home: Home) -> Record:
    said = home.say("Use UTC", entities=(Entity("clock", "component"),))
    create(home.memory, entity("api", "is old"))
    home.relate("api", "uses", "Redis")
    return said


@pytest.mark.parametrize("name", CHANGES)
def test_every_kind_of_change_to_own_memories_is_sent_to_the_log(
    name: str, ann: Home, bob: Home
) -> None:
    said = prepared(ann)
    synced(ann, bob)
    CHANGES[name](ann, said)
    assert ann.push() > 0
    bob.pull()
    assert current(bob, "theirs") == current(ann, *heads.OWN)


def test_repeating_a_statement_does_not_send_it_again_to_other_members(
    ann: Home, bob: Home
) -> None:
    said = prepared(ann)
    synced(ann, bob)
    ann.say(said.what, USER._replace(session="s9"))
    create(ann.memory, entity("api", "is old"))
    assert (ann.push(), bob.push()) == (0, 0)


def test_editing_the_text_of_a_record_sends_the_new_text_to_the_log(ann: Home, bob: Home) -> None:
    said = prepared(ann)
    synced(ann, bob)
    stored = edit.editable(ann.memory, said.id)
    asked = edit.Edit(text="Use UTC in every table")
    edit.save(ann.memory, stored, edit.edited(ann.memory, stored.record, asked, USER), USER)
    synced(ann, bob)
    assert "Use UTC in every table" in bob.records()


def test_a_rebuilt_database_recognises_its_own_operations_in_the_log(ann: Home, bob: Home) -> None:
    said = prepared(ann)
    synced(ann, bob)
    ann.memory.flush()
    ann.memory.close()
    Path(ann.database.path).unlink()
    ann.memory.close()
    ann.memory = type(ann.memory).open(ann.world.settings(**ann.environ), repair=True)
    assert list(ann.records()) == [said.what]
    assert ann.begin()
    ann.pull()
    assert ann.push() == 0
    assert current(ann, *heads.OWN) == current(bob, "theirs")
    assert ann.counts().conflicts == 0


def test_a_rebuilt_database_keeps_the_users_observations_of_a_colleagues_entity(
    ann: Home, bob: Home
) -> None:
    create(ann.memory, entity("api", "is old"))
    synced(ann, bob)
    write(bob, "add_observations", observations=[{"entityName": "api", "contents": ["is fast"]}])
    bob.memory.flush()
    path = Path(bob.database.path)
    bob.memory.close()
    path.unlink()
    bob.memory = type(bob.memory).open(bob.world.settings(**bob.environ), repair=True)
    assert observations_of(bob.database, "api") == ("is fast",)
    bob.begin()
    synced(ann, bob)
    assert observations_of(bob.database, "api") == ("is fast", "is old")
    assert observations_of(ann.database, "api") == ("is old", "is fast")


def test_a_restored_backup_gets_later_statements_from_the_log(desk: Home) -> None:
    prepared(desk)
    desk.sync()
    copy = backup.create(desk.database.path)
    desk.say("Use tabs")
    desk.sync()
    path = desk.database.path
    desk.memory.close()
    Path(path).write_bytes(Path(copy).read_bytes())
    for ending in ("-wal", "-shm"):
        Path(path + ending).unlink(missing_ok=True)
    desk.reopen()
    assert "Use tabs" not in desk.records()
    desk.sync()
    assert desk.records()["Use tabs"].source == "prompt"
    assert desk.counts().waiting == 0


def test_records_of_isolated_domains_are_neither_sent_nor_accepted(ann: Home, bob: Home) -> None:
    isolate(ann.memory, "legal")
    ann.say("The contract ends in May", domain="legal")
    bob.say("The lawyer is expensive", domain="legal")
    synced(ann, bob)
    assert list(ann.records()) == ["The contract ends in May"]
    assert list(bob.records()) == ["The lawyer is expensive"]
    assert ann.counts().refused == 1


def test_isolating_a_domain_stops_sharing_its_records_in_both_directions(
    ann: Home, bob: Home
) -> None:
    ann.say("The contract ends in May", domain="legal")
    bob.say("The lawyer is expensive", domain="legal")
    create(bob.memory, entity("court", "is far"))
    bob.database.connection.execute("UPDATE observations SET domain = 'legal'")
    bob.database.connection.execute("UPDATE entities SET domain = 'legal'")
    synced(ann, bob)
    isolate(ann.memory, "legal")
    synced(ann, bob)
    assert list(bob.records()) == ["The lawyer is expensive"]
    assert list(ann.records()) == ["The contract ends in May"]
    assert ann.database.rows("SELECT name FROM entities") == []
    assert ann.counts().refused == 3


def test_all_records_are_sent_if_operations_are_prepared_in_batches(ann: Home, bob: Home) -> None:
    for number in range(7):
        ann.say(f"Rule {number} holds for module {number}")
    while outbox.settle(ann.memory, ann.database, limit=2):
        pass
    synced(ann, bob)
    assert len(bob.records()) == 7
    assert journal.has_unexported(ann.database)


def current(home: Home, *states: str) -> dict[str, str]:
    """Return one author's statements by key, as others see them."""
    found: dict[str, list[heads.Head]] = {}
    for head in home.heads().values():
        if head.state in states:
            found.setdefault(head.key, []).append(head)
    return {key: max(some, key=lambda head: head.order).op_id for key, some in found.items()}
