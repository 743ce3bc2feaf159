"""Everything at once: both databases as one, within limits, in a few queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import Entity
from memory_fabric.store.database import Database
from memory_fabric.store.history import changes
from memory_fabric.store.history.undo import undo
from memory_fabric.viewer import picture as module
from memory_fabric.viewer.picture import overview
from store.support import TOOL, USER, World, create, decision, entity, pagination, relation

NOW = "2026-03-01T12:00:00.000Z"


def test_entities_are_listed_in_creation_order_with_their_observations(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Redis", "caches sessions", "runs on port 6379", kind="technology"))
    create(memory, entity("api"))
    memory.write("create_relations", {"relations": [relation("api", "uses", "Redis")]}, TOOL)
    memory.write("alias", {"entity": "Redis", "aliases": ["the cache"]}, TOOL, store="project")

    seen = overview(memory, NOW)

    redis, api = seen["entities"]
    said = redis["observations"]
    assert (redis["name"], redis["type"], redis["aliases"]) == (
        "Redis",
        "technology",
        ["the cache"],
    )
    assert [one["text"] for one in said] == ["caches sessions", "runs on port 6379"]
    assert (said[0]["trust"], said[0]["source"]) == ("tool", "mcp")
    assert api["observations"] == []
    assert [(r["from"], r["type"], r["to"]) for r in seen["relations"]] == [(1, "uses", 0)]
    assert set(seen["left_out"].values()) == {0}


def test_an_entity_in_both_databases_appears_once_with_all_observations(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Redis", "of the project"), entity("api"), store="project")
    create(memory, entity("Redis", "of the user"), entity("api"), store="user")
    for store in ("project", "user"):
        edges = {"relations": [relation("api", "uses", "Redis")]}
        memory.write("create_relations", edges, TOOL, store=store)

    seen = overview(memory, NOW)

    redis = seen["entities"][0]
    assert redis["scope"] == "both"
    assert [(one["text"], one["scope"]) for one in redis["observations"]] == [
        ("of the project", "team"),
        ("of the user", "user"),
    ]
    assert len(seen["entities"]) == 2
    assert len(seen["relations"]) == 1
    assert set(seen["left_out"].values()) == {0}


def test_the_overview_lists_records_with_their_entities_and_omits_candidates(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path).memory()
    known = memory.remember(pagination(), USER)
    memory.remember(decision("Perhaps use GraphQL", confidence=0.35), USER)
    assert known is not None

    seen = overview(memory, NOW)

    (record,) = seen["records"]
    assert record["id"] == known.id
    assert names(seen, record) == ["cursor-pagination", "list-endpoints", "billing"]
    assert seen["left_out"]["records"] == 0


def test_after_a_merge_a_record_lists_the_merged_entity_by_its_new_name(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    memory.remember(decision(entities=(Entity("k8s", "technology"),)), USER)
    create(memory, entity("Kubernetes"))
    memory.write("merge", {"into": "Kubernetes", "names": ["k8s"]}, TOOL, store="project")

    seen = overview(memory, NOW)

    (record,) = seen["records"]
    assert names(seen, record) == ["Kubernetes"]


def test_changes_are_listed_newest_first_with_their_entities_and_records(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Redis", "caches"))
    known = memory.remember(pagination(), USER)
    assert known is not None

    seen = overview(memory, NOW)

    remembered, created = seen["changes"]
    assert created["what"] == "created Redis (component) with 1 observation"
    assert names(seen, created) == ["Redis"]
    assert remembered["records"] == [known.id]
    assert "cursor-pagination" in names(seen, remembered)


def test_the_overview_shows_a_merged_entity_and_both_entities_after_an_undo(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Kubernetes", "runs"), entity("k8s", "runs too"))
    memory.write("merge", {"into": "Kubernetes", "names": ["k8s"]}, TOOL, store="project")

    merged = overview(memory, NOW)
    undo(memory, changes.read_all(memory, limit=1), USER)
    apart = overview(memory, NOW)

    assert names(merged, merged["changes"][0]) == ["Kubernetes"]
    assert apart["changes"][0]["what"].startswith("undid: merged k8s into Kubernetes")
    assert apart["changes"][1]["undone"]
    assert set(names(apart, apart["changes"][1])) == {"Kubernetes", "k8s"}


def test_an_overview_over_its_limits_keeps_connected_entities_and_counts_omitted_items(
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

    seen = overview(memory, NOW)

    assert [one["name"] for one in seen["entities"]] == ["e0", "e1", "e5"]
    said = [observation["text"] for one in seen["entities"] for observation in one["observations"]]
    assert said == ["first 5", "second 5"]
    assert [record["what"] for record in seen["records"]] == [
        f"Use library number {number} for the parser" for number in (3, 2)
    ]
    assert seen["left_out"] == {
        "entities": 3,
        "observations": 10,
        "relations": 2,
        "records": 2,
        "changes": 4,
    }


def test_the_overview_of_a_large_memory_needs_no_more_queries_than_that_of_a_small_one(
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
    overview(memory, NOW)
    few = len(asked)
    create(memory, *(entity(f"e{n}", f"said of {n}") for n in range(200)))
    edges = [relation(f"e{n}", "uses", "one") for n in range(200)]
    memory.write("create_relations", {"relations": edges}, TOOL)
    for number in range(20):
        memory.remember(decision(f"Use library number {number} for the parser"), USER)

    asked.clear()
    seen = overview(memory, NOW)

    assert len(seen["entities"]) == 201
    assert len(asked) == few


def test_an_empty_memory_gives_an_empty_overview(tmp_path: Path) -> None:
    seen = overview(World(tmp_path).memory(), NOW)

    left_out = seen.pop("left_out")
    assert seen == {"entities": [], "relations": [], "records": [], "changes": []}
    assert set(left_out.values()) == {0}


def test_a_requested_entity_and_its_neighbours_come_before_more_connected_entities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = World(tmp_path).memory()
    create(memory, *(entity(name) for name in ("hub", "a", "b", "c", "far", "near")))
    ends = (("hub", "a"), ("hub", "b"), ("hub", "c"), ("far", "near"))
    relations = [relation(source, "uses", target) for source, target in ends]
    memory.write("create_relations", {"relations": relations}, TOOL)
    monkeypatch.setattr(module, "MAX_ENTITIES", 3)

    most = overview(memory, NOW)
    asked = overview(memory, NOW, name="far")

    assert {one["name"] for one in most["entities"]} >= {"hub"}
    assert {one["name"] for one in asked["entities"]} == {"far", "near", "hub"}
    assert asked["left_out"]["entities"] == 3


def test_an_overview_limited_to_the_graph_contains_only_entities_and_relations(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("one", "a text"))
    memory.remember(decision(), USER)

    seen = overview(memory, NOW, only_graph=True)

    assert [e["observations"] for e in seen["entities"] if e["name"] == "one"] == [[]]
    assert (seen["records"], seen["changes"]) == ([], [])


def names(seen: dict[str, Any], subject: dict[str, Any]) -> list[str]:
    """Return the names of the entities that a record or a change is about."""
    return [seen["entities"][number]["name"] for number in subject["entities"]]
