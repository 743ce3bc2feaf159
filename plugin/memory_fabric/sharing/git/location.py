"""Paths of a project's journal, decisions.jsonl. Only a user who shares adds records to git.

The `.gitignore` beside the journal excludes every file or, if this user shares, all files except
decisions.jsonl, `.gitignore` and `.gitattributes`. But git still tracks a journal that another user
committed. A user who does not share then writes to a private journal in memory's home folder; a
user who shares does so while the shared journal has conflict markers.
"""

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
# A merge keeps the lines of both sides (`union`), in any order; line endings are unified (`lf`).
UNION_MERGE = f"{journal.DECISIONS} text eol=lf merge=union\n"
MAX_SETTING_BYTES, MAX_INDEX_BYTES = 64 << 10, 64 << 20
_CHANGED = "{} was changed by hand and is kept: {}."


def is_on(memory: Memory) -> bool:
    """Return True if this user shares the records of this project."""
    if memory.project is None or memory.mirror is not None:
        return False
    return switch.is_on(memory.settings.home, memory.project.id)


def shared_file(project: Project) -> str:
    """Return the path of the project's decisions.jsonl, ignored by git unless the user shares."""
    return os.path.join(project.local, journal.DECISIONS)


def private_folder(memory: Memory, project: Project) -> str:
    """Return the folder in home for records that must not be in the repository."""
    return os.path.join(identity.folder_of(memory.settings.home, project.id), "local")


def journal_folder(memory: Memory, kind: str) -> str:
    """Return the folder to which the "project" or "user" journal is written at present."""
    project = memory.project
    folder = memory.queue_folder(kind)
    if kind != "project" or project is None or is_in_home(memory, project):
        return folder
    # If the user shares while some domains are isolated, write all lines to home. From there,
    # `shared_journal.publish` moves only the lines of other domains.
    is_project_s = may_write_journal(memory, project) and not (
        is_on(memory) and memory.settings.domains.isolated
    )
    return folder if is_project_s else private_folder(memory, project)


def may_write_journal(memory: Memory, project: Project) -> bool:
    """Return True if lines may currently be written to the journal in the project's folder."""
    if is_on(memory):
        return not claims_read.has_conflict(shared_file(project))
    return is_hidden(project)


def journal_file(memory: Memory) -> str:
    """Return the journal to read: the shared file if this user shares, else `journal_folder`'s."""
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
    """Return the "user" journal, or all "project" journals, also in clones and linked folders."""
    path = os.path.join(memory.queue_folder(kind), journal.DECISIONS)
    if kind != "project" or memory.project is None:
        return [path]
    from memory_fabric.store.tiers.file_locations import roots  # imported late: hooks never need it

    all_roots, ending = roots(memory.settings.home), (identity.LOCAL_FOLDER, journal.DECISIONS)
    linked = [os.path.join(root, *ending) for id_, root in all_roots if id_ == memory.project.id]
    return list(dict.fromkeys([path, *files_of(memory), *linked]))


def is_in_home(memory: Memory, project: Project) -> bool:
    """Return True if the project's local files are in home, outside any repository."""
    return project.local == private_folder(memory, project)


def is_hidden(project: Project) -> bool:
    """Return True if `.gitignore` hides the journal's folder and git does not track the journal."""
    setting = _setting(os.path.join(project.local, IGNORE))
    text = "*" if setting is None else setting  # a missing file will be created with `*`
    lines = [line.strip() for line in text.splitlines()]
    hides = "*" in lines and not any(line.startswith("!") for line in lines)
    return hides and not is_tracked(project)


def is_tracked(project: Project) -> bool:
    """Return True if the decisions.jsonl in this folder is committed or staged in git."""
    common = identity.common_directory(os.path.join(project.root, ".git"))
    try:
        index = files.read_bytes(os.path.join(common, "index"), MAX_INDEX_BYTES) or b""
    except files.TooLarge:
        return True  # the index is too large to read: assume that git tracks the file
    except OSError:
        return False
    name = f"{identity.LOCAL_FOLDER.replace(os.sep, '/')}/{journal.DECISIONS}".encode()
    # Version 4 of the index stores only the part of a path that differs from the previous path.
    return name in index or (index[4:8] == b"\0\0\0\4" and journal.DECISIONS.encode() in index)


def show_to_git(project: Project) -> list[str]:
    """Write `.gitignore` and `.gitattributes` so that git adds and merges the journal. Return
    sentences on those that the user must edit: links, and files changed by hand. Raises OSError.
    """
    journal.prepare_folder(project.local)
    undone: list[str] = []
    ignore, attributes = (os.path.join(project.local, name) for name in (IGNORE, ATTRIBUTES))
    setting = _setting(ignore)
    if setting is None or setting.strip() == "*" or os.path.islink(ignore):
        _write(ignore, VISIBLE, undone)
    elif setting != VISIBLE and not {f"!{name}" for name in PASSED} <= set(setting.split("\n")):
        names = ", ".join(f"!{name}" for name in PASSED)
        undone.append(_CHANGED.format(ignore, f"add {names} to it"))
    setting = _setting(attributes)
    if setting is None or os.path.islink(attributes):
        _write(attributes, UNION_MERGE, undone)
    elif f"{journal.DECISIONS} " not in setting or "merge=union" not in setting:
        undone.append(_CHANGED.format(attributes, f"add “{UNION_MERGE.strip()}” to it"))
    return undone


def hide(project: Project) -> list[str]:
    """Hide the journal's folder from git, unless git tracks the journal. Return sentences on what
    the user must do by hand, such as `git rm --cached` for a tracked journal. Raises OSError.
    """
    ignore, attributes = (os.path.join(project.local, name) for name in (IGNORE, ATTRIBUTES))
    if is_tracked(project):
        kept = f"git tracks {shared_file(project)}: it is kept, and others keep what they pulled"
        return [f"{kept}; git rm --cached removes it from future commits."]
    undone: list[str] = []
    if _setting(ignore) == VISIBLE:
        _write(ignore, HIDDEN, undone)
    elif not is_hidden(project) and os.path.isdir(project.local):
        undone.append(_CHANGED.format(ignore, "a single line * hides the folder"))
    if _setting(attributes) == UNION_MERGE and not os.path.islink(attributes):
        os.unlink(attributes)
    return undone


def _setting(path: str) -> str | None:
    """Return the text of a git settings file; '' for a symbolic link, None for a missing file."""
    if not os.path.lexists(path):
        return None
    end = claims_read.read_end(path, MAX_SETTING_BYTES)
    return end[0].decode("utf-8", "replace").replace("\r\n", "\n") if end else ""


def _write(path: str, text: str, undone: list[str]) -> None:
    if os.path.islink(path):  # a link from the repository may lead anywhere
        undone.append(f"{path} is a link and is kept: replace it by a file with the text “{text}”.")
    else:
        files.write_atomic(path, text.encode())
