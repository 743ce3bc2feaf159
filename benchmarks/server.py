"""The cost of a call to the MCP server: ours and the reference server, in turn, in one run.

    python3 benchmarks/server.py                        100, 1k, 10k and 100k entities
    python3 benchmarks/server.py --sizes 1000 --runs 9
    python3 benchmarks/server.py --check                exit status 1 when a budget is broken
    python3 benchmarks/server.py --json

Each entity has 3 observations and 2 relations. Both servers are spoken to by the same lines of this
file, in turn, some calls to one and then to the other, so that other work on the machine hits both
and neither finds its caches filled by the other each time. A time ends with the answer's last byte.
Ours is started as the client starts it and filled through its own tools; the reference, `node` on
its file, is given the file. Needs what `scripts/prepare` installs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from driver import ROOT, VENV, Server, Theirs
from processes import quantile

# Calls of each kind that are measured, for up to so many entities: there a call of the reference
# takes seconds.
RUNS = ((1_000, 60), (10_000, 30), (1_000_000, 12))
# Calls to one side before it is the other's turn.
TURN = 6
STARTS = 7
# Before the clock: caches are warm and what is imported late is there, on both sides.
WARM_UP = 2
BATCH = 1_000
TYPES = ("service", "library", "person")
VERBS = "uses requires caches validates retries replaces supports logs".split()
THINGS = "PostgreSQL Redis Celery FastAPI Docker Kubernetes webhooks queues tokens".split()
# One entity of ten says the common word; one of a thousand says two words in different texts.
COMMON, COMMON_EVERY = "pagination", 10
APART, APART_EVERY = ("throttling", "snapshot"), 1_000

SEARCHES = ("search, rare word", "search, common word", "search, two words apart")
WRITES = ("create_entities", "add_observations")
READS = (*SEARCHES, "open_nodes", "read_graph")
START = "start to greeting"
MEMORY = "peak memory"

# Budgets: the reference's time over ours at a size, at least. At 100 entities reads are equal or
# better, with room for what a measurement is off; a write that is on disk before its answer may
# take three times as long, a start too.
EQUAL, THIRD = 1 / 1.05, 1 / 3
# Words that stand apart the reference does not find: there it answers nothing, and ours the entity.
COMPARABLE = tuple(row for row in READS if row != "search, two words apart")
RATIOS: Mapping[int, Mapping[str, float]] = {
    100: {**dict.fromkeys(COMPARABLE, EQUAL), **dict.fromkeys(WRITES, THIRD)},
    10_000: {
        **dict.fromkeys(SEARCHES, 10),
        **dict.fromkeys((*WRITES, "open_nodes"), 20),
    },
    100_000: dict.fromkeys(SEARCHES, 20),
}
MAX_MEMORY_MB, MEMORY_AT = 100.0, 100_000
# Ours at the second size over ours at the first, at most.
MAX_GROWTH, GROWTH_SIZES = 10.0, (10_000, 100_000)

Call = tuple[str, dict[str, Any]]


class Row(NamedTuple):
    """A line of the table: milliseconds, but megabytes in the row of the memory."""

    row: str
    entities: int
    ours: float
    ours_p95: float
    theirs: float
    theirs_p95: float

    @property
    def ratio(self) -> float:
        """The reference's median over ours."""
        return self.theirs / self.ours


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 0, or 1 when a budget is broken under --check."""
    options = _options(arguments)
    rows: list[Row] = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
            found = measure(folder, size, options.runs or runs_for(size), options.starts)
        rows += found
        if not options.json:
            print_table(found, size)
    broken = list(broken_budgets(rows))
    if options.json:
        print(json.dumps(_report(rows, broken, options.runs), indent=1))
    for line in broken if not options.json else []:
        print(f"broken: {line}")
    return 1 if broken and options.check else 0


def measure(folder: str, size: int, runs: int, starts: int) -> list[Row]:
    """The rows for one number of entities."""
    graph = Graph(size)
    start_ours, start_theirs = partial(_ours, folder), partial(_theirs, folder)
    graph.write(os.path.join(folder, "memory.jsonl"))
    ours = start_ours()
    try:
        graph.tell(ours)
    finally:
        ours.stop()
    rows = [_row(START, size, *_started((start_ours, start_theirs), starts))]
    ours, theirs = start_ours(), start_theirs()
    try:
        _must_agree(graph, ours, theirs)
        for row, call in graph.calls().items():
            rows.append(_row(row, size, *_timed((ours, theirs), call, runs)))
        peaks = ours.memory_mb(), theirs.memory_mb()
    finally:
        ours.stop()
        theirs.stop()
    if all(peaks):
        rows.append(Row(MEMORY, size, peaks[0], peaks[0], peaks[1], peaks[1]))
    return rows


class Graph:
    """A graph of a size, the same every time, and the calls that are made on it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._chance = random.Random(size)

    def write(self, path: str) -> None:
        """The graph as the reference server's file."""
        with open(path, "w", encoding="utf-8") as file:
            for item in self._entities():
                file.write(json.dumps({"type": "entity", **item}) + "\n")
            for item in self._relations():
                file.write(json.dumps({"type": "relation", **item}) + "\n")

    def tell(self, server: Server) -> None:
        """The graph through the server's own tools."""
        for batch in _batches(self._entities()):
            server.call("create_entities", {"entities": batch})
        for batch in _batches(self._relations()):
            server.call("create_relations", {"relations": batch})

    def calls(self) -> dict[str, Callable[[int], Call]]:
        """Return the measured calls: for each row the call of a run's number."""
        return {
            "search, rare word": self.rare,
            "search, common word": lambda _: ("search_nodes", {"query": COMMON}),
            "search, two words apart": lambda _: ("search_nodes", {"query": " ".join(APART)}),
            "open_nodes": self.one,
            "create_entities": lambda run: ("create_entities", {"entities": [_new(run)]}),
            "add_observations": self.more,
            "read_graph": lambda _: ("read_graph", {}),
        }

    def rare(self, _run: int) -> Call:
        """A search for a word of one entity."""
        return "search_nodes", {"query": f"case{self._any()}x"}

    def one(self, _run: int) -> Call:
        """One entity by its name."""
        return "open_nodes", {"names": [_name(self._any())]}

    def more(self, run: int) -> Call:
        """One more observation."""
        said = {"entityName": _name(self._any()), "contents": [f"seen again in run {run}"]}
        return "add_observations", {"observations": [said]}

    def _any(self) -> int:
        return self._chance.randrange(self.size)

    def _entities(self) -> Iterator[dict[str, Any]]:
        chance = random.Random(self.size)
        for number in range(self.size):
            texts = [
                f"{chance.choice(VERBS)} {chance.choice(THINGS)} in case{number}x",
                f"{chance.choice(VERBS)} {COMMON if number % COMMON_EVERY == 0 else 'timeouts'}",
                f"{chance.choice(VERBS)} {chance.choice(THINGS)}",
            ]
            if number % APART_EVERY == 0:
                texts[1:] = [f"{texts[1]} and {APART[0]}", f"{texts[2]} and {APART[1]}"]
            kind = TYPES[number % len(TYPES)]
            yield {"name": _name(number), "entityType": kind, "observations": texts}

    def _relations(self) -> Iterator[dict[str, str]]:
        for number in range(self.size):
            for step, kind in ((1, "before"), (7, "uses")):
                other = _name((number + step) % self.size)
                yield {"from": _name(number), "to": other, "relationType": kind}


def broken_budgets(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the broken budgets, in words."""
    known = {(row.row, row.entities): row for row in rows}
    for row in rows:
        least = THIRD if row.row == START else RATIOS.get(row.entities, {}).get(row.row, 0.0)
        if row.ratio < least:
            wanted = f"at least {least:.2f}".rstrip("0").rstrip(".")
            yield f"{row.row} at {row.entities:,}: {row.ratio:.2f} times as fast, {wanted}"
    memory = known.get((MEMORY, MEMORY_AT))
    if memory and memory.ours > MAX_MEMORY_MB:
        yield f"{MEMORY} at {MEMORY_AT:,}: {memory.ours:.0f} MB, at most {MAX_MEMORY_MB:g}"
    for search in SEARCHES:
        small, large = (known.get((search, size)) for size in GROWTH_SIZES)
        if small and large and large.ours / small.ours > MAX_GROWTH:
            grown = large.ours / small.ours
            yield f"{search} grows {grown:.1f} times from {small.entities:,} to {large.entities:,}"


def runs_for(size: int) -> int:
    """Return the number of runs of each call at this size."""
    return next((runs for most, runs in RUNS if size <= most), RUNS[-1][1])


def print_table(rows: Sequence[Row], size: int) -> None:
    """One Markdown table for one size."""
    print(f"\n{size:,} entities, {3 * size:,} observations, {2 * size:,} relations\n")
    print("| | ours p50 | p95 | reference p50 | p95 | reference / ours |")
    print("|---|---|---|---|---|---|", flush=True)
    for row in rows:
        unit = "MB" if row.row == MEMORY else "ms"
        cells = [f"{row.ours:.1f} {unit}", f"{row.ours_p95:.1f}"]
        cells += [f"{row.theirs:.1f} {unit}", f"{row.theirs_p95:.1f}", f"{row.ratio:.2f}"]
        print(f"| {row.row} | {' | '.join(cells)} |", flush=True)


def _timed(
    sides: tuple[Server, Server], call: Callable[[int], Call], runs: int
) -> tuple[list[float], list[float]]:
    """Seconds of each run on both sides, in turns; who begins changes from turn to turn."""
    seconds: tuple[list[float], list[float]] = ([], [])
    calls = [call(run) for run in range(-WARM_UP, runs)]
    for first in range(0, len(calls), TURN):
        turn = calls[first : first + TURN]
        for side in (0, 1) if first // TURN % 2 else (1, 0):
            seconds[side].extend(sides[side].call(*one)[1] for one in turn)
    return seconds[0][WARM_UP:], seconds[1][WARM_UP:]


def _started(
    starts: tuple[Callable[[], Server], Callable[[], Server]], runs: int
) -> tuple[list[float], list[float]]:
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for side, start in enumerate(starts):
            server = start()
            seconds[side].append(server.start_s)
            server.stop()
    return seconds


def _row(row: str, size: int, ours: Sequence[float], theirs: Sequence[float]) -> Row:
    figures = (quantile(seconds, q) * 1000 for seconds in (ours, theirs) for q in (0.5, 0.95))
    return Row(row, size, *figures)


def _must_agree(graph: Graph, ours: Server, theirs: Server) -> None:
    """Both hold the same graph, so that the times are of the same work."""
    calls = [graph.rare(0), graph.one(0)]
    if graph.size <= min(RATIOS):  # beyond, ours is cut to what a model can read
        calls.append(("read_graph", {}))
    for tool, arguments in calls:
        answers = [server.call(tool, arguments)[0] for server in (ours, theirs)]
        if answers[0] != answers[1] or not answers[0]["entities"]:
            raise SystemExit(f"{tool} {arguments} is not answered alike")


def _ours(folder: str) -> Server:
    names = {"HOME": "user", "MEMORY_FABRIC_HOME": "home", "CLAUDE_PLUGIN_DATA": "data"}
    environ = {name: os.path.join(folder, place) for name, place in names.items()}
    environ["CLAUDE_PROJECT_DIR"] = os.path.join(folder, "project")
    for path in environ.values():
        os.makedirs(path, exist_ok=True)
    python = os.path.join(VENV, "python")
    environ["MEMORY_FABRIC_PYTHON"] = python if os.path.exists(python) else sys.executable
    environ |= {"CLAUDE_PLUGIN_ROOT": ROOT, "PATH": os.environ.get("PATH", os.defpath)}
    return Server([os.path.join(ROOT, "bin", "memory-fabric"), "mcp"], environ)


def _theirs(folder: str) -> Server:
    return Theirs(folder).start()


def _report(rows: Sequence[Row], broken: Sequence[str], runs: int | None) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "python": platform.python_version(),
        "runs": {row.entities: runs or runs_for(row.entities) for row in rows},
        "rows": [{**row._asdict(), "ratio": row.ratio} for row in rows],
        "broken": broken,
    }


def _batches(items: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for item in items:
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _name(number: int) -> str:
    return f"component-{number}"


def _new(run: int) -> dict[str, Any]:
    texts = [f"new in run {run}, {word}" for word in ("first", "second", "third")]
    return {"name": f"new-{run}", "entityType": "service", "observations": texts}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--runs", type=int, help="calls of each kind (default: by size)")
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail when a budget is broken")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
