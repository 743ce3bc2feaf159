"""Inverses in the log: one that follows from its payload is not stored, and still takes it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import Provenance
from memory_fabric.store.forget import purge
from memory_fabric.store.history import changes, undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import kinds
from memory_fabric.store.queries import graph
from store.support import TOOL, World, create, database, entity, names

BY = Provenance("cli", trust="user", session="s2")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def stored(memory: Memory) -> list[tuple[str, str]]:
    """Kinds and inverses as the log has them, oldest first."""
    found = database(memory).rows("SELECT kind, inverse FROM operations ORDER BY seq")
    return [(kind, text) for kind, text in found]


def told(memory: Memory) -> dict[str, tuple[str, ...]]:
    return {e.name: e.observations for e in graph.read_graph(database(memory)).entities}


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("create_entities", {"entities": [entity("three", "a", "a", "b"), entity("four")]}),
        ("add_observations", {"observations": [{"entityName": "one", "contents": ["x", "x"]}]}),
        ("create_relations", {"relations": [{"from": "one", "relationType": "u", "to": "two"}]}),
    ],
)
def test_an_operation_that_only_adds_rows_is_undone_and_redone_without_stored_undo_data(
    memory: Memory, kind: str, payload: dict[str, Any]
) -> None:
    create(memory, entity("one", "a"), entity("two", "b"))
    before = graph.read_graph(database(memory))
    memory.write(kind, payload, TOOL)
    made = graph.read_graph(database(memory))

    (done,) = undo.undo(memory, [undo.last(memory)], BY)
    undone = graph.read_graph(database(memory))
    undo.undo(memory, [changes.by_id(memory, done.by)], BY)

    assert stored(memory)[1] == (kind, kinds.FOLLOWS)
    assert undone == before != made
    assert graph.read_graph(database(memory)) == made


def test_undo_data_is_stored_for_an_operation_that_repeats_existing_rows(memory: Memory) -> None:
    create(memory, entity("one", "a"))
    create(memory, entity("one", "a", "b"), entity("two"))

    undo.undo(memory, [undo.last(memory)], BY)

    assert kinds.FOLLOWS not in stored(memory)[1][1]
    assert told(memory) == {"one": ("a",)}


def test_undoing_a_partly_purged_operation_reverts_the_rest_of_the_operation(
    memory: Memory,
) -> None:
    create(memory, entity("one", "the hidden harbour", "b"), entity("two", "c"))

    purge.purge(memory, purge.find(memory, "hidden harbour"), BY)
    left = told(memory)
    made = [change for change in changes.read_all(memory) if change.kind == "create_entities"]
    undo.undo(memory, made, BY)

    assert left == {"one": ("b",), "two": ("c",)}
    assert names(graph.read_graph(database(memory)).entities) == []
    assert "harbour" not in str(database(memory).rows("SELECT * FROM operations"))


def test_an_inverse_stored_by_an_earlier_release_can_still_be_read() -> None:
    steps = [{"kind": "delete_relations", "payload": {"relations": []}}]
    text = '[{"kind": "delete_relations", "payload": {"relations": []}}]'

    assert kinds.read_inverse("create_relations", {"relations": []}, text) == steps
