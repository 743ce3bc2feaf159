"""Add memory-fabric's hooks to a settings.json and its server to an .mcp.json, and remove them.

Pure: a text in, edits out. Entries of others are never changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from memory_fabric.client import VARIABLE
from memory_fabric.clients import json_text
from memory_fabric.clients.json_text import Edit, Part
from memory_fabric.errors import BadInput

HOOKS, SERVERS, SERVER, VERSION = "hooks", "mcpServers", "memory", "version"
STATUS_LINE = "statusLine"
LAUNCHER = "/hooks/launch"
PROGRAM = "/bin/memory-fabric"
# The launcher on Windows, which has no shell: an argument of Python, not the command.
LAUNCH_FILE = "/hooks/launch.py"
# The ends of every command of memory-fabric's status line, the second on Windows.
STATUS_COMMAND, STATUS_FILE = " statusline", "hooks/statusline.py"
# Part of the path of every launcher or program of memory-fabric, also of another copy.
OUR_MARK = "memory-fabric"

# Returns True for a command of memory-fabric.
IsOurs = Callable[[str], bool]


class Edited(NamedTuple):
    """A text after edits, and the edits in order."""

    text: str
    edits: tuple[Edit, ...] = ()

    def then(self, edit: Edit) -> Edited:
        """Return this result with one more edit made."""
        return Edited(edit.applied(self.text), (*self.edits, edit))


def with_member(done: Edited, path: str, names: tuple[str, ...], value: Any) -> Edited:
    """Add a value under these names, and objects around it, if missing. Raises BadInput."""
    container = read(done.text, path)
    for depth, name in enumerate(names):
        _need(container, dict, ".".join(names[:depth]) or "the file", done.text, path)
        part = container.member(name)
        if part is None:
            for inner in reversed(names[depth + 1 :]):
                value = {inner: value}
            return done.then(json_text.inserted(done.text, container, value, name))
        container = part
    return done


def with_hooks(done: Edited, groups: Mapping[str, list[Any]], path: str) -> Edited:
    """Append memory-fabric's hooks. Raises BadInput for a text that is not a settings file."""
    if read(done.text, path).member(HOOKS) is None:
        return with_member(done, path, (HOOKS,), dict(groups))
    for event, ours in groups.items():
        if read(done.text, path).member(HOOKS, event) is None:
            done = with_member(done, path, (HOOKS, event), ours)
            continue
        for group in ours:
            listed = read(done.text, path).member(HOOKS, event)
            assert listed is not None
            _need(listed, list, f"hooks.{event}", done.text, path)
            done = done.then(json_text.inserted(done.text, listed, group))
    return done


def without_hooks(done: Edited, ours: IsOurs, path: str) -> Edited:
    """Remove the hooks whose command is `ours`, and containers that become empty."""
    while True:
        root = read(done.text, path)
        own = (
            (event, group, mine[-1])
            for event, group in _groups(root)
            if (mine := [hook for hook in _hooks(group) if ours(_command(hook.value))])
        )
        event, group, hook = next(own, (root, root, root))
        hooks, listed = root.member(HOOKS), group.member(HOOKS)
        if hook is root or hooks is None:
            return done
        inner = ((listed, hook),) if listed is not None else ()
        chain = (*inner, (event, group), (hooks, event), (root, hooks))
        done = done.then(json_text.removed(done.text, *chain))


def hooks_of(text: str, ours: IsOurs, path: str) -> dict[str, list[Any]]:
    """Return memory-fabric's groups of hooks in the text, by event."""
    groups: dict[str, list[Any]] = {}
    for event, group in _groups(read(text, path)):
        if any(ours(_command(hook.value)) for hook in _hooks(group)):
            groups.setdefault(event.name, []).append(group.value)
    return groups


def with_server(done: Edited, server: Mapping[str, Any], path: str) -> Edited:
    """Add memory-fabric's server. Raises BadInput if another server has its name."""
    other = read(done.text, path).member(SERVERS, SERVER)
    if other is not None:
        line = _line(done.text, other.start)
        text = f"{path} has a server named {SERVER} already (line {line} on); nothing was changed."
        raise BadInput("--mcp", text, remedy="Remove or rename it, or add --no-mcp.")
    return with_member(done, path, (SERVERS, SERVER), dict(server))


def server_in(text: str, path: str) -> Any:
    """Return the server named memory in the text; None if there is none."""
    part = read(text, path).member(SERVERS, SERVER)
    return part.value if part else None


def without_server(done: Edited, ours: IsOurs, path: str) -> Edited:
    """Return the text without memory-fabric's server, nor a table that this leaves empty."""
    root = read(done.text, path)
    servers, server = root.member(SERVERS), root.member(SERVERS, SERVER)
    if servers is None or server is None or not ours(_command(server.value)):
        return done
    return done.then(json_text.removed(done.text, (servers, server), (root, servers)))


def with_status_line(done: Edited, line: Mapping[str, Any], path: str) -> Edited:
    """Return the text with memory-fabric's status line. Raises BadInput if it has another."""
    other = read(done.text, path).member(STATUS_LINE)
    if other is not None:
        raise BadInput(
            "--statusline",
            f"{path} has a status line already (line {_line(done.text, other.start)}); nothing "
            "was changed.",
            remedy=f"Let its command also print the output of {line['command']}, or remove it.",
        )
    return with_member(done, path, (STATUS_LINE,), dict(line))


def without_status_line(done: Edited, path: str) -> Edited:
    """Return the text without memory-fabric's status line; another status line stays."""
    root = read(done.text, path)
    line = root.member(STATUS_LINE)
    if line is None or not is_status_line(line.value):
        return done
    return done.then(json_text.removed(done.text, (root, line)))


def is_status_line(value: Any) -> bool:
    """Return True for a status line of memory-fabric, of this or another copy."""
    command = _command(value)
    return OUR_MARK in command and command.rstrip("'\"").endswith((STATUS_COMMAND, STATUS_FILE))


def is_status_edit(edit: Edit) -> bool:
    """Return True for the edit that added a status line."""
    return f'"{STATUS_LINE}"' in edit.new


def read(text: str, path: str) -> Part:
    """Parse the object in a file of the client. Raises BadInput that names the line."""
    try:
        root = json_text.read(text)
    except json.JSONDecodeError as error:
        text = f"{path}, line {error.lineno}: {error.msg}; it was left as it is."
        remedy = "Correct that line (comments are not JSON), and try again."
        raise BadInput(path, text, remedy=remedy) from error
    except ValueError as error:  # a number beyond what Python reads
        raise BadInput(path, f"{path}: {error}; it was left as it is.") from error
    except RecursionError as error:
        raise BadInput(path, f"{path} is nested too deeply; it was left as it is.") from error
    _need(root, dict, "the file", text, path)
    return root


def launcher_test(*known: str) -> IsOurs:
    """Return a test for commands that start memory-fabric's hooks, of any copy or client."""
    return lambda command: (
        _is_ours(command, known, LAUNCHER)
        or (command.startswith(f"{VARIABLE}=") and LAUNCHER in command)
    )


def program_test(*known: str) -> IsOurs:
    """Return a test for commands that start memory-fabric's server."""
    return lambda command: _is_ours(command, known, PROGRAM)


def _is_ours(command: str, known: tuple[str, ...], end: str) -> bool:
    """Return True for a known command, a path of the program, or the launcher script."""
    is_program = command.startswith("/") and command.endswith(end) and OUR_MARK in command
    return (bool(command) and command in known) or is_program or _is_launch_file(command)


def _is_launch_file(command: str) -> bool:
    """Return True for the path of the launcher without a shell, with either separator."""
    path = command.replace("\\", "/")
    return OUR_MARK in path and LAUNCH_FILE in path


def _groups(root: Part) -> Iterator[tuple[Part, Part]]:
    hooks = root.member(HOOKS)
    for event in hooks.parts if hooks and isinstance(hooks.value, dict) else ():
        for group in event.parts if isinstance(event.value, list) else ():
            if isinstance(group.value, dict):
                yield event, group


def _hooks(group: Part) -> tuple[Part, ...]:
    listed = group.member(HOOKS)
    if listed is None and _command(group.value):
        return (group,)  # Cursor's hooks have no groups
    return listed.parts if listed and isinstance(listed.value, list) else ()


def _command(value: Any) -> str:
    """Return the command of a hook or server; of one that a Python runs, its script."""
    if not isinstance(value, dict):
        return ""
    words = value.get("args")
    for word in words if isinstance(words, list) else ():
        if isinstance(word, str) and _is_launch_file(word):
            return word
    command = value.get("command")
    return command if isinstance(command, str) else ""


def _need(part: Part, kind: type, what: str, text: str, path: str) -> None:
    if not isinstance(part.value, kind):
        expected = "an object" if kind is dict else "a list"
        line = _line(text, part.start)
        text = f"{path}, line {line}: {what} must be {expected}; it was left as it is."
        raise BadInput(path, text, remedy="Correct it, and try again.")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
