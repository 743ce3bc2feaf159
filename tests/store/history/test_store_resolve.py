"""Records and entities found by the ids and names that people type, and the tiers of a record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Provenance
from memory_fabric.store import journal, records
from memory_fabric.store.history import changes, resolve
from memory_fabric.store.home import signing
from memory_fabric.store.memory import Memory
from store.support import (
    TOOL,
    USER,
    World,
    create,
    database,
    decision,
    entity,
    pagination,
    relation,
)

BY = Provenance("cli", trust="user", session="s2")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


@pytest.mark.parametrize(
    ("text", "is_id"),
    [("abcdef", True), (" record:012-ef ", True), ("abcde", False), ("abcdeg", False), ("", False)],
)
def test_a_text_of_at_least_six_hexadecimal_digits_looks_like_an_id(text: str, is_id: bool) -> None:
    assert resolve.looks_like_id(text) == is_id


def test_a_short_text_means_an_id_only_if_a_record_and_no_entity_has_it(memory: Memory) -> None:
    memory.remember(decision("Use Redis", id="0199aaaa-0000-7000-8000-0000000beef0"), USER)

    assert resolve.means_id(memory, "beef0") and resolve.means_id(memory, "eef0")
    assert not resolve.means_id(memory, "dead0") and not resolve.means_id(memory, "ef0")
    assert resolve.means_id(memory, "dead00")
    create(memory, entity("beef0"))
    assert not resolve.means_id(memory, "beef0")


def test_a_record_is_found_by_at_least_four_characters_at_the_end_of_its_id(
    memory: Memory,
) -> None:
    for number in "12":
        memory.remember(decision(f"Use {number}", id=f"{number}-0000beef"), USER)

    record, seen_in, store = resolve.record_by_id(memory, " record:1-0000beef ")
    assert (record.what, seen_in, store) == ("Use 1", ["s1"], "project")
    for ambiguous in ("beef", "%%%%%beef%"):
        with pytest.raises(BadInput, match="1-0000beef"):
            resolve.record_by_id(memory, ambiguous)
    for unknown in ("eef", "____", "dead"):
        with pytest.raises(NotFound):
            resolve.record_by_id(memory, unknown)


def test_a_record_is_pinned_and_unpinned_by_one_change_each(memory: Memory) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None

    for off in (False, True):
        for _ in range(2):
            assert resolve.pin(memory, record.id, BY, off=off).pinned == (not off)
            assert resolve.record_by_id(memory, record.id)[0].pinned == (not off)

    assert [one.kind for one in changes.read_all(memory)] == ["put_record"] * 2 + ["remember"]


def test_a_record_is_shown_without_empty_fields() -> None:
    shown = resolve.record_json(pagination(id="0199aaaa-0000-7000-8000-00000000beef"))

    assert shown["short_id"] == "0000beef"
    assert shown["entities"][0] == {"name": "cursor-pagination", "type": "pattern"}
    assert shown["relations"] == [
        {"from": "billing", "relation": "chose", "to": "cursor-pagination"}
    ]
    assert shown["pinned"] is False and "alternatives" not in shown and "category" not in shown
    assert not {"evidence", "superseded_by"} & shown.keys()


def test_the_version_of_a_record_changes_with_every_field_that_a_user_decides_on() -> None:
    record = decision("Use Redis", id="r1", evidence={"quotation": "x"})
    changed: dict[str, Any] = {"what": "Use Kafka", "why": "it is old", "alternatives": ("Kafka",)}
    changed |= {"scope": "user", "status": "candidate", "pinned": True, "superseded_by": "r2"}
    changed |= {"evidence": {"when": "at noon"}}

    versions = {
        resolve.version_of(record._replace(**{field: new})) for field, new in changed.items()
    }

    assert len(versions | {resolve.version_of(record)}) == len(changed) + 1
    assert resolve.version_of(record._replace(session="s2")) == resolve.version_of(record)


def test_the_places_that_hold_a_record_are_named(memory: Memory) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None
    memory.flush()
    payload = {"record": records.as_object(record), "seen_in": []}
    waiting = memory.operation("put_record", payload, BY)
    everywhere = ["graph", "decisions.jsonl", "MEMORY.md"]
    assert resolve.tiers_holding(memory, record.id) == everywhere
    assert resolve.tiers_holding(memory, "unknown") == []

    key = signing.key_of(memory.settings.home)
    journal.enqueue(memory.queue_folder("project"), waiting, key)
    assert resolve.tiers_holding(memory, record.id) == ["graph", "queue", *everywhere[1:]]
    memory.forget([record.id], BY)
    assert "decisions.jsonl" in resolve.tiers_holding(memory, record.id)
    memory.flush()
    assert "decisions.jsonl" not in resolve.tiers_holding(memory, record.id)


def test_an_entity_is_known_by_all_of_its_names(memory: Memory) -> None:
    create(memory, entity("Redis"), entity("api"))
    memory.write("alias", {"entity": "Redis", "aliases": ["b", "a"]}, BY, store="project")
    create(memory, entity("Redis"), store="user")
    memory.write("create_relations", {"relations": [relation("api", "u", "Redis")]}, TOOL)

    assert resolve.aliases_of(database(memory), "Redis") == ["a", "b"]
    assert resolve.aliases_of(database(memory), "redis") == []
    assert resolve.entities_meant(memory, "a") == [("project", "Redis")]
    assert resolve.entities_meant(memory, "Redis") == [("project", "Redis"), ("user", "Redis")]
    assert resolve.entities_meant(memory, "redis") == []
    assert resolve.names_of(memory, "redis") == {"redis", "Redis", "a", "b"}
    assert resolve.names_of(memory, "nobody") == {"nobody"}
