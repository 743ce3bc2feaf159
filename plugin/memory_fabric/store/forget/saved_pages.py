"""Snapshots of the viewer's page: one per project, in the home folder, private to the user."""

import os

from memory_fabric.models import Project
from memory_fabric.store import files

FOLDER = "pages"
MAX_NAME_CHARS = 60


def path_of(home: str, project: Project | None) -> str:
    """Return the path of a project's snapshot or, without a project, of the user's snapshot."""
    if project is None:
        return os.path.join(home, FOLDER, "user.html")
    name, id_ = _plain(project.name), _plain(project.id)
    # Most project ids already begin with the project's name.
    return os.path.join(home, FOLDER, f"{id_ if id_.startswith(name) else f'{name}-{id_}'}.html")


def save(path: str, content: str) -> None:
    """Save a snapshot and replace the previous one. Raises OSError."""
    files.write_atomic(path, content.encode("utf-8", "replace"))


def delete_all(home: str) -> None:
    """Delete all snapshots, because single memories cannot be removed from them. Raises OSError."""
    folder = os.path.join(home, FOLDER)
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        os.unlink(os.path.join(folder, name))


def _plain(name: str) -> str:
    """Replace the characters of a name that file systems or browsers may treat differently."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name)
    return plain.strip("-.")[:MAX_NAME_CHARS] or "project"
