"""Where everything of ours lies that may hold a memory: databases, folders, fences in MEMORY.md."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory_fabric.store import files, native
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import LOCAL_FOLDER, REGISTRY

DATABASE, USERS = "graph.db", "user.db"


@dataclass(frozen=True, slots=True)
class Place:
    """One memory: its database, the folders of its files, and every MEMORY.md that may show it."""

    path: str
    kind: str
    folders: tuple[str, ...]
    notes: tuple[str, ...] = ()


def places(memory: Memory, *, everywhere: bool) -> list[Place]:
    """This project's place and the user's; `everywhere`: those of all projects of this home."""
    home = memory.settings.home
    ids = [memory.project.id] if memory.project else []
    if everywhere:
        ids += [id_ for id_ in _listed(os.path.join(home, "projects")) if id_ not in ids]
    found = [_place(memory, id_) for id_ in ids]
    found.append(Place(os.path.join(home, USERS), "user", (os.path.join(home, "local"),)))
    return [place for place in found if os.path.exists(place.path)]


def own_files(memory: Memory, found: Sequence[Place]) -> list[str]:
    """Every file of these places: below home without other projects, and in their folders."""
    home = memory.settings.home
    paths = dict.fromkeys(files_in(home, os.path.join(home, "projects")))
    for place in found:
        for folder in (os.path.dirname(place.path), *place.folders):
            if folder != home:
                paths |= dict.fromkeys(files_in(folder))
    return list(paths)


def other_files(memory: Memory, found: Sequence[Place]) -> list[str]:
    """Files of other projects and memories below home."""
    mine = set(own_files(memory, found))
    walked = (os.path.join(at, n) for at, _, names in os.walk(memory.settings.home) for n in names)
    return [path for path in walked if path not in mine and os.path.isfile(path)]


def files_in(folder: str, leave_out: str = "") -> Iterator[str]:
    """Every regular file below a folder; nothing below `leave_out`, and no link is followed.

    A home inside the folder (that of a graph which is served from a file) is another memory.
    """
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(at, name) != leave_out]
        if USERS in names and at != folder:
            folders[:] = []
            continue
        for name in names:
            path = os.path.join(at, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def _place(memory: Memory, id_: str) -> Place:
    folder = os.path.join(memory.settings.home, "projects", id_)
    roots = list(_roots(memory, id_))
    folders = [os.path.join(root, LOCAL_FOLDER) for root in roots]
    folders.append(os.path.join(folder, "local"))
    if memory.project and memory.project.id == id_:
        folders.append(memory.project.local)
    notes = [native.locate(memory.settings.config_dir, root, True).path for root in roots]
    return Place(
        os.path.join(folder, DATABASE),
        "project",
        tuple(dict.fromkeys(path for path in folders if os.path.isdir(path))),
        tuple(dict.fromkeys(path for path in notes if os.path.exists(path))),
    )


def _roots(memory: Memory, id_: str) -> Iterable[str]:
    """The folders of a project, as far as its keys name folders."""
    keys = files.read_json(os.path.join(memory.settings.home, REGISTRY)).get("keys")
    roots: dict[str, None] = {}
    if memory.project and memory.project.id == id_:
        roots[memory.project.root] = None
    for key, owner in keys.items() if isinstance(keys, dict) else ():
        kind, _, path = str(key).partition(":")
        if owner == id_ and os.path.isabs(path):
            is_own = kind == "git" and os.path.basename(path) == ".git"
            roots[os.path.dirname(path) if is_own else path] = None
    return roots


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
