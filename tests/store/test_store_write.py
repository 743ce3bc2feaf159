"""The one write function: what each kind of change does, and what must hold afterwards (BR-9)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import new_id
from memory_fabric.models import Entity, Graph, Operation, Provenance, Relation
from memory_fabric.store import write
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import kinds
from memory_fabric.store.queries import graph
from store.support import TOOL, USER, World, create, database, entity, names, relation


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def whole(memory: Memory, kind: str = "project") -> Graph:
    return graph.read_graph(database(memory, kind))


def test_creating_an_existing_entity_adds_only_its_missing_observations(
    memory: Memory,
) -> None:
    assert create(memory, entity("api", "a", "b", "a"))["entities"] == [entity("api", "a", "b")]
    result = create(memory, entity("api", "b", "c"), entity("db", "d"))
    assert result["entities"] == [entity("db", "d")]
    assert result["merged"] == [{"name": "api", "observations": ["c"]}]
    assert whole(memory).entities == (
        Entity("api", "component", ("a", "b", "c")),
        Entity("db", "component", ("d",)),
    )


def test_two_entities_with_the_same_name_in_one_call_become_one(memory: Memory) -> None:
    create(memory, entity("api", "a"), entity("api", "b"))
    assert whole(memory).entities == (Entity("api", "component", ("a", "b")),)


def test_creating_a_relation_also_creates_its_missing_entities(memory: Memory) -> None:
    result = memory.write(
        "create_relations", {"relations": [relation("api", "uses", "Redis")]}, TOOL
    )
    assert result == {
        "relations": [relation("api", "uses", "Redis")],
        "created_ends": ["api", "Redis"],
    }
    assert whole(memory).relations == (Relation("api", "uses", "Redis"),)
    assert [e.type for e in whole(memory).entities] == ["unknown", "technology"]


def test_a_repeated_entity_or_relation_is_not_created_again(memory: Memory) -> None:
    for _ in range(2):
        create(memory, entity("api", "a"))
        memory.write("create_relations", {"relations": [relation("api", "uses", "api")] * 2}, TOOL)
    assert len(whole(memory).entities) == len(whole(memory).relations) == 1


def test_similar_entity_names_are_reported_and_kept_as_separate_entities(memory: Memory) -> None:
    create(memory, entity("cursor-pagination"))
    result = create(memory, entity("cursor_pagination"), entity("Cursor Pagination"))
    assert result["variants"] == {
        "cursor_pagination": ["cursor-pagination", "Cursor Pagination"],
        "Cursor Pagination": ["cursor-pagination", "cursor_pagination"],
    }
    assert len(whole(memory).entities) == 3


def test_a_deletion_reports_entities_left_without_observations_and_relations(
    memory: Memory,
) -> None:
    memory.write("create_relations", {"relations": [relation("api", "uses", "Redis")]}, TOOL)
    create(memory, entity("api", "a"))
    gone = memory.write("delete_relations", {"relations": [relation("api", "uses", "Redis")]}, TOOL)
    assert gone == {"deleted": 1, "orphans": ["Redis"]}
    assert graph.orphans(database(memory)) == ["Redis"]
    deletion = {"entityName": "api", "observations": ["a", "a", "unknown"]}
    gone = memory.write("delete_observations", {"deletions": [deletion, deletion]}, TOOL)
    assert gone == {"deleted": 1, "orphans": ["api"]}


def test_a_deletion_that_matches_nothing_records_no_operation(memory: Memory) -> None:
    memory.write("create_entities", {"entities": [entity("api", "a")]}, TOOL)
    known = database(memory).rows("SELECT id FROM operations")

    memory.write("delete_entities", {"entityNames": ["nobody"]}, TOOL)
    memory.write("delete_relations", {"relations": [relation("api", "uses", "nobody")]}, TOOL)
    never = {"entityName": "api", "observations": ["never said"]}
    memory.write("delete_observations", {"deletions": [never]}, TOOL)
    memory.write("delete_entities", {"entityNames": []}, TOOL)

    assert database(memory).rows("SELECT id FROM operations") == known


def test_a_deletion_without_a_match_is_not_applied_when_it_is_replayed_later(
    memory: Memory,
) -> None:
    gone = memory.operation("delete_entities", {"entityNames": ["api"]}, TOOL)
    memory.apply_now(gone)
    memory.write("create_entities", {"entities": [entity("api", "a")]}, TOOL)

    assert memory.apply_now(gone) == {"applied_before": True}


def test_deleting_an_entity_reports_neighbours_left_without_relations(memory: Memory) -> None:
    memory.write("create_relations", {"relations": [relation("api", "uses", "Redis")]}, TOOL)
    gone = memory.write("delete_entities", {"entityNames": ["api", "api", "nobody"]}, TOOL)
    assert gone == {"deleted": 1, "relations": 1, "orphans": ["Redis"]}
    assert whole(memory).relations == ()


def test_adding_observations_to_an_unknown_entity_fails_the_whole_call(memory: Memory) -> None:
    create(memory, entity("api"))
    wanted = [
        {"entityName": "api", "contents": ["a"]},
        {"entityName": "nobody", "contents": ["b"]},
    ]
    with pytest.raises(NotFound, match="Entity with name nobody not found"):
        memory.write("add_observations", {"observations": wanted}, TOOL)
    assert whole(memory).entities == (Entity("api", "component"),)


def test_results_of_adding_observations_are_in_the_requested_order(memory: Memory) -> None:
    create(memory, entity("api", "a"), entity("db"))
    wanted = [
        {"entityName": "db", "contents": ["x"]},
        {"entityName": "api", "contents": ["a", "b", "b"]},
    ]
    assert memory.write("add_observations", {"observations": wanted}, TOOL)["results"] == [
        {"entityName": "db", "addedObservations": ["x"]},
        {"entityName": "api", "addedObservations": ["b"]},
    ]


def test_a_call_with_an_empty_list_succeeds_and_changes_nothing(memory: Memory) -> None:
    assert create(memory)["entities"] == []
    assert memory.write("delete_entities", {"entityNames": []}, TOOL)["deleted"] == 0
    assert memory.write("add_observations", {"observations": []}, TOOL)["results"] == []


@pytest.mark.parametrize("name", ["", " ", "a\nb", "🙂", "a\0b", "x" * 100_000, "Ünï", "\udc80"])
def test_entity_names_may_be_any_text_and_are_stored_exactly(memory: Memory, name: str) -> None:
    create(memory, entity(name, name + "!"))
    stored = name.encode("utf-8", "replace").decode()
    assert whole(memory).entities == (Entity(stored, "component", (stored + "!",)),)
    assert graph.open_nodes(database(memory), [stored]).entities == whole(memory).entities


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("unknown", {}),
        ("create_entities", {}),
        ("create_entities", {"entities": [{"name": 3, "entityType": "x"}]}),
        ("create_entities", {"entities": [{"name": "a"}]}),
        ("create_entities", {"entities": "x"}),
        ("create_relations", {"relations": [{"from": "a", "to": "b"}]}),
        ("delete_entities", {"entityNames": [None]}),
        ("remember", {"record": {"what": "x"}}),
        ("put_record", {"record": {"id": "a", "type": "note", "what": "x"}}),
        ("forget", {"ids": "x"}),
        ("restore", {"entities": []}),
    ],
)
def test_an_invalid_payload_is_refused_before_any_change(
    memory: Memory, kind: str, payload: dict[str, object]
) -> None:
    with pytest.raises(BadInput):
        memory.write(kind, payload, TOOL, store="project")
    assert database(memory).rows("SELECT * FROM operations") == []


def test_an_operation_is_applied_at_most_once(memory: Memory) -> None:
    operation = Operation(new_id(), "create_entities", {"entities": [entity("api", "a")]}, TOOL)
    assert "applied_before" not in write.apply(database(memory), operation)
    memory.write("delete_entities", {"entityNames": ["api"]}, TOOL)
    assert write.apply(database(memory), operation) == {"applied_before": True}
    assert whole(memory).entities == ()


def test_every_change_is_logged_with_its_provenance_and_inverse(memory: Memory) -> None:
    create(memory, entity("api", "a"))
    row = database(memory).row("SELECT kind, payload, inverse, provenance FROM operations")
    assert row is not None
    assert row[0] == "create_entities" and '"api"' in row[1]
    steps = kinds.read_inverse(row[0], json.loads(row[1]), row[2])
    assert [step["kind"] for step in steps] == ["delete_observations", "remove_orphans"]
    assert '"author": "ann"' in row[3] and '"trust": "tool"' in row[3] and '"at": "20' in row[3]


def test_turns_are_stored_only_once_and_not_logged_as_operations(memory: Memory) -> None:
    turn = {"id": "u1", "session": "s", "role": "user", "text": "hello Redis", "created_at": "2026"}
    assert memory.write("add_episodes", {"episodes": [turn, turn]}, USER) == {"added": 1}
    assert memory.write("add_episodes", {"episodes": [turn]}, USER) == {"added": 0}
    assert database(memory).rows("SELECT * FROM operations") == []


def test_nothing_is_written_while_memory_is_switched_off(tmp_path: Path) -> None:
    memory = World(tmp_path).memory(MEMORY_FABRIC="off")
    with pytest.raises(StoreUnavailable, match="switched off"):
        create(memory, entity("api"))
    assert not os.path.exists(memory.path_of("project"))


def test_an_operation_is_read_from_its_line_with_only_known_fields() -> None:
    payload = {"entities": [entity("api", "a")]}
    stored = Operation("o1", "create_entities", payload, TOOL._replace(at="2026"), "user")
    line = write.as_object(stored)
    odd = line | {"store": "elsewhere", "provenance": {"source": "mcp", "agent": 3, "x": "y"}}

    assert write.from_object(line) == stored
    read = write.from_object(odd)
    assert read is not None and read.store == "project"
    assert read.provenance == Provenance("mcp")
    wrong: list[dict[str, Any]] = [{"id": ""}, {"kind": "x"}, {"payload": []}]
    wrong.append({"provenance": {"source": 1}})
    assert [write.from_object(line | part) for part in wrong] == [None] * 4


def test_stored_values_are_valid_text_in_every_key_and_list() -> None:
    given = {"a\ud800": ("x\ud800", [1, None]), "b": {"</memory-fabric>": True}}

    assert write.cleaned(given) == {"a?": ["x?", [1, None]], "b": {"</memory-fabric>": True}}


# --- two databases -------------------------------------------------------------------------------


def test_an_observation_is_added_to_the_user_database_if_its_entity_is_there(
    memory: Memory,
) -> None:
    create(memory, entity("Ann", "likes tea"), store="user")
    create(memory, entity("api", "a"), entity("Ann", "likes cake"))
    assert names(whole(memory).entities) == ["api"]
    assert whole(memory, "user").entities == (
        Entity("Ann", "component", ("likes tea", "likes cake")),
    )


def test_results_from_the_project_and_user_databases_are_in_the_requested_order(
    memory: Memory,
) -> None:
    create(memory, entity("Ann"), store="user")
    create(memory, entity("api"))
    wanted = [{"entityName": name, "contents": ["x"]} for name in ("Ann", "api", "Ann")]
    wanted[2]["contents"] = ["y"]
    result = memory.write("add_observations", {"observations": wanted}, TOOL)
    assert [r["entityName"] for r in result["results"]] == ["Ann", "api", "Ann"]


def test_an_unknown_name_fails_the_whole_call_in_both_databases(memory: Memory) -> None:
    create(memory, entity("Ann"), store="user")
    create(memory, entity("api"))
    wanted = [{"entityName": name, "contents": ["x"]} for name in ("Ann", "api", "nobody")]
    memory.fail("MEMORY.md: something else is wrong")
    with pytest.raises(NotFound):
        memory.write("add_observations", {"observations": wanted}, TOOL)
    assert whole(memory, "user").entities == (Entity("Ann", "component"),)
    assert whole(memory).entities == (Entity("api", "component"),)


def test_a_deletion_is_applied_to_both_databases(memory: Memory) -> None:
    create(memory, entity("x"), store="user")
    create(memory, entity("x"), store="project")
    assert memory.write("delete_entities", {"entityNames": ["x"]}, TOOL)["deleted"] == 2


def test_a_deletion_before_a_database_exists_does_nothing(memory: Memory) -> None:
    assert memory.write("delete_entities", {"entityNames": ["x"]}, TOOL) == {"deleted": 0}


def test_a_change_is_queued_if_a_damaged_database_might_contain_its_entity(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    create(memory, entity("Ann"), store="user")
    create(memory, entity("api"))
    memory.close()
    world.home.joinpath("user.db").write_bytes(b"x" * 5000)
    memory = world.memory()
    wanted = [{"entityName": name, "contents": ["x"]} for name in ("Ann", "api")]
    result = memory.write("add_observations", {"observations": wanted}, TOOL)
    assert result["queued"] and result["results"] == [
        {"entityName": "api", "addedObservations": ["x"]}
    ]
    result = memory.write("delete_entities", {"entityNames": ["nobody"]}, TOOL)
    assert result["queued"] and result["deleted"] == 0


def test_entities_are_stored_in_the_user_database_if_there_is_no_project(tmp_path: Path) -> None:
    memory = World(tmp_path).memory(CLAUDE_PROJECT_DIR="")
    create(memory, entity("api", "a"))
    assert [db.kind for db in memory.databases()] == ["user"]
    assert memory.write("add_observations", {"observations": []}, TOOL)["results"] == []
    with pytest.raises(NotFound):
        memory.write(
            "add_observations", {"observations": [{"entityName": "x", "contents": ["y"]}]}, TOOL
        )
    memory.flush()
    assert memory.failures == []


def test_an_observation_goes_to_the_database_that_has_or_may_have_its_entity() -> None:
    living = {"project": {"ours", "both"}, "user": {"mine", "both"}}

    def store_of(name: str, *unavailable: str) -> str:
        payload = {"observations": [{"entityName": name, "contents": ["x"]}], "batch": "b"}
        [(store, part)] = write.split("add_observations", payload, living, unavailable)
        assert part == payload
        return store

    assert [store_of(name) for name in ("ours", "mine", "both")] == ["project", "user", "project"]
    assert (store_of("new", "project"), store_of("new", "user")) == ("project", "user")
    assert store_of("new", "project", "user") == "project"


def test_a_change_is_split_into_the_parts_of_both_databases_in_order() -> None:
    living = {"project": {"ours"}, "user": {"mine", "yours"}}
    relations = [relation("mine", "u", "yours"), relation("mine", "u", "ours")]
    relations.append(relation("new", "u", "mine"))

    parts = write.split("create_relations", {"relations": relations}, living, ())
    empty = write.split("create_entities", {"entities": []}, living, ())
    gone = {"entityNames": ["x"]}

    assert parts == [
        ("user", {"relations": relations[:1]}),
        ("project", {"relations": relations[1:]}),
    ]
    assert empty == [("project", {"entities": []})]
    assert write.split("delete_entities", gone, {"user": set()}, ("project",)) == [
        ("project", gone),
        ("user", gone),
    ]
    assert write.split("delete_entities", gone, {"user": set()}, ()) == [("user", gone)]


def test_the_results_of_a_split_change_are_combined() -> None:
    payload = {"entities": [entity(name) for name in ("a", "b", "c")]}
    first = {"entities": [entity("c"), entity("a")], "variants": {"a": ["A"]}, "queued": False}
    second = {"entities": [entity("b")], "variants": {"b": ["B"]}, "queued": True, "because": "x"}

    whole = write.combine("create_entities", payload, [first, second])
    alone = write.combine("create_entities", payload, [first])
    gone = write.combine("delete_entities", {}, [{"deleted": 1, "orphans": ["x"]}, {"deleted": 2}])

    assert whole["entities"] == payload["entities"]
    assert whole["variants"] == {"a": ["A"], "b": ["B"]}
    assert (whole["queued"], whole["because"]) == (True, "x")
    assert alone == first
    assert gone == {"deleted": 3, "orphans": ["x"]}
    assert write.combine("delete_entities", {}, []) == {"deleted": 0}


def test_an_import_is_divided_into_operations_of_limited_size_and_one_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write, "BATCH_ITEMS", 2)
    edge = Relation("a", "u", "b")
    items: list[Entity | Relation] = [Entity(name, "t") for name in "abc"]
    items += [edge, edge, Entity("d", "t")]

    def sizes(*some: Entity | Relation) -> list[int]:
        made = write.create_operations(some)
        return [len(part) for _, payload in made for part in payload.values()]

    assert [kind for kind, _ in write.create_operations(items)] == [
        *("create_entities", "create_entities", "create_relations", "create_entities")
    ]
    assert sizes(*items) == [2, 1, 2, 1]
    assert sizes() == []
    monkeypatch.setattr(write, "BATCH_CHARS", 4)
    assert sizes(Entity("abcd", "t"), Entity("a", "t"), Entity("b", "t")) == [1, 2]
    assert sizes(Entity("ab", "t", ("c", "d")), Entity("d", "t")) == [1, 1]
    assert sizes(Relation("ab", "u", "b"), edge) == [1, 1]
