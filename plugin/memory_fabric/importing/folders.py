"""Files of a folder that is imported: read with limits, never through a link that leaves it."""

from __future__ import annotations

import os
from typing import NamedTuple

from memory_fabric.ids import timestamp
from memory_fabric.importing.items import UNREADABLE, Left
from memory_fabric.store import files

MAX_FILES, MAX_FILE_BYTES = 20_000, 4 << 20
OUTSIDE = "links out of the folder"
NOT_TEXT = "files that are no UTF-8 text"
TOO_MANY = f"files beyond the first {MAX_FILES:,}"
# Folders of tools, which hold no notes.
PASSED_OVER = frozenset(("node_modules", "__pycache__"))


class Text(NamedTuple):
    """A text file: its path relative to the folder, its content, its time of change."""

    name: str
    text: str
    changed_at: str


def read_all(folder: str, endings: tuple[str, ...], left: Left) -> list[Text]:
    """Return the text files below a folder by name, and count those that are left out."""
    root = os.path.realpath(folder)
    found: list[Text] = []
    for name in names_below(root, endings):
        if len(found) >= MAX_FILES:
            left.add(TOO_MANY, name)
            continue
        one = read_one(root, name, left)
        if one is not None:
            found.append(one)
    return found


def read_at(path: str, endings: tuple[str, ...], left: Left) -> tuple[str, list[Text]]:
    """Return the folder and its text files, or a file's folder and this file. Raises OSError."""
    if os.path.isdir(path):
        return path, read_all(path, endings, left)
    root, name = os.path.split(os.path.realpath(path))
    one = read_one(root, name, left)
    return root, [one] if one else []


def names_below(root: str, endings: tuple[str, ...]) -> list[str]:
    """Return the relative paths of files with these endings below a folder, sorted; none of hidden
    folders.
    """
    found = []
    for above, folders, names in os.walk(root):
        folders[:] = [f for f in sorted(folders) if f[0] != "." and f not in PASSED_OVER]
        inside = os.path.relpath(above, root)
        found += [
            name if inside == "." else os.path.join(inside, name)
            for name in names
            if name.lower().endswith(endings) and name[0] != "."
        ]
    return sorted(found)


def read_one(root: str, name: str, left: Left) -> Text | None:
    """Return a file below a folder; None, and counted, if it leaves the folder or is no text."""
    path = os.path.realpath(os.path.join(root, name))
    if not path.startswith(os.path.join(os.path.realpath(root), "")):
        left.add(OUTSIDE, name)
        return None
    try:
        text = decoded(path)
        changed_s = os.stat(path).st_mtime
    except OSError as error:
        left.add(UNREADABLE, f"{name}: {error.strerror or error}")
        return None
    if text is None:
        left.add(NOT_TEXT, name)
        return None
    return Text(name, text, timestamp(changed_s))


def decoded(path: str) -> str | None:
    """Return the text of a file; None if it is not UTF-8. Raises OSError."""
    data = files.read_bytes(path, MAX_FILE_BYTES)
    if data is None:
        raise FileNotFoundError(2, "it does not exist")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
