"""Many entities and relations at once: what one by one would store, in few operations."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import Entity, Graph, Provenance, Relation
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.history import undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from store.support import TOOL, World, create, entity, observations_of, relation

THERE = Provenance("import", trust="tool")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def whole(memory: Memory) -> Graph:
    return graph.read_all(memory.databases())


def test_a_large_graph_loads_in_order_and_can_be_searched_and_undone(memory: Memory) -> None:
    entities = [
        Entity(f"entity {i}", "t", tuple(f"fact {n} of {i}" for n in range(3))) for i in range(2100)
    ]
    relations = [Relation(f"entity {i}", "knows", f"entity {i + 1}") for i in range(2099)]
    relations += [Relation("entity 0", "knows", "somebody else"), relations[0]]
    done: list[int] = []

    loaded = exchange.load(memory, iter(entities), iter(relations), THERE, done.append)

    assert loaded == exchange.Loaded(entities=2100, observations=6300, relations=2100, ends=1)
    assert whole(memory) == Graph(
        (*entities, Entity("somebody else", "unknown")), tuple(relations[:-1])
    )
    assert done == [2000, 2100, 4100, 4201]
    db = memory.session_database()
    for table in ("entities_fts", "observations_fts", "entities_trigrams", "observations_trigrams"):
        db.rows(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
    assert db.rows(
        "SELECT count(*) FROM observations_fts WHERE observations_fts MATCH 'fact 2 2099'"
    ) == [(1,)]

    while whole(memory).entities:
        undo.undo(memory, [undo.last(memory)], TOOL)

    assert db.rows("SELECT count(*) FROM operations") == [(8,)]
    assert whole(memory) == Graph()


def test_loading_the_same_graph_again_adds_nothing(memory: Memory) -> None:
    entities = [Entity("a", "t", ("x", "y")), Entity("b", "t")]
    relations = [Relation("a", "uses", "b")]
    exchange.load(memory, entities, relations, THERE)
    before = whole(memory)

    again = exchange.load(memory, entities, relations, THERE)

    assert again == exchange.Loaded()
    assert whole(memory) == before


def test_an_entity_name_that_occurs_twice_in_one_operation_becomes_one_entity(
    memory: Memory,
) -> None:
    told = create(memory, entity("a", "x", "x"), entity("b"), entity("a", "x", "y"))

    db = memory.session_database()
    assert observations_of(db, "a") == ("x", "y")
    assert [e["name"] for e in told["entities"]] == ["a", "b"]
    assert told["merged"] == [{"name": "a", "observations": ["y"]}]

    add = {"observations": [{"entityName": "a", "contents": ["z", "y"]}] * 2}
    added = memory.write("add_observations", add, TOOL)

    assert [r["addedObservations"] for r in added["results"]] == [["z"], []]
    assert observations_of(db, "a") == ("x", "y", "z")


def test_a_relation_that_occurs_twice_in_one_operation_is_stored_once(memory: Memory) -> None:
    create(memory, entity("a"))
    both = [relation("a", "uses", "b"), relation("a", "uses", "b")]

    told = memory.write("create_relations", {"relations": both}, TOOL)

    assert told["relations"] == both[:1]
    assert told["created_ends"] == ["b"]


def test_loaded_names_and_texts_keep_every_character_including_nul(memory: Memory) -> None:
    odd = Entity("null\0name 日本", "t\0", ("null\0text", "quote ' \" \\ \n 🍵", ""))

    exchange.load(memory, [odd], [Relation(odd.name, "a\0b", odd.name)], THERE)

    assert whole(memory) == Graph((odd,), (Relation(odd.name, "a\0b", odd.name),))
