"""Find and remove what memory-fabric keeps outside the plugin: home, MEMORY.md blocks, local
folders.

In a project's folder only own files are removed; files tracked by git belong to all who share it.
"""

import os
import shutil
from typing import NamedTuple

from memory_fabric.config import Settings
from memory_fabric.errors import BadInput
from memory_fabric.models import Project
from memory_fabric.sharing.git import location
from memory_fabric.store import journal
from memory_fabric.store.files import lock_path, read_text
from memory_fabric.store.projects import own_lines
from memory_fabric.store.projects.identity import LOCAL_FOLDER
from memory_fabric.store.projects.registry_file import REGISTRY
from memory_fabric.store.tiers import file_locations, memory_md

# A home is deleted as a whole, so it must hold one of these. Other folders may have a folder
# `projects`, too.
HOME_SIGNS = ("user.db", REGISTRY, "setup.json")
# Own files in a project's folder except those of git, each with its lock and temporary files.
OUR_NAMES = (
    journal.DECISIONS,
    own_lines.NAME,
    journal.QUEUE,
    journal.CLAIMED,
    journal.BAD,
    journal.REFUSED,
)
BESIDE = (".lock", ".tmp")
# Files for git that count as memory-fabric's only with one of these contents.
OUR_TEXTS = {
    location.IGNORE: (location.HIDDEN, location.VISIBLE),
    location.ATTRIBUTES: (location.UNION_MERGE,),
}


class Belongings(NamedTuple):
    """Everything that exists: the home, MEMORY.md files with a block, folders in projects."""

    home: str
    notes: tuple[memory_md.MemoryFile, ...]
    folders: tuple[str, ...]


def belongings(settings: Settings) -> Belongings:
    """Return everything that memory-fabric has written; `home` is empty if it does not exist."""
    roots = sorted({root for _, root in file_locations.roots(settings.home)})
    notes = [memory_md.locate(settings.config_dir, root) for root in roots]
    unique = {note.path: note for note in notes}.values()
    folders = (os.path.join(root, LOCAL_FOLDER) for root in roots)
    return Belongings(
        settings.home if os.path.exists(settings.home) else "",
        tuple(n for n in unique if memory_md.parse(read_text(n.path) or "").fenced),
        tuple(path for path in folders if os.path.isdir(path) and not os.path.islink(path)),
    )


def check_home(path: str, within: str = "") -> None:
    """Raise BadInput for a folder that is not a home, or that contains `within`."""
    inner, real = os.path.realpath(within), os.path.realpath(path)
    if within and os.path.join(inner, "").startswith(os.path.join(real, "")):
        text = f"{path} holds {within}, not only memory; nothing was changed."
        remedy = "Use --keep-memory, and delete memory's files yourself."
        raise BadInput("MEMORY_FABRIC_HOME", text, remedy=remedy)
    if not any(os.path.exists(os.path.join(path, sign)) for sign in HOME_SIGNS):
        text = f"{path} does not look like a home of memory-fabric; it was left alone."
        raise BadInput("MEMORY_FABRIC_HOME", text, remedy="Delete it yourself if it is one.")


def remove_lines(home: str, note: memory_md.MemoryFile) -> None:
    """Remove the block from a MEMORY.md. Raises OSError, TimeoutError, StoreUnavailable."""
    memory_md.promote(note, (), lock_path(home, note.path))
    if os.path.exists(note.path) and not os.path.getsize(note.path):
        os.unlink(note.path)


def remove_folder(folder: str) -> list[str]:
    """Remove own files from a project's folder; return what stays, and why. Raises OSError."""
    root = os.path.dirname(os.path.dirname(folder))
    is_tracked = location.is_tracked(Project("", os.path.basename(root), root, folder, ()))
    stays: list[str] = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if is_tracked and name in location.PASSED:
            stays.append(f"{path} is tracked by git; git rm removes it for all who share it.")
        elif not _is_ours(name, path):
            stays.append(f"{path} was not written by memory-fabric.")
        elif os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    for empty in (folder, os.path.dirname(folder)):
        if not os.listdir(empty):
            os.rmdir(empty)
    return stays


def remove_home(path: str) -> None:
    """Delete the home. Raises BadInput if the folder is not one, OSError."""
    check_home(path)
    shutil.rmtree(os.path.realpath(path))
    if os.path.islink(path):
        os.unlink(path)


def _is_ours(name: str, path: str) -> bool:
    if name in OUR_TEXTS:
        return (read_text(path) or "").replace("\r\n", "\n") in OUR_TEXTS[name]
    if name in OUR_NAMES or journal.is_waiting_name(name):
        return True
    return name.startswith((*OUR_NAMES, journal.WAITING)) and name.endswith(BESIDE)
