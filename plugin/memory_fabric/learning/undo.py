"""Take a run of `learn` back in all projects: its records, turns and sessions."""

from __future__ import annotations

from memory_fabric.config import Settings
from memory_fabric.learning import runs
from memory_fabric.learning.runs import Run
from memory_fabric.models import Provenance
from memory_fabric.store.history import changes
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.memory import Memory
from memory_fabric.values import Value


class Taken(Value):
    """What was taken back of one project: the numbers of changes, and of those that stay."""

    name: str
    changes: int = 0
    left: int = 0


def undo(settings: Settings, run: Run, by: Provenance, file: str = runs.FILE) -> list[Taken]:
    """Undo a run of this file; it can be done again. Raises StoreUnavailable, OSError."""
    taken = []
    for folder in run.folders.values():
        memory = Memory.open(settings._replace(project_dir=folder))
        try:
            chosen = [c for c in changes.of_batch(memory, run.batch) if not c.undone]
            done = undoing.undo(memory, chosen, by)
            name = memory.project.name if memory.project else folder
            made = sum(bool(one.by) for one in done)
            taken.append(Taken(name, made, len(done) - made))
        finally:
            memory.close()
    runs.save(settings.home, run._replace(state="undone"), file)
    return taken
