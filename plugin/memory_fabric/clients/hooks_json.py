"""Add memory-fabric's hooks or MCP server to a client's JSON file, or remove them again. The rest
of the file, including the user's formatting, stays byte for byte the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.client import VARIABLE
from memory_fabric.errors import BadInput

HOOKS, SERVERS, SERVER, VERSION = "hooks", "mcpServers", "memory", "version"
LAUNCHER = "/hooks/launch"
PROGRAM = "/bin/memory-fabric"
# The launcher on Windows, where a hook's command runs Python with this file as an argument.
LAUNCH_FILE = "/hooks/launch.py"
# Identifies memory-fabric's commands: the paths of all installations contain this text.
OUR_MARK = "memory-fabric"

IsOurs = Callable[[str], bool]
SPACE = re.compile(r"[ \t\r\n]*")
DECODER = json.JSONDecoder()
BOM = "\ufeff"


class Part(NamedTuple):
    """A parsed value in text[start:end]; for an object's member, this range includes the name."""

    start: int
    end: int
    value: Any
    name: str = ""
    parts: tuple[Part, ...] = ()
    opened: int = 0

    def member(self, *names: str) -> Part | None:
        """Return the member at the path `names`, or None. Of repeated names, the last counts."""
        part: Part | None = self
        for name in names:
            part = part and next((p for p in reversed(part.parts) if p.name == name), None)
        return part


class Edit(NamedTuple):
    """An edit that replaces the text `old` with the text `new` at the offset `start`."""

    start: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        """Apply this edit to a text and return the result."""
        return text[: self.start] + self.new + text[self.start + len(self.old) :]

    def undone(self, text: str) -> str:
        """Revert this edit in a text and return the result."""
        return text[: self.start] + self.old + text[self.start + len(self.new) :]


class Edited(NamedTuple):
    """A text, and the edits that produced it, in order."""

    text: str
    edits: tuple[Edit, ...] = ()

    def then(self, edit: Edit) -> Edited:
        """Return the text with one more edit applied, and all edits including this one."""
        return Edited(edit.applied(self.text), (*self.edits, edit))


def with_member(done: Edited, path: str, names: tuple[str, ...], value: Any) -> Edited:
    """Add a value to a JSON text under the nested keys `names`; create missing objects. If a value
    exists there, append the items of a list `value` to it, or ignore any other `value`. Raises
    BadInput if the text is invalid or a part has the wrong type; `path` is for the error message.
    """
    container = read(done.text, path)
    for depth, name in enumerate(names):
        _need(container, dict, ".".join(names[:depth]) or "the file", done.text, path)
        part = container.member(name)
        if part is None:
            for inner in reversed(names[depth + 1 :]):
                value = {inner: value}
            return done.then(inserted(done.text, container, value, name))
        container = part
    for item in value if isinstance(value, list) else ():
        listed = read(done.text, path).member(*names)
        assert listed is not None
        _need(listed, list, ".".join(names), done.text, path)
        done = done.then(inserted(done.text, listed, item))
    return done


def with_hooks(done: Edited, groups: Mapping[str, list[Any]], path: str) -> Edited:
    """Append the hook groups to their events' lists. Raises BadInput if the text is malformed."""
    for event, ours in groups.items():
        done = with_member(done, path, (HOOKS, event), ours)
    return done


def without_hooks(done: Edited, ours: IsOurs, path: str) -> Edited:
    """Remove the hooks whose command passes the test `ours`, and containers that this empties."""
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
        done = done.then(removed(done.text, *chain))


def hooks_of(text: str, ours: IsOurs, path: str) -> dict[str, list[Any]]:
    """Return, by event, each whole hook group in which at least one command passes `ours`."""
    groups: dict[str, list[Any]] = {}
    for event, group in _groups(read(text, path)):
        if any(ours(_command(hook.value)) for hook in _hooks(group)):
            groups.setdefault(event.name, []).append(group.value)
    return groups


def with_server(done: Edited, server: Mapping[str, Any], path: str) -> Edited:
    """Add memory-fabric's MCP server. Raises BadInput if a server of that name exists already."""
    other = read(done.text, path).member(SERVERS, SERVER)
    if other is not None:
        line = done.text.count("\n", 0, other.start) + 1
        text = f"{path} has a server named {SERVER} already (line {line} on); nothing was changed."
        raise BadInput("--mcp", text, remedy="Remove or rename it, or add --no-mcp.")
    return with_member(done, path, (SERVERS, SERVER), dict(server))


def without_server(done: Edited, ours: IsOurs, path: str) -> Edited:
    """Remove memory-fabric's server, and also the object `mcpServers` if it becomes empty."""
    root = read(done.text, path)
    servers, server = root.member(SERVERS), root.member(SERVERS, SERVER)
    if servers is None or server is None or not ours(_command(server.value)):
        return done
    return done.then(removed(done.text, (servers, server), (root, servers)))


def read(text: str, path: str) -> Part:
    """Parse a client's JSON file. Raises BadInput, with the invalid line's number if known."""
    try:
        body = text.removeprefix(BOM)
        json.loads(body)  # reports the line of an error; `_scan` needs valid JSON
        root = _scan(text, len(text) - len(body))
    except json.JSONDecodeError as error:
        text = f"{path}, line {error.lineno}: {error.msg}; it was left as it is."
        remedy = "Correct that line (comments are not JSON), and try again."
        raise BadInput(path, text, remedy=remedy) from error
    except ValueError as error:  # for example, an integer with too many digits
        raise BadInput(path, f"{path}: {error}; it was left as it is.") from error
    except RecursionError as error:
        raise BadInput(path, f"{path} is nested too deeply; it was left as it is.") from error
    _need(root, dict, "the file", text, path)
    return root


def ours_test(end: str, *known: str) -> IsOurs:
    """Return a predicate that accepts memory-fabric's commands: any command in `known`, and any
    that evidently runs an installed copy, such as a path that contains OUR_MARK and ends with `end`
    (LAUNCHER for hooks, PROGRAM for servers).
    """

    def is_ours(command: str) -> bool:
        is_installed = command.startswith("/") and command.endswith(end) and OUR_MARK in command
        is_for_client = command.startswith(f"{VARIABLE}=") and LAUNCHER in command
        is_known = bool(command) and command in known
        return is_known or is_installed or is_for_client or _is_launch_file(command)

    return is_ours


def _is_launch_file(command: str) -> bool:
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
        return (group,)  # Cursor has hooks without groups.
    return listed.parts if listed and isinstance(listed.value, list) else ()


def _command(value: Any) -> str:
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


def inserted(text: str, container: Part, value: Any, name: str = "") -> Edit:
    """Return the edit that appends a value to an object or list, formatted like its other items."""
    newline = "\r\n" if "\r\n" in text else "\n"
    # Indent new lines by the same amount as the first member in the text.
    first_line = re.match(rf"{BOM}?\s*\{{[ \t]*\r?\n([ \t]+)\S", text)
    unit = first_line.group(1) if first_line else "  "
    if container.parts:
        last = container.parts[-1]
        before = text[: last.start]
        lead = before[len(before.rstrip(" \t\r\n")) :]
        is_broken, indent = "\n" in lead, lead.rpartition("\n")[2]
        layout = _shown(value, name, indent, unit if is_broken else "", newline)
        return Edit(last.end, "", "," + (newline + indent if is_broken else " ") + layout)
    inner = text[container.opened : container.end - 1]
    body = text.strip(BOM + " \t\r\n")
    if "\n" not in body and body != "{}":  # The whole text is on one line.
        return Edit(container.opened, inner, _shown(value, name, "", "", newline))
    line = text[text.rfind("\n", 0, container.start) + 1 : container.start].removeprefix(BOM)
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    layout = _shown(value, name, outer + unit, unit, newline)
    return Edit(container.opened, inner, f"{newline}{outer}{unit}{layout}{newline}{outer}")


def removed(text: str, *chain: tuple[Part, Part]) -> Edit:
    """Return the edit that removes a value with its comma, and each container that this empties.
    `chain` contains (container, part to remove) pairs: first the innermost container with the
    value, then the next outer container with the inner one, and so on.
    """
    container, part = next((pair for pair in chain if len(pair[0].parts) > 1), chain[-1])
    at = container.parts.index(part)
    if len(container.parts) == 1:
        start, end = container.opened, container.end - 1
    elif at:
        start, end = container.parts[at - 1].end, part.end
    else:
        start, end = part.start, container.parts[1].start
    return Edit(start, text[start:end], "")


def undo(text: str, edits: Sequence[Edit]) -> str:
    """Revert these edits in a text and return the result."""
    for edit in reversed(edits):
        text = edit.undone(text)
    return text


def _shown(value: Any, name: str, indent: str, unit: str, newline: str) -> str:
    lines = json.dumps(value, indent=unit or None, ensure_ascii=False).split("\n")
    layout = (newline + indent).join(lines)
    return f"{json.dumps(name, ensure_ascii=False)}: {layout}" if name else layout


def _scan(text: str, at: int) -> Part:
    start = _after_space(text, at)
    if text[start] not in "{[":
        value, end = DECODER.raw_decode(text, start)
        return Part(start, end, value)
    is_object = text[start] == "{"
    parts: list[Part] = []
    at = _after_space(text, start + 1)
    while text[at] not in "}]":
        name, begin = "", at
        if is_object:
            name, at = DECODER.raw_decode(text, at)
            at = _after_space(text, at) + 1  # skip the colon
        part = _scan(text, at)
        parts.append(Part(begin, part.end, part.value, name, part.parts, part.opened))
        at = _after_space(text, part.end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    table: Any = {p.name: p.value for p in parts} if is_object else [p.value for p in parts]
    return Part(start, at + 1, table, "", tuple(parts), start + 1)


def _after_space(text: str, at: int) -> int:
    space = SPACE.match(text, at)
    return space.end() if space else at
