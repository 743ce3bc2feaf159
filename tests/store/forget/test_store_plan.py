"""Forget: what a request means, its code, and that nothing brings it back unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import new_id
from memory_fabric.models import Entity, Operation, Provenance, Record
from memory_fabric.store import journal, records, write
from memory_fabric.store.forget import plan
from memory_fabric.store.history import merge
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.upkeep import repair
from store.support import (
    TOOL,
    USER,
    World,
    create,
    database,
    decision,
    entity,
    names,
    observations_of,
    pagination,
    relation,
)

BY = Provenance("cli", trust="user")
IMPORT = Provenance("import", trust="tool")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def memory(world: World) -> Memory:
    return world.memory()


def forget(memory: Memory, text: str) -> int:
    return plan.forget(memory, plan.find(memory, text), BY)


def there(memory: Memory) -> list[str]:
    return names(graph.read_graph(database(memory)).entities)


def test_a_record_is_found_by_the_end_of_its_id(memory: Memory) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None

    found = plan.find(memory, record.id[-8:])

    assert (found.records, found.entities, found.observations) == ((record,), (), ())


@pytest.mark.parametrize("text", ["🎉", "it is", "?"])
def test_an_observation_of_only_stop_words_or_signs_is_forgotten_by_its_entity_and_text(
    memory: Memory, text: str
) -> None:
    memory.remember(decision("Use Redis for the queue"), USER)
    create(memory, entity("Redis", text, "is fast"))

    found = plan.find(memory, f"Redis {text}")

    assert (found.records, found.entities, len(found)) == ((), (), 1)
    assert plan.forget(memory, found, BY) == 1
    assert text not in observations_of(database(memory), "Redis")
    assert "is fast" in observations_of(database(memory), "Redis")


def test_forgetting_by_exact_name_or_alias_selects_only_the_entity(memory: Memory) -> None:
    memory.remember(decision("Use Redis for the queue"), USER)
    create(memory, entity("Redis", "is fast"), entity("redis"))
    merge.change_aliases(memory, "Redis", ["the cache"], BY)

    by_name, by_alias = (plan.find(memory, text) for text in ("Redis", "the cache"))

    assert [e.name for e in by_name.entities] == [e.name for e in by_alias.entities] == ["Redis"]
    assert by_name.records == ()
    assert by_name.entities[0].observations == ("is fast",)


def test_a_search_finds_records_and_observations_that_contain_all_of_the_words(
    memory: Memory,
) -> None:
    record = memory.remember(pagination(), USER)
    create(
        memory,
        entity("Ann", "likes pagination with a cursor", "likes tea"),
        entity("cursor pagination club"),
    )

    found = plan.find(memory, "cursor paginations")

    assert found.records == (record,)
    assert [(o.entity, o.text) for o in found.observations] == [
        ("Ann", "likes pagination with a cursor")
    ]
    assert [o.text for o in plan.find(memory, "Ann tea").observations] == ["likes tea"]
    with pytest.raises(NotFound, match="recall finds it"):
        plan.find(memory, "elephants")


def test_a_single_observation_can_be_forgotten_alone(memory: Memory) -> None:
    create(memory, entity("Ann", "likes tea", "has a dog"))

    assert forget(memory, "likes tea") == 1

    assert observations_of(database(memory), "Ann") == ("has a dog",)


def test_a_confirmation_code_is_valid_only_until_the_memory_changes(memory: Memory) -> None:
    create(memory, entity("Ann", "likes tea"))
    code = plan.find(memory, "Ann").code

    assert plan.confirmed(memory, "Ann", code).code == code
    create(memory, entity("Ann", "has a dog"))
    with pytest.raises(BadInput, match="does not fit"):
        plan.confirmed(memory, "Ann", code)


def test_forgetting_is_refused_if_the_entity_changed_since_it_was_shown(memory: Memory) -> None:
    create(memory, entity("Ann", "likes tea"))
    found = plan.find(memory, "Ann")
    create(memory, entity("Ann", "has a dog"))

    with pytest.raises(BadInput, match="nothing was forgotten"):
        plan.forget(memory, found, BY)

    assert there(memory) == ["Ann"]


def test_all_matches_in_a_database_are_forgotten_in_one_operation(memory: Memory) -> None:
    memory.remember(pagination(), USER)
    create(memory, entity("Ann", "likes pagination"))

    assert forget(memory, "pagination") == 2

    kinds = [row[0] for row in database(memory).rows("SELECT kind FROM operations ORDER BY seq")]
    assert kinds == ["remember", "create_entities", "forget"]


def test_a_tombstone_contains_no_text_of_the_forgotten_memory(memory: Memory) -> None:
    create(memory, entity("Ann", "likes tea"))

    forget(memory, "Ann")

    ids = [row[0] for row in database(memory).rows("SELECT id FROM tombstones ORDER BY id")]
    assert [id_.partition(":")[0] for id_ in ids] == ["entity", "observation"]
    assert not any("Ann" in id_ or "tea" in id_ for id_ in ids)


def test_an_import_does_not_restore_a_forgotten_memory(memory: Memory) -> None:
    create(memory, entity("Ann", "likes tea"), entity("Bob", "has a dog", "is tall"))
    forget(memory, "Ann")
    forget(memory, "has dog")

    made = memory.write(
        "create_entities",
        {"entities": [entity("Ann", "likes tea"), entity("Bob", "has a dog"), entity("Eve")]},
        IMPORT,
    )
    edges = {"relations": [relation("Bob", "knows", "Ann"), relation("Bob", "knows", "Eve")]}
    related = memory.write("create_relations", edges, IMPORT)
    said = {"observations": [{"entityName": "Bob", "contents": ["has a dog", "sings"]}]}
    added = memory.write("add_observations", said, IMPORT)

    assert made["forgotten"] == ["Ann", "Bob"]
    assert related["forgotten"] == ["Ann"]
    assert added["forgotten"] == ["Bob"]
    assert there(memory) == ["Bob", "Eve"]
    assert observations_of(database(memory), "Bob") == ("is tall", "sings")
    assert len(graph.read_graph(database(memory)).relations) == 1


def test_a_forgotten_entity_can_be_imported_after_it_was_created_again(memory: Memory) -> None:
    create(memory, entity("Ann", "likes tea"))
    forget(memory, "Ann")

    result = create(memory, entity("Ann", "likes tea"))

    assert "forgotten" not in result
    assert database(memory).rows("SELECT * FROM tombstones") == []
    assert "forgotten" not in memory.write(
        "create_entities", {"entities": [entity("Ann", "likes tea", "is tall")]}, IMPORT
    )


def test_a_change_queued_before_an_entity_was_forgotten_does_not_restore_the_entity(
    memory: Memory,
) -> None:
    create(memory, entity("Ann", "likes tea"))
    forget(memory, "Ann")
    early = TOOL._replace(at="2020-01-01T00:00:00.000Z")
    waiting = Operation(new_id(), "create_entities", {"entities": [entity("Ann")]}, early)

    result = memory.apply_now(waiting)

    assert (result["entities"], result["forgotten"]) == ([], ["Ann"])


def test_a_new_record_can_refer_to_an_entity_that_was_forgotten(memory: Memory) -> None:
    create(memory, entity("Redis", "is fast"))
    forget(memory, "Redis")

    memory.remember(decision("Use it", entities=(Entity("Redis", "technology"),)), USER)

    assert observations_of(database(memory), "Redis") == ("Use it",)
    assert "Redis" not in str(database(memory).rows("SELECT id FROM tombstones"))


def test_an_imported_record_does_not_restore_a_forgotten_entity(memory: Memory) -> None:
    create(memory, entity("Redis", "is fast"))
    forget(memory, "Redis")

    memory.remember(decision("Use it", entities=(Entity("Redis", "technology"),)), IMPORT)

    assert there(memory) == []
    assert [r.what for r in memory.find_records("1")] == ["Use it"]


def test_writing_a_forgotten_record_again_does_not_restore_the_record(memory: Memory) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None
    forget(memory, record.id)
    payload = {"record": records.as_object(record._replace(pinned=True)), "seen_in": ["s1"]}

    memory.write("put_record", payload, USER, store="project")
    memory.write("remember", {"record": records.as_object(record)}, USER, store="project")

    assert memory.find_records("1") == []
    assert there(memory) == []


def test_replaying_an_old_journal_does_not_restore_forgotten_memories(
    world: World, memory: Memory
) -> None:
    record = memory.remember(pagination(), USER)
    create(memory, entity("Ann", "likes tea"))
    assert record is not None
    memory.flush()
    path = memory.journal_of("project")
    old = Path(path).read_bytes()
    forget(memory, record.id)
    forget(memory, "Ann")

    # The journal of old holds the same operations under other ids, as another machine's would.
    lines = [json.loads(line) for line in old.decode().splitlines()]
    for line in lines:
        line["id"] = new_id()
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    repair.replay(database(memory), path)

    assert memory.find_records("1") == []
    assert there(memory) == []


def test_the_journal_marks_a_record_as_forgotten(world: World, memory: Memory) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None

    forget(memory, record.id)

    lines = (world.local / journal.DECISIONS).read_text("utf-8").splitlines()
    assert json.loads(lines[-1])["id"] == record.id
    assert json.loads(lines[-1])["forgotten"] is True


def test_an_observation_is_deleted_by_a_forget_operation_from_the_queue(memory: Memory) -> None:
    create(memory, entity("Ann", "likes tea", "has a dog"))
    payload = {
        "ids": [],
        "entityNames": [],
        "deletions": [{"entityName": "Ann", "observations": ["likes tea"]}],
    }
    line = write.as_object(Operation(new_id(), "forget", payload, TOOL))

    operation = write.from_object(line)

    assert operation is not None
    assert write.apply(database(memory), operation)["deleted"] == 1


def test_an_entity_is_found_with_the_records_about_it_alone_and_other_records_are_kept(
    memory: Memory,
) -> None:
    redis, kafka = Entity("Redis", "technology"), Entity("Kafka", "technology")
    project = Entity("billing", "project")
    alone = memory.remember(decision("Use it for carts", entities=(redis, project)), USER)
    both = memory.remember(decision("Use both for mails", entities=(redis, kafka)), USER)
    create(memory, entity("Redis", "is fast"))
    memory.write("create_relations", {"relations": [relation("api", "uses", "Redis")]}, TOOL)
    assert alone is not None and both is not None

    found = plan.find(memory, "Redis")

    assert (found.records, found.kept) == ((alone,), (both,))
    assert [(e.type, e.store, e.observations, e.relations) for e in found.entities] == [
        ("technology", "project", ("is fast",), 1)
    ]
    assert len(found) == 2
    shown = plan.as_json(found)
    assert shown["code"] == found.code
    assert [[r["id"] for r in shown[key]] for key in ("records", "kept")] == [[alone.id], [both.id]]
    assert shown["entities"][0]["name"] == "Redis" and shown["turns"] == shown["observations"] == []
    assert plan.forget(memory, found, BY) == 2
    assert [record.id for record in memory.find_records("1")] == [both.id]


def test_a_turn_is_found_by_the_end_of_its_id_unless_several_turns_have_it(memory: Memory) -> None:
    fields = {"session": "s", "role": "user", "text": "hello", "created_at": "2026"}
    ids = ("0199aaaa-0000beef", "0199bbbb-0000beef")
    memory.write("add_episodes", {"episodes": [fields | {"id": id_} for id_ in ids]}, TOOL)

    only = plan.FoundTurn("0199aaaa-0000beef", "user", "hello", "2026", "project")
    for end in ("aaaa-0000beef", "a-0000beef"):
        assert plan.find(memory, f"episode:{end}").turns == (only,)
    with pytest.raises(BadInput, match="0199bbbb-0000beef"):
        plan.find(memory, "0000beef")
    for unknown in ("episode:eef", "episode:0000dead"):
        with pytest.raises(NotFound):
            plan.find(memory, unknown)


def test_the_code_of_a_request_changes_with_every_match_and_option(memory: Memory) -> None:
    found = plan.Found("x", words="ab")
    record = decision(id="r1")
    others = [
        plan.Found("x", (record,)),
        plan.Found("x", (record._replace(why="because"),)),
        plan.Found("x", turns=(plan.FoundTurn("t", "user", "a", "b", "project"),)),
        plan.Found("x", observations=(plan.FoundText("a", "b", "project"),)),
        plan.Found("x", words="ab", exact=True),
        plan.Found("x", words="ab", inside=True),
        plan.Found("x", words="ab", everywhere=True),
        plan.Found("x"),
    ]

    assert len({one.code for one in (found, *others)}) == len(others) + 1
    assert plan.Found("another text", words="ab").code == found.code
    assert [len(one) for one in others] == [1, 1, 1, 1, 0, 0, 0, 0]


def chain(memory: Memory, *texts: str) -> list[Record]:
    """Store records, each superseding the one before."""
    made: list[Record] = []
    for number, text in enumerate(texts):
        by = USER._replace(at=f"2026-0{number + 1}")
        stored = memory.remember(decision(text), by, [record.id for record in made[-1:]])
        assert stored is not None
        made.append(stored)
    return [memory.find_records("id = ?", (record.id,))[0] for record in made]


def test_records_that_become_valid_again_are_named_before_their_successor_is_forgotten(
    memory: Memory,
) -> None:
    first, second, third = chain(memory, "Use tape", "Use disks", "Use clouds and rain")
    short = first.id[-8:]

    assert plan.reopened(memory, [first]) == ""
    assert plan.reopened(memory, [third]) == (
        f"{second.id[-8:]} “Use disks” holds again; `forget {second.id[-8:]}` too?"
    )
    assert plan.reopened(memory, [second, third]) == plan.reopened(memory, [third, second])
    assert plan.reopened(memory, [second, third]).startswith(f"{short} “Use tape” holds again")
    assert plan.reopened(memory, [second]) == ""
    assert plan.reopened(memory, [first, second, third]) == ""
    other, newer = chain(memory, "Walk", "Ride a horse")
    both = plan.reopened(memory, [newer, third])
    assert "hold again" in both and other.id[-8:] in both and second.id[-8:] in both


def test_a_change_that_waits_in_the_queue_is_reported_as_not_yet_forgotten(
    memory: Memory,
) -> None:
    create(memory, entity("Ann", "likes tea"))
    found = plan.find(memory, "Ann")
    database(memory).newer = True
    database(memory).connection.execute("PRAGMA user_version = 99")

    with pytest.raises(StoreUnavailable, match="forgotten later"):
        plan.forget(memory, found, BY)

    assert len(journal.queued(memory.queue_folder("project"))[0]) == 1


def test_a_purge_is_planned_with_all_names_and_with_texts_that_are_not_too_short(
    memory: Memory,
) -> None:
    create(memory, entity("Ann", "likes green tea a lot", "is tall"))
    merge.change_aliases(memory, "Ann", ["Annie"], BY)
    user = memory.remember(decision("Drink green tea", why="it is good", scope="user"), USER)
    assert user is not None

    planned = plan.purge_plan(memory, plan.find(memory, "Ann"))
    mine = plan.purge_plan(memory, plan.find(memory, user.id))

    assert planned["texts"] == ["likes green tea a lot"]
    assert (planned["short"], planned["memories"], planned["everywhere"]) == (1, 1, False)
    assert planned["stores"]["project"]["names"] == ["Ann", "Annie"]
    said = [["Ann", "likes green tea a lot"], ["Ann", "is tall"]]
    assert planned["stores"]["project"]["said"] == said
    assert (mine["ids"], mine["everywhere"], mine["words"]) == ([user.id], True, [])
    assert (mine["texts"], mine["short"]) == (["Drink green tea"], 1)
    words = plan.purge_plan(memory, plan.Found("tea", (user,), words="green tea", exact=True))
    assert (words["texts"], words["words"], words["exact"]) == ([], ["green tea"], True)
    target = plan.target_in(planned, memory, database(memory))
    assert target.names == {"Ann", "Annie"} and ("Ann", "is tall") in target.said
    other = plan.target_in(planned, memory, database(memory, "user"))
    assert (other.names, other.said, other.given) == (frozenset(), frozenset(), target.names)
    assert plan.target_of(words).exact and not plan.target_of(words).inside
