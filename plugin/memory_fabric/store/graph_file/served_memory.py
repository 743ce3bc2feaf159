"""A graph that is served from a file in the reference server's format: `MEMORY_FILE_PATH` (MEM-17).

It is in a database of its own in home, with everything that makes a database safe; a `Mirror` keeps
it and the file equal.
"""

from __future__ import annotations

import os
import re
import sqlite3
from typing import TYPE_CHECKING

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.store.graph_file.file_content import reason_of
from memory_fabric.store.graph_file.mirror import Mirror
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import file_locations, sync

if TYPE_CHECKING:
    from memory_fabric.store.graph_file.mirror import Report

# Characters replaced in a folder's name.
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def open_mirrored(settings: Settings, report: Report) -> Memory:
    """Open the memory that serves exactly the file of `settings.memory_file_path`.

    `report` receives sentences for the operator of the server. Raises StoreUnavailable.
    """
    path = file_path(settings)
    home = home_of(settings.home, path)
    memory = Memory.open(settings._replace(home=home, project_dir=""), repair=True)
    memory.switched_by = (settings.home, "")
    memory.follow_switches()
    memory.mirror = Mirror(path, home, report)
    try:
        memory.mirror.tidy()
        memory.refresh()
        memory.flush()
        # Register the file, so that a purge elsewhere can name it.
        try:
            file_locations.save_served(home, path)
        except OSError as error:
            report(f"{home} cannot be written: {reason_of(error)}")
        _back_up(memory, report)
    except BaseException:
        memory.close()
        raise
    return memory


def file_path(settings: Settings) -> str:
    """Return the file's absolute path; a relative one starts in the project's folder, else in the
    current.
    """
    path = settings.memory_file_path
    if path.startswith("~/"):
        path = settings.user_home + path[1:]
    return os.path.abspath(os.path.join(settings.project_dir or os.getcwd(), path))


def home_of(home: str, path: str) -> str:
    """Return the folder for the database and everything else of a mirrored file."""
    real = os.path.realpath(path)
    name = _PLAIN.sub("-", os.path.basename(real))[:40]
    return os.path.join(home, file_locations.SERVED, f"{ids.checksum(real):08x}-{name}")


def _back_up(memory: Memory, report: Report) -> None:
    """Make a backup when one is due: no client session ends here, which would trigger it."""
    try:
        sync.backup_when_due(memory)
    except (OSError, sqlite3.Error) as error:
        report(f"no backup of {memory.path_of('user')} was made: {error}")
