"""Locations of a project's records, chosen so that git sees them only if this user shares them.

The `.gitignore` in the folder hides everything, or everything but decisions.jsonl. If another user
has committed the file, git tracks it even if it is ignored: then the records of a user who does not
share are stored in home. They also wait there while the shared file has conflict markers.
"""

from __future__ import annotations

import os

from memory_fabric.models import Project
from memory_fabric.sharing.git import claims_read, switch
from memory_fabric.store import files, journal
from memory_fabric.store.base_memory import BaseMemory as Memory
from memory_fabric.store.projects import identity

IGNORE, ATTRIBUTES = ".gitignore", ".gitattributes"
HIDDEN = "*\n"
PASSED = (IGNORE, ATTRIBUTES, journal.DECISIONS)
VISIBLE = (
    "# memory-fabric share on: records may be committed, and nothing else of this folder.\n*\n"
)
VISIBLE += "".join(f"!{name}\n" for name in PASSED)
# Lets a merge keep the lines of both sides; their order does not matter, and line ends are equal.
UNION_MERGE = f"{journal.DECISIONS} text eol=lf merge=union\n"
MAX_SETTING_BYTES, MAX_INDEX_BYTES = 64 << 10, 64 << 20


def is_on(memory: Memory) -> bool:
    """Return True if this user shares the records of this project."""
    project = memory.project
    if project is None or memory.mirror is not None:
        return False
    return switch.is_on(memory.settings.home, project.id)


def shared_file(project: Project) -> str:
    """Return the path of the decisions.jsonl that git may see."""
    return os.path.join(project.local, journal.DECISIONS)


def private_folder(memory: Memory, project: Project) -> str:
    """Return the folder in home for records that must stay out of the repository."""
    return os.path.join(identity.folder_of(memory.settings.home, project.id), "local")


def journal_folder(memory: Memory, kind: str) -> str:
    """Return the folder in which a database's records are journalled at present."""
    project = memory.project
    folder = memory.queue_folder(kind)
    if kind != "project" or project is None or is_in_home(memory, project):
        return folder
    # With isolated domains, shared_journal.publish decides what may be shared.
    is_project_s = may_write_journal(memory, project) and not (
        is_on(memory) and memory.settings.domains.isolated
    )
    return folder if is_project_s else private_folder(memory, project)


def may_write_journal(memory: Memory, project: Project) -> bool:
    """Return True if lines may be written into the project's own journal at present."""
    if is_on(memory):
        return not claims_read.has_conflict(shared_file(project))
    return is_hidden(project)


def journal_file(memory: Memory) -> str:
    """Return the decisions.jsonl to read: the shared one if sharing is on, else the current one."""
    if memory.project is not None and is_on(memory):
        return shared_file(memory.project)
    return os.path.join(journal_folder(memory, "project"), journal.DECISIONS)


def files_of(memory: Memory) -> list[str]:
    """Return the path of every decisions.jsonl that may contain records of this project."""
    if memory.project is None:
        return []
    folders = dict.fromkeys((memory.project.local, private_folder(memory, memory.project)))
    return [os.path.join(folder, journal.DECISIONS) for folder in folders]


def all_journals(memory: Memory, kind: str) -> list[str]:
    """Return the path of every decisions.jsonl that may contain records of this kind of database:
    a project may have several folders, as clones of one repository or linked ones.
    """
    path = os.path.join(memory.queue_folder(kind), journal.DECISIONS)
    if kind != "project" or memory.project is None:
        return [path]
    from memory_fabric.store.tiers.file_locations import roots  # imported late: hooks never use it

    own = [root for id_, root in roots(memory.settings.home) if id_ == memory.project.id]
    linked = [os.path.join(root, identity.LOCAL_FOLDER, journal.DECISIONS) for root in own]
    return list(dict.fromkeys([path, *files_of(memory), *linked]))


def is_in_home(memory: Memory, project: Project) -> bool:
    """Return True if the project's local files are in home anyway and in no repository."""
    return project.local == private_folder(memory, project)


def is_hidden(project: Project) -> bool:
    """Return True if git sees nothing of the folder, judging by its git files and the index."""
    setting = _setting(os.path.join(project.local, IGNORE))
    text = "*" if setting is None else setting  # a new folder gets a `.gitignore` with `*`
    lines = [line.strip() for line in text.splitlines()]
    hides = "*" in lines and not any(line.startswith("!") for line in lines)
    return hides and not is_tracked(project)


def is_tracked(project: Project) -> bool:
    """Return True if git tracks a decisions.jsonl in this folder, committed or staged."""
    common = identity.common_directory(os.path.join(project.root, ".git"))
    try:
        index = files.read_bytes(os.path.join(common, "index"), MAX_INDEX_BYTES) or b""
    except files.TooLarge:
        return True  # if unknown, keep the records out of any repository
    except OSError:
        return False
    name = f"{identity.LOCAL_FOLDER.replace(os.sep, '/')}/{journal.DECISIONS}".encode()
    # Version 4 of the index omits the prefix that a path shares with the previous path.
    return name in index or (index[4:8] == b"\0\0\0\4" and journal.DECISIONS.encode() in index)


def show_to_git(project: Project) -> list[str]:
    """Let git see and merge the records; return the steps left to the user. Raises OSError."""
    journal.prepare_folder(project.local)
    undone: list[str] = []
    ignore, attributes = (os.path.join(project.local, name) for name in (IGNORE, ATTRIBUTES))
    setting = _setting(ignore)
    if setting is None or setting.strip() == "*" or os.path.islink(ignore):
        _write(ignore, VISIBLE, undone)
    elif setting != VISIBLE and not {f"!{name}" for name in PASSED} <= set(setting.split("\n")):
        names = ", ".join(f"!{name}" for name in PASSED)
        undone.append(f"{ignore} was changed by hand and is kept: add {names} to it.")
    setting = _setting(attributes)
    if setting is None or os.path.islink(attributes):
        _write(attributes, UNION_MERGE, undone)
    elif f"{journal.DECISIONS} " not in setting or "merge=union" not in setting:
        undone.append(
            f"{attributes} was changed by hand and is kept: add “{UNION_MERGE.strip()}” to it."
        )
    return undone


def hide(project: Project) -> list[str]:
    """Hide the folder from git again; return the steps left to the user. A file that the repository
    tracks is left in place: it belongs to everybody who shares it. Raises OSError.
    """
    ignore, attributes = (os.path.join(project.local, name) for name in (IGNORE, ATTRIBUTES))
    if is_tracked(project):
        kept = f"git tracks {shared_file(project)}: it is kept, and others keep what they pulled"
        return [f"{kept}; git rm --cached removes it from future commits."]
    undone: list[str] = []
    if _setting(ignore) == VISIBLE:
        _write(ignore, HIDDEN, undone)
    elif not is_hidden(project) and os.path.isdir(project.local):
        undone.append(
            f"{ignore} was changed by hand and is kept: a single line * hides the folder."
        )
    if _setting(attributes) == UNION_MERGE and not os.path.islink(attributes):
        os.unlink(attributes)
    return undone


def _setting(path: str) -> str | None:
    """Return the text of a small git file; None if it is missing. Links are not followed."""
    if not os.path.lexists(path):
        return None
    end = claims_read.read_end(path, MAX_SETTING_BYTES)
    return end[0].decode("utf-8", "replace").replace("\r\n", "\n") if end else ""


def _write(path: str, text: str, undone: list[str]) -> None:
    if os.path.islink(path):  # the link may come from a repository and lead anywhere
        undone.append(f"{path} is a link and is kept: replace it by a file with the text “{text}”.")
    else:
        files.write_atomic(path, text.encode())
