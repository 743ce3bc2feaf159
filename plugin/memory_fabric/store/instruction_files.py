"""The instruction files that records follow: their last state, and the records of each.

A row of `meta` of the project's database holds those of the project, one of the user's database
those below the user's home (`~/…`): names, sizes, times and ids of records, no words.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.store.database import Database

if TYPE_CHECKING:
    from memory_fabric.store.protocols import Memory

KEY = "instructions"
# The size of a file that does not exist.
GONE = -1
EARLIER_FIELDS = 4


class Followed(NamedTuple):
    """A file as it was read last: bytes, time (ns), its records, and the files that import it.

    `domain` is that of its records; '' if none was stated yet. `closed` are the records that were
    closed because their line went, and that hold again if it returns.
    """

    size: int
    mtime_ns: int
    ids: tuple[str, ...]
    via: tuple[str, ...] = ()
    domain: str = ""
    closed: tuple[str, ...] = ()


def load(database: Database) -> dict[str, Followed]:
    """Return the files that a database follows, by name. Raises StoreUnavailable."""
    row = database.row("SELECT value FROM meta WHERE key = ?", (KEY,))
    if row is None:
        return {}
    return {
        str(name): Followed(int(size), int(mtime_ns), tuple(ids), tuple(via), domain, tuple(closed))
        for name, (size, mtime_ns, ids, via, domain, closed) in map(
            _complete, json.loads(row[0]).items()
        )
    }


def save(database: Database, followed: Mapping[str, Followed]) -> None:
    """Replace what a database follows. Raises StoreUnavailable."""
    with database.transaction() as c:
        c.execute("DELETE FROM meta WHERE key = ?", (KEY,))
        if followed:
            value = json.dumps(dict(followed), ensure_ascii=False)
            c.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (KEY, value))


def _complete(pair: tuple[str, list[Any]]) -> tuple[str, list[Any]]:
    """Return a row with the fields that an earlier release did not write."""
    name, row = pair
    return name, [*row, "", []] if len(row) == EARLIER_FIELDS else row


def kind_of(name: str) -> str:
    """Return the kind of database that follows a file of this name."""
    return "user" if name.startswith("~") else "project"


def path_of(memory: Memory, name: str) -> str:
    """Return the path of a file by its name; '' where it has none here."""
    if name.startswith("~"):
        return (
            os.path.join(memory.settings.user_home, name[2:]) if memory.settings.user_home else ""
        )
    return os.path.join(memory.project.root, name) if memory.project is not None else ""


def stamp(path: str) -> tuple[int, int]:
    """Return size and time of a file; GONE if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return GONE, 0
    return found.st_size, found.st_mtime_ns


def changed(memory: Memory) -> dict[str, int]:
    """Return the names of files that have changed since, with their bytes; one `stat` each."""
    found = {}
    for database in _databases(memory):
        for name, known in load(database).items():
            path = path_of(memory, name)
            now = stamp(path) if path else (known.size, known.mtime_ns)
            if now != (known.size, known.mtime_ns):
                found[name] = max(0, now[0])
    return found


def shown(memory: Memory, patterns: Sequence[str]) -> frozenset[str]:
    """Return the records of files that a client shows its model, which reads these names."""
    found: set[str] = set()
    for database in _databases(memory):
        for name, known in load(database).items():
            if any(_fits(one, pattern) for one in (name, *known.via) for pattern in patterns):
                found.update(known.ids)
    return frozenset(found)


def _fits(name: str, pattern: str) -> bool:
    if pattern.endswith("/*"):
        return name.startswith(pattern[:-1])
    # A folder below the root has instructions of its own, which are read there only.
    return name == pattern


def _databases(memory: Memory) -> list[Database]:
    found = []
    for kind in ("project", "user"):
        try:
            database = memory.database(kind, create=False)
        except (StoreUnavailable, DeadlinePassed) as error:
            memory.fail(f"graph ({kind}): {error}")
            continue
        if database is not None and database not in found:
            found.append(database)
    return found
