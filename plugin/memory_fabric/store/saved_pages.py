"""Snapshots of the page that shows a memory: one for each project, in home, for the owner only."""

from __future__ import annotations

import os

from memory_fabric.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Project

FOLDER = "pages"
MAX_NAME_CHARS = 60


def path_of(home: str, project: Project | None) -> str:
    """Where the snapshot of a project lies; without one, the user's."""
    if project is None:
        return os.path.join(home, FOLDER, "user.html")
    name, id_ = _plain(project.name), _plain(project.id)
    # Most ids begin with the name.
    return os.path.join(home, FOLDER, f"{id_ if id_.startswith(name) else f'{name}-{id_}'}.html")


def keep(path: str, content: str) -> None:
    """Write a snapshot in the place of the one before. Raises OSError."""
    files.write_atomic(path, content.encode("utf-8", "replace"))


def drop_all(home: str) -> None:
    """Delete all snapshots: nothing can be taken out of one. Raises OSError."""
    folder = os.path.join(home, FOLDER)
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        os.unlink(os.path.join(folder, name))


def _plain(name: str) -> str:
    """A name of which every file system and browser makes the same."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name)
    return kept.strip("-.")[:MAX_NAME_CHARS] or "project"
