"""The cost of a call to the MCP server: ours and the reference server, in turn, in one run.

    python3 benchmarks/server.py                        100, 1k, 10k and 100k entities
    python3 benchmarks/server.py --sizes 1000 --runs 9
    python3 benchmarks/server.py --sizes 10000 --parts searches
    python3 benchmarks/server.py --cpu                  processor time of the servers, not the clock
    python3 benchmarks/server.py --check                exit status 1 when a budget is broken
    python3 benchmarks/server.py --json

Each entity has 3 observations of real prose and 2 relations (server_graph.py); queries have one to
four words as frequent as those of the texts. Both servers are spoken to by the same lines of this
file, in turn, some calls to one and then to the other, so that other work on the machine hits both
and neither finds its caches filled by the other each time. A time ends with the answer's last byte.
What a measured call has created is deleted again, so that the graph keeps its size. Ours is started
as the client starts it and filled through its own tools; the reference, `node` on its file, is
given the file. Needs what `scripts/prepare` installs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from driver import ROOT, VENV, Server, Theirs
from processes import quantile
from workloads.server_graph import (
    CREATE_MANY,
    CREATE_ONE,
    FREQUENT_WORD,
    OBSERVE,
    ONE_WORD,
    OPEN,
    RARE_WORD,
    SEVERAL_WORDS,
    WHOLE,
    Call,
    Graph,
    undone,
)

PARTS = ("start", "searches", "reads", "writes", "ten", "file")
# Calls of each kind that are measured, for up to so many entities: there a call of the reference
# takes seconds.
RUNS = ((1_000, 60), (10_000, 30), (1_000_000, 12))
# Calls to one side before it is the other's turn.
TURN = 6
STARTS = 7
# Before the clock: caches are warm and what is imported late is there, on both sides.
WARM_UP = 2
SEVERAL = 10
# Up to this size the whole graphs of both servers are compared; beyond, what a search finds.
COMPARED_WHOLE = 1_000
# A client writes about as often as this when it works.
PAUSE_S, PAUSED_WRITES = 0.3, 10

SEARCHES = (RARE_WORD, FREQUENT_WORD, ONE_WORD, SEVERAL_WORDS)
ALL_SEARCHES = "all searches"
START, MEMORY = "start to greeting", "peak memory"
TEN = "ten servers, proportional set size"
FILE_FIRST = "served file, start to first answer"
FILE_CPU = f"served file, processor time of a write every {PAUSE_S} s"

# Budgets: the reference's time over ours at a size, at least; with room for what a measurement is
# off where they have to be equal.
EQUAL = 1 / 1.05
READS = (*SEARCHES, ALL_SEARCHES, OPEN, WHOLE)
RATIOS: Mapping[int, Mapping[str, float]] = {
    100: {**dict.fromkeys((*READS, CREATE_ONE, OBSERVE), EQUAL), CREATE_MANY: 2},
    10_000: {ALL_SEARCHES: 20, **dict.fromkeys((CREATE_ONE, OBSERVE, OPEN), 20)},
    100_000: {ALL_SEARCHES: 20},
}
MIN_START_RATIO = 1.5
# At most, in the unit of the row.
LIMITS: Mapping[tuple[str, int], float] = {
    (MEMORY, 100_000): 100.0,
    (TEN, 100): 150.0,
    (TEN, 10_000): 150.0,
    (FILE_FIRST, 10_000): 1500.0,
    (FILE_CPU, 10_000): 10.0,
}
# Ours at the second size over ours at the first, at most.
MAX_GROWTH, GROWTH_SIZES = 10.0, (10_000, 100_000)


class Row(NamedTuple):
    """A line of the table: milliseconds, or megabytes in the rows of the memory."""

    row: str
    entities: int
    ours: float
    ours_p95: float
    theirs: float
    theirs_p95: float

    @property
    def ratio(self) -> float:
        """The reference's median over ours."""
        return self.theirs / self.ours if self.ours else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 0, or 1 when a budget is broken under --check."""
    options = _options(arguments)
    rows: list[Row] = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
            runs = options.runs or runs_for(size)
            found = list(measure(folder, size, runs, options))
        rows += found
        if not options.json:
            print_table(found, size)
    broken = list(broken_budgets(rows))
    if options.json:
        print(json.dumps(_report(rows, broken, options.runs), indent=1))
    for line in broken if not options.json else []:
        print(f"broken: {line}")
    return 1 if broken and options.check else 0


def measure(folder: str, size: int, runs: int, options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the wanted parts for one number of entities."""
    graph, sides, parts = Graph(size), Sides(folder), options.parts
    graph.write(os.path.join(folder, "memory.jsonl"))
    if set(parts) != {"file"}:
        ours = sides.ours()
        try:
            graph.tell(ours)
        finally:
            ours.stop()
    if "start" in parts:
        yield _row(START, size, *_started((sides.ours, sides.theirs), options.starts))
    if not {"searches", "reads", "writes"}.isdisjoint(parts):
        yield from _calls(graph, sides, runs, parts, cpu=options.cpu)
    if "ten" in parts:
        yield _several(graph, sides, options.servers)
    if "file" in parts:
        yield from _served_file(graph, sides, min(runs, PAUSED_WRITES))


class Sides:
    """The places of both servers; `ours` and `theirs` start one on the graph."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def ours(self, file: str = "") -> Server:
        """Start our server, on a served file if there is one."""
        names = {"HOME": "user", "MEMORY_FABRIC_HOME": "home", "CLAUDE_PLUGIN_DATA": "data"}
        folder = os.path.join(self._folder, "served") if file else self._folder
        environ = {name: os.path.join(folder, place) for name, place in names.items()}
        environ["CLAUDE_PROJECT_DIR"] = os.path.join(folder, "project")
        for path in environ.values():
            os.makedirs(path, exist_ok=True)
        python = os.path.join(VENV, "python")
        environ["MEMORY_FABRIC_PYTHON"] = python if os.path.exists(python) else sys.executable
        environ |= {"CLAUDE_PLUGIN_ROOT": ROOT, "PATH": os.environ.get("PATH", os.defpath)}
        environ |= {"MEMORY_FILE_PATH": file} if file else {}
        return Server([os.path.join(ROOT, "bin", "memory-fabric"), "mcp"], environ)

    def theirs(self, file: str = "") -> Server:
        """Start the reference server on its file, or on another one."""
        return Theirs(self._folder, file).start()

    def path(self, name: str) -> str:
        """Return the path of a file of this name."""
        return os.path.join(self._folder, name)


def _calls(
    graph: Graph, sides: Sides, runs: int, parts: Sequence[str], *, cpu: bool
) -> Iterator[Row]:
    """Yield the rows of single calls, and the memory of the servers after them."""
    both = sides.ours(), sides.theirs()
    try:
        _must_agree(graph, *both)
        reads = graph.reads()
        wanted = [row for row in reads if ("searches" if row in SEARCHES else "reads") in parts]
        pooled: tuple[list[float], list[float]] = ([], [])
        for row in wanted:
            found = _timed(both, [reads[row]() for _ in range(WARM_UP + runs)], cpu=cpu)
            yield _row(row, graph.size, *found)
            if row in SEARCHES:
                for all_of_one, seconds in zip(pooled, found, strict=True):
                    all_of_one.extend(seconds)
            if row == SEARCHES[-1]:
                yield _row(ALL_SEARCHES, graph.size, *pooled)
        for row, draw in graph.writes().items() if "writes" in parts else ():
            calls = [draw() for _ in range(WARM_UP + runs)]
            yield _row(row, graph.size, *_timed(both, calls, cpu=cpu))
        peaks = [side.memory_mb() for side in both]
    finally:
        for side in both:
            side.stop()
    if all(peaks):
        yield _only(MEMORY, graph.size, *peaks)


def _several(graph: Graph, sides: Sides, count: int) -> Row:
    """Return the memory of several servers of each kind that have each answered a search."""
    totals = []
    for start in (sides.ours, sides.theirs):
        servers = [start() for _ in range(count)]
        try:
            for server in servers:
                server.call(*graph.reads()[ONE_WORD]())
            totals.append(sum(server.shared_memory_mb() for server in servers))
        finally:
            for server in servers:
                server.stop()
    return _only(TEN, graph.size, *totals)


def _served_file(graph: Graph, sides: Sides, writes: int) -> Iterator[Row]:
    """Yield the rows of the mode in which ours keeps the reference's file (MEMORY_FILE_PATH)."""
    first_s, cpu_s = [], []
    for name, start in (("ours.jsonl", sides.ours), ("theirs.jsonl", sides.theirs)):
        path = sides.path(name)
        graph.write(path)
        began = time.perf_counter()
        server = start(path)
        try:
            server.call(*graph.reads()[OPEN]())
            first_s.append(time.perf_counter() - began)
            cpu_s.append(_cpu_of_a_write(graph, server, writes))
        finally:
            server.stop()
    yield _only(FILE_FIRST, graph.size, *(seconds * 1000 for seconds in first_s))
    yield _only(FILE_CPU, graph.size, *(seconds * 1000 for seconds in cpu_s))


def _cpu_of_a_write(graph: Graph, server: Server, writes: int) -> float:
    draw = graph.writes()[CREATE_ONE]
    server.call(*draw())
    time.sleep(2 * PAUSE_S)
    before = server.cpu_s()
    for _ in range(writes):
        server.call(*draw())
        time.sleep(PAUSE_S)
    return (server.cpu_s() - before) / writes


def broken_budgets(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the broken budgets, in words."""
    known = {(row.row, row.entities): row for row in rows}
    for row in rows:
        least = RATIOS.get(row.entities, {}).get(row.row, 0.0)
        least = MIN_START_RATIO if row.row == START else least
        if row.ratio < least:
            wanted = f"at least {least:.2f}".rstrip("0").rstrip(".")
            yield f"{row.row} at {row.entities:,}: {row.ratio:.2f} times as fast, {wanted}"
        most = LIMITS.get((row.row, row.entities))
        if most is not None and row.ours > most:
            said = f"{row.ours:.0f} {unit_of(row)}, at most {most:g}"
            yield f"{row.row} at {row.entities:,}: {said}"
    for search in SEARCHES:
        small, large = (known.get((search, size)) for size in GROWTH_SIZES)
        if small and large and large.ours / small.ours > MAX_GROWTH:
            grown = large.ours / small.ours
            yield f"{search} grows {grown:.1f} times from {small.entities:,} to {large.entities:,}"


def unit_of(row: Row) -> str:
    """Return the unit of a row."""
    return "MB" if row.row in (MEMORY, TEN) else "ms"


def runs_for(size: int) -> int:
    """Return the number of runs of each call at this size."""
    return next((runs for most, runs in RUNS if size <= most), RUNS[-1][1])


def print_table(rows: Sequence[Row], size: int) -> None:
    """Print one Markdown table for one size."""
    print(f"\n{size:,} entities, {3 * size:,} observations, {2 * size:,} relations\n")
    print("| | ours p50 | p95 | reference p50 | p95 | reference / ours |")
    print("|---|---|---|---|---|---|", flush=True)
    for row in rows:
        cells = [f"{row.ours:.1f} {unit_of(row)}", f"{row.ours_p95:.1f}"]
        cells += [f"{row.theirs:.1f} {unit_of(row)}", f"{row.theirs_p95:.1f}", f"{row.ratio:.2f}"]
        print(f"| {row.row} | {' | '.join(cells)} |", flush=True)


def _timed(
    sides: tuple[Server, Server], calls: Sequence[Call], *, cpu: bool
) -> tuple[list[float], list[float]]:
    """Seconds of each call on both sides, in turns; who begins changes from turn to turn."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for first in range(0, len(calls), TURN):
        turn = calls[first : first + TURN]
        for side in (0, 1) if first // TURN % 2 else (1, 0):
            seconds[side].extend(_once(sides[side], call, cpu=cpu) for call in turn)
    return seconds[0][WARM_UP:], seconds[1][WARM_UP:]


def _once(server: Server, call: Call, *, cpu: bool) -> float:
    before = server.cpu_s() if cpu else 0.0
    _, seconds = server.call(*call)
    seconds = server.cpu_s() - before if cpu else seconds
    back = undone(call)
    if back is not None:
        server.call(*back)
    return seconds


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


def _only(row: str, size: int, ours: float, theirs: float) -> Row:
    """Return a row of what is measured once."""
    return Row(row, size, ours, ours, theirs, theirs)


def _must_agree(graph: Graph, ours: Server, theirs: Server) -> None:
    """Check that both hold the same graph, so that the times are of the same work."""
    reads = graph.reads()
    if graph.size <= COMPARED_WHOLE and ours.graph() != theirs.graph():
        raise SystemExit("the two servers do not hold the same graph")
    tool, arguments = reads[RARE_WORD]()
    found = [server.call(tool, arguments)[0]["entities"] for server in (ours, theirs)]
    if not found[1] or any(entity not in found[0] for entity in found[1]):
        raise SystemExit(f"{tool} {arguments}: ours does not find what the reference finds")


def _report(rows: Sequence[Row], broken: Sequence[str], runs: int | None) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "python": platform.python_version(),
        "runs": {row.entities: runs or runs_for(row.entities) for row in rows},
        "rows": [{**row._asdict(), "ratio": row.ratio} for row in rows],
        "broken": broken,
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--runs", type=int, help="calls of each kind (default: by size)")
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--servers", type=int, default=SEVERAL, help="of the part `ten`")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--cpu", action="store_true", help="single calls in processor time")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail when a budget is broken")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
