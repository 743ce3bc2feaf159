"""Take a run of `learn` back in all projects: its records, turns and sessions."""

import os
from typing import NamedTuple

from memory_fabric.config import Settings
from memory_fabric.errors import NotFound
from memory_fabric.ids import is_project_id
from memory_fabric.learning import runs
from memory_fabric.learning.runs import Run
from memory_fabric.models import Provenance
from memory_fabric.store.history import changes
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import home_projects, identity


class Taken(NamedTuple):
    """The numbers of changes taken back in one project, and of those that stay."""

    name: str
    changes: int = 0
    left: int = 0


def undo(settings: Settings, run: Run, by: Provenance, file: str = runs.FILE) -> list[Taken]:
    """Undo a run of this file; it can be done again. Raises StoreUnavailable, OSError."""
    taken = []
    for key, folder in run.folders.items():
        memory = _opened(settings, key, folder)
        try:
            chosen = [c for c in changes.of_batch(memory, run.batch) if not c.undone]
            done = undoing.undo(memory, chosen, by)
            name = memory.project.name if memory.project else folder
            made = sum(bool(one.by) for one in done)
            if memory.project or done:
                taken.append(Taken(name, made, len(done) - made))
        finally:
            memory.close()
    runs.save(settings.home, run._replace(state="undone"), file)
    return taken


def _opened(settings: Settings, key: str, folder: str) -> Memory:
    """Return the memory of a run's project, by its id or its folder; the user's alone if unknown.

    The folder may have been deleted since, and must not become a project of its own.
    """
    id_ = key
    if not is_project_id(key):
        found = identity.identify(os.path.realpath(folder))
        id_ = identity.place_owner(identity.read_registry(settings.home), found)
    try:
        return home_projects.memory_of(settings, id_)
    except NotFound:
        return Memory.open(settings._replace(project_dir=""))
