"""Backups of a large memory: a full copy, a day's changes, and the way back from every step.

    .venv/bin/python benchmarks/backups.py --build FOLDER --size 200000   build a store once
    .venv/bin/python benchmarks/backups.py --store FOLDER                 measure; it is put back
    .venv/bin/python benchmarks/backups.py --store FOLDER --changes 100 --json

A full copy is made; then so many records are remembered, which is a day of work. A row says what
each writes to the disk, and what it takes of the processor. Then the database is lost, and it is
damaged, and `memory-fabric repair` has to bring everything back: entities, observations, relations
and records are counted and their texts added up.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import resource
import sqlite3
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import large
from driver import with_packages
from workloads import hooks_store

TABLES = {
    "entities": "name",
    "observations": "text",
    "relations": "type",
    "records": "what",
}


class Row(NamedTuple):
    """A step: bytes that it left on the disk, seconds of processor time, whether all is there."""

    step: str
    written: int
    cpu_s: float
    whole: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if anything was not restored."""
    options = _options(arguments)
    if options.build:
        print(f"built in {large.timed_build(options.build, options.size):,.0f} s")
        return 0
    with large.put_back(options.store, needed=True):
        rows = measure(os.path.abspath(options.store), options.changes)
    if options.json:
        print(json.dumps([row._asdict() for row in rows], indent=1))
    else:
        print(f"{'step':44}{'MB written':>12}{'cpu s':>8}  everything there")
        for row in rows:
            whole = "yes" if row.whole else "NO"
            print(f"{row.step:44}{row.written / 1e6:12.2f}{row.cpu_s:8.2f}  {whole}")
    return int(not all(row.whole for row in rows))


def measure(folder: str, changes: int) -> list[Row]:
    """Return a row for each step in the world of a folder."""
    sys.path.insert(0, hooks_store.PLUGIN)
    from memory_fabric.config import read_settings
    from memory_fabric.models import Provenance, Record
    from memory_fabric.store.memory import Memory
    from memory_fabric.store.tiers import sync
    from memory_fabric.store.upkeep import backup

    path = large.database_of(folder)
    for old in backup.list_backups(path):
        os.unlink(old)

    def change() -> None:
        memory = hooks_store.opened(folder)
        memory.refresh()
        for number in range(changes):
            what = f"Shard {number} of the ledger is moved in week {number % 50}"
            memory.remember(Record("decision", what), Provenance("assistant"))
        memory.flush()
        assert sync.backup_when_due(memory) == []
        memory.close()

    def repaired() -> None:
        memory = Memory.open(read_settings(hooks_store.environ_of(folder), {}), repair=True)
        memory.databases()
        memory.close()

    rows = [_row("a full copy", folder, path, lambda: backup.create(path))]
    rows.append(_row(f"a day with {changes:,} changes, no copy", folder, path, change))
    expected = _content(path)
    os.unlink(path)
    for ending in ("-wal", "-shm"):
        if os.path.exists(path + ending):
            os.unlink(path + ending)
    rows.append(_row("repair of a lost database", folder, path, repaired, expected))
    with open(path, "r+b") as file:
        file.write(b"\xff" * 4096)
    rows.append(_row("repair of a damaged one", folder, path, repaired, expected))
    return rows


def _row(step: str, folder: str, path: str, run: Callable[[], object], expected: Any = None) -> Row:
    before, began_s = _bytes_below(folder), _cpu_s()
    run()
    cpu_s = _cpu_s() - began_s
    whole = expected is None or _content(path) == expected
    return Row(step, _bytes_below(folder) - before, cpu_s, whole)


def _content(path: str) -> list[tuple[int, int]]:
    """Return for each table the number of rows and the characters of its texts."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return [
            database.execute(f"SELECT count(*), sum(length({column})) FROM {table}").fetchone()
            for table, column in TABLES.items()
        ]
    finally:
        database.close()


def _bytes_below(folder: str) -> int:
    paths = glob.glob(os.path.join(folder, "**"), recursive=True, include_hidden=True)
    return sum(os.path.getsize(path) for path in paths if os.path.isfile(path))


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--store", metavar="FOLDER", help="measure this store, built before")
    place.add_argument("--build", metavar="FOLDER", help="only build a store there")
    parser.add_argument("--size", type=int, default=200_000, help="observations")
    parser.add_argument("--changes", type=int, default=100, help="records of a day")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    with_packages()
    sys.exit(main())
