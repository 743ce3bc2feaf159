"""The switch for sharing a project's records. It is stored in home, never in the repository."""

import os

from memory_fabric.store import files

SHARED = "share.json"


def is_on(home: str, project_id: str) -> bool:
    path = os.path.join(home, SHARED)
    return os.path.exists(path) and files.read_json(path).get(project_id) is True


def turn(home: str, project_id: str, on: bool) -> None:
    """Switch the sharing of a project's records on or off. Raises OSError, TimeoutError."""
    path = os.path.join(home, SHARED)
    with files.Locked(path + ".lock"):
        shared = {id_: True for id_, value in files.read_json(path).items() if value is True}
        shared.pop(project_id, None)
        if on:
            shared[project_id] = True
        files.write_atomic(path, files.pretty_json(shared))
