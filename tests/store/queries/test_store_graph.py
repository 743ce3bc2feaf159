"""Reads of the graph: by name, in order, up to a limit, and what is unusual in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import HAS_OTHERS, Entity, Graph, Relation
from memory_fabric.store.database import Database
from memory_fabric.store.history import merge
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import conditions, graph
from store.support import TOOL, USER, World, create, database, decision, entity, relation

AB, BC, CA = Relation("a", "uses", "b"), Relation("b", "uses", "c"), Relation("c", "uses", "a")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A memory with a ring of three entities."""
    memory = World(tmp_path).memory()
    create(memory, entity("c", "x"), entity("a", "y", "z"), entity("b"))
    edges = [relation("a", "uses", "b"), relation("b", "uses", "c"), relation("c", "uses", "a")]
    memory.write("create_relations", {"relations": edges}, TOOL)
    return memory


@pytest.fixture
def db(memory: Memory) -> Database:
    return database(memory)


def test_names_are_listed_in_creation_order_from_a_position(db: Database) -> None:
    assert graph.names_from(db, 0, 2) == ["c", "a"]
    assert graph.names_from(db, 2, 9) == ["b"]
    assert graph.names_from(db, 3, 9) == []
    assert graph.counts(db) == (3, 3)
    assert graph.existing(db, ["b", "none", "c", "b"]) == ["c", "b"]


def test_relations_are_read_from_one_or_both_ends_up_to_a_limit(db: Database) -> None:
    def found(limit: int, *ends: str) -> list[Relation]:
        return [*graph.opened(db, ["a"], limit, ends)[1].values()]

    assert found(-1, *graph.ENDS) == [AB, CA]
    assert found(1, *graph.ENDS) == [AB]
    assert found(-1, "source") == [AB]
    assert found(-1, "target") == [CA]
    assert graph.relations_of(db, ["a", "b"]) == [AB, BC, CA]
    assert graph.relations_of(db, ["a", "b"], -1) == [AB, BC, CA]
    assert graph.relations_of(db, ["a", "b"], 2) == [AB, BC]


def test_the_oldest_relations_are_read_even_if_the_entities_need_several_queries(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "CHUNK", 1)

    assert graph.relations_of(db, ["c", "b", "a"], 2) == [AB, BC]
    assert graph.open_nodes(db, ["c", "b", "a"]) == graph.read_graph(db)


def test_a_graph_is_read_as_it_is_now_and_only_while_it_is_small(
    memory: Memory, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "MAX_SMALL_ENTITIES", 3)

    assert graph.read_if_small([db]) == graph.read_graph(db)
    create(memory, entity("c", "new"))
    changed = graph.read_if_small([db])
    assert changed is not None and changed.entities[0].observations == ("x", "new")
    create(memory, entity("d"))
    assert graph.read_if_small([db]) is None
    assert graph.read_if_small([]) == Graph()


def test_two_graphs_are_combined_by_the_names_of_entities() -> None:
    one = Graph((Entity("a", "first", ("x", "y")), Entity("b", "t")), (AB,))
    other = Graph((Entity("a", "second", ("y", "z")), Entity("c", "t")), (AB, CA))

    assert graph.merged([one, other]) == Graph(
        (Entity("a", "first", ("x", "y", "z")), Entity("b", "t"), Entity("c", "t")), (AB, CA)
    )
    assert graph.merged([one]) == one
    end = Graph((Entity("a", "unknown"),), (CA,))
    assert graph.merged([end, one]).entities[0] == one.entities[0]
    assert graph.merged([]) == Graph()


def test_a_relation_is_left_out_before_it_was_stated_and_after_it_ended(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path / "other").memory()
    said = decision("Use it", relations=(Relation("api", "uses", "Redis"),))
    old = memory.remember(said, USER._replace(at="2026-02-01"))
    assert old is not None
    new = decision("Use Valkey now")
    memory.remember(new, USER._replace(at="2026-04-01", session="s2"), [old.id])
    db = database(memory)

    def found(at: str) -> int:
        return len(graph.relations_of(db, ["api"], at=at))

    assert [found(at) for at in ("2026-01", "2026-02-01", "2026-03", "2026-04-01")] == [0, 1, 1, 0]
    assert found("") == 1 and found(graph.NOW) == 0


def test_names_that_deletions_left_alone_have_texts_but_no_relations(
    memory: Memory, db: Database
) -> None:
    assert graph.left_alone(db) == []
    memory.write("delete_relations", {"relations": [relation("a", "uses", "b")]}, TOOL)
    assert graph.left_alone(db) == []
    memory.write("delete_entities", {"entityNames": ["c"]}, TOOL)

    assert graph.left_alone(db) == ["a"]
    assert graph.left_alone(db, 1) == ["a"]
    assert graph.orphans(db) == ["b"]
    create(memory, entity("later"))
    assert graph.orphans(db, 1) == ["b"]
    memory.write("create_relations", {"relations": [relation("a", "is", "a")]}, TOOL)
    assert graph.left_alone(db) == []


def test_spellings_of_one_name_and_aliases_that_are_names_are_listed(
    memory: Memory, db: Database
) -> None:
    assert graph.variants(db) == []
    assert graph.alias_conflicts(db) == []
    create(memory, entity("my-api"), entity("other"), entity("My_API"))
    for name, alias in (("a", "web"), ("b", "shop")):
        merge.change_aliases(memory, name, [alias], USER)
    create(memory, entity("Web"), entity("Shop"))

    assert graph.variants(db) == [["my-api", "My_API"]]
    assert graph.alias_conflicts(db) == [("shop", "b", "Shop"), ("web", "a", "Web")]
    assert graph.entities_by_key(db, ["web"]) == {"web": Entity("Web", "component")}


def test_some_rows_of_a_search_are_reserved_for_other_users_if_there_are_any(
    memory: Memory, db: Database
) -> None:
    def limits(limit: int) -> list[int]:
        return [n for _, n in conditions.shares(db, conditions.Condition(), limit, "r")]

    assert limits(8) == [8]
    with db.transaction() as c:
        c.execute("INSERT INTO meta VALUES (?, '1')", (HAS_OTHERS,))
    own, others = limits(8)
    assert own == 8 and 0 < others < 8
    assert limits(1) == [1, 1]


def test_records_and_turns_are_counted_together(memory: Memory, db: Database) -> None:
    memory.remember(decision("Use Redis"), USER)
    turn = {"id": "t", "session": "s", "role": "user", "text": "Redis", "created_at": "2026"}
    memory.write("add_episodes", {"episodes": [turn, turn | {"id": "u", "text": "x"}]}, USER)
    user = database(memory, "user")

    assert conditions.number_of_texts([db]) == conditions.number_of_texts([db, user]) == 3
    assert conditions.number_of_texts([db], '"redis"') == 2
    assert conditions.number_of_texts([]) == 0
    assert conditions.count_matches(db, "records_fts", '"redis"', 5) == 1
