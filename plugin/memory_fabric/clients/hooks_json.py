"""Edits of a client's JSON file that add memory-fabric's hooks or server, or remove only them."""

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
# The launcher on Windows: a hook's command there is Python, with this file as an argument.
LAUNCH_FILE = "/hooks/launch.py"
# This text is part of the paths of every installation's launcher and program.
OUR_MARK = "memory-fabric"

# A function that returns True for a command of memory-fabric.
IsOurs = Callable[[str], bool]


class Edited(NamedTuple):
    """A text, and the edits that produced it, in order."""

    text: str
    edits: tuple[Edit, ...] = ()

    def then(self, edit: Edit) -> "Edited":
        """Return the text and edits after one more edit."""
        return Edited(edit.applied(self.text), (*self.edits, edit))


def with_member(done: Edited, path: str, names: tuple[str, ...], value: Any) -> Edited:
    """Add a value at the path `names` unless it exists; create missing objects. Raises BadInput."""
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
    """Remove the hooks whose command passes `ours`, and the lists and objects that become empty."""
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
    """Return the hook groups in the text that contain memory-fabric's hooks, by event."""
    groups: dict[str, list[Any]] = {}
    for event, group in _groups(read(text, path)):
        if any(ours(_command(hook.value)) for hook in _hooks(group)):
            groups.setdefault(event.name, []).append(group.value)
    return groups


def with_server(done: Edited, server: Mapping[str, Any], path: str) -> Edited:
    """Add memory-fabric's MCP server. Raises BadInput if there is already a server of its name."""
    other = read(done.text, path).member(SERVERS, SERVER)
    if other is not None:
        line = done.text.count("\n", 0, other.start) + 1
        text = f"{path} has a server named {SERVER} already (line {line} on); nothing was changed."
        raise BadInput("--mcp", text, remedy="Remove or rename it, or add --no-mcp.")
    return with_member(done, path, (SERVERS, SERVER), dict(server))


def server_in(text: str, path: str) -> Any:
    """Return the entry of the MCP server named "memory" in the text, or None."""
    part = read(text, path).member(SERVERS, SERVER)
    return part.value if part else None


def without_server(done: Edited, ours: IsOurs, path: str) -> Edited:
    """Remove memory-fabric's server, and the object of servers if it becomes empty."""
    root = read(done.text, path)
    servers, server = root.member(SERVERS), root.member(SERVERS, SERVER)
    if servers is None or server is None or not ours(_command(server.value)):
        return done
    return done.then(json_text.removed(done.text, (servers, server), (root, servers)))


def read(text: str, path: str) -> Part:
    """Parse a client's JSON file. Raises BadInput, with the number of the bad line if known."""
    try:
        root = json_text.read(text)
    except json.JSONDecodeError as error:
        text = f"{path}, line {error.lineno}: {error.msg}; it was left as it is."
        remedy = "Correct that line (comments are not JSON), and try again."
        raise BadInput(path, text, remedy=remedy) from error
    except ValueError as error:  # for example: an integer has too many digits
        raise BadInput(path, f"{path}: {error}; it was left as it is.") from error
    except RecursionError as error:
        raise BadInput(path, f"{path} is nested too deeply; it was left as it is.") from error
    _need(root, dict, "the file", text, path)
    return root


def launcher_test(*known: str) -> IsOurs:
    """Return a predicate that accepts the hook commands in `known` and of any installation."""
    return lambda command: (
        _is_ours(command, known, LAUNCHER)
        or (command.startswith(f"{VARIABLE}=") and LAUNCHER in command)
    )


def program_test(*known: str) -> IsOurs:
    """Return a predicate that accepts the server commands in `known` and of any installation."""
    return lambda command: _is_ours(command, known, PROGRAM)


def _is_ours(command: str, known: tuple[str, ...], end: str) -> bool:
    """Return True if a command is `known`, or is a path of memory-fabric that ends with `end`."""
    is_program = command.startswith("/") and command.endswith(end) and OUR_MARK in command
    return (bool(command) and command in known) or is_program or _is_launch_file(command)


def _is_launch_file(command: str) -> bool:
    """Return True if a command contains the path of memory-fabric's launcher for Windows."""
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
        return (group,)  # Cursor does not group hooks.
    return listed.parts if listed and isinstance(listed.value, list) else ()


def _command(value: Any) -> str:
    """Return the command of a hook or server, or the launcher's path if Python runs it."""
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
