"""The benchmark of the server: its budgets, and one small run against both real servers."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SMALL = ("--sizes", "20", "--runs", "2", "--starts", "1", "--json")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The benchmark as a module, as its own folder's modules see it."""
    with monkeypatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module("server")
    for name in ("server", "processes"):
        sys.modules.pop(name, None)


def row(server: Any, name: str, entities: int, ours: float, theirs: float) -> Any:
    return server.Row(name, entities, ours, ours, theirs, theirs)


@pytest.mark.parametrize(
    ("name", "entities", "ours", "theirs", "is_broken"),
    [
        ("search, rare word", 10_000, 10, 101, False),
        ("search, rare word", 10_000, 10, 99, True),
        ("search, rare word", 100_000, 10, 199, True),
        ("open_nodes", 10_000, 1, 19, True),
        ("create_entities", 10_000, 1, 21, False),
        ("read_graph", 10_000, 100, 1, False),
        ("read_graph", 100, 1.04, 1, False),
        ("read_graph", 100, 1.1, 1, True),
        ("add_observations", 100, 2.9, 1, False),
        ("add_observations", 100, 3.1, 1, True),
        ("start to greeting", 1_000, 3.1, 1, True),
        ("peak memory", 100_000, 99, 1, False),
        ("peak memory", 100_000, 101, 1000, True),
    ],
)
def test_a_budget_is_broken_where_ours_is_too_slow_or_too_large(
    server: Any, name: str, entities: int, ours: float, theirs: float, is_broken: bool
) -> None:
    assert bool(list(server.broken_budgets([row(server, name, entities, ours, theirs)]))) == (
        is_broken
    )


@pytest.mark.parametrize(("large", "is_broken"), [(99, False), (101, True)])
def test_a_search_may_grow_ten_times_from_10k_to_100k(
    server: Any, large: float, is_broken: bool
) -> None:
    rows = [
        row(server, "search, rare word", 10_000, 10, 1000),
        row(server, "search, rare word", 100_000, large, 10_000),
    ]

    assert bool(list(server.broken_budgets(rows))) == is_broken


def test_the_graph_is_the_same_every_time_and_holds_what_is_searched(server: Any) -> None:
    graph, again = server.Graph(2_000), server.Graph(2_000)

    entities = list(graph._entities())
    assert entities == list(again._entities())
    texts = [" ".join(item["observations"]) for item in entities]
    assert sum("pagination" in text for text in texts) == 200
    assert sum("throttling" in text and "snapshot" in text for text in texts) == 2
    assert all(len(item["observations"]) == 3 for item in entities)
    assert len(list(graph._relations())) == 4_000


def test_both_servers_are_measured_in_one_run() -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "server.py"), *SMALL], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [each["row"] for each in rows] == [
        "start to greeting",
        "search, rare word",
        "search, common word",
        "search, two words apart",
        "open_nodes",
        "create_entities",
        "add_observations",
        "read_graph",
        "peak memory",
    ]
    assert all(each["ours"] > 0 and each["theirs"] > 0 for each in rows)
