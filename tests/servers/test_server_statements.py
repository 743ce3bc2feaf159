"""What a call costs the database: its statements and transactions, whatever the machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from memory_fabric.models import Graph
from memory_fabric.servers.mcp import graph_view, tools
from memory_fabric.store.memory import Memory
from servers.mcp_clients import SAID_BY, settings

WORDS = ("ledger", "router", "scheduler", "gallery", "importer", "mailer", "parser")


def entity(number: int) -> dict[str, Any]:
    said = [f"{' '.join(WORDS)}: line {line} of part {number}" for line in range(3)]
    return {"name": f"part-{number}", "entityType": "component", "observations": said}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = Memory.open(settings(tmp_path / "home"))
    tools.create_entities(opened, {"entities": [entity(n) for n in range(100)]}, SAID_BY)
    yield opened
    opened.close()


class Counting:
    """A connection that notes what it is asked."""

    def __init__(self, connection: Any) -> None:
        self._connection, self.asked = connection, list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, *values: Any) -> Any:
        self.asked.append(" ".join(sql.split()[:3]))
        return self._connection.execute(sql, *values)

    def executemany(self, sql: str, rows: Any) -> Any:
        for row in rows:
            self.execute(sql, row)


def statements(memory: Memory, call: Any, arguments: dict[str, Any]) -> list[str]:
    """Return the beginnings of the statements of a call."""
    (database,) = memory.databases()
    connection, counting = database.connection, Counting(database.connection)
    database.connection = cast(sqlite3.Connection, counting)
    call(memory, arguments, SAID_BY)
    database.connection = connection
    return counting.asked


def test_creating_fifty_entities_takes_no_more_sql_statements_than_creating_one(
    memory: Memory,
) -> None:
    one = {"entities": [entity(1000)]}
    fifty = {"entities": [entity(2000 + n) for n in range(50)]}
    for_one = statements(memory, tools.create_entities, one)
    for_fifty = statements(memory, tools.create_entities, fifty)

    assert for_fifty == for_one
    assert for_one.count("BEGIN IMMEDIATE") == for_one.count("COMMIT") == 1
    for table in ("entities", "observations", "operations"):
        assert for_one.count(f"INSERT INTO {table}") == 1


def test_a_search_for_six_words_takes_no_more_sql_statements_than_for_two(memory: Memory) -> None:
    tools.search_nodes(memory, {"query": "line"}, SAID_BY)  # a small graph is read once
    two, six = (" ".join(WORDS[:count]) for count in (2, 6))
    for_two = statements(memory, tools.search_nodes, {"query": two})
    for_six = statements(memory, tools.search_nodes, {"query": six})

    assert for_two == for_six
    assert 0 < len(for_six) < 12


def test_a_cached_graph_is_indexed_only_once_until_the_graph_changes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[int, Any] = {}
    in_memory = graph_view.in_memory

    def noted(view: Graph) -> Any:
        opener = in_memory(view)
        made[id(opener)] = opener
        return opener

    monkeypatch.setattr(graph_view, "in_memory", noted)
    for word in WORDS:
        tools.search_nodes(memory, {"query": word}, SAID_BY)
    assert len(made) == 1
    tools.create_entities(memory, {"entities": [entity(3000)]}, SAID_BY)
    found = tools.search_nodes(memory, {"query": "part-3000"}, SAID_BY)
    assert "part 3000" in found.texts[0] and len(made) == 2
