"""The record of everything that setup changed outside home, for undoing it: `setup.json` in home.

For an edited file it holds the edits and a checksum, but not the text, which may hold keys; for a
link its path; for both the folders that were created.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memory_fabric.clients.claude_code.json_text import Edit
from memory_fabric.store import files

NOTE = "setup.json"
HOOKS, SERVER, LINK, FILE, CODEX = "hooks", "server", "link", "file", "codex"


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that was set up: path, kind, and its former state."""

    path: str
    kind: str
    command: str
    checksum: str = ""
    existed: bool = True
    edits: tuple[Edit, ...] = ()
    folders: tuple[str, ...] = ()


def marks(home: str) -> list[Mark]:
    """Return all marks in order; unreadable ones are skipped."""
    listed = files.read_json(os.path.join(home, NOTE)).get("marks")
    found = [_mark(row) for row in listed] if isinstance(listed, list) else []
    return [mark for mark in found if mark is not None]


def mark_of(home: str, path: str) -> Mark | None:
    """Return the first mark of a path."""
    return next(iter(marks_of(home, path)), None)


def marks_of(home: str, path: str) -> list[Mark]:
    """Return all marks of a path: after an interrupted write there are two."""
    return [mark for mark in marks(home) if _is_of(mark, path)]


def folders_made_above(home: str, path: str) -> list[str]:
    """Return the folders around a path that setup created for other files; the last removal deletes
    them.
    """
    made = {folder for mark in marks(home) for folder in mark.folders}
    return sorted(folder for folder in made if path.startswith(os.path.join(folder, "")))


def expect(home: str, mark: Mark) -> None:
    """Add a mark before its file is written; `remember` then replaces the older ones of its path.

    If the process is killed in between, one of the marks fits the file. Raises OSError,
    TimeoutError.
    """
    _rewrite(home, lambda known: known != mark, mark)


def remember(home: str, mark: Mark) -> None:
    """Save a mark in place of the others of its path. Raises OSError, TimeoutError."""
    _rewrite(home, lambda known: not _is_of(known, mark.path), mark)


def forget(home: str, path: str) -> None:
    """Delete the marks of a path. Raises OSError, TimeoutError."""
    if mark_of(home, path) is not None:
        _rewrite(home, lambda known: not _is_of(known, path))


def _rewrite(home: str, stays: Callable[[Mark], bool], *new: Mark) -> None:
    note = os.path.join(home, NOTE)
    with files.Locked(note + ".lock"):
        rows = [asdict(known) for known in (*filter(stays, marks(home)), *new)]
        files.write_atomic(note, files.pretty_json({"marks": rows}))


def _is_of(mark: Mark, path: str) -> bool:
    """True for a mark of this path; a file may have several paths, but a link only its own."""
    if mark.path == path:
        return True
    return mark.kind != LINK and os.path.realpath(mark.path) == os.path.realpath(path)


def _mark(row: Any) -> Mark | None:
    try:
        edits = tuple(Edit(int(e["start"]), str(e["old"]), str(e["new"])) for e in row["edits"])
        return Mark(
            str(row["path"]),
            str(row["kind"]),
            str(row["command"]),
            str(row["checksum"]),
            row["existed"] is True,
            edits,
            _texts(row["folders"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)
