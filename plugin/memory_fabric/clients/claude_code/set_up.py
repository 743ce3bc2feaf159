"""Write memory-fabric's hooks and server into files of the client, and restore them byte
for byte.
"""

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from memory_fabric.clients.claude_code import hooks_json, json_text, manifest
from memory_fabric.clients.claude_code.hooks_json import Edited
from memory_fabric.clients.claude_code.json_text import Edit
from memory_fabric.clients.claude_code.manifest import Mark
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.setup import packages
from memory_fabric.store import files

EMPTY = "{}\n"
PLUGIN = "memory-fabric"
VARIABLE = "${CLAUDE_PLUGIN_ROOT}"
MAX_BYTES = 16 << 20
# In every whole file that setup writes, so that it is recognised.
OWN_FILE = "Written by memory-fabric setup"


@dataclass(frozen=True, slots=True)
class Change:
    """A planned change of a file: its bytes before and after, None where there is no file."""

    path: str
    before: bytes | None
    after: bytes | None
    mark: Mark | None = None
    restores: bool = False

    @property
    def is_none(self) -> bool:
        """True if nothing would change."""
        return self.before == self.after


def launcher(root: str) -> str:
    """Return the absolute path of the hooks' launcher. Raises BadInput if it cannot be started."""
    path = os.path.join(root, "hooks", "launch")
    if not root or not os.access(path, os.X_OK):
        raise BadInput(
            "setup",
            "The hooks are not installed next to this package.",
            remedy="Run bin/memory-fabric setup in a checkout of memory-fabric.",
        )
    return path


def hook_groups(root: str, system: str = os.name) -> dict[str, list[Any]]:
    """Return the hooks of hooks.json by event, with the launcher's absolute path.

    On Windows, where no script is a program, a Python runs the launcher; `system` is `os.name`.
    """
    text = files.read_text(os.path.join(root, "hooks.json")) or "{}"
    place = json.dumps(root, ensure_ascii=False)[1:-1]
    groups: dict[str, list[Any]] = json.loads(text.replace(VARIABLE, place))["hooks"]
    if system != "posix":
        program, *arguments = without_shell(root)
        for hook in (hook for listed in groups.values() for g in listed for hook in g["hooks"]):
            hook["command"], hook["args"] = program, [*arguments, *hook["args"]]
    return groups


def without_shell(root: str) -> list[str]:
    """Return the words that start the launcher where there is no shell: this Python, its script."""
    return [packages.base_interpreter(), "-I", "-S", os.path.join(root, "hooks", "launch.py")]


def with_hooks(
    home: str,
    path: str,
    root: str,
    groups: Mapping[str, list[Any]] | None = None,
    *,
    has_version: bool = False,
    has_server: bool = False,
) -> Change:
    """Return the change that adds the hooks to a settings file; hooks of another copy are removed.

    `groups` are the hooks for another client, if they are not Claude Code's; its file `has_version`
    if it states the version of its form, and `has_server` if the server belongs there as well.
    Raises BadInput for a file that is not a settings file, OSError.
    """
    command = launcher(root)
    hooks = hook_groups(root) if groups is None else dict(groups)
    ours = hooks_json.launcher_test(command, *_known_commands(home, path))

    before = _bytes_of(path)
    line = _own_status_line(before, path)

    def put(text: str) -> Edited:
        done = hooks_json.with_hooks(text, hooks, path)
        done = hooks_json.with_version(done, path) if has_version else done
        if has_server:
            more = hooks_json.with_server(done.text, server_of(root), path)
            done = Edited(more.text, (*done.edits, *more.edits))
        if line is None:
            return done
        last = hooks_json.with_status_line(done.text, line, path)
        return Edited(last.text, (*done.edits, *last.edits))

    if before and before.strip():
        text = text_of(before, path)
        has_all = not has_server or hooks_json.server_in(text, path) == server_of(root)
        if has_all and hooks_json.hooks_of(text, ours, path) == hooks:
            return Change(path, before, before)
    return added(without_hooks(home, path, root), put, Mark(path, manifest.HOOKS, command))


def with_file(home: str, path: str, content: str, root: str) -> Change:
    """Return the change that writes a whole file of this package's, such as a client's plugin.

    Raises BadInput if the path holds a file of someone else, OSError.
    """
    before, after = _bytes_of(path), content.encode("utf-8")
    if before == after:
        return Change(path, before, before)
    if before is not None and OWN_FILE.encode() not in before:
        raise BadInput(
            path,
            f"{path} is not memory-fabric's file; it was left as it is.",
            remedy="Move it away, and try again.",
        )
    mark = Mark(path, manifest.FILE, launcher(root), _checksum(after), existed=False)
    return Change(path, before, after, mark)


def without_file(home: str, path: str, root: str) -> Change:
    """Return the change that deletes a file that `with_file` wrote, even if it was edited since.

    Raises BadInput, OSError.
    """
    before = _bytes_of(path)
    if before is None or OWN_FILE.encode() not in before:
        return Change(path, before, before)
    mark = manifest.mark_of(home, path)
    return Change(path, before, None, mark, restores=mark is not None)


def without_hooks(home: str, path: str, root: str) -> Change:
    """Return the change that removes the hooks and the status line from a settings file; it
    restores the file's old bytes if the file was not edited since.

    Raises BadInput, OSError.
    """
    own = os.path.join(root, "hooks", "launch") if root else ""
    ours = hooks_json.launcher_test(own, *_known_commands(home, path))
    program = hooks_json.program_test(os.path.join(root, "bin", "memory-fabric") if root else "")

    def take(text: str) -> Edited:
        done = hooks_json.without_hooks(text, ours, path)
        done = hooks_json.without_server(done.text, program, path)
        return hooks_json.without_status_line(done.text, path)

    return taken(home, path, take)


def with_status_line(home: str, path: str, root: str) -> Change:
    """Return the change that adds the status line to a settings file.

    Raises BadInput if the file has a status line of someone else, OSError.
    """
    command = status_command(root)
    line = {"type": "command", "command": command, "padding": 0}
    before = _bytes_of(path)
    if _own_status_line(before, path) == line:
        return Change(path, before, before)
    text = text_of(before, path) if before is not None else ""
    start = () if text.strip() else (Edit(0, text, EMPTY),)
    bare = hooks_json.without_status_line(start[0].applied(text) if start else text, path)
    done = hooks_json.with_status_line(bare.text, line, path)
    after = done.text.encode("utf-8")
    known = _mark_that_fits(home, path, before) if before is not None else None
    mark = known or Mark(path, manifest.HOOKS, command, existed=before is not None)
    edits = (*mark.edits, *start, *bare.edits, *done.edits)
    return Change(path, before, after, replace(mark, checksum=_checksum(after), edits=edits))


def without_status_line(home: str, path: str) -> Change:
    """Return the change that removes the status line from a settings file; the hooks stay.

    It restores the file's old bytes if nothing else was set up and the file was not edited since.
    Raises BadInput, OSError.
    """
    before = _bytes_of(path)
    if before is None or _own_status_line(before, path) is None:
        return Change(path, before, before)
    known = _mark_that_fits(home, path, before)
    if known is None or not (known.edits and hooks_json.is_status_edit(known.edits[-1])):
        text = hooks_json.without_status_line(text_of(before, path), path).text
        return Change(path, before, text.encode("utf-8"))
    *edits, last = known.edits
    if all(edit.new == EMPTY for edit in edits):
        return taken(home, path, Edited)
    after = last.undone(before.decode("utf-8")).encode("utf-8")
    mark = replace(known, checksum=_checksum(after), edits=tuple(edits))
    return Change(path, before, after, mark)


def program_words(root: str, system: str = os.name) -> list[str]:
    """Return the words that start the command memory-fabric; `system` is `os.name`."""
    if system == "posix":
        return [os.path.join(root, "bin", "memory-fabric")]
    return [*without_shell(root), "--run"]


def status_command(root: str, system: str = os.name) -> str:
    """Return the shell command of the status line. Raises BadInput if it cannot be started.

    On Windows a form that Git's shell and PowerShell both read, if no path contains spaces.
    """
    launcher(root)
    words = [
        word.replace("\\", "/") if system != "posix" else word
        for word in program_words(root, system)
    ]
    return f"{shlex.join(words)}{hooks_json.STATUS_COMMAND}"


def server_of(root: str) -> dict[str, Any]:
    """Return the entry of the server in a client's file."""
    program, *arguments = program_words(root)
    return {"command": program, "args": [*arguments, "mcp"]}


def with_server(home: str, path: str, root: str) -> Change:
    """Return the change that adds the server to an .mcp.json. Raises BadInput, OSError."""
    server = server_of(root)
    before = _bytes_of(path)
    if before and before.strip() and hooks_json.server_in(text_of(before, path), path) == server:
        return Change(path, before, before)
    return added(
        without_server(home, path, root),
        lambda text: hooks_json.with_server(text, server, path),
        Mark(path, manifest.SERVER, server["command"]),
    )


def without_server(home: str, path: str, root: str) -> Change:
    """Return the change that removes the server from an .mcp.json. Raises BadInput, OSError."""
    own = os.path.join(root, "bin", "memory-fabric") if root else ""
    ours = hooks_json.program_test(own, *_known_commands(home, path))
    return taken(home, path, lambda text: hooks_json.without_server(text, ours, path))


def apply(home: str, change: Change) -> None:
    """Write the change, unless the file was changed meanwhile.

    Raises StoreUnavailable then, OSError, TimeoutError.
    """
    with files.Locked(files.lock_path(home, change.path)):
        if _bytes_of(change.path) != change.before:
            raise _changed(change.path)
        made = _missing_folders(change.path)
        if change.after is None:
            os.unlink(change.path)
        else:
            if change.mark and not change.restores:
                manifest.expect(home, _with_folders(home, change.mark, made))
            for folder in made:
                os.mkdir(folder, 0o755)  # a folder of the client; no others may write there
            whole = files.write_atomic(
                change.path, change.after, still=lambda: _bytes_of(change.path) == change.before
            )
            if not whole:
                raise _changed(change.path)
    _note(home, change, made)


def may_hold_hooks(path: str) -> bool:
    """True if a file names a launcher or the status line, added by hand or by a setup without a
    record.
    """
    found = (_bytes_of(path) or b"") if os.path.isfile(path) else b""
    named = (hooks_json.LAUNCHER, f"{hooks_json.PROGRAM}{hooks_json.STATUS_COMMAND}")
    return any(name.encode() in found for name in named)


def enabled_plugin(paths: list[str]) -> str:
    """Return the last of these settings files that enables the plugin; empty if it is not enabled.

    A later file overrides an earlier one, as in the client.
    """
    found = ""
    for path in paths:
        plugins = files.read_json(path).get("enabledPlugins")
        for name, on in plugins.items() if isinstance(plugins, dict) else ():
            if str(name).partition("@")[0] == PLUGIN:
                found = path if on is True else ""
    return found


def _own_status_line(found: bytes | None, path: str) -> Any:
    """Return memory-fabric's status line in a settings file; None if it has none or another."""
    if not found or not found.strip():
        return None
    line = hooks_json.read(text_of(found, path), path).value.get(hooks_json.STATUS_LINE)
    return line if hooks_json.is_status_line(line) else None


def _known_commands(home: str, path: str) -> list[str]:
    return [known.command for known in manifest.marks_of(home, path)]


def taken(home: str, path: str, take: Callable[[str], Edited]) -> Change:
    """Return the change that restores a file, or removes by `take` if it was edited since.

    Raises BadInput, OSError.
    """
    before = _bytes_of(path)
    if before is None:
        return Change(path, None, None)
    known = _mark_that_fits(home, path, before)
    if known:
        text = json_text.undo(before.decode("utf-8"), known.edits)
        after = text.encode("utf-8") if known.existed else None
        return Change(path, before, after, known, restores=True)
    if not before.strip():
        return Change(path, before, before)
    # The file was edited since: remove only the own entries.
    return Change(path, before, take(text_of(before, path)).text.encode("utf-8"))


def _mark_that_fits(home: str, path: str, found: bytes) -> Mark | None:
    """Return the mark whose edits lead from these bytes to the former ones.

    A link to a file that setup created means that the user has moved the file: no mark fits then.
    """
    checksum = _checksum(found)
    fits = (mark for mark in manifest.marks_of(home, path) if mark.checksum == checksum)
    return next((mark for mark in fits if mark.existed or not os.path.islink(path)), None)


def added(bare: Change, put: Callable[[str], Edited], mark: Mark, *, empty: str = EMPTY) -> Change:
    """Return the change that adds to the result of `bare`; its mark leads back to that.

    `empty` is the content of a file that holds nothing.
    """
    base = bare.after
    text = "" if base is None else text_of(base, bare.path)
    start = Edit(0, text, empty) if not text.strip() and text != empty else None
    done = put(start.applied(text) if start else text)
    after = done.text.encode("utf-8")
    edits = (start, *done.edits) if start else done.edits
    folders = bare.mark.folders if bare.restores and bare.mark else ()
    whole = Mark(
        mark.path, mark.kind, mark.command, _checksum(after), base is not None, edits, folders
    )
    return Change(bare.path, bare.before, after, whole)


def _note(home: str, change: Change, made: list[str]) -> None:
    mark = change.mark
    if mark is None or change.restores or change.after is None:
        manifest.forget(home, change.path)
        for folder in reversed(mark.folders if mark and change.after is None else ()):
            if os.path.isdir(folder) and not os.listdir(folder):
                os.rmdir(folder)
        return
    manifest.remember(home, _with_folders(home, mark, made))


def _with_folders(home: str, mark: Mark, made: list[str]) -> Mark:
    folders = (*mark.folders, *manifest.folders_made_above(home, mark.path), *made)
    return replace(mark, folders=tuple(sorted(set(folders))))  # the outermost first


def _bytes_of(path: str) -> bytes | None:
    if not os.path.lexists(path):
        return None
    if os.path.isdir(path):
        raise BadInput(path, f"{path} is a folder.", remedy="Name a file.")
    if not os.path.isfile(path):
        raise BadInput(path, f"{path} is not a regular file.", remedy="Name a file.")
    if files.size_of(path) > MAX_BYTES:
        raise BadInput(path, f"{path} is too large for a settings file.", remedy="Name another.")
    return files.read_bytes(path, MAX_BYTES)


def text_of(found: bytes, path: str) -> str:
    """Return the text of a file's bytes. Raises BadInput."""
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        line = found.count(b"\n", 0, error.start) + 1
        raise BadInput(
            path,
            f"{path}, line {line}: not UTF-8; it was left as it is.",
            remedy="Save it as UTF-8, and try again.",
        ) from error


def _checksum(found: bytes) -> str:
    return hashlib.sha256(found).hexdigest()


def _changed(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        path, f"{path} was changed meanwhile and was left as it is.", remedy="Try again."
    )


def _missing_folders(path: str) -> list[str]:
    """Return the folders above a path that do not exist, the outermost first."""
    missing: list[str] = []
    folder = os.path.dirname(path)
    while folder and not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing
