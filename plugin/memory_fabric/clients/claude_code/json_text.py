"""Edits of a JSON text that keep every other byte, and so a person's layout.

A text is parsed into values with their positions; an edit replaces one span of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

SPACE = re.compile(r"[ \t\r\n]*")
SCALAR = re.compile(r"[^\s,\]}]+")
BOM = "\ufeff"
AROUND = BOM + " \t\r\n"
DEFAULT_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Part:
    """A value of the text with its start and end offsets.

    For a member of an object `start` is the offset of its name.
    """

    start: int
    end: int
    value: Any
    name: str = ""
    parts: tuple[Part, ...] = ()
    opened: int = 0

    def member(self, name: str) -> Part | None:
        """Return the member with this name; the last of several, as in every reader of JSON."""
        return next((p for p in reversed(self.parts) if p.name == name), None)


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of `old` by `new` at offset `start`."""

    start: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        """Return the text after the edit."""
        return text[: self.start] + self.new + text[self.start + len(self.old) :]

    def undone(self, text: str) -> str:
        """Return the text before the edit."""
        return text[: self.start] + self.old + text[self.start + len(self.new) :]


def read(text: str) -> Part:
    """Parse a text into its value. Raises json.JSONDecodeError, RecursionError."""
    body = text.removeprefix(BOM)
    json.loads(body)  # reports errors with their line; the scan below relies on a valid text
    return _scan(text, len(text) - len(body))


def inserted(text: str, container: Part, value: Any, name: str = "") -> Edit:
    """Return the edit that adds a value at the end of a container, laid out like its siblings."""
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    if container.parts:
        last = container.parts[-1]
        before = text[: last.start]
        lead = before[len(before.rstrip(" \t\r\n")) :]
        broken = "\n" in lead
        indent = lead.rpartition("\n")[2]
        shown = _shown(value, name, indent, unit if broken else "", newline)
        return Edit(last.end, "", "," + (newline + indent if broken else " ") + shown)
    inner = text[container.opened : container.end - 1]
    outer = _indent_of_line(text, container.start)
    indent = outer + unit
    body = text.strip(AROUND)
    if "\n" not in body and body != "{}":  # all on one line
        return Edit(container.opened, inner, _shown(value, name, "", "", newline))
    shown = _shown(value, name, indent, unit, newline)
    return Edit(container.opened, inner, f"{newline}{indent}{shown}{newline}{outer}")


def removed(text: str, container: Part, part: Part) -> Edit:
    """Return the edit that removes a part from its container, with its comma."""
    at = container.parts.index(part)
    if len(container.parts) == 1:
        start, end = container.opened, container.end - 1
    elif at:
        start, end = container.parts[at - 1].end, part.end
    else:
        start, end = part.start, container.parts[1].start
    return Edit(start, text[start:end], "")


def undo(text: str, edits: Sequence[Edit]) -> str:
    """Return the text before all of these edits."""
    for edit in reversed(edits):
        text = edit.undone(text)
    return text


def _shown(value: Any, name: str, indent: str, unit: str, newline: str) -> str:
    if unit:
        lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
        shown = (newline + indent).join(lines)
    else:
        shown = json.dumps(value, ensure_ascii=False)
    return f"{json.dumps(name, ensure_ascii=False)}: {shown}" if name else shown


def _unit(text: str) -> str:
    """Return the indent of one level: that of the first member of the text."""
    found = re.match(rf"{BOM}?\s*\{{[ \t]*\r?\n([ \t]+)\S", text)
    return found.group(1) if found else DEFAULT_INDENT


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _scan(text: str, at: int) -> Part:
    at = _after_space(text, at)
    if text[at] == '"':
        value, end = scanstring(text, at + 1, True)
        return Part(at, end, value)
    if text[at] in "{[":
        return _scan_container(text, at)
    found = SCALAR.match(text, at)
    assert found is not None, "the text was read before"
    return Part(at, found.end(), json.loads(found.group()))


def _scan_container(text: str, start: int) -> Part:
    named = text[start] == "{"
    parts: list[Part] = []
    at = _after_space(text, start + 1)
    while text[at] not in "}]":
        name, begin = "", at
        if named:
            name, at = scanstring(text, at + 1, True)
            at = _after_space(text, at) + 1  # the colon
        found = _scan(text, at)
        parts.append(Part(begin, found.end, found.value, name, found.parts, found.opened))
        at = _after_space(text, found.end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    value: Any = {p.name: p.value for p in parts} if named else [p.value for p in parts]
    return Part(start, at + 1, value, "", tuple(parts), start + 1)


def _after_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at
