"""What was set up outside our home, so that it can be taken back: `setup.json` in home.

Of a file that we edited it holds the edits and a checksum, never the file's text, which may hold
keys; of a link where it lies; of both the folders that were made for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memory_fabric.store import files
from memory_fabric.store.joining.json_text import Edit

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
    return next((mark for mark in marks(home) if mark.path == path), None)


def folders_made_above(home: str, path: str) -> list[str]:
    """The folders around a path that were made for something else: the last one out closes them."""
    made = {folder for mark in marks(home) for folder in mark.folders}
    return sorted(folder for folder in made if path.startswith(os.path.join(folder, "")))


def remember(home: str, mark: Mark) -> None:
    """Remember it in place of what was known of its path. Raises OSError, TimeoutError."""
    _rewrite(home, mark.path, mark)


def forget(home: str, path: str) -> None:
    """Remember nothing of a path. Raises OSError, TimeoutError."""
    if mark_of(home, path) is not None:
        _rewrite(home, path, None)


def _rewrite(home: str, path: str, mark: Mark | None) -> None:
    note = os.path.join(home, NOTE)
    with files.Locked(note + ".lock"):
        kept = [known for known in marks(home) if known.path != path]
        rows = [asdict(known) for known in (*kept, *((mark,) if mark else ()))]
        files.write_atomic(note, files.as_page({"marks": rows}))


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
