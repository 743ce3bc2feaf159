"""Processor time of an import: of a knowledge graph, and of claude-mem's database.

    python3 benchmarks/import_files.py                 1,000 and 10,000 entities, 1,001 observations
    python3 benchmarks/import_files.py --sizes 1000 --runs 5
    python3 benchmarks/import_files.py --json

Each entity has 3 observations of real prose and 2 relations (server_graph.py). What is told is the
time of `memory-fabric import FILE` beside that of importing a file with one line, the median of
several runs, each in a home of its own. Needs what `scripts/prepare venv` installs.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from driver import ROOT, with_packages
from processes import quantile, timed
from workloads.graph_prose import Prose
from workloads.server_graph import Graph

SIZES, RUNS, OBSERVATIONS = (1_000, 10_000), 5, 1_001
_TABLE = (
    "CREATE TABLE observations (id INTEGER PRIMARY KEY, project TEXT, type TEXT, title TEXT, "
    "subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, created_at_epoch INTEGER)"
)


class Row(NamedTuple):
    """An import: its source, the number of its items, seconds of processor time beside a start."""

    source: str
    items: int
    cpu_seconds: float

    @property
    def ms_for_1000(self) -> float:
        """Milliseconds for 1,000 items."""
        return self.cpu_seconds * 1e6 / self.items


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    with_packages()
    options = _parsed(arguments)
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        rows = measure(folder, options.sizes, options.runs)
    if options.json:
        print(json.dumps([row._asdict() for row in rows], indent=1))
        return
    print(f"{'import':16}{'items':>8}{'cpu s':>8}{'ms/1000':>10}")
    for row in rows:
        print(f"{row.source:16}{row.items:8}{row.cpu_seconds:8.2f}{row.ms_for_1000:10.0f}")


def measure(folder: str, sizes: Sequence[int], runs: int) -> list[Row]:
    """Write the sources and import each several times."""
    one = os.path.join(folder, "one.jsonl")
    Graph(1).write(one)
    sources = [("start", 1, one)]
    for size in sizes:
        path = os.path.join(folder, f"graph-{size}.jsonl")
        Graph(size).write(path)
        sources.append(("graph", size, path))
    database = os.path.join(folder, "claude-mem.db")
    write_claude_mem(database, OBSERVATIONS)
    sources.append(("claude-mem", OBSERVATIONS, database))
    spent: dict[str, list[float]] = {path: [] for _, _, path in sources}
    for run in range(runs):
        for number, (_, _, path) in enumerate(sources):
            spent[path].append(_imported(os.path.join(folder, f"{run}-{number}"), path))
    middle = {path: quantile(seconds, 0.5) for path, seconds in spent.items()}
    return [
        Row(source, items, middle[path] - middle[one])
        for source, items, path in sources
        if path != one
    ]


def write_claude_mem(path: str, count: int) -> None:
    """Write a database of claude-mem with so many observations of real prose."""
    prose = Prose(count)
    connection = sqlite3.connect(path)
    connection.execute(_TABLE)
    for number in range(count):
        said = [prose.sentence() for _ in range(4)]
        connection.execute(
            "INSERT INTO observations VALUES (?, 'billing', 'discovery', ?, ?, ?, ?, '[]', ?)",
            (number + 1, *said[:2], json.dumps(said[2:3]), said[3], 1_760_000_000_000 + number),
        )
    connection.commit()
    connection.close()


def _imported(world: str, path: str) -> float:
    """Import a file in a new home; return the seconds of processor time."""
    project = os.path.join(world, "billing")
    os.makedirs(project)
    environ = {
        "HOME": world,
        "MEMORY_FABRIC_HOME": os.path.join(world, "memory"),
        "CLAUDE_PROJECT_DIR": project,
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.path.join(ROOT, "plugin"),
    }
    command = [sys.executable, "-m", "memory_fabric.cli", "import", path, "--json"]
    return timed(command, environ, b"", world).cpu_seconds


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
