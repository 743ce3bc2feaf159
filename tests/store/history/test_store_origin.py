"""The graph rows of a record."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import Record
from memory_fabric.store.history.trace import GraphRows, graph_rows
from memory_fabric.store.memory import Memory
from store.support import USER, World, pagination


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def remembered(memory: Memory, record: Record) -> Record:
    stored = memory.remember(record, USER)
    assert stored is not None
    return stored


def test_all_entities_of_a_first_record_are_reported_as_new_with_the_observation_count(
    memory: Memory,
) -> None:
    stored = remembered(memory, pagination())

    assert graph_rows(memory, stored, repeated=False) == GraphRows(
        ("cursor-pagination", "list-endpoints", "billing"), (), observations=3, relations=1
    )


def test_entities_that_an_earlier_record_created_are_reported_as_known(memory: Memory) -> None:
    remembered(memory, pagination())
    second = remembered(memory, pagination()._replace(what="Cursors stay stable under inserts"))

    found = graph_rows(memory, second, repeated=False)

    assert found.new == ()
    assert found.known == ("cursor-pagination", "list-endpoints", "billing")
    assert (found.observations, found.relations) == (3, 1)


def test_all_entities_of_a_repeated_record_are_reported_as_known(memory: Memory) -> None:
    stored = remembered(memory, pagination())

    assert graph_rows(memory, stored, repeated=True).new == ()
    assert len(graph_rows(memory, stored, repeated=True).known) == 3


def test_a_record_of_local_scope_adds_nothing_to_the_graph(memory: Memory) -> None:
    stored = remembered(memory, pagination()._replace(scope="local"))

    assert graph_rows(memory, stored, repeated=False) == GraphRows()


def test_no_graph_rows_are_reported_for_a_record_that_is_not_in_the_database(
    memory: Memory,
) -> None:
    assert graph_rows(memory, pagination()._replace(id="elsewhere"), repeated=False) == GraphRows()
