"""Instruction files from which records are derived: each file's last state, and its records.

A row of `meta` in the project's database lists the project's files; a row in the user's database
lists files in the user's home (`~/…`). A list has names, sizes, times and record ids, but no texts.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memory_fabric.store import files
from memory_fabric.store.base_memory import BaseMemory
from memory_fabric.store.database import Database

KEY = "instructions"
# The size that `stamp` returns for a file that does not exist.
GONE = -1


class Followed(NamedTuple):
    """A file as last read: size, time (ns), and ids and domain of the records made from it. `via`
    lists other names by which the client reads the file: files that import it, and links to it.
    """

    size: int
    mtime_ns: int
    ids: tuple[str, ...]
    via: tuple[str, ...] = ()
    domain: str = ""


def load(database: Database) -> dict[str, Followed]:
    """Return the followed files of a database, by name. Raises StoreUnavailable."""
    row = database.row("SELECT value FROM meta WHERE key = ?", (KEY,))
    followed = {}
    for name, fields in json.loads(row[0]).items() if row else ():
        size, mtime_ns, ids, via, domain = fields
        followed[name] = Followed(size, mtime_ns, tuple(ids), tuple(via), domain)
    return followed


def save(database: Database, followed: Mapping[str, Followed]) -> None:
    """Replace a database's list of followed files. Raises StoreUnavailable."""
    value = json.dumps(followed, ensure_ascii=False)
    with database.transaction() as c:
        c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (KEY, value))


def kind_of(name: str) -> str:
    """Return the kind of database in which a file of this name is listed: "user" or "project"."""
    return "user" if name.startswith("~") else "project"


def path_of(memory: BaseMemory, name: str) -> str:
    """Return the path of a followed file; '' if this memory has no project or user home for it."""
    if name.startswith("~"):
        home = memory.settings.user_home
        return os.path.join(home, name[2:]) if home else ""
    return os.path.join(memory.project.root, name) if memory.project is not None else ""


def stamp(path: str) -> tuple[int, int]:
    """Return a file's size and time (ns), or GONE and 0 if the file cannot be read."""
    found = files.stamp(path)
    return (found[2], found[1]) if found else (GONE, 0)


def changed(memory: BaseMemory) -> dict[str, int]:
    """Map the names of files that have changed to their sizes; costs one `stat` for each file."""
    sizes = {}
    for database in memory.databases():
        for name, file in load(database).items():
            path = path_of(memory, name)
            size, mtime_ns = stamp(path) if path else (file.size, file.mtime_ns)
            if (size, mtime_ns) != (file.size, file.mtime_ns):
                sizes[name] = max(0, size)
    return sizes


def shown(memory: BaseMemory, patterns: Sequence[str]) -> frozenset[str]:
    """Return ids of records made from the files that match `patterns`: the client loads these."""
    # The client reads instructions in a folder below the root only when it works in that folder.
    below = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("/*"))
    ids: set[str] = set()
    for name, file in (item for database in memory.databases() for item in load(database).items()):
        if any(path in patterns or path.startswith(below) for path in (name, *file.via)):
            ids.update(file.ids)
    return frozenset(ids)
