"""Locations of everything that may contain memories: databases, folders, MEMORY.md blocks."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory_fabric.store import files
from memory_fabric.store.base_memory import BaseMemory
from memory_fabric.store.home import log
from memory_fabric.store.projects import registry_file
from memory_fabric.store.projects.identity import LOCAL_FOLDER, folder_of
from memory_fabric.store.tiers import memory_md

DATABASE, USERS = "graph.db", "user.db"
# Each graph file (MEMORY_FILE_PATH) has a home of its own, a subfolder of SERVED in the main home.
# The file SERVED_NOTE in it contains the graph file's path, which may be anywhere.
SERVED, SERVED_NOTE = "files", "served.json"
# Paths of each MEMORY.md written for a project: of each client folder, and from before a move.
WRITTEN = "memory_md.json"


class Location(NamedTuple):
    """The files of one memory: its database, its folders, and each MEMORY.md that may show it."""

    path: str
    kind: str
    folders: tuple[str, ...]
    notes: tuple[str, ...] = ()


def locations(memory: BaseMemory, *, everywhere: bool) -> list[Location]:
    """Return the locations of this project and the user, or of all projects if `everywhere`."""
    home = memory.settings.home
    ids = [memory.project.id] if memory.project else []
    if everywhere:
        ids += [id_ for id_ in registry_file.project_ids(home) if id_ not in ids]
    places, known_roots = [], list(roots(home))
    for id_ in ids:
        folder = folder_of(home, id_)
        own = memory.project if memory.project and memory.project.id == id_ else None
        project_roots = [own.root] if own else []
        project_roots += [root for owner, root in known_roots if owner == id_]
        folders = [os.path.join(root, LOCAL_FOLDER) for root in project_roots]
        folders += [os.path.join(folder, "local"), *([own.local] if own else [])]
        notes = [memory_md.locate(memory.settings.config_dir, root).path for root in project_roots]
        notes += written(home, id_)
        folders, notes = list(dict.fromkeys(folders)), list(dict.fromkeys(notes))
        parts = tuple(filter(os.path.isdir, folders)), tuple(filter(os.path.exists, notes))
        places.append(Location(os.path.join(folder, DATABASE), "project", *parts))
    places.append(Location(os.path.join(home, USERS), "user", (os.path.join(home, "local"),)))
    return [location for location in places if os.path.exists(location.path)]


def roots(home: str) -> Iterator[tuple[str, str]]:
    """Yield (project id, folder) for each key of this home's registry that refers to a folder."""
    for key, owner in registry_file.read_registry(home).keys.items():
        for folder in registry_file.folders_in((key,)):
            yield owner, folder


def save_served(home: str, path: str) -> None:
    """Save the path of a graph file in its own home folder `home` (see SERVED). Raises OSError."""
    note, content = os.path.join(home, SERVED_NOTE), {"file": path}
    if files.read_json(note) != content:
        files.write_atomic(note, files.pretty_json(content))


def written(home: str, project_id: str, path: str = "") -> tuple[str, ...]:
    """Return a project's MEMORY.md files (see WRITTEN), and save `path` as one. Raises OSError."""
    note = os.path.join(folder_of(home, project_id), WRITTEN)
    paths = files.text_list(files.read_json(note).get("paths"))
    if path and path not in paths:
        paths += (path,)
        files.write_atomic(note, files.pretty_json({"paths": paths}))
    return paths


def logs_of_client(memory: BaseMemory) -> list[str]:
    """Return log files in plugins' data folders, where logs go if home cannot be written."""
    top = os.path.join(memory.settings.config_dir, "plugins", "data")
    folders = [*(os.path.join(top, name) for name in files.names_in(top)), memory.settings.data_dir]
    names = (log.LOG_NAME, f"{log.LOG_NAME}.1")
    paths = [os.path.join(folder, name) for folder in folders if folder for name in names]
    return [path for path in dict.fromkeys(paths) if os.path.isfile(path)]


def client_memory_files(places: Sequence[Location]) -> list[str]:
    """Return each MEMORY.md of these locations, and all other Markdown files in its folder."""
    folders = dict.fromkeys(os.path.dirname(path) for location in places for path in location.notes)
    paths = (os.path.join(folder, name) for folder in folders for name in files.names_in(folder))
    return [path for path in paths if path.endswith(".md") and os.path.isfile(path)]


def own_files(memory: BaseMemory, places: Sequence[Location]) -> list[str]:
    """Return all files in home outside its projects, and in the folders of these locations."""
    home = memory.settings.home
    folders = [f for place in places for f in (os.path.dirname(place.path), *place.folders)]
    inside = (path for folder in folders if folder != home for path in files_in(folder))
    return list(dict.fromkeys([*files_in(home, os.path.join(home, "projects")), *inside]))


def other_files(memory: BaseMemory, places: Sequence[Location]) -> list[str]:
    """Return files in home of other projects or homes, and other MEMORY_FILE_PATH graph files."""
    mine, home = set(own_files(memory, places)), memory.switched_by[0]
    if memory.mirror:
        mine.add(memory.mirror.path)
    paths = [os.path.join(at, name) for at, _, names in os.walk(home) for name in names]
    top = os.path.join(home, SERVED)
    notes = [os.path.join(top, name, SERVED_NOTE) for name in files.names_in(top)]
    served = dict.fromkeys(str(files.read_json(note).get("file", "")) for note in notes)
    return [path for path in (*served, *paths) if path not in mine and os.path.isfile(path)]


def files_in(folder: str, leave_out: str = "") -> Iterator[str]:
    """Yield all regular files below a folder, except below `leave_out` or another home inside."""
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(at, name) != leave_out]
        if USERS in names and at != folder:
            folders[:] = []
            continue
        yield from filter(files.is_own_file, (os.path.join(at, name) for name in names))
