"""Every command, and the hooks, on a memory of a million observations beside one of ten thousand.

    .venv/bin/python benchmarks/large.py --build FOLDER     only build the store, to be used again
    .venv/bin/python benchmarks/large.py --store FOLDER     measure there; it is put back afterwards
    .venv/bin/python benchmarks/large.py                    build in a temporary folder and measure
    .venv/bin/python benchmarks/large.py --size 100000 --only recall status --no-hooks --json

Prints the time of the build, what the tables and indexes take of the file, a row for each command
(seconds by the clock and of the processor, MB at most), and the rows of benchmarks/hooks.py. *more*
is how many times the work grew beyond the start of the command line; above the growth of the store
it is more than linear. Needs the packages of the command line, and an SQLite with dbstat for the
shares of the file.
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import hooks
from processes import Sample, quantile, timed
from workloads import hooks_store, large_commands
from workloads.large_commands import Run
from workloads.large_store import USER_OBSERVATIONS

ENTRY = "import sys; from memory_fabric.cli.main import main; sys.exit(main())"
# A suffix of the copy from which a store is put back; one that is there is of an interrupted run.
KEPT = ".kept"
# Work below so many seconds of processor time is not compared: it is lost in the noise.
NOISE_S = 0.02
# Parts of the file below this share are counted together.
SMALL_SHARE = 0.005
BUILD_BUDGET_S = 20 * 60


class Part(NamedTuple):
    """A table or index, its bytes in the file and their share."""

    name: str
    size: int
    share: float


class Row(NamedTuple):
    """One command: medians of seconds by the clock and of the processor, the most MB."""

    label: str
    seconds: float
    cpu_s: float
    memory_mb: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print everything; 1 if the store took too long to build."""
    options = _options(arguments)
    if options.build:
        print(f"built in {timed_build(options.build, options.size):,.0f} s")
        return 0
    report: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), "size": options.size}
    with tempfile.TemporaryDirectory(prefix="memory-fabric-large-") as scratch:
        small = os.path.join(scratch, "beside")
        timed_build(small, options.beside)
        folder = options.store or os.path.join(scratch, "store")
        if not options.store:
            report["build_s"] = timed_build(folder, options.size)
        report["parts"] = [part._asdict() for part in parts_of(database_of(folder))]
        beside = measure(small, options.runs, options.only)
        with put_back(folder, needed=bool(options.store)):
            found = measure(folder, options.runs, options.only)
            report["rows"] = [row._asdict() for row in found]
            report["beside"] = [row._asdict() for row in beside]
        if not options.no_hooks:
            with put_back(folder, needed=bool(options.store)):
                rows, bare = hooks.measure(folder, options.size, options.runs)
            report["hooks"] = [row._asdict() for row in rows]
            if not options.json:
                hooks.print_table(rows, options.size, USER_OBSERVATIONS, bare)
    print(json.dumps(report, indent=1)) if options.json else print_report(report, options)
    return int(report.get("build_s", 0) > BUILD_BUDGET_S)


def timed_build(folder: str, size: int) -> float:
    """Build a store and return the seconds it took."""
    began = time.monotonic()
    # A child of its own: what it needed for building would count as the memory of every command.
    command = [sys.executable, "-m", "workloads.large_store", os.path.abspath(folder), str(size)]
    subprocess.run(command, cwd=os.path.dirname(os.path.abspath(__file__)), check=True)
    return time.monotonic() - began


def database_of(folder: str) -> str:
    """The database of the project in a world."""
    (path,) = glob.glob(os.path.join(folder, "home/memory/projects/project-*/graph.db"))
    return path


def parts_of(path: str) -> list[Part]:
    """The share of each table and index in the file, largest first; nothing without dbstat."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        sizes = database.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
    except sqlite3.OperationalError:
        return []
    finally:
        database.close()
    whole = os.path.getsize(path)
    parts = [Part(name, size, size / whole) for name, size in sizes]
    return sorted(parts, key=lambda part: -part.size)


@contextlib.contextmanager
def put_back(folder: str, *, needed: bool) -> Iterator[None]:
    """Copy the store, by reference where the file system can, and put it back afterwards."""
    folder = os.path.abspath(folder)
    kept = folder + KEPT
    if not needed:
        yield
        return
    if not os.path.isdir(kept):
        _copy(folder, kept)
    else:  # an interrupted run left it, so the folder may have been changed
        shutil.rmtree(folder)
        _copy(kept, folder)
    try:
        yield
    finally:
        shutil.rmtree(folder)
        os.rename(kept, folder)


def _copy(folder: str, to: str) -> None:
    reflink = ["--reflink=auto"] if sys.platform == "linux" else []
    partial = to + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    subprocess.run(["cp", "-a", *reflink, folder, partial], check=True)
    os.rename(partial, to)


def measure(folder: str, runs: int, only: Sequence[str] = ()) -> list[Row]:
    """The rows of all commands, or of some, in one world."""
    environ = {
        **hooks_store.environ_of(folder),
        "PYTHONPATH": hooks_store.PLUGIN,
        "USER": "ann",
        "CLAUDE_CONFIG_DIR": os.path.join(folder, "home", ".claude"),
    }
    rows = []
    with tempfile.TemporaryDirectory(prefix="memory-fabric-scratch-") as scratch:
        samples = large_commands.samples_of(environ["MEMORY_FABRIC_HOME"])
        for run in large_commands.runs(samples, scratch):
            if not only or run.command in only or run.label in only:
                taken = [_timed(run, environ, scratch) for _ in range(1 if run.changes else runs)]
                rows.append(_row(run, taken))
                print(f"{rows[-1].seconds:8.2f} s  {run.label}", file=sys.stderr)
    return rows


def _timed(run: Run, environ: Mapping[str, str], scratch: str) -> Sample:
    command = [sys.executable, "-c", ENTRY, *run.words]
    environ = {**environ, **run.variables}
    return timed(command, environ, run.given.encode(), scratch, statuses=run.statuses)


def _row(run: Run, samples: Sequence[Sample]) -> Row:
    return Row(
        run.label,
        quantile([sample.seconds for sample in samples], 0.5),
        quantile([sample.cpu_seconds for sample in samples], 0.5),
        max(sample.memory_mb for sample in samples),
    )


def growth(small: float, large: float, start: float) -> float | None:
    """The growth of the work beyond the start, as a factor; None if it is too little to tell."""
    if large - start < NOISE_S * 5:
        return None
    return (large - start) / max(small - start, NOISE_S)


def print_report(report: Mapping[str, Any], options: argparse.Namespace) -> None:
    """The tables of a report."""
    if "build_s" in report:
        print(f"\n{options.size:,} observations were built in {report['build_s']:,.0f} s")
    print(f"\n{'table or index':34}{'MB':>9}{'share':>8}")
    small = [part for part in report["parts"] if part["share"] < SMALL_SHARE]
    for part in report["parts"]:
        if part["share"] >= SMALL_SHARE:
            print(f"{part['name']:34}{part['size'] / 1e6:9.1f}{part['share']:8.1%}")
    print(f"{f'{len(small)} others':34}{sum(part['size'] for part in small) / 1e6:9.1f}")
    titles = f"{options.beside:,}", f"{options.size:,}"
    print(f"\n{'':30}{titles[0]:>24}{titles[1]:>24}")
    columns = f"{'s':>8}{'cpu s':>8}{'MB':>8}"
    print(f"{'command':30}{columns}{columns}{'more':>8}")
    start = min(row["cpu_s"] for row in report["beside"])
    for row, beside in zip(report["rows"], report["beside"], strict=True):
        more = growth(beside["cpu_s"], row["cpu_s"], start)
        cells = "".join(
            f"{cell['seconds']:8.2f}{cell['cpu_s']:8.2f}{cell['memory_mb']:8.0f}"
            for cell in (beside, row)
        )
        print(f"{row['label']:30}{cells}{'' if more is None else f'{more:8.0f}'}")
    for name, why in large_commands.LEFT_OUT.items():
        print(f"left out: {name}: {why}")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=1_000_000, help="observations")
    parser.add_argument("--beside", type=int, default=10_000, help="of the store beside it")
    parser.add_argument("--store", metavar="FOLDER", help="measure this store, built before")
    parser.add_argument("--build", metavar="FOLDER", help="only build a store there")
    parser.add_argument(
        "--only", nargs="+", default=(), metavar="COMMAND", help="or rows by their label"
    )
    parser.add_argument("--runs", type=int, default=3, help="of commands that change nothing")
    parser.add_argument("--no-hooks", action="store_true", help="without the hooks' rows")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
