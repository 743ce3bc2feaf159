"""Which tests execute which functions of the package, in all processes that a test starts.

    python3 benchmarks/mutation_map.py --to FILE     some 20 minutes on two cores

A copy of the tree, whose package reports each function at its first call during a test, runs every
test but those of tests/e2e and tests/benchmarks. The file is SQLite: `test` (id, node, seconds of
processor time, passed) and `executes` (test, file, function); functions inside functions count as
the outer one. Calls by processes that outlive a test count for the test that runs at that moment.
"""

from __future__ import annotations

import argparse
import mmap
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "plugin/memory_fabric"
# pytest starts once for so many files: a quarter of a minute of tests.
FILES_AT_ONCE = 10
# A test that takes longer is of no use beside so many faster ones.
LONGEST_S = 30
# Folders of installed packages; none is changed by a test.
INSTALLED = (
    ".venv",
    *(f"tests/e2e/{client}node_modules" for client in ("", "newer/", "other-clients/")),
)
NOT_MAPPED = {"e2e", "benchmarks"}
FOLDER = "MUTATION_MAP"
SCHEMA = """
CREATE TABLE test (id INTEGER PRIMARY KEY, node TEXT UNIQUE, seconds REAL, passed INTEGER);
CREATE TABLE executes (test INTEGER, file TEXT, function TEXT, PRIMARY KEY (file, function, test))
    WITHOUT ROWID;
"""
# Appended to the copy's package. Every process reads the number of the running test from a shared
# page. Calls are appended by opening the file each time, since some tests close all descriptors.
PROBE = """

def _report_calls(folder):
    import mmap, os, sys, threading

    try:
        with open(folder + "/current", "rb") as page:
            number = memoryview(mmap.mmap(page.fileno(), 8, access=mmap.ACCESS_READ)).cast("Q")
    except OSError:
        return
    here, seen, alive = os.path.dirname(__file__) + "/", {}, {}

    def called(frame, event, argument):
        code = frame.f_code
        if seen.get(id(code)) != number[0]:
            seen[id(code)], alive[id(code)] = number[0], code
            if code.co_filename.startswith(here):
                line = f"{number[0]}\\t{code.co_filename[len(here):]}\\t{code.co_qualname}\\n"
                try:
                    calls = os.open(folder + "/calls", os.O_WRONLY | os.O_APPEND)
                    try:
                        os.write(calls, line.encode())
                    finally:
                        os.close(calls)
                except OSError:
                    seen[id(code)] = -1

    sys.settrace(called)
    threading.settrace(called)


_report_calls(FOLDER)
"""


class Numbered:
    """A pytest plugin that numbers tests from `first` on and records how they end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with (folder / "current").open("r+b") as page:
            self._number = memoryview(mmap.mmap(page.fileno(), 8)).cast("Q")
        self._tests = (folder / "tests").open("a", encoding="utf-8")
        self._passed = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._number[0] += 1
        self._passed, began_s = True, _processor_s()
        done = yield
        seconds = f"{_processor_s() - began_s:.4f}"
        row = (self._number[0], int(self._passed), seconds, item.nodeid)
        print(*row, sep="\t", file=self._tests, flush=True)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._passed = self._passed and report.outcome == "passed"


def _processor_s() -> float:
    """Return the seconds of processor time so far: they depend little on other work."""
    return sum(os.times()[:4])


def pytest_configure(config: pytest.Config) -> None:
    """Number the tests, where `build` started this pytest."""
    config.pluginmanager.register(Numbered(Path(os.environ[FOLDER])))


def copy_tree(to: Path) -> Path:
    """Copy the working tree without git's files; folders of installed packages become links."""
    leave = shutil.ignore_patterns(".git", ".*_cache", ".hypothesis", ".venv", "node_modules")
    shutil.copytree(ROOT, to, symlinks=True, ignore=leave)
    for installed in INSTALLED:
        (to / installed).symlink_to((ROOT / installed).resolve())
    return to


def build(to: Path, jobs: int) -> None:
    """Run all tests in `jobs` copies and write the map."""
    tests = [str(path.relative_to(ROOT)) for path in test_files()]
    chunks = [tests[start : start + FILES_AT_ONCE] for start in range(0, len(tests), FILES_AT_ONCE)]
    with tempfile.TemporaryDirectory(prefix="mutation-map-") as folder:
        copies = [_watched_copy(Path(folder) / str(number)) for number in range(jobs)]
        free = list(copies)

        def run(chunk: list[str]) -> None:
            copy = free.pop()
            command = [".venv/bin/pytest", "-p", "mutation_map", "-p", "no:cacheprovider"]
            command += [f"--timeout={LONGEST_S}", *chunk]
            path = os.pathsep.join(["plugin", "benchmarks"])
            done = subprocess.run(
                command,
                cwd=copy / "tree",
                env=os.environ | {"PYTHONPATH": path, FOLDER: str(copy)},
                capture_output=True,
                text=True,
            )
            free.append(copy)
            print(chunk[0], done.stdout.strip().rpartition("\n")[2], flush=True)

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(run, chunks))
        _write(to, copies)


def test_files() -> list[Path]:
    """Return the files of tests, without those that drive real clients or measure."""
    files = sorted((ROOT / "tests").glob("**/test_*.py"))
    return [path for path in files if not NOT_MAPPED & set(path.relative_to(ROOT).parts[1:])]


def _watched_copy(folder: Path) -> Path:
    tree = copy_tree(folder / "tree")
    (folder / "current").write_bytes(bytes(8))
    (folder / "calls").touch()
    with (tree / PACKAGE / "__init__.py").open("a", encoding="utf-8") as package:
        package.write(PROBE.replace("FOLDER)", f"{str(folder)!r})"))
    return folder


def _write(to: Path, copies: list[Path]) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.unlink(missing_ok=True)
    with closing(sqlite3.connect(to)) as database, database:
        database.executescript(SCHEMA)
        for copy in copies:
            ids = dict(_tests(database, copy / "tests"))
            with (copy / "calls").open(encoding="utf-8", errors="replace") as calls:
                rows = (line.rstrip("\n").split("\t") for line in calls)
                database.executemany(
                    "INSERT OR IGNORE INTO executes VALUES (?, ?, ?)",
                    (
                        (ids[row[0]], row[1], row[2].partition(".<locals>")[0])
                        for row in rows
                        if len(row) == 3 and row[0] in ids
                    ),
                )


def _tests(database: sqlite3.Connection, lines: Path) -> Iterator[tuple[str, int]]:
    for line in lines.read_text("utf-8").splitlines():
        number, passed, seconds, node = line.split("\t", 3)
        row = (node, float(seconds), int(passed))
        insert = "INSERT INTO test (node, seconds, passed) VALUES (?, ?, ?)"
        yield number, database.execute(insert, row).lastrowid or 0


def main() -> int:
    """Build the map."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, required=True, help="the file to write")
    parser.add_argument("--jobs", type=int, default=2, help="copies that run tests at a time")
    options = parser.parse_args()
    build(options.to, options.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
