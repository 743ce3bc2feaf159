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
SMALL = ("--sizes", "20", "--runs", "2", "--starts", "1", "--servers", "1", "--json")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The benchmark as a module, as its own folder's modules see it."""
    with monkeypatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module("server")
    for name in ("server", "driver", "processes"):
        sys.modules.pop(name, None)


def row(server: Any, name: str, entities: int, ours: float, theirs: float) -> Any:
    return server.Row(name, entities, ours, ours, theirs, theirs)


@pytest.mark.parametrize(
    ("name", "entities", "ours", "theirs", "is_broken"),
    [
        ("all searches", 10_000, 10, 201, False),
        ("all searches", 10_000, 10, 199, True),
        ("all searches", 100_000, 10, 199, True),
        ("search, rare word", 10_000, 10, 101, False),
        ("open_nodes", 10_000, 1, 19, True),
        ("create_entities, one", 10_000, 1, 21, False),
        ("create_entities, 50", 100, 1, 1.9, True),
        ("read_graph", 10_000, 100, 1, False),
        ("read_graph", 100, 1.04, 1, False),
        ("read_graph", 100, 1.1, 1, True),
        ("add_observations", 100, 1.1, 1, True),
        ("start to greeting", 1_000, 1, 1.4, True),
        ("peak memory", 100_000, 99, 1, False),
        ("peak memory", 100_000, 101, 1000, True),
        ("ten servers, proportional set size", 10_000, 151, 1, True),
        ("served file, start to first answer", 10_000, 1501, 1, True),
        ("served file, start to first answer", 1_000, 1501, 1, False),
    ],
)
def test_a_budget_is_exceeded_if_our_server_is_too_slow_or_uses_too_much_memory(
    server: Any, name: str, entities: int, ours: float, theirs: float, is_broken: bool
) -> None:
    assert bool(list(server.broken_budgets([row(server, name, entities, ours, theirs)]))) == (
        is_broken
    )


@pytest.mark.parametrize(("large", "is_broken"), [(99, False), (101, True)])
def test_a_search_of_100k_entities_may_take_at_most_ten_times_as_long_as_of_10k(
    server: Any, large: float, is_broken: bool
) -> None:
    rows = [
        row(server, "search, rare word", 10_000, 10, 1000),
        row(server, "search, rare word", 100_000, large, 10_000),
    ]

    assert bool(list(server.broken_budgets(rows))) == is_broken


def test_the_generated_graph_is_deterministic_and_contains_every_search_term(server: Any) -> None:
    graph, again = server.Graph(500), server.Graph(500)

    assert graph.entities == again.entities
    assert all(len(item["observations"]) == 3 for item in graph.entities)
    assert all(60 <= len(t) <= 200 for item in graph.entities for t in item["observations"])
    assert len(list(graph.relations())) == 1_000
    holding = [
        sum(query in " ".join(item["observations"]).lower() for item in graph.entities)
        for _, arguments in (graph.reads()["search, one word"]() for _ in range(20))
        for query in [arguments["query"]]
    ]
    assert min(holding) >= 1


def test_changes_made_by_a_measured_call_are_undone_by_a_deletion(server: Any) -> None:
    writes = server.Graph(20).writes()

    created = writes["create_entities, 50"]()
    observed = writes["add_observations"]()
    tool, arguments = server.undone(created)
    _, deletions = server.undone(observed)

    assert tool == "delete_entities"
    assert arguments["entityNames"] == [item["name"] for item in created[1]["entities"]]
    assert deletions["deletions"][0]["observations"] == observed[1]["observations"][0]["contents"]
    assert server.undone(("read_graph", {})) is None


def test_our_server_and_the_reference_server_are_measured_in_one_run() -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "server.py"), *SMALL], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [each["row"] for each in rows] == [
        "start to greeting",
        "search, rare word",
        "search, frequent word",
        "search, one word",
        "search, 2 to 4 words",
        "all searches",
        "open_nodes",
        "read_graph",
        "create_entities, one",
        "create_entities, 50",
        "add_observations",
        "peak memory",
        "ten servers, proportional set size",
        "served file, start to first answer",
        "served file, processor time of a write every 0.3 s",
    ]
    assert all(each["ours"] > 0 and each["theirs"] > 0 for each in rows)
