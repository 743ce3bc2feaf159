"""Finds and removes memory-fabric's home, its blocks in MEMORY.md, and its folders in projects."""

import os
import shutil
from typing import NamedTuple

from memory_fabric.config import Settings
from memory_fabric.errors import BadInput
from memory_fabric.models import Project
from memory_fabric.sharing.git import location
from memory_fabric.store import journal
from memory_fabric.store.files import lock_path, read_text
from memory_fabric.store.journal import BAD, CLAIMED, DECISIONS, QUEUE, REFUSED
from memory_fabric.store.projects import own_lines
from memory_fabric.store.projects.identity import LOCAL_FOLDER
from memory_fabric.store.projects.registry_file import REGISTRY
from memory_fabric.store.tiers import file_locations, memory_md

# The home is deleted as a whole, so it must contain one of these files. A folder `projects` is not
# sufficient, because other programs' folders may have one.
HOME_SIGNS = ("user.db", REGISTRY, "setup.json")
# Our files in a project's folder (not for git); each may have a lock file and temporary files.
OUR_NAMES = (DECISIONS, own_lines.NAME, QUEUE, CLAIMED, BAD, REFUSED)
BESIDE = (".lock", ".tmp")
# Our files for git; they are removed only if they contain exactly one of these texts.
OUR_TEXTS = {
    location.IGNORE: (location.HIDDEN, location.VISIBLE),
    location.ATTRIBUTES: (location.UNION_MERGE,),
}


class Belongings(NamedTuple):
    """What can be removed: the home, MEMORY.md files with our block, and folders in projects."""

    home: str
    notes: tuple[memory_md.MemoryFile, ...]
    folders: tuple[str, ...]


def belongings(settings: Settings) -> Belongings:
    """Return everything that memory-fabric has written; `home` is '' if it does not exist."""
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
    """Raise BadInput if `path` is not memory-fabric's home, or if the folder `within` is in it."""
    inner, real = os.path.realpath(within), os.path.realpath(path)
    if within and os.path.join(inner, "").startswith(os.path.join(real, "")):
        text = f"{path} holds {within}, not only memory; nothing was changed."
        remedy = "Use --keep-memory, and delete memory's files yourself."
        raise BadInput("MEMORY_FABRIC_HOME", text, remedy=remedy)
    if not any(os.path.exists(os.path.join(path, sign)) for sign in HOME_SIGNS):
        text = f"{path} does not look like a home of memory-fabric; it was left alone."
        raise BadInput("MEMORY_FABRIC_HOME", text, remedy="Delete it yourself if it is one.")


def remove_lines(home: str, note: memory_md.MemoryFile) -> None:
    """Remove our block from a MEMORY.md; delete an empty file. Raises OSError, StoreUnavailable."""
    memory_md.promote(note, (), lock_path(home, note.path))
    if os.path.exists(note.path) and not os.path.getsize(note.path):
        os.unlink(note.path)


def remove_folder(folder: str) -> list[str]:
    """Delete our files in a project's folder; return why others remain. Raises OSError."""
    root = os.path.dirname(os.path.dirname(folder))
    is_tracked = location.is_tracked(Project("", os.path.basename(root), root, folder, ()))
    stays: list[str] = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        is_beside = name.startswith((*OUR_NAMES, journal.WAITING)) and name.endswith(BESIDE)
        is_named = name in OUR_NAMES or journal.is_waiting_name(name) or is_beside
        text = (read_text(path) or "").replace("\r\n", "\n") if name in OUR_TEXTS else ""
        is_text = text in OUR_TEXTS.get(name, ())
        if is_tracked and name in location.PASSED:
            stays.append(f"{path} is tracked by git; git rm removes it for all who share it.")
        elif not (is_named or is_text):
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
    """Delete the home. Raises OSError, and BadInput if the folder is not memory-fabric's home."""
    check_home(path)
    shutil.rmtree(os.path.realpath(path))
    if os.path.islink(path):
        os.unlink(path)
