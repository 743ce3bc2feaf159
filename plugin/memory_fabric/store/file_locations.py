"""Where everything of ours lies that may hold a memory: databases, folders, fences in MEMORY.md."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_fabric.store import files, log
from memory_fabric.store.projects.identity import LOCAL_FOLDER, REGISTRY
from memory_fabric.store.tiers import memory_md

if TYPE_CHECKING:
    from memory_fabric.store.protocols import Memory

DATABASE, USERS = "graph.db", "user.db"
# Below home: what belongs to files that are served (MEMORY_FILE_PATH), and in each of its folders
# the note which file it is.
SERVED, SERVED_NOTE = "files", "served.json"


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


def roots(home: str) -> Iterator[tuple[str, str]]:
    """Each project's id with a folder of it, as far as the keys of this home name folders."""
    keys = files.read_json(os.path.join(home, REGISTRY)).get("keys")
    for key, owner in keys.items() if isinstance(keys, dict) else ():
        kind, _, path = str(key).partition(":")
        if os.path.isabs(path):
            is_own = kind == "git" and os.path.basename(path) == ".git"
            yield str(owner), os.path.dirname(path) if is_own else path


def note_served(home: str, path: str) -> None:
    """Note in the home of a served file which file it is. Raises OSError."""
    note, said = os.path.join(home, SERVED_NOTE), {"file": path}
    if files.read_json(note) != said:
        files.write_atomic(note, files.as_page(said))


def served_files(memory: Memory) -> list[str]:
    """The files that are served beside this memory, as far as they are noted and exist."""
    own = memory.mirror.path if memory.mirror else ""
    top = os.path.join(memory.switched_by[0], SERVED)
    notes = [os.path.join(top, name, SERVED_NOTE) for name in _listed(top)]
    found = dict.fromkeys(str(files.read_json(note).get("file", "")) for note in notes)
    return [path for path in found if path != own and os.path.isfile(path)]


def logs_of_client(memory: Memory) -> list[str]:
    """Logs in the data folders that the client gives to plugins: there where home failed."""
    top = os.path.join(memory.settings.config_dir, "plugins", "data")
    folders = [os.path.join(top, name) for name in _listed(top)]
    folders += [memory.settings.data_dir] if memory.settings.data_dir else []
    paths = [os.path.join(f, log.LOG_NAME + ending) for f in folders for ending in ("", ".1")]
    return [path for path in dict.fromkeys(paths) if os.path.isfile(path)]


def notes_beside(found: Sequence[Place]) -> list[str]:
    """Every MEMORY.md of these places, and the client's own notes beside it."""
    folders = dict.fromkeys(os.path.dirname(path) for place in found for path in place.notes)
    return [
        os.path.join(folder, name)
        for folder in folders
        for name in _listed(folder)
        if name.endswith(".md") and os.path.isfile(os.path.join(folder, name))
    ]


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
    """Files of other projects and memories below home, and files that are served from there."""
    mine = set(own_files(memory, found))
    home = memory.switched_by[0]
    walked = (os.path.join(at, name) for at, _, names in os.walk(home) for name in names)
    others = [path for path in walked if path not in mine and os.path.isfile(path)]
    return [*served_files(memory), *others]


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
    known = [root for owner, root in roots(memory.settings.home) if owner == id_]
    if memory.project and memory.project.id == id_:
        known.insert(0, memory.project.root)
    folders = [os.path.join(root, LOCAL_FOLDER) for root in known]
    folders.append(os.path.join(folder, "local"))
    if memory.project and memory.project.id == id_:
        folders.append(memory.project.local)
    notes = [memory_md.locate(memory.settings.config_dir, root, True).path for root in known]
    return Place(
        os.path.join(folder, DATABASE),
        "project",
        tuple(dict.fromkeys(path for path in folders if os.path.isdir(path))),
        tuple(dict.fromkeys(path for path in notes if os.path.exists(path))),
    )


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
