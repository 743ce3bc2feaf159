"""Edits that add memory-fabric's hooks or server to a client's JSON file, or remove only them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from memory_fabric.client import VARIABLE
from memory_fabric.clients import json_text
from memory_fabric.clients.json_text import Edit, Part
from memory_fabric.errors import BadInput

HOOKS, SERVERS, SERVER, VERSION = "hooks", "mcpServers", "memory", "version"
LAUNCHER = "/hooks/launch"
PROGRAM = "/bin/memory-fabric"
# The launcher on Windows, where a hook's command is Python and the launcher its argument.
LAUNCH_FILE = "/hooks/launch.py"
# Text that occurs in the path of the launcher and program of every installation.
OUR_MARK = "memory-fabric"

# A predicate that is True for commands of memory-fabric.
IsOurs = Callable[[str], bool]


class Edited(NamedTuple):
    """A text after some edits, and these edits in order."""

    text: str
    edits: tuple[Edit, ...] = ()

    def then(self, edit: Edit) -> Edited:
        """Return this result with one more edit applied."""
        return Edited(edit.applied(self.text), (*self.edits, edit))


def with_member(done: Edited, path: str, names: tuple[str, ...], value: Any) -> Edited:
    """Add a value at the path `names`, with the objects around it, if missing. Raises BadInput."""
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
    """Append memory-fabric's hooks. Raises BadInput if the text is not a settings file."""
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
    """Remove the hooks whose command passes the test `ours`, and containers that become empty."""
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
    """Return memory-fabric's hook groups in the text, by event."""
    groups: dict[str, list[Any]] = {}
    for event, group in _groups(read(text, path)):
        if any(ours(_command(hook.value)) for hook in _hooks(group)):
            groups.setdefault(event.name, []).append(group.value)
    return groups


def with_server(done: Edited, server: Mapping[str, Any], path: str) -> Edited:
    """Add memory-fabric's MCP server. Raises BadInput if another server has the same name."""
    other = read(done.text, path).member(SERVERS, SERVER)
    if other is not None:
        line = done.text.count("\n", 0, other.start) + 1
        text = f"{path} has a server named {SERVER} already (line {line} on); nothing was changed."
        raise BadInput("--mcp", text, remedy="Remove or rename it, or add --no-mcp.")
    return with_member(done, path, (SERVERS, SERVER), dict(server))


def server_in(text: str, path: str) -> Any:
    """Return the entry of the server named "memory" in the text; None if there is none."""
    part = read(text, path).member(SERVERS, SERVER)
    return part.value if part else None


def without_server(done: Edited, ours: IsOurs, path: str) -> Edited:
    """Return the text without memory-fabric's server, and without its table if left empty."""
    root = read(done.text, path)
    servers, server = root.member(SERVERS), root.member(SERVERS, SERVER)
    if servers is None or server is None or not ours(_command(server.value)):
        return done
    return done.then(json_text.removed(done.text, (servers, server), (root, servers)))


def read(text: str, path: str) -> Part:
    """Parse a client's file into a JSON object. Raises BadInput with the number of the bad line."""
    try:
        root = json_text.read(text)
    except json.JSONDecodeError as error:
        text = f"{path}, line {error.lineno}: {error.msg}; it was left as it is."
        remedy = "Correct that line (comments are not JSON), and try again."
        raise BadInput(path, text, remedy=remedy) from error
    except ValueError as error:  # for example an integer with too many digits
        raise BadInput(path, f"{path}: {error}; it was left as it is.") from error
    except RecursionError as error:
        raise BadInput(path, f"{path} is nested too deeply; it was left as it is.") from error
    _need(root, dict, "the file", text, path)
    return root


def launcher_test(*known: str) -> IsOurs:
    """Return a predicate: True for `known` commands, and those of any installation's hooks."""
    return lambda command: (
        _is_ours(command, known, LAUNCHER)
        or (command.startswith(f"{VARIABLE}=") and LAUNCHER in command)
    )


def program_test(*known: str) -> IsOurs:
    """Return a predicate that is True for commands that start memory-fabric's MCP server."""
    return lambda command: _is_ours(command, known, PROGRAM)


def _is_ours(command: str, known: tuple[str, ...], end: str) -> bool:
    """Return True for a known command, a path of memory-fabric's program, or its launcher."""
    is_program = command.startswith("/") and command.endswith(end) and OUR_MARK in command
    return (bool(command) and command in known) or is_program or _is_launch_file(command)


def _is_launch_file(command: str) -> bool:
    """Return True if a command has the path of the launcher script for Windows."""
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
        return (group,)  # Cursor's hooks are not grouped.
    return listed.parts if listed and isinstance(listed.value, list) else ()


def _command(value: Any) -> str:
    """Return the command of a hook or server, or the launcher script if Python runs that script."""
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
        line = text.count("\n", 0, part.start) + 1
        text = f"{path}, line {line}: {what} must be {expected}; it was left as it is."
        raise BadInput(path, text, remedy="Correct it, and try again.")
