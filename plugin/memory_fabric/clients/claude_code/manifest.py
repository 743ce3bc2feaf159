"""What was set up outside our home, so that it can be taken back: `setup.json` in home.

Of a file that we edited it holds the edits and a checksum, never the file's text, which may hold
keys; of a link where it lies; of both the folders that were made for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memory_fabric.clients.claude_code.json_text import Edit
from memory_fabric.store import files

NOTE = "setup.json"
HOOKS, SERVER, LINK = "hooks", "server", "link"


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that was set up: its path, what it is, and how it was before."""

    path: str
    kind: str
    command: str
    checksum: str = ""
    existed: bool = True
    edits: tuple[Edit, ...] = ()
    folders: tuple[str, ...] = ()


def marks(home: str) -> list[Mark]:
    """Everything that is remembered, in its order; what cannot be read is left out."""
    listed = files.read_json(os.path.join(home, NOTE)).get("marks")
    found = [_mark(row) for row in listed] if isinstance(listed, list) else []
    return [mark for mark in found if mark is not None]


def mark_of(home: str, path: str) -> Mark | None:
    """What is remembered of a path."""
    return next(iter(marks_of(home, path)), None)


def marks_of(home: str, path: str) -> list[Mark]:
    """All that is remembered of a path: of a write that broke off the state before it, too."""
    return [mark for mark in marks(home) if _is_of(mark, path)]


def folders_made_above(home: str, path: str) -> list[str]:
    """The folders around a path that were made for something else: the last one out closes them."""
    made = {folder for mark in marks(home) for folder in mark.folders}
    return sorted(folder for folder in made if path.startswith(os.path.join(folder, "")))


def expect(home: str, mark: Mark) -> None:
    """Remember it beside what is known of its path, which `remember` then replaces.

    A process that is killed between note and file leaves one of the two that fits the file.
    Raises OSError, TimeoutError.
    """
    _rewrite(home, lambda known: known != mark, mark)


def remember(home: str, mark: Mark) -> None:
    """Remember it in place of what was known of its path. Raises OSError, TimeoutError."""
    _rewrite(home, lambda known: not _is_of(known, mark.path), mark)


def forget(home: str, path: str) -> None:
    """Remember nothing of a path. Raises OSError, TimeoutError."""
    if mark_of(home, path) is not None:
        _rewrite(home, lambda known: not _is_of(known, path))


def _rewrite(home: str, stays: Callable[[Mark], bool], *new: Mark) -> None:
    note = os.path.join(home, NOTE)
    with files.Locked(note + ".lock"):
        rows = [asdict(known) for known in (*filter(stays, marks(home)), *new)]
        files.write_atomic(note, files.pretty_json({"marks": rows}))


def _is_of(mark: Mark, path: str) -> bool:
    """Whether it is the mark of a path; a file may be named in several ways, a link is its name."""
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
