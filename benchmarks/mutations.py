"""The share of random changes to the package that its tests notice.

    python3 benchmarks/mutation_map.py --to MAP         which tests execute what, once
    python3 benchmarks/mutations.py --map MAP --draw 200 --seed 1 --json RESULT
    python3 benchmarks/mutations.py --map MAP --again RESULT    only those that survived

Each change is made in a copy of the tree, and the tests that execute the changed function run there
until one fails: first those that name its module, then those that execute the least, within
`--limit` seconds. Of files of tests that the map lacks, those that import the module run as a
whole. A change that no test notices survived. Those that cannot change behaviour stand in
mutations_equivalent.toml with the reason, and do not count. Tests that failed are run once more
without the changes; where one fails there too, the change is doubtful, and not caught.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import NamedTuple

import mutation_sites
from mutation_map import PACKAGE, ROOT, copy_tree, test_files
from mutation_sites import Site

EQUIVALENT = Path(__file__).with_name("mutations_equivalent.toml")
TOP = "(top level)"
OUTCOMES = ("caught", "hung", "survived", "equivalent", "doubtful")
# Most changes are caught by one of so many tests; the rest need not be collected then.
FIRST_TESTS, MAX_TESTS = 15, 600
# The cases of one parametrized test come so many at a time, between those of other tests.
CASES = 3
# A file of tests that the map does not have, and that imports the changed module.
UNKNOWN_S, UNKNOWN_BREADTH = 10.0, 1_000_000
# A test takes longer on a loaded machine, and pytest has to start.
HANG_FACTOR, START_S = 8.0, 180.0

_IMPORT = re.compile(r"^from (memory_fabric[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


class Test(NamedTuple):
    """A test: its id, its seconds, and the number of functions that it executes."""

    node: str
    seconds: float
    breadth: int


class Result(NamedTuple):
    """The outcome of a change; `by` is the test that failed, `tests` how many were run."""

    site: Site
    outcome: str
    before: str
    after: str
    by: str = ""
    tests: int = 0


class Map:
    """The measured map of tests that passed."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            sys.exit(f"mutations.py: no map at {path}; make it with benchmarks/mutation_map.py")
        with closing(sqlite3.connect(path)) as database:
            rows = database.execute("SELECT id, node, seconds FROM test WHERE passed").fetchall()
            executed = database.execute("SELECT test, file, function FROM executes").fetchall()
        breadth = Counter(test for test, _, _ in executed)
        self._tests = {test: Test(node, s, breadth[test]) for test, node, s in rows}
        self.files = {test.node.partition("::")[0] for test in self._tests.values()}
        self._executing: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for test, file, function in executed:
            if test in self._tests:
                self._executing[file][function].add(test)

    def executing(self, functions: Iterable[tuple[str, str]]) -> list[Test]:
        """Return the tests that execute one of these functions (file, name)."""
        found = set[int]()
        for file, function in functions:
            found |= self._executing[file][function]
        return [self._tests[test] for test in sorted(found)]

    def all(self) -> list[Test]:
        """Return every test."""
        return list(self._tests.values())

    def executing_file(self, file: str) -> list[Test]:
        """Return the tests that execute any function of a file."""
        return self.executing((file, function) for function in list(self._executing[file]))


class Copy:
    """A copy of the tree, in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.tree = copy_tree(folder)
        self._changes = 0

    def caught(self, site: Site, related: Sequence[Test]) -> tuple[str, str]:
        """Return the outcome with this change, and the test that failed."""
        file = self.tree / PACKAGE / site.path
        source, status = file.read_bytes(), file.stat()
        file.write_bytes(mutation_sites.mutated(source, site))
        # A compiled file is known by its second and size, which two changes may have in common.
        self._changes += 1
        os.utime(file, (status.st_atime, status.st_mtime + self._changes))
        try:
            for tests in (related[:FIRST_TESTS], related[FIRST_TESTS:]):
                outcome, failed = self.run(tests)
                if outcome != "survived":
                    break
        finally:
            file.write_bytes(source)
            os.utime(file, (status.st_atime, status.st_mtime))
        return outcome, failed[0] if failed else ""

    def run(self, tests: Sequence[Test], *, all_of_them: bool = False) -> tuple[str, list[str]]:
        """Run tests, by default until the first fails: the outcome, and those that failed."""
        if not tests:
            return "survived", []
        nodes = self.tree.parent / f"{self.tree.name}.tests"
        nodes.write_text("".join(f"{test.node}\n" for test in tests), "utf-8")
        command = [".venv/bin/pytest", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider"]
        command += [] if all_of_them else ["-x"]
        running = subprocess.Popen(
            [*command, f"@{nodes}"],
            cwd=self.tree,
            env=os.environ | {"PYTHONPATH": "plugin"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            limit_s = START_S + HANG_FACTOR * sum(test.seconds for test in tests)
            printed = running.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            return "hung", []
        return _outcome(running.returncode, printed, tests)


def _outcome(code: int, printed: str, tests: Sequence[Test]) -> tuple[str, list[str]]:
    if code == 0:
        return "survived", []
    lines = re.findall(r"^(?:FAILED|ERROR) (.+)$", printed, re.MULTILINE)
    failed = [
        max((test.node for test in tests if line.startswith(test.node)), key=len, default=line)
        for line in lines
    ]
    if not failed and not re.search("Error|Interrupted|Exit|INTERNAL", printed):
        raise RuntimeError(f"pytest ended with {code}: {printed[-2000:]}")
    return "caught", failed or ["(pytest could not start)"]


def related_tests(site: Site, tests: Map, limit_s: float) -> list[Test]:
    """Return the tests to run, the closest first, of at most `limit_s` seconds in sum."""
    if site.function:
        executing = tests.executing([(site.path, site.function)])
    else:
        executing = tests.executing(_users(site)) or tests.executing_file(site.path)
    by_function: dict[str, list[Test]] = defaultdict(list)
    for test in sorted(executing, key=lambda test: test.seconds):
        by_function[test.node.partition("[")[0]].append(test)
    turns = [(turn // CASES, test) for row in by_function.values() for turn, test in enumerate(row)]
    near = _naming(site.path) or _beside(site.path)
    turns += [(0, Test(file, UNKNOWN_S, UNKNOWN_BREADTH)) for file in near - tests.files]
    turns.sort(
        key=lambda pair: (
            pair[0],
            pair[1].node.partition("::")[0] not in near,
            pair[1].breadth,
            pair[1].seconds,
        )
    )
    chosen, left_s = list[Test](), limit_s
    for _, test in turns:
        if test.seconds <= left_s and len(chosen) < MAX_TESTS:
            chosen.append(test)
            left_s -= test.seconds
    return chosen


def _naming(path: str) -> set[str]:
    """Return the test files that import a module or are called after it."""
    dotted = "memory_fabric." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    name = dotted.rpartition(".")[2]
    return {
        file
        for file, imported in _imports().items()
        if dotted in imported or file.endswith(f"_{name}.py")
    }


def _beside(path: str) -> set[str]:
    """Return the test files of the package's folder that are called after a part of the path."""
    parts = set(re.findall(r"[a-z0-9]+", path.removesuffix(".py").partition("/")[2]))
    return {
        file
        for file in _imports()
        if file.startswith(f"tests/{room(path)}/")
        and parts & set(re.findall(r"[a-z0-9]+", file.rpartition("/")[2]))
    }


@cache
def _imports() -> dict[str, set[str]]:
    """Return the modules and names that each test file imports, dotted."""
    imported: dict[str, set[str]] = {}
    for file in test_files():
        dotted = imported[str(file.relative_to(ROOT))] = set()
        for module, names in _IMPORT.findall(file.read_text("utf-8")):
            dotted.add(module)
            dotted |= {f"{module}.{name}" for name in re.findall(r"\w+", names)}
    return imported


def _users(site: Site) -> set[tuple[str, str]]:
    """Return the functions that mention a name of this statement: of its file, and of those that
    name its module.
    """
    module = Path(site.path).stem.encode()
    return {
        (path, function)
        for name in site.names
        for path, function in _mentions().get(name, ())
        if path == site.path or module in _sources()[path]
    }


@cache
def _mentions() -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for path, source in _sources().items():
        for name, functions in mutation_sites.mentions(source).items():
            found[name] |= {(path, function) for function in functions}
    return found


@cache
def _sources() -> dict[str, bytes]:
    package = ROOT / PACKAGE
    return {
        str(path.relative_to(package)): path.read_bytes() for path in sorted(package.rglob("*.py"))
    }


def drawn(number: int, seed: int) -> list[Site]:
    """Draw places in all rooms of the package."""
    rooms: dict[str, list[Site]] = defaultdict(list)
    lines = Counter[str]()
    for path, source in _sources().items():
        if places := mutation_sites.sites(path, source):
            rooms[room(path)] += places
        lines[room(path)] += source.count(b"\n")
    return mutation_sites.draw(rooms, number, seed, lines)


def room(path: str) -> str:
    """Return the package that a file is in."""
    return path.partition("/")[0] if "/" in path else TOP


def survivors(result: Path) -> list[Site]:
    """Find those that survived a former run in today's files, though lines may have moved."""
    found = []
    for row in json.loads(result.read_text("utf-8"))["changes"]:
        if row["outcome"] not in ("survived", "doubtful", "hung"):
            continue
        source = _sources().get(row["path"], b"")
        same = [
            site
            for site in (mutation_sites.sites(row["path"], source) if source else ())
            if (site.function, *_lines(site)) == (row["function"], row["before"], row["after"])
        ]
        if same:
            found.append(min(same, key=lambda site: abs(site.line - row["line"])))
        else:
            print(f"gone: {row['path']}:{row['line']} {row['before']}", flush=True)
    return found


def _lines(site: Site) -> tuple[str, str]:
    """Return the changed lines, before and after, each joined to one."""
    source = _sources()[site.path]
    first = source.rfind(b"\n", 0, site.start) + 1
    last = source.find(b"\n", site.end)
    before = source[first:last].decode()
    after = source[first : site.start].decode() + site.text + source[site.end : last].decode()
    return _joined(before), _joined(after)


def _joined(lines: str) -> str:
    return " ".join(line.strip() for line in lines.splitlines())


def run(places: Sequence[Site], tests: Map, options: argparse.Namespace) -> list[Result]:
    """Try each change, `options.jobs` at a time, and print what becomes of it."""
    reasons = {
        (row["path"], row["function"], row["before"], row["after"])
        for row in tomllib.loads(EQUIVALENT.read_text("utf-8"))["change"]
    }
    results = list[Result]()

    def judge(site: Site) -> None:
        before, after = _lines(site)
        related = related_tests(site, tests, options.limit)
        if (site.path, site.function, before, after) in reasons:
            outcome, failed = "equivalent", ""
        else:
            copy = free.pop()
            outcome, failed = copy.caught(site, related)
            free.append(copy)
        results.append(Result(site, outcome, before, after, failed, len(related)))
        _show(results[-1])
        _write(results, options)

    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        free = [Copy(Path(folder) / str(number)) for number in range(options.jobs)]
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(judge, places))
        failing = {result.by for result in results if "::" in result.by}
        unsteady = free[0].run(
            [test for test in tests.all() if test.node in failing], all_of_them=True
        )[1]
    return [
        result._replace(outcome="doubtful") if result.by in unsteady else result
        for result in results
    ]


def _show(result: Result) -> None:
    site = result.site
    print(f"{result.outcome:<10} {site.path}:{site.line} {site.function} ({site.kind})")
    print(f"    - {result.before}\n    + {result.after}")
    print(f"    {result.by or f'{result.tests} tests'}", flush=True)


def _write(results: Sequence[Result], options: argparse.Namespace) -> None:
    if options.json:
        rows = [{**result._asdict(), **result.site._asdict()} for result in results]
        for row in rows:
            del row["site"]
        report = {"draw": options.draw, "seed": options.seed, "limit_s": options.limit}
        text = json.dumps(report | {"changes": rows}, indent=1)
        options.json.write_text(text + "\n", "utf-8")


def table(results: Sequence[Result]) -> str:
    """Return a table of outcomes by package; a change that hangs its tests is noticed too."""
    lines = [f"| package | drawn | {' | '.join(OUTCOMES)} |", f"|---|---|{'---|' * len(OUTCOMES)}"]
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        for name in (room(result.site.path), "sum"):
            rooms[name][result.outcome] += 1
    for name in sorted(rooms, key=lambda name: (name == "sum", name)):
        cells = [str(rooms[name][outcome] or "") for outcome in OUTCOMES]
        lines.append(f"| {name} | {rooms[name].total()} | {' | '.join(cells)} |")
    counted = rooms["sum"]
    noticed, all_changes = counted["caught"] + counted["hung"], len(results) - counted["equivalent"]
    lines.append(f"\nnoticed: {noticed} of {all_changes} ({noticed / max(all_changes, 1):.1%})")
    return "\n".join(lines)


def main() -> int:
    """Draw changes, try them, and print each with its outcome and a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--map", type=Path, required=True, help="made by mutation_map.py")
    parser.add_argument("--draw", type=int, default=200, help="number of changes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", type=Path, help="try what survived in this file instead")
    parser.add_argument("--json", type=Path, help="file for the result")
    parser.add_argument("--limit", type=float, default=40.0, help="seconds of tests for a change")
    parser.add_argument("--jobs", type=int, default=2, help="changes tried at a time")
    parser.add_argument("--list", action="store_true", help="only print the changes")
    options = parser.parse_args()
    if options.again:
        places = survivors(options.again)
    else:
        places = drawn(options.draw, options.seed)
    tests = Map(options.map)
    if options.list:
        for site in places:
            count = len(related_tests(site, tests, options.limit))
            _show(Result(site, "drawn", *_lines(site), tests=count))
        return 0
    results = run(places, tests, options)
    _write(results, options)
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
