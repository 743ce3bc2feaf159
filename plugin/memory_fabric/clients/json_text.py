"""Edits of parts of a JSON text; all other bytes, and so the user's layout, remain unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

SPACE = re.compile(r"[ \t\r\n]*")
SCALAR = re.compile(r"[^\s,\]}]+")
BOM = "\ufeff"
AROUND = BOM + " \t\r\n"
DEFAULT_INDENT = "  "


class Part(NamedTuple):
    """A parsed value with its start and end offsets; an object's member starts at its name."""

    start: int
    end: int
    value: Any
    name: str = ""
    parts: tuple[Part, ...] = ()
    opened: int = 0

    def member(self, *names: str) -> Part | None:
        """Return the member at the path `names`; of duplicate names, the last one counts."""
        part: Part | None = self
        for name in names:
            part = part and next((p for p in reversed(part.parts) if p.name == name), None)
        return part


class Edit(NamedTuple):
    """A replacement of the text `old` by the text `new` at the offset `start`."""

    start: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        """Return the text after this edit."""
        return text[: self.start] + self.new + text[self.start + len(self.old) :]

    def undone(self, text: str) -> str:
        """Return the text before this edit."""
        return text[: self.start] + self.old + text[self.start + len(self.new) :]


def read(text: str) -> Part:
    """Parse a JSON text into a Part. Raises json.JSONDecodeError, RecursionError."""
    body = text.removeprefix(BOM)
    json.loads(body)  # raises an error with the line; the scan below needs valid JSON
    return _scan(text, len(text) - len(body))


def inserted(text: str, container: Part, value: Any, name: str = "") -> Edit:
    """Return the edit that appends a value to an object or list, formatted like its siblings."""
    newline = "\r\n" if "\r\n" in text else "\n"
    # Indent by the same amount as the first member of the text.
    first_line = re.match(rf"{BOM}?\s*\{{[ \t]*\r?\n([ \t]+)\S", text)
    unit = first_line.group(1) if first_line else DEFAULT_INDENT
    if container.parts:
        last = container.parts[-1]
        before = text[: last.start]
        lead = before[len(before.rstrip(" \t\r\n")) :]
        is_broken, indent = "\n" in lead, lead.rpartition("\n")[2]
        layout = _shown(value, name, indent, unit if is_broken else "", newline)
        return Edit(last.end, "", "," + (newline + indent if is_broken else " ") + layout)
    inner = text[container.opened : container.end - 1]
    body = text.strip(AROUND)
    if "\n" not in body and body != "{}":  # The container is written on one line.
        return Edit(container.opened, inner, _shown(value, name, "", "", newline))
    line = text[text.rfind("\n", 0, container.start) + 1 : container.start].removeprefix(BOM)
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    layout = _shown(value, name, outer + unit, unit, newline)
    return Edit(container.opened, inner, f"{newline}{outer}{unit}{layout}{newline}{outer}")


def removed(text: str, *chain: tuple[Part, Part]) -> Edit:
    """Return the edit that removes a value, its comma, and containers that would become empty.

    `chain` has pairs of a container and the part in it, beginning with the innermost container.
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
    """Return the text as it was before these edits."""
    for edit in reversed(edits):
        text = edit.undone(text)
    return text


def _shown(value: Any, name: str, indent: str, unit: str, newline: str) -> str:
    lines = json.dumps(value, indent=unit or None, ensure_ascii=False).split("\n")
    layout = (newline + indent).join(lines)
    return f"{json.dumps(name, ensure_ascii=False)}: {layout}" if name else layout


def _scan(text: str, at: int) -> Part:
    start = _after_space(text, at)
    if text[start] == '"':
        value, end = scanstring(text, start + 1, True)
        return Part(start, end, value)
    if text[start] not in "{[":
        scalar = SCALAR.match(text, start)
        assert scalar is not None, "the text was read before"
        return Part(start, scalar.end(), json.loads(scalar.group()))
    is_object = text[start] == "{"
    parts: list[Part] = []
    at = _after_space(text, start + 1)
    while text[at] not in "}]":
        name, begin = "", at
        if is_object:
            name, at = scanstring(text, at + 1, True)
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
