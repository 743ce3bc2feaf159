"""Everything at once: both databases as one, within limits, in a few queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import Entity
from memory_fabric.store.database import Database
from memory_fabric.store.history.undo import undo
from memory_fabric.viewer import picture as module
from memory_fabric.viewer.picture import overview
from store.support import TOOL, USER, World, create, decision, entity, pagination, relation


def test_entities_come_in_creation_order_with_their_observations(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Redis", "caches sessions", "runs on port 6379", kind="technology"))
    create(memory, entity("api"))
    memory.write("create_relations", {"relations": [relation("api", "uses", "Redis")]}, TOOL)
    memory.write("alias", {"entity": "Redis", "aliases": ["the cache"]}, TOOL, store="project")

    seen = overview(memory)

    redis, api = seen.nodes
    assert (redis.name, redis.type, redis.aliases) == ("Redis", "technology", ("the cache",))
    assert [remark.text for remark in redis.remarks] == ["caches sessions", "runs on port 6379"]
    assert (redis.remarks[0].trust, redis.remarks[0].source) == ("tool", "mcp")
    assert api.remarks == ()
    assert [(e.source, e.type, e.target) for e in seen.edges] == [(1, "uses", 0)]
    assert set(seen.left_out.values()) == {0}


def test_an_entity_in_both_databases_is_one_with_the_remarks_of_both(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Redis", "of the project"), entity("api"), store="project")
    create(memory, entity("Redis", "of the user"), entity("api"), store="user")
    for store in ("project", "user"):
        edges = {"relations": [relation("api", "uses", "Redis")]}
        memory.write("create_relations", edges, TOOL, store=store)

    seen = overview(memory)

    redis = seen.nodes[0]
    assert redis.stores == ("project", "user")
    assert [(r.text, r.scope) for r in redis.remarks] == [
        ("of the project", "team"),
        ("of the user", "user"),
    ]
    assert len(seen.nodes) == 2
    assert len(seen.edges) == 1
    assert set(seen.left_out.values()) == {0}


def test_records_name_their_entities_and_candidates_are_left_out(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    known = memory.remember(pagination(), USER)
    memory.remember(decision("Perhaps use GraphQL", confidence=0.35), USER)
    assert known is not None

    seen = overview(memory)

    assert [record.id for record in seen.records] == [known.id]
    assert [seen.nodes[n].name for n in seen.about[known.id]] == [
        "cursor-pagination",
        "list-endpoints",
        "billing",
    ]
    assert seen.left_out["records"] == 0


def test_a_record_finds_its_entity_under_the_name_it_has_after_a_merge(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    known = memory.remember(decision(entities=(Entity("k8s", "technology"),)), USER)
    create(memory, entity("Kubernetes"))
    memory.write("merge", {"into": "Kubernetes", "names": ["k8s"]}, TOOL, store="project")
    assert known is not None

    seen = overview(memory)

    assert [seen.nodes[n].name for n in seen.about[known.id]] == ["Kubernetes"]


def test_changes_come_newest_first_with_their_entities_and_records(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Redis", "caches"))
    known = memory.remember(pagination(), USER)
    assert known is not None

    seen = overview(memory)

    remembered, created = seen.steps
    assert created.what == "created Redis (component) with 1 observation"
    assert [seen.nodes[n].name for n in created.nodes] == ["Redis"]
    assert remembered.records == (known.id,)
    assert "cursor-pagination" in [seen.nodes[n].name for n in remembered.nodes]


def test_a_merge_and_its_undo_tell_the_entities_that_are_there_now(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Kubernetes", "runs"), entity("k8s", "runs too"))
    memory.write("merge", {"into": "Kubernetes", "names": ["k8s"]}, TOOL, store="project")

    merged = overview(memory)
    undo(memory, [merged.steps[0].change], USER)
    apart = overview(memory)

    assert [merged.nodes[n].name for n in merged.steps[0].nodes] == ["Kubernetes"]
    assert apart.steps[0].what.startswith("undid: merged k8s into Kubernetes")
    assert apart.steps[1].change.undone
    assert {apart.nodes[n].name for n in apart.steps[1].nodes} == {"Kubernetes", "k8s"}


def test_over_the_limits_the_most_connected_and_the_newest_stay_and_the_rest_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = World(tmp_path).memory()
    create(memory, *(entity(f"e{n}", f"first {n}", f"second {n}") for n in range(6)))
    edges = [relation("e5", "uses", f"e{n}") for n in range(3)]
    memory.write("create_relations", {"relations": edges}, TOOL)
    for number in range(4):
        memory.remember(decision(f"Use library number {number} for the parser"), USER)
    limits = {"ENTITIES": 3, "OBSERVATIONS": 8, "RELATIONS": 1, "RECORDS": 2, "CHANGES": 2}
    for name, limit in limits.items():
        monkeypatch.setattr(module, f"MAX_{name}", limit)

    seen = overview(memory)

    assert [node.name for node in seen.nodes] == ["e0", "e1", "e5"]
    assert [r.text for node in seen.nodes for r in node.remarks] == ["first 5", "second 5"]
    assert [record.what for record in seen.records] == [
        f"Use library number {number} for the parser" for number in (3, 2)
    ]
    assert seen.left_out == {
        "entities": 3,
        "observations": 10,
        "relations": 2,
        "records": 2,
        "changes": 4,
    }


def test_a_large_memory_takes_no_more_queries_than_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    rows = Database.rows

    def counted(self: Database, sql: str, values: object = ()) -> list[tuple[object, ...]]:
        asked.append(sql)
        return rows(self, sql, values)  # type: ignore[arg-type]

    monkeypatch.setattr(Database, "rows", counted)
    memory = World(tmp_path).memory()
    create(memory, entity("one"))
    asked.clear()
    overview(memory)
    few = len(asked)
    create(memory, *(entity(f"e{n}", f"said of {n}") for n in range(200)))
    edges = [relation(f"e{n}", "uses", "one") for n in range(200)]
    memory.write("create_relations", {"relations": edges}, TOOL)
    for number in range(20):
        memory.remember(decision(f"Use library number {number} for the parser"), USER)

    asked.clear()
    seen = overview(memory)

    assert len(seen.nodes) == 201
    assert len(asked) == few


def test_nothing_remembered_is_an_empty_overview(tmp_path: Path) -> None:
    seen = overview(World(tmp_path).memory())

    assert (seen.nodes, seen.edges, seen.records, seen.steps) == ((), (), (), ())
    assert set(seen.left_out.values()) == {0}


def test_an_entity_that_is_asked_for_and_its_neighbours_come_before_more_connected_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = World(tmp_path).memory()
    create(memory, *(entity(name) for name in ("hub", "a", "b", "c", "far", "near")))
    ends = (("hub", "a"), ("hub", "b"), ("hub", "c"), ("far", "near"))
    relations = [relation(source, "uses", target) for source, target in ends]
    memory.write("create_relations", {"relations": relations}, TOOL)
    monkeypatch.setattr(module, "MAX_ENTITIES", 3)

    most = overview(memory)
    asked = overview(memory, name="far")

    assert {node.name for node in most.nodes} >= {"hub"}
    assert {node.name for node in asked.nodes} == {"far", "near", "hub"}
    assert asked.left_out["entities"] == 3


def test_a_drawing_reads_the_graph_only(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("one", "a text"))
    memory.remember(decision(), USER)

    seen = overview(memory, only_graph=True)

    assert [node.remarks for node in seen.nodes if node.name == "one"] == [()]
    assert (seen.records, seen.steps) == ((), ())
