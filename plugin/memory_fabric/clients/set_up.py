"""Add hooks and the MCP server to a client's files, and restore the files byte for byte later. A
manifest (`setup.json`) lists everything that setup changed outside memory's home. For an edited
file, it stores the edits and a checksum, but not the text, which may contain secrets. For a link,
it stores the path. Each entry also lists the folders that setup created.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from memory_fabric.clients import hooks_json
from memory_fabric.clients.hooks_json import Edit, Edited
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.setup import packages
from memory_fabric.store import files

EMPTY = "{}\n"
VARIABLE = "${CLAUDE_PLUGIN_ROOT}"
MAX_BYTES = 16 << 20
LINK_NAME = "memory-fabric"
PROGRAM = os.path.join("bin", LINK_NAME)
# A file that contains this text was written completely by setup, and not only edited by it.
OWN_FILE = b"Written by memory-fabric setup"
NOTE = "setup.json"
TEXTS = ("path", "kind", "command", "checksum")
HOOKS, SERVER, LINK, FILE, CODEX = "hooks", "server", "link", "file", "codex"


class Mark(NamedTuple):
    """A manifest entry: a file or link that setup wrote, and the data needed to undo the change."""

    path: str
    kind: str
    command: str
    checksum: str = ""
    existed: bool = True
    edits: tuple[Edit, ...] = ()
    folders: tuple[str, ...] = ()

    def is_of(self, path: str) -> bool:
        """Return True if the entry is for `path`; links are followed unless the kind is LINK."""
        if self.path == path:
            return True
        return self.kind != LINK and os.path.realpath(self.path) == os.path.realpath(path)


class Change(NamedTuple):
    """A planned file change; `before` and `after` are the file's bytes, or None if it is absent."""

    path: str
    before: bytes | None
    after: bytes | None
    mark: Mark | None = None
    restores: bool = False

    @property
    def is_none(self) -> bool:
        """Return True if the change leaves the file unchanged."""
        return self.before == self.after


def launcher(root: str) -> str:
    """Return the absolute path of the hook launcher. Raises BadInput if it is not executable."""
    path = os.path.join(root, "hooks", "launch")
    if not root or not os.access(path, os.X_OK):
        text = "The hooks are not installed next to this package."
        raise BadInput("setup", text, remedy="Run bin/memory-fabric setup in a clone.")
    return path


def hook_groups(root: str, system: str = os.name) -> dict[str, list[Any]]:
    """Return the hook groups in hooks.json by event, adapted to this installation and system."""
    launcher(root)
    text = files.read_text(os.path.join(root, "hooks.json")) or "{}"
    place = json.dumps(root, ensure_ascii=False)[1:-1]
    groups: dict[str, list[Any]] = json.loads(text.replace(VARIABLE, place))["hooks"]
    if system != "posix":
        program, *arguments = without_shell(root)
        for hook in (hook for listed in groups.values() for g in listed for hook in g["hooks"]):
            hook["command"], hook["args"] = program, [*arguments, *hook["args"]]
    return groups


def without_shell(root: str) -> list[str]:
    """Return the arguments for running the launcher with this Python, without a shell."""
    return [packages.base_interpreter(), "-I", "-S", os.path.join(root, "hooks", "launch.py")]


def program_words(root: str, system: str = os.name) -> list[str]:
    """Return the arguments for running `memory-fabric`; `system` is a value of `os.name`."""
    if system == "posix":
        return [os.path.join(root, "bin", "memory-fabric")]
    return [*without_shell(root), "--run"]


def server_of(root: str) -> dict[str, Any]:
    """Build the entry for the MCP server in a client's configuration."""
    program, *arguments = program_words(root)
    return {"command": program, "args": [*arguments, "mcp"]}


def with_hooks(
    home: str,
    path: str,
    root: str,
    groups: Mapping[str, list[Any]] | None = None,
    *,
    has_version: bool = False,
    has_server: bool = False,
) -> Change:
    """Return the change that adds the hooks to a settings file, replacing any memory-fabric hooks.

    `groups` defaults to Claude Code's hooks; {} adds none. `has_version` adds the version number
    that Cursor requires, and `has_server` the MCP server. Raises OSError; BadInput for a bad file.
    """
    command, server = launcher(root), server_of(root)
    hooks = hook_groups(root) if groups is None else dict(groups)
    before = _bytes_of(path)

    def put(done: Edited) -> Edited:
        done = hooks_json.with_hooks(done, hooks, path) if hooks else done
        if has_version:  # Cursor's file needs a version.
            done = hooks_json.with_member(done, path, (hooks_json.VERSION,), 1)
        if has_server:
            done = hooks_json.with_server(done, server, path)
        return done

    if before and before.strip():
        text = text_of(before, path)
        ours = hooks_json.ours_test(hooks_json.LAUNCHER, command, *_commands_of(home, path))
        part = hooks_json.read(text, path).member(hooks_json.SERVERS, hooks_json.SERVER)
        has_all = not has_server or (part is not None and part.value == server)
        if has_all and hooks_json.hooks_of(text, ours, path) == hooks:
            return Change(path, before, before)
    mark = Mark(path, HOOKS, command) if hooks else Mark(path, SERVER, server["command"])
    return added(without_hooks(home, path, root), put, mark)


def without_hooks(home: str, path: str, root: str) -> Change:
    """Return the change that removes the hooks and the server. Raises BadInput, OSError."""
    commands = _commands_of(home, path)
    ends = hooks_json.LAUNCHER, hooks_json.PROGRAM
    ours, program = (
        hooks_json.ours_test(end, root + end if root else "", *commands) for end in ends
    )

    def take(done: Edited) -> Edited:
        done = hooks_json.without_hooks(done, ours, path)
        return hooks_json.without_server(done, program, path)

    return taken(home, path, take)


def may_hold_hooks(path: str) -> bool:
    """Return True if a file contains the launcher's path, perhaps in a hook added by hand."""
    return os.path.isfile(path) and hooks_json.LAUNCHER.encode() in (_bytes_of(path) or b"")


def with_file(path: str, content: str, root: str) -> Change:
    """Return the change that writes a file owned by memory-fabric. Raises BadInput, OSError."""
    before, after = _bytes_of(path), content.encode("utf-8")
    if before == after:
        return Change(path, before, before)
    if before is not None and OWN_FILE not in before:
        text = f"{path} is not memory-fabric's file; it was left as it is."
        raise BadInput(path, text, remedy="Move it away, and try again.")
    mark = Mark(path, FILE, launcher(root), _checksum(after), existed=False)
    return Change(path, before, after, mark)


def without_file(home: str, path: str, root: str) -> Change:
    """Return the change that deletes a file if `with_file` wrote it. Raises BadInput, OSError."""
    before = _bytes_of(path)
    if before is None or OWN_FILE not in before:
        return Change(path, before, before)
    mark = next(iter(_marks_of(home, path)), None)
    return Change(path, before, None, mark, restores=mark is not None)


def added(
    bare: Change, put: Callable[[Edited], Edited], mark: Mark, *, empty: str = EMPTY
) -> Change:
    """Return a change that combines `bare` with the edits that `put` makes after it. If `bare`
    leaves no text, `put` starts with the text `empty`. The change's manifest entry is `mark`, with
    its fields `existed`, `folders`, `edits` and `checksum` filled in.
    """
    text = "" if bare.after is None else text_of(bare.after, bare.path)
    is_filled = text.strip() or text == empty
    done = put(Edited(text) if is_filled else Edited(text).then(Edit(0, text, empty)))
    after = done.text.encode("utf-8")
    folders = bare.mark.folders if bare.restores and bare.mark else ()
    mark = mark._replace(existed=bare.after is not None, folders=folders, edits=done.edits)
    return Change(bare.path, bare.before, after, mark._replace(checksum=_checksum(after)))


def taken(home: str, path: str, take: Callable[[Edited], Edited]) -> Change:
    """Return the change that undoes setup's edits in a file. If the manifest has no entry with the
    file's checksum, because the file was edited since, the function `take` removes memory-fabric's
    entries from the present text instead. Raises BadInput, OSError.
    """
    before = _bytes_of(path)
    if before is None:
        return Change(path, None, None)
    checksum = _checksum(before)
    fits = (mark for mark in _marks_of(home, path) if mark.checksum == checksum)
    # If setup created the file, it is deleted. But if the user has replaced it with a link, keep
    # it, and let `take` remove the entries.
    if mark := next((mark for mark in fits if mark.existed or not os.path.islink(path)), None):
        text = hooks_json.undo(before.decode("utf-8"), mark.edits)
        after = text.encode("utf-8") if mark.existed else None
        return Change(path, before, after, mark, restores=True)
    if not before.strip():
        return Change(path, before, before)
    return Change(path, before, take(Edited(text_of(before, path))).text.encode("utf-8"))


def apply(home: str, change: Change) -> None:
    """Write a change to its file, and update the manifest. Raises StoreUnavailable if the file is
    no longer as in `change.before`, TimeoutError if another process holds a lock too long, OSError.
    """
    path, mark = change.path, change.mark
    text = f"{path} was changed meanwhile and was left as it is."
    changed = StoreUnavailable(path, text, remedy="Try again.")
    with files.Locked(files.lock_path(home, path)):
        if _bytes_of(path) != change.before:
            raise changed
        made = _missing_folders(os.path.dirname(path))
        if mark:
            # Setup may have created folders above this file for other files. Include them.
            others = (folder for other in marks(home) for folder in other.folders)
            above = {f for f in others if mark.path.startswith(os.path.join(f, ""))}
            noted = mark._replace(folders=tuple(sorted({*mark.folders, *above, *made})))
        if change.after is None:
            os.unlink(path)
        else:
            if mark and not change.restores:
                # Save the entry first, so that an interrupted write can be undone.
                _note(home, path, noted, keeps=True)
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            if not files.write_atomic(
                path, change.after, still=lambda path: _bytes_of(path) == change.before
            ):
                raise changed
    if mark is None or change.restores or change.after is None:
        _note(home, path)
        _remove_empty(mark.folders if mark and change.after is None else ())
    else:
        _note(home, path, noted)


def text_of(contents: bytes, path: str) -> str:
    """Decode a file's contents. Raises BadInput if they are not valid UTF-8."""
    try:
        return contents.decode("utf-8")
    except UnicodeDecodeError as error:
        line = contents.count(b"\n", 0, error.start) + 1
        text = f"{path}, line {line}: not UTF-8; it was left as it is."
        raise BadInput(path, text, remedy="Save it as UTF-8, and try again.") from error


def _bytes_of(path: str) -> bytes | None:
    if not os.path.lexists(path):
        return None
    if not os.path.isfile(path):
        kind = "is a folder" if os.path.isdir(path) else "is not a regular file"
        raise BadInput(path, f"{path} {kind}.", remedy="Name a file.")
    if files.size_of(path) > MAX_BYTES:
        raise BadInput(path, f"{path} is too large for a settings file.", remedy="Name another.")
    return files.read_bytes(path, MAX_BYTES)


def _checksum(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()


def with_link(home: str, folder: str, root: str) -> tuple[str, bool]:
    """Symlink `memory-fabric` into `folder`; return (path, is_new). Raises BadInput, OSError."""
    if os.name != "posix":
        text = "Windows makes no links without a right of their own."
        raise BadInput("--shell", text, remedy=f"Add {os.path.join(root, 'bin')} to your PATH.")
    target, path = os.path.join(root, PROGRAM), os.path.join(folder, LINK_NAME)
    if not root or not os.access(target, os.X_OK):
        text = "The command is not installed next to this package."
        remedy = "Run bin/memory-fabric setup --shell in a checkout of memory-fabric."
        raise BadInput("--shell", text, remedy=remedy)
    if os.path.lexists(path):
        _expect_ours(home, path, "Move it away, or name another folder with --bin.")
        if os.readlink(path) == target:
            return path, False
        os.unlink(path)
    made = _missing_folders(folder)
    os.makedirs(folder, 0o755, exist_ok=True)
    os.symlink(target, path)
    before = [name for mark in _marks_of(home, path)[:1] for name in mark.folders]
    _note(home, path, Mark(path, LINK, target, folders=(*before, *made)))
    return path, True


def without_link(home: str, path: str) -> None:
    """Delete a link made by `with_link`, and the folders created for it, if empty. Raises NotFound
    if there is no such path, BadInput if it is not a link to memory-fabric, and OSError.
    """
    marks = _marks_of(home, path)
    if not os.path.lexists(path):
        _note(home, path)
        raise NotFound(path, f"There is no {path}.", remedy="Name its folder with --bin.")
    _expect_ours(home, path, "Remove it yourself.")
    os.unlink(path)
    _note(home, path)
    _remove_empty(marks[0].folders if marks else ())


def _expect_ours(home: str, path: str, remedy: str) -> None:
    """Raise BadInput unless the path is a link (perhaps broken) to a memory-fabric command."""
    if os.path.islink(path):
        target = os.readlink(path)
        if target in _commands_of(home, path)[:1]:
            return
        root = os.path.dirname(os.path.dirname(os.path.realpath(path)))
        if target.endswith(PROGRAM) and os.path.exists(os.path.join(root, "hooks", "launch")):
            return
    text = f"{path} belongs to another program and was left alone."
    raise BadInput("--shell", text, remedy=remedy)


def marks(home: str) -> list[Mark]:
    """Return all valid entries of the manifest, in order."""
    rows = files.read_json(os.path.join(home, NOTE)).get("marks")
    listed = []
    for row in rows if isinstance(rows, list) else []:
        try:
            path, kind, command, checksum = (str(row[name]) for name in TEXTS)
            edits = (Edit(int(e["start"]), str(e["old"]), str(e["new"])) for e in row["edits"])
            folders = tuple(map(str, row["folders"]))
            existed = row["existed"] is True
            listed.append(Mark(path, kind, command, checksum, existed, tuple(edits), folders))
        except (KeyError, TypeError, ValueError):
            continue
    return listed


def _marks_of(home: str, path: str) -> list[Mark]:
    """Return the manifest's entries for a path: usually one, but two after an interrupted write."""
    return [mark for mark in marks(home) if mark.is_of(path)]


def _commands_of(home: str, path: str) -> list[str]:
    return [mark.command for mark in _marks_of(home, path)]


def _missing_folders(folder: str) -> list[str]:
    missing: list[str] = []
    while folder and not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def _remove_empty(folders: tuple[str, ...]) -> None:
    for folder in reversed(folders):
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)


def _note(home: str, path: str, *new: Mark, keeps: bool = False) -> None:
    """Replace a path's entries in the manifest with `new` or, if `keeps`, add `new` to them."""
    if not new and not _marks_of(home, path):
        return
    note = os.path.join(home, NOTE)
    with files.Locked(note + ".lock"):
        old = (m for m in marks(home) if m not in new and (keeps or not m.is_of(path)))
        rows = [{**m._asdict(), "edits": [e._asdict() for e in m.edits]} for m in (*old, *new)]
        files.write_atomic(note, files.pretty_json({"marks": rows}))
