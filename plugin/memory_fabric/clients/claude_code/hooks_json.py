"""Add memory-fabric's hooks to a settings.json and its server to an .mcp.json, and remove them.

Pure: a text in, edits out. Entries of others are never changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memory_fabric.client import VARIABLE
from memory_fabric.clients.claude_code import json_text
from memory_fabric.clients.claude_code.json_text import Edit, Part
from memory_fabric.errors import BadInput

HOOKS, SERVERS, SERVER, VERSION = "hooks", "mcpServers", "memory", "version"
STATUS_LINE = "statusLine"
LAUNCHER = "/hooks/launch"
PROGRAM = "/bin/memory-fabric"
# The launcher without a shell, which Windows starts by a Python: an argument, not the command.
LAUNCH_FILE = "/hooks/launch.py"
# The ends of every command of memory-fabric's status line, the second on Windows.
STATUS_COMMAND, STATUS_FILE = " statusline", "hooks/statusline.py"
# Part of the path of every launcher or program of memory-fabric, also of another copy.
OUR_MARK = "memory-fabric"


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after edits, and the edits in order."""

    text: str
    edits: tuple[Edit, ...] = ()

    def then(self, edit: Edit) -> Edited:
        """Return the result after one more edit."""
        return Edited(edit.applied(self.text), (*self.edits, edit))


def with_hooks(text: str, groups: Mapping[str, list[Any]], path: str) -> Edited:
    """Return the text with memory-fabric's hooks after the existing ones.

    Raises BadInput for a text that is not a settings file.
    """
    done = Edited(text)
    for event, ours in groups.items():
        root = read(done.text, path)
        hooks = root.member(HOOKS)
        if hooks is None:
            return done.then(json_text.inserted(done.text, root, dict(groups), HOOKS))
        _need(hooks, dict, "hooks", done.text, path)
        listed = hooks.member(event)
        if listed is None:
            done = done.then(json_text.inserted(done.text, hooks, ours, event))
            continue
        _need(listed, list, f"hooks.{event}", done.text, path)
        for group in ours:
            again = _at(read(done.text, path), HOOKS, event)
            done = done.then(json_text.inserted(done.text, again, group))
    return done


def with_version(done: Edited, path: str) -> Edited:
    """Return the text with a version of its form, which Cursor's file needs."""
    root = read(done.text, path)
    if root.member(VERSION) is not None:
        return done
    return done.then(json_text.inserted(done.text, root, 1, VERSION))


def without_hooks(text: str, ours: Callable[[str], bool], path: str) -> Edited:
    """Return the text without the hooks whose command is `ours`, nor containers that this leaves
    empty.
    """
    done = Edited(text)
    while (edit := _next_removal(done.text, read(done.text, path), ours)) is not None:
        done = done.then(edit)
    return done


def hooks_of(text: str, ours: Callable[[str], bool], path: str) -> dict[str, list[Any]]:
    """Return memory-fabric's groups of hooks in the text, by event."""
    found: dict[str, list[Any]] = {}
    for event, group in _groups(read(text, path)):
        if any(ours(_command(hook.value)) for hook in _hooks(group)):
            found.setdefault(event.name, []).append(group.value)
    return found


def with_server(text: str, server: Mapping[str, Any], path: str) -> Edited:
    """Return the text with memory-fabric's server. Raises BadInput if another server has
    its name.
    """
    root = read(text, path)
    servers = root.member(SERVERS)
    if servers is None:
        edit = json_text.inserted(text, root, {SERVER: dict(server)}, SERVERS)
        return Edited(text).then(edit)
    _need(servers, dict, SERVERS, text, path)
    if servers.member(SERVER) is not None:
        raise BadInput(
            "--mcp",
            f"{path} has a server named {SERVER} already (line {_line(text, servers.start)} on); "
            "nothing was changed.",
            remedy="Remove or rename it, or add --no-mcp.",
        )
    return Edited(text).then(json_text.inserted(text, servers, dict(server), SERVER))


def server_in(text: str, path: str) -> Any:
    """Return the server named memory in the text; None if there is none."""
    servers = read(text, path).value.get(SERVERS)
    return servers.get(SERVER) if isinstance(servers, dict) else None


def without_server(text: str, ours: Callable[[str], bool], path: str) -> Edited:
    """Return the text without memory-fabric's server, nor a table that this leaves empty."""
    root = read(text, path)
    servers = root.member(SERVERS)
    known = servers.member(SERVER) if servers else None
    if servers is None or known is None or not ours(_command(known.value)):
        return Edited(text)
    if len(servers.parts) == 1:
        return Edited(text).then(json_text.removed(text, root, servers))
    return Edited(text).then(json_text.removed(text, servers, known))


def with_status_line(text: str, line: Mapping[str, Any], path: str) -> Edited:
    """Return the text with memory-fabric's status line. Raises BadInput if it has another."""
    root = read(text, path)
    known = root.member(STATUS_LINE)
    if known is not None:
        raise BadInput(
            "--statusline",
            f"{path} has a status line already (line {_line(text, known.start)}); nothing was "
            "changed.",
            remedy=f"Let its command also print the output of {line['command']}, or remove it.",
        )
    return Edited(text).then(json_text.inserted(text, root, dict(line), STATUS_LINE))


def without_status_line(text: str, path: str) -> Edited:
    """Return the text without memory-fabric's status line; another one stays."""
    root = read(text, path)
    known = root.member(STATUS_LINE)
    if known is None or not is_status_line(known.value):
        return Edited(text)
    return Edited(text).then(json_text.removed(text, root, known))


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
        found = json_text.read(text)
    except json.JSONDecodeError as error:
        raise BadInput(
            path,
            f"{path}, line {error.lineno}: {error.msg}; it was left as it is.",
            remedy="Correct that line (comments are not JSON), and try again.",
        ) from error
    except ValueError as error:  # a number beyond what Python reads
        raise BadInput(path, f"{path}: {error}; it was left as it is.") from error
    except RecursionError as error:
        raise BadInput(path, f"{path} is nested too deeply; it was left as it is.") from error
    _need(found, dict, "the file", text, path)
    return found


def launcher_test(*known: str) -> Callable[[str], bool]:
    """Return a test for commands that start memory-fabric's hooks: those known, of another
    copy, or of another client.
    """
    return lambda command: (
        _is_one_of(command, known)
        or _ends(command, LAUNCHER)
        or _is_launch_file(command)
        or (command.startswith(f"{VARIABLE}=") and LAUNCHER in command)
    )


def program_test(*known: str) -> Callable[[str], bool]:
    """Return a test for commands that start memory-fabric's server."""
    return lambda command: (
        _is_one_of(command, known) or _ends(command, PROGRAM) or _is_launch_file(command)
    )


def _is_one_of(command: str, known: Collection[str]) -> bool:
    """True for a known command; never for a hook or server without one."""
    return bool(command) and command in known


def _is_launch_file(command: str) -> bool:
    """True for the path of memory-fabric's launcher without a shell, with either separator."""
    path = command.replace("\\", "/")
    return OUR_MARK in path and LAUNCH_FILE in path


def _ends(command: str, end: str) -> bool:
    return command.startswith("/") and command.endswith(end) and OUR_MARK in command


def _next_removal(text: str, root: Part, ours: Callable[[str], bool]) -> Edit | None:
    """Return the next edit that removes an own hook, with every container that holds
    nothing else.
    """
    for event, group in _groups(root):
        mine = [hook for hook in _hooks(group) if ours(_command(hook.value))]
        if not mine:
            continue
        hooks = _at(root, HOOKS)
        listed = group.member(HOOKS)
        if listed is not None and len(listed.parts) > 1:
            return json_text.removed(text, listed, mine[-1])
        if len(event.parts) > 1:
            return json_text.removed(text, event, group)
        if len(hooks.parts) > 1:
            return json_text.removed(text, hooks, event)
        return json_text.removed(text, root, hooks)
    return None


def _groups(root: Part) -> Iterator[tuple[Part, Part]]:
    """Yield each event's list with each of its groups."""
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


def _at(part: Part, *names: str) -> Part:
    for name in names:
        found = part.member(name)
        assert found is not None, "it was inserted before"
        part = found
    return part


def _need(part: Part, kind: type, what: str, text: str, path: str) -> None:
    if not isinstance(part.value, kind):
        expected = "an object" if kind is dict else "a list"
        raise BadInput(
            path,
            f"{path}, line {_line(text, part.start)}: {what} must be {expected}; it was left as "
            "it is.",
            remedy="Correct it, and try again.",
        )


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
