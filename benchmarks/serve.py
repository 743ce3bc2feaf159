"""The capacity of `memory-fabric serve`: texts taken in durably, and questions, over loopback.

    python3 benchmarks/serve.py                     everything, in about six minutes
    python3 benchmarks/serve.py --requests 20000    fewer requests for the growth of its memory
    python3 benchmarks/serve.py --check             exit status 1 when a budget is broken
    python3 benchmarks/serve.py --json

The load is made by wrk (Debian: apt-get install wrk) on the same machine, and shares its processors
with the server and with the worker that works off what comes in. A warm-up before each measurement
is not counted. A text counts when it was answered 202, which the server says after the commit that
holds it; after each run as many rows must lie in the database. Beside the figures stands the time
that this disk takes to write 4 KB for good.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from statistics import median
from typing import Any, NamedTuple

from driver import Ours, with_packages
from server_graph import Graph
from serving import Load, Serving

OBSERVATIONS = 10_000
# So many connections, each of which waits so many milliseconds after an answer; they begin one
# after the other, so that what they ask comes evenly.
AT_200, AT_50, AT_ONCE = (40, 192), (10, 186), (64, 0)
RUNS, RUN_S, WARM_UP_S = 5, 10, 3
REQUESTS, WARM_REQUESTS = 100_000, 5_000
# As it is installed: the extra that ranks by nearness of meaning is not asked for.
PLAIN = "semantic = false\n"
# Of the requests a second that a figure is named after.
LEAST_SHARE = 0.95
FSYNCS, BLOCK = 200, b"x" * 4096

MIN_RATE, MAX_P99_MS, MAX_RECALL_P95_MS, MAX_GROWTH_MB = 500.0, 50.0, 25.0, 10.0


class Row(NamedTuple):
    """A line of the table, with the budget that it has to keep."""

    name: str
    value: float
    unit: str
    budget: str
    kept: bool
    beside: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 0, or 1 when a budget is broken under --check."""
    options = _options(arguments)
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed (Debian: apt-get install wrk)")
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        disk = fsync_ms(folder)
        rows = list(measure(folder, options))
    if options.json:
        print(json.dumps(_report(rows, disk), indent=1))
    else:
        print_table(rows, disk)
    broken = [row for row in rows if not row.kept]
    for row in broken if not options.json else []:
        print(f"broken: {row.name}: {row.value:,.1f} {row.unit}, budget {row.budget}")
    return 1 if broken and options.check else 0


def measure(folder: str, options: argparse.Namespace) -> Iterator[Row]:
    """The rows, each of a memory of its own."""
    with _serving(os.path.join(folder, "at-once")) as serving:
        loads = list(_loads(serving, "ingest", AT_ONCE, options))
        yield _rate_row(loads)
    with _serving(os.path.join(folder, "at-200")) as serving:
        loads = list(_loads(serving, "ingest", AT_200, options))
        yield _latency_row("ingest at 200 a second, p99", loads, "p99_ms", MAX_P99_MS, 200)
    with _serving(os.path.join(folder, "recall"), OBSERVATIONS, PLAIN) as serving:
        loads = list(_loads(serving, "recall", AT_50, options))
        name = f"recall at 50 a second, {OBSERVATIONS:,} observations, p95"
        yield _latency_row(name, loads, "p95_ms", MAX_RECALL_P95_MS, 50)
    with _serving(os.path.join(folder, "growth")) as serving:
        yield from growth(serving, options.requests)
        yield worked_off(serving, options.seconds)


def growth(serving: Serving, requests: int) -> Iterator[Row]:
    """Yield by how much the server and its worker have grown in memory after so many texts."""
    _until(serving, WARM_REQUESTS, "warm")
    before, of_worker = serving.memory_mb(), serving.worker_memory_mb()
    taken = _until(serving, requests, "many")
    grown, kept = serving.memory_mb() - before, f"≤ {MAX_GROWTH_MB:g}"
    name, beside = f"growth of memory over {taken:,} requests", f"{before:.0f} MB before"
    yield Row(name, grown, "MB", kept, grown <= MAX_GROWTH_MB, beside)
    worked, grown = _kept(serving, "done"), serving.worker_memory_mb() - of_worker
    name = f"growth of the worker meanwhile, which did {worked:,} texts"
    yield Row(name, grown, "MB", "–", kept=True, beside=f"{of_worker:.0f} MB before")


def worked_off(serving: Serving, seconds: float) -> Row:
    """Return the rate at which the worker processes texts while nobody sends any."""
    before = _kept(serving, "done")
    time.sleep(seconds)
    rate = (_kept(serving, "done") - before) / seconds
    return Row("texts worked off a second, while none come in", rate, "/s", "–", kept=True)


def fsync_ms(folder: str) -> float:
    """The median time that writing 4 KB for good takes here."""
    taken = []
    with open(os.path.join(folder, "fsync"), "wb", buffering=0) as file:
        for _ in range(FSYNCS):
            file.write(BLOCK)
            began = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - began)
    return 1000 * median(taken)


def print_table(rows: Sequence[Row], disk: float) -> None:
    """The rows as a Markdown table, and what they were measured on."""
    print(f"{_machine()}; fsync of 4 KB: {disk:.2f} ms (median of {FSYNCS})\n")
    print("| what | measured | budget | beside |\n|---|---|---|---|")
    for row in rows:
        mark = "" if row.kept else " **broken**"
        print(f"| {row.name} | {row.value:,.1f} {row.unit}{mark} | {row.budget} | {row.beside} |")


def _loads(
    serving: Serving, kind: str, shape: tuple[int, int], options: argparse.Namespace
) -> Iterator[Load]:
    serving.load(kind, shape, WARM_UP_S, "warm-up")
    for run in range(options.runs):
        before = _kept(serving) if kind == "ingest" else 0
        found = serving.load(kind, shape, options.seconds, f"run-{run}")
        if kind == "ingest" and _kept(serving) - before < found.fine:
            raise SystemExit(f"{found.fine} were answered 202, and fewer lie in the database")
        yield found


def _rate_row(loads: Sequence[Load]) -> Row:
    rate = median(load.rate for load in loads)
    beside = f"{AT_ONCE[0]} connections; {_others(loads)}"
    kept = rate >= MIN_RATE and not _unwell(loads)
    return Row("durable ingests a second", rate, "/s", f"≥ {MIN_RATE:g}", kept, beside)


def _latency_row(
    name: str, loads: Sequence[Load], field: str, most_ms: float, wanted: float
) -> Row:
    """Kept where every request was answered well, and as many were asked as were wanted."""
    found = median(getattr(load, field) for load in loads)
    rate = median(load.rate for load in loads)
    middle = median(load.p50_ms for load in loads)
    beside = f"{rate:.0f}/s, median {middle:.1f} ms; {_others(loads)}"
    kept = found <= most_ms and rate >= LEAST_SHARE * wanted and not _unwell(loads)
    return Row(name, found, "ms", f"≤ {most_ms:g}", kept, beside)


def _unwell(loads: Sequence[Load]) -> int:
    """Return the number of requests that were refused or broken off."""
    return sum(load.refused + load.broken for load in loads)


def _others(loads: Sequence[Load]) -> str:
    refused, broken = sum(load.refused for load in loads), sum(load.broken for load in loads)
    return f"{len(loads)} runs, {refused} refused, {broken} broken off"


def _until(serving: Serving, requests: int, mark: str) -> int:
    """Send texts until so many were taken; how many were."""
    taken = 0
    while taken < requests:
        load = serving.load("ingest", AT_ONCE, WARM_UP_S, f"{mark}-{taken}")
        if not load.fine:
            raise SystemExit("nothing was taken in any more")
        taken += load.fine
    return taken


def _kept(serving: Serving, state: str = "%") -> int:
    with closing(sqlite3.connect(serving.side.database)) as database:
        many = "SELECT count(*) FROM intake WHERE state LIKE ?"
        return int(database.execute(many, (state,)).fetchone()[0])


@contextmanager
def _serving(folder: str, observations: int = 0, config: str = "") -> Iterator[Serving]:
    side = Ours(folder)
    server = side.start()
    try:
        # Three observations an entity.
        Graph(max(1, -(-observations // 3))).tell(server)
    finally:
        server.stop()
    with open(os.path.join(side.environ["MEMORY_FABRIC_HOME"], "config.toml"), "w") as file:
        file.write(config)
    serving = Serving(side)
    try:
        yield serving
    finally:
        serving.stop()


def _report(rows: Sequence[Row], disk: float) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": _machine(),
        "fsync_ms": disk,
        "rows": [row._asdict() for row in rows],
    }


def _machine() -> str:
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    return f"{system}, Python {platform.python_version()}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("--runs", type=int, default=RUNS, help="measurements of each rate")
    parser.add_argument("--seconds", type=float, default=RUN_S, help="of each measurement")
    parser.add_argument("--requests", type=int, default=REQUESTS, help="for the growth of memory")
    parser.add_argument("--check", action="store_true", help="exit status 1 over a budget")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


class _Plain(argparse.RawDescriptionHelpFormatter):
    """Help with the lines of this file's docstring as they are."""


if __name__ == "__main__":
    with_packages()
    sys.exit(main())
