"""Aliases and merges: found under every name, kept with who said it, exact for the tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Entity, Filters, Provenance, Relation
from memory_fabric.store.history import merge as merging
from memory_fabric.store.history import undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import conditions, graph, search
from memory_fabric.store.upkeep import repair
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

BY = Provenance("cli", trust="user")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def relate(memory: Memory, *relations: dict[str, str]) -> None:
    memory.write("create_relations", {"relations": list(relations)}, TOOL)


def merge(memory: Memory, into: str, *names: str) -> None:
    merging.merge(memory, merging.plan(memory, into, names), BY)


def by_name(memory: Memory, word: str) -> list[str]:
    match = conditions.match_expression([word])
    return [c.entity for c in search.entities_named(database(memory), match, 9, Filters())]


def test_an_entity_is_found_by_its_alias(memory: Memory) -> None:
    create(memory, entity("PostgreSQL", "holds the orders"))

    known = merging.change_aliases(memory, "PostgreSQL", ["PG", "ElephantBase"], BY)

    assert set(known.names) == {"PG", "ElephantBase"}
    assert by_name(memory, "pg") == by_name(memory, "elephant") == ["PostgreSQL"]
    assert graph.entities_by_key(database(memory), ["p-g"])["pg"].name == "PostgreSQL"


def test_a_record_that_mentions_an_alias_is_attached_to_the_entity_with_the_alias(
    memory: Memory,
) -> None:
    create(memory, entity("PostgreSQL"))
    merging.change_aliases(memory, "PostgreSQL", ["PG"], BY)

    memory.remember(decision("Use pg", entities=(Entity("pg", "technology"),)), USER)

    assert observations_of(database(memory), "PostgreSQL") == ("Use pg",)


def test_the_graph_tools_do_not_accept_an_alias_in_place_of_a_name(memory: Memory) -> None:
    create(memory, entity("PostgreSQL"))
    merging.change_aliases(memory, "PostgreSQL", ["PG"], BY)

    with pytest.raises(NotFound):
        said = {"observations": [{"entityName": "PG", "contents": ["x"]}]}
        memory.write("add_observations", said, TOOL)
    assert graph.open_nodes(database(memory), ["PG"]).entities == ()


def test_the_name_of_another_entity_is_refused_as_an_alias(memory: Memory) -> None:
    create(memory, entity("PostgreSQL"), entity("pg"))
    with pytest.raises(BadInput, match="memory-fabric merge"):
        merging.change_aliases(memory, "PostgreSQL", ["P-G"], BY)


def test_an_alias_of_another_entity_is_refused_as_an_alias(memory: Memory) -> None:
    create(memory, entity("PostgreSQL"), entity("Progress"))
    merging.change_aliases(memory, "Progress", ["pg"], BY)

    with pytest.raises(BadInput, match="--remove"):
        merging.change_aliases(memory, "PostgreSQL", ["PG"], BY)
    with pytest.raises(BadInput, match="empty"):
        merging.change_aliases(memory, "PostgreSQL", [" "], BY)


def test_an_alias_can_be_removed(memory: Memory) -> None:
    create(memory, entity("PostgreSQL"))
    merging.change_aliases(memory, "PostgreSQL", ["PG"], BY)

    left = merging.change_aliases(memory, "pg", ["pg"], BY, remove=True)

    assert (left.entity, left.names) == ("PostgreSQL", ())
    assert by_name(memory, "pg") == []
    with pytest.raises(NotFound, match="is not called"):
        merging.change_aliases(memory, "PostgreSQL", ["pg"], BY, remove=True)


def test_a_removed_alias_is_restored_by_undo(memory: Memory) -> None:
    create(memory, entity("PostgreSQL"))
    merging.change_aliases(memory, "PostgreSQL", ["PG"], BY)
    merging.change_aliases(memory, "PostgreSQL", ["PG"], BY, remove=True)

    undo.undo(memory, [undo.last(memory)], BY)

    assert by_name(memory, "pg") == ["PostgreSQL"]


def test_removing_an_alias_moves_the_observations_made_under_it_to_a_new_entity(
    memory: Memory,
) -> None:
    db = database(memory)
    create(memory, entity("PostgreSQL", "x"))
    merging.change_aliases(memory, "PostgreSQL", ["PG"], BY)
    memory.remember(decision("Use PG 16", entities=(Entity("PG", "service"),)), USER)

    merging.change_aliases(memory, "PostgreSQL", ["PG"], BY, remove=True)

    assert observations_of(db, "PG") == ("Use PG 16",)
    assert observations_of(db, "PostgreSQL") == ("x",)
    undo.undo(memory, [undo.last(memory)], BY)
    assert by_name(memory, "pg") == ["PostgreSQL"]
    assert observations_of(db, "PostgreSQL") == ("x", "Use PG 16")


def test_aliases_survive_a_deletion_that_is_undone(memory: Memory) -> None:
    create(memory, entity("PostgreSQL", "x"))
    merging.change_aliases(memory, "PostgreSQL", ["PG"], BY)
    memory.write("delete_entities", {"entityNames": ["PostgreSQL"]}, TOOL)

    undo.undo(memory, [undo.last(memory)], BY)

    assert by_name(memory, "pg") == ["PostgreSQL"]
    assert [a.names for a in merging.all_aliases(memory)] == [("PG",)]


def test_a_merge_keeps_the_provenance_and_the_order_of_observations(memory: Memory) -> None:
    create(memory, entity("Redis", "a"), entity("redis-server", "b"))
    said = {"observations": [{"entityName": "Redis", "contents": ["c"]}]}
    memory.write("add_observations", said, USER)
    create(memory, entity("redis-server", "d", "a"))

    merge(memory, "Redis", "redis-server")

    rows = database(memory).rows("SELECT text, source, trust FROM observations ORDER BY id")
    assert rows == [
        ("a", "mcp", "tool"),
        ("b", "mcp", "tool"),
        ("c", "prompt", "user"),
        ("d", "mcp", "tool"),
    ]
    assert [e.name for e in graph.read_graph(database(memory)).entities] == ["Redis"]


def test_a_merge_moves_relations_and_drops_those_between_merged_entities(memory: Memory) -> None:
    create(memory, entity("Redis"), entity("redis-server"), entity("api"), entity("cache"))
    relate(
        memory,
        relation("api", "uses", "Redis"),
        relation("api", "uses", "redis-server"),
        relation("redis-server", "serves", "cache"),
        relation("redis-server", "is", "Redis"),
        relation("redis-server", "watches", "redis-server"),
    )

    merge(memory, "Redis", "redis-server")

    assert graph.read_graph(database(memory)).relations == (
        Relation("api", "uses", "Redis"),
        Relation("Redis", "serves", "cache"),
        Relation("Redis", "watches", "Redis"),
    )


def test_the_old_name_of_an_entity_refers_to_the_merged_entity(memory: Memory) -> None:
    create(memory, entity("Redis"), entity("redis-server"))
    merge(memory, "Redis", "redis-server")

    memory.remember(decision("Use it", entities=(Entity("Redis Server", "technology"),)), USER)

    assert observations_of(database(memory), "Redis") == ("Use it",)
    assert by_name(memory, "server") == ["Redis"]


def test_forgetting_a_record_of_a_merged_entity_removes_its_observations(memory: Memory) -> None:
    first = memory.remember(decision("Use it", entities=(Entity("Redis", "technology"),)), USER)
    other = decision("Use it well", entities=(Entity("redis-server", "technology"),))
    second = memory.remember(other, USER)
    assert first and second

    merge(memory, "Redis", "redis-server")
    memory.forget([second.id], USER)

    assert observations_of(database(memory), "Redis") == ("Use it",)


def test_an_observation_of_two_records_remains_until_both_records_are_forgotten(
    memory: Memory,
) -> None:
    one = decision("Use it", entities=(Entity("Redis", "technology"),))
    first = memory.remember(one, USER)
    again = one._replace(entities=(Entity("redis-server", "technology"),), domain="other")
    second = memory.remember(again, USER)
    assert first and second and first.id != second.id

    merge(memory, "Redis", "redis-server")
    memory.forget([first.id], USER)
    between = observations_of(database(memory), "Redis")
    memory.forget([second.id], USER)

    assert between == ("Use it",)
    assert observations_of(database(memory), "Redis") == ()


def test_the_search_index_is_consistent_after_a_merge(memory: Memory) -> None:
    create(memory, entity("Redis", "a"), entity("redis-server", "is quick"))

    merge(memory, "Redis", "redis-server")

    assert repair.mismatched_indexes(database(memory)) == []


def test_a_merge_plan_counts_what_would_move_and_changes_nothing(memory: Memory) -> None:
    create(memory, entity("Redis", "a"), entity("redis-server", "b", "c"))
    relate(memory, relation("redis-server", "is", "Redis"))

    plan = merging.plan(memory, "redis", ["redis-server", "Redis"])

    assert plan.into.name == "Redis"
    assert [(p.name, p.observations, p.relations) for p in plan.others] == [("redis-server", 2, 1)]
    assert len(graph.read_graph(database(memory)).entities) == 2


def test_an_impossible_merge_is_refused_with_a_reason(memory: Memory) -> None:
    create(memory, entity("Redis"))
    create(memory, entity("mine"), store="user")

    with pytest.raises(NotFound, match="'nobody'"):
        merging.plan(memory, "Redis", ["nobody"])
    with pytest.raises(BadInput, match="nothing to merge"):
        merging.plan(memory, "Redis", ["Redis"])
    with pytest.raises(BadInput, match="different memories"):
        merging.plan(memory, "Redis", ["mine"])
    with pytest.raises(BadInput, match="already"):
        merging.plan(memory, "Redis", ["redis"])
