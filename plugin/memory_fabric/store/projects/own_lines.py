"""The file `own.jsonl`, which proves which lines of a project's decisions.jsonl this home wrote.

Its header has the project's id and location: the real path and inode of the project's folder, which
differ for a copy or an unpacked archive. The header is signed with this home's key. Each further
line is a signature of one journal line together with the header. The file must never be shared, so
it is only written if the folder's `.gitignore` hides it from git.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from memory_fabric.store import files
from memory_fabric.store.base_memory import BaseMemory
from memory_fabric.store.home import signing

NAME, IGNORE, DECISIONS = "own.jsonl", ".gitignore", "decisions.jsonl"
# Key in `meta`: this prefix and a journal's path. Value: size, time, inode at its last check.
STAMP = "journal:"
# Patterns that let git see files despite `*` in a shared `.gitignore` (see sharing.git.location).
SHOWN = frozenset(("!.gitignore", "!.gitattributes", "!decisions.jsonl"))


class Header(NamedTuple):
    """The project, its folder and the folder's inode. `waiting` is True until the user decides
    whether to accept journal lines that this home did not provably write.
    """

    project: str
    root: str
    inode: int
    waiting: bool = False


def inode_of(root: str) -> int:
    """Return a folder's inode; 0 if the folder does not exist."""
    return (files.stamp(root) or (0,))[0]


def journal_of(memory: BaseMemory) -> str:
    """Return the path of decisions.jsonl in the project's own folder; '' if it does not exist."""
    project = memory.project
    if project is None or memory.mirror is not None:
        return ""
    path = os.path.join(project.local, DECISIONS)
    is_inside = project.local.startswith(os.path.join(project.root, ""))
    return path if is_inside and files.is_own_file(path) else ""


def stamps(memory: BaseMemory) -> tuple[str, str]:
    """Return the journal's stamp (its size, modification time and inode) as it is now, and as last
    saved; '' where there is none. Raises StoreUnavailable.
    """
    path = journal_of(memory)
    if not path:
        return "", ""
    status, database = os.stat(path), memory.database("project", create=False)
    now = f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"
    row = database and database.row("SELECT value FROM meta WHERE key = ?", (STAMP + path,))
    return now, str(row[0]) if row else ""


def save_stamp(memory: BaseMemory) -> None:
    """Save the journal's size, time and inode, to detect later changes. Raises StoreUnavailable."""
    now, before = stamps(memory)
    database = memory.database("project", create=False)
    if now == before or database is None or database.newer or database.read_only:
        return
    with database.transaction() as c:
        stamp = (STAMP + journal_of(memory), now)
        c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", stamp)


def exists(folder: str) -> bool:
    """Return True if the folder has an own.jsonl, whoever wrote the file."""
    return files.is_own_file(os.path.join(folder, NAME))


def header(home: str, folder: str) -> Header | None:
    """Return the header if it is signed with this home's key; None if not, or if it is missing."""
    if not exists(folder) or os.path.realpath(folder) != folder:
        return None
    key = signing.known_key(home)
    return _header(_first(folder), key) if key else None


def is_stated_for(folder: str, expected: Header) -> bool:
    """Return True if own.jsonl, signed or not, has the project, root and inode of `expected`."""
    stated = _first(folder)
    return all(stated.get(field) == getattr(expected, field) for field in Header._fields[:3])


def add(home: str, folder: str, lines: Iterable[Mapping[str, Any]]) -> None:
    """Append signatures of new journal lines to own.jsonl, if it exists. Raises OSError."""
    head = header(home, folder)
    if head is not None:
        key = signing.key_of(home)
        marks = [{"mac": _mark(head, line, key)} for line in lines]
        files.append_lines(os.path.join(folder, NAME), marks)


def write(home: str, folder: str, head: Header, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write own.jsonl with this header and signatures of these journal lines. Raises OSError."""
    try:
        ignored = files.read_text(os.path.join(folder, IGNORE)) or ""
    except OSError:
        return
    ignores = {line.strip() for line in ignored.splitlines()}
    if "*" not in ignores or any(line[:1] == "!" and line not in SHOWN for line in ignores):
        return  # git would add the file to the repository
    key = signing.key_of(home)
    first = head._asdict()
    whole = [{**first, "signature": signing.signature(first, key)}]
    whole += [{"mac": _mark(head, line, key)} for line in lines]
    text = "".join(map(files.json_line, whole))
    files.write_atomic(os.path.join(folder, NAME), text.encode("utf-8", "replace"))


def proved(home: str, folder: str, lines: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the lines that this home signed together with the header's project and location."""
    key = signing.known_key(home)
    try:
        marks = files.read_lines(os.path.join(folder, NAME))[0] if key else []
    except OSError:
        marks = []
    head = _header(marks[0], key) if marks else None
    if head is None:
        return []
    signed = {str(mark.get("mac", "")) for mark in marks}
    return [line for line in lines if _mark(head, line, key) in signed]


def _header(first: Mapping[str, Any], key: bytes) -> Header | None:
    project, root, inode, waiting = (first.get(field) for field in Header._fields)
    if not (isinstance(project, str) and isinstance(root, str) and isinstance(inode, int)):
        return None
    return Header(project, root, inode, waiting is True) if signing.is_ours(first, key) else None


def _mark(head: Header, line: Mapping[str, Any], key: bytes) -> str:
    place = {field: getattr(head, field) for field in Header._fields[:3]}
    return signing.signature({**place, "line": dict(line)}, key)


def _first(folder: str) -> dict[str, Any]:
    try:
        text = files.read_text(os.path.join(folder, NAME)) or ""
    except OSError:
        return {}
    return files.parsed(text.partition("\n")[0]) or {}
