"""The capacity of `memory-fabric serve`: texts taken in durably, and questions, over loopback.

    python3 benchmarks/serve.py                     everything
    python3 benchmarks/serve.py --only recall       one part; recall-large, ingest, growth
    python3 benchmarks/serve.py --only recall --workers 1 2
    python3 benchmarks/serve.py --stores FOLDER     build the asked stores there, and keep them
    python3 benchmarks/serve.py --requests 20000    fewer requests for the growth of its memory
    python3 benchmarks/serve.py --check             exit status 1 when a budget is broken
    python3 benchmarks/serve.py --json

Questions are whole sentences on a memory of real prose (prose.py), asked by eight clients over one
connection each: evenly, or all eight at once and then a pause. Each has its time, and its latency
counts from then, also when its client still waits for an earlier answer. No question is asked
twice. Beside the figures stands the processor time of all processes of the server.

Ingested texts are sent by wrk (Debian: apt-get install wrk). A text counts when it was answered
202, which the server says after the commit that holds it; after each run as many rows must lie in
the database. All load shares the processors with the server, and with the worker that works off
what comes in. A warm-up before each measurement is not counted. Beside the figures stands the time
that this disk takes to write 4 KB for good.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from statistics import median
from typing import Any, NamedTuple

from driver import Ours, with_packages
from serving import Asked, Load, Serving, Shape
from workloads.prose import entities, questions

# For each part with questions: observations, and the most milliseconds of the 95th percentile.
RECALLS = {"recall": (10_000, 40.0), "recall-large": (100_000, 80.0)}
EVENLY, BURSTS = Shape(clients=8, rate=50.0), Shape(clients=8, rate=50.0, together=True)
# So many connections, each of which waits so many milliseconds after an answer; they begin one
# after the other, so that what they send comes evenly.
AT_200, AT_ONCE = (40, 192), (64, 0)
RUNS, RUN_S, WARM_UP_S = 5, 10, 3
REQUESTS, WARM_REQUESTS = 100_000, 5_000
# As it is installed: the extra that ranks by nearness of meaning is not asked for.
PLAIN = "semantic = false\n"
# Of the requests a second that a figure is named after.
LEAST_SHARE = 0.95
FSYNCS, BLOCK = 200, b"x" * 4096

MIN_RATE, MAX_P99_MS, MAX_GROWTH_MB = 500.0, 50.0, 10.0


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
    if set(options.only) & {"ingest", "growth"} and shutil.which("wrk") is None:
        raise SystemExit(
            "wrk is not installed (Debian: apt-get install wrk); without it: "
            "--only recall recall-large"
        )
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
    """The rows, each part of a memory of its own."""
    if "ingest" in options.only:
        with _serving(os.path.join(folder, "at-once")) as serving:
            loads = list(_loads(serving, AT_ONCE, options))
            yield _rate_row(loads)
        with _serving(os.path.join(folder, "at-200")) as serving:
            loads = list(_loads(serving, AT_200, options))
            yield _latency_row(loads)
    for part in [part for part in RECALLS if part in options.only]:
        yield from recall(os.path.join(options.stores or folder, part), part, options)
    if "growth" in options.only:
        with _serving(os.path.join(folder, "growth")) as serving:
            yield from growth(serving, options.requests)
            yield worked_off(serving, options.seconds)


def recall(folder: str, part: str, options: argparse.Namespace) -> Iterator[Row]:
    """The rows of questions to a memory of one size, for each number of processes."""
    observations, most_ms = RECALLS[part]
    for workers in options.workers or [0]:
        words = ("--workers", str(workers)) if workers else ()
        with _serving(folder, observations, PLAIN, words=words) as serving:
            serving.asked(questions(int(WARM_UP_S * EVENLY.rate), 0), EVENLY)
            for shape, named, budget_ms in ((EVENLY, "evenly", most_ms), (BURSTS, "bursts", 0.0)):
                found = []
                for run in range(options.runs):
                    asked = questions(int(options.seconds * shape.rate), 1 + run)
                    found.append(serving.asked(asked, shape))
                name = f"recall of sentences, {observations:,} observations, {named}, p95"
                yield _recall_row(name, found, budget_ms, workers)


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


def _loads(serving: Serving, shape: tuple[int, int], options: argparse.Namespace) -> Iterator[Load]:
    serving.load(shape, WARM_UP_S, "warm-up")
    for run in range(options.runs):
        before = _kept(serving)
        found = serving.load(shape, options.seconds, f"run-{run}")
        if _kept(serving) - before < found.fine:
            raise SystemExit(f"{found.fine} were answered 202, and fewer lie in the database")
        yield found


def _rate_row(loads: Sequence[Load]) -> Row:
    rate = median(load.rate for load in loads)
    beside = f"{AT_ONCE[0]} connections; {_others(loads)}"
    kept = rate >= MIN_RATE and not _unwell(loads)
    return Row("durable ingests a second", rate, "/s", f"≥ {MIN_RATE:g}", kept, beside)


def _latency_row(loads: Sequence[Load]) -> Row:
    """Kept where every text was taken, and as many were sent as were wanted."""
    found, rate = median(load.p99_ms for load in loads), median(load.rate for load in loads)
    middle = median(load.p50_ms for load in loads)
    beside = f"{rate:.0f}/s, median {middle:.1f} ms; {_others(loads)}"
    kept = found <= MAX_P99_MS and rate >= LEAST_SHARE * 200 and not _unwell(loads)
    return Row("ingest at 200 a second, p99", found, "ms", f"≤ {MAX_P99_MS:g}", kept, beside)


def _recall_row(name: str, found: Sequence[Asked], most_ms: float, workers: int) -> Row:
    """Kept where every question was answered in time, as often as it was asked; no budget: 0."""
    p95, rate = median(one.p95_ms for one in found), median(one.rate for one in found)
    beside = (
        f"{f'{workers} processes, ' if workers else ''}{rate:.0f}/s, "
        f"median {median(one.p50_ms for one in found):.1f} ms, "
        f"{median(one.cpu_ms for one in found):.1f} ms of processor each; {len(found)} runs, "
        f"{sum(one.refused for one in found)} refused, {sum(one.empty for one in found)} empty"
    )
    well = rate >= LEAST_SHARE * EVENLY.rate and not any(one.refused for one in found)
    kept = not most_ms or (p95 <= most_ms and well)
    return Row(name, p95, "ms", f"≤ {most_ms:g}" if most_ms else "–", kept, beside)


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
        load = serving.load(AT_ONCE, WARM_UP_S, f"{mark}-{taken}")
        if not load.fine:
            raise SystemExit("nothing was taken in any more")
        taken += load.fine
    return taken


def _kept(serving: Serving, state: str = "%") -> int:
    with closing(sqlite3.connect(serving.side.database)) as database:
        many = "SELECT count(*) FROM intake WHERE state LIKE ?"
        return int(database.execute(many, (state,)).fetchone()[0])


@contextmanager
def _serving(
    folder: str, observations: int = 1, config: str = "", *, words: Sequence[str] = ()
) -> Iterator[Serving]:
    side = Ours(folder)
    if not side.databases():
        _build(side, observations)
    with open(os.path.join(side.environ["MEMORY_FABRIC_HOME"], "config.toml"), "w") as file:
        file.write(config)
    serving = Serving(side, *words)
    try:
        yield serving
    finally:
        serving.stop()


def _build(side: Ours, observations: int) -> None:
    """Import so many observations of real prose."""
    path = os.path.join(side.folder, "prose.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for entity in entities(observations):
            file.write(json.dumps({"type": "entity", **entity}) + "\n")
    command = [sys.executable, "-m", "memory_fabric.cli", "import", path]
    subprocess.run(
        command, cwd=side.project, env=side.environ, stdout=subprocess.DEVNULL, check=True
    )
    os.unlink(path)


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
    parts = ("ingest", *RECALLS, "growth")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--workers", type=int, nargs="+", help="processes that answer questions")
    parser.add_argument("--stores", metavar="FOLDER", help="keep the asked stores here")
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
