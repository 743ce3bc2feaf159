"""Manifest (`setup.json`) of everything that setup changed outside the home, used to undo it.

For an edited file, it stores the edits and a checksum, but not the text, which may contain keys;
for a link, the path; and for both, the folders that setup created.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

from memory_fabric.clients.json_text import Edit
from memory_fabric.store import files

NOTE = "setup.json"
TEXTS = ("path", "kind", "command", "checksum")
HOOKS, SERVER, LINK, FILE, CODEX = "hooks", "server", "link", "file", "codex"


class Mark(NamedTuple):
    """A manifest entry: a file or link that setup wrote, and how to undo that."""

    path: str
    kind: str
    command: str
    checksum: str = ""
    existed: bool = True
    edits: tuple[Edit, ...] = ()
    folders: tuple[str, ...] = ()

    def is_of(self, path: str) -> bool:
        """Return True if the mark belongs to this file (under any path), or to this link."""
        if self.path == path:
            return True
        return self.kind != LINK and os.path.realpath(self.path) == os.path.realpath(path)


def marks(home: str) -> list[Mark]:
    """Return all marks in the manifest, in order; invalid marks are skipped."""
    rows = files.read_json(os.path.join(home, NOTE)).get("marks")
    listed = []
    for row in rows if isinstance(rows, list) else []:
        try:
            path, kind, command, checksum = (str(row[name]) for name in TEXTS)
            edits = (Edit(int(e["start"]), str(e["old"]), str(e["new"])) for e in row["edits"])
            folders = tuple(map(str, row["folders"]))
            existed = row["existed"] is True
            listed.append(Mark(path, kind, command, checksum, existed, tuple(edits), folders))
        except (KeyError, TypeError, ValueError):
            continue
    return listed


def marks_of(home: str, path: str) -> list[Mark]:
    """Return the marks of a path: usually one, but two after an interrupted write."""
    return [mark for mark in marks(home) if mark.is_of(path)]


def commands_of(home: str, path: str) -> list[str]:
    """Return the commands that setup has written into a file."""
    return [mark.command for mark in marks_of(home, path)]


def expect(home: str, mark: Mark) -> None:
    """Save a mark before its file is written. Raises OSError, TimeoutError."""
    _rewrite(home, lambda other: other != mark, mark)


def remember(home: str, mark: Mark) -> None:
    """Save a mark in place of all other marks of its path. Raises OSError, TimeoutError."""
    _rewrite(home, lambda other: not other.is_of(mark.path), mark)


def forget(home: str, path: str) -> None:
    """Delete all marks of a path. Raises OSError, TimeoutError."""
    if marks_of(home, path):
        _rewrite(home, lambda other: not other.is_of(path))


def make_folders(folder: str) -> list[str]:
    """Create a folder and its missing parents; return the created folders. Raises OSError."""
    missing = missing_folders(folder)
    for name in missing:
        os.mkdir(name, 0o755)
    return missing


def missing_folders(folder: str) -> list[str]:
    """Return the missing folders of a path, the outermost first."""
    missing: list[str] = []
    while folder and not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def remove_empty(folders: tuple[str, ...]) -> None:
    """Delete the folders that are empty, beginning with the innermost folder."""
    for folder in reversed(folders):
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)


def _rewrite(home: str, stays: Callable[[Mark], bool], *new: Mark) -> None:
    note = os.path.join(home, NOTE)
    with files.Locked(note + ".lock"):
        every = (*filter(stays, marks(home)), *new)
        rows = [{**m._asdict(), "edits": [e._asdict() for e in m.edits]} for m in every]
        files.write_atomic(note, files.pretty_json({"marks": rows}))
