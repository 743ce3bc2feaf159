"""Secrets in the columns of tables: Markdown, drawn with boxes, CSV, aligned by blanks."""

from __future__ import annotations

import re

from memory_fabric.secret_kinds import ABOUT, kind_of, names_in
from memory_fabric.secret_names import looks_random
from memory_fabric.secret_values import is_value, stripped, without

MAX_CELLS = 64


def without_columns(text: str) -> str:
    """The text without the cells of columns that are named as secrets are."""
    lines = text.split("\n")
    columns: dict[int, str] = {}
    separator = ""
    for place, line in enumerate(lines):
        if columns:
            if not line.strip(" +-=|:\r─━═│║├┤┼╬╠╣╪┝┿┥┣╋┫"):
                continue  # a rule between the head and its rows
            cells = _cells(line, separator)
            if len(cells) > max(columns) and len(cells) > 1:
                lines[place] = _hidden_cells(line, cells, columns)
                continue
            columns = {}
        separator = next(
            (sign for sign in ("│", "║", "┃", "|", "\t", ";", ",", "  ") if sign in line), ""
        )
        if not separator or place + 1 == len(lines):
            continue
        cells = _cells(line, separator)
        named = {i: _column_kind(line[a:b]) for i, (a, b) in enumerate(cells)}
        if 1 < len(cells) <= MAX_CELLS and all(b - a <= 40 for a, b in cells):
            columns = {i: kind for i, kind in named.items() if kind}
    return "\n".join(lines)


def _column_kind(cell: str) -> str:
    bare = cell.strip(" \t*`\"'_")
    if not bare or len(bare.split()) > 4:
        return ""
    match = names_in(bare).search(bare)
    if match is None or bare.endswith((".", ":", "?")):
        return ""
    rest = bare[match.end() :].strip(" _-s").casefold()
    if rest.split("_")[0].split(" ")[0] in ABOUT or rest in ABOUT:
        return ""
    kind = kind_of(match.group().casefold())
    return "password" if kind == "pair" else kind


def _cells(line: str, separator: str) -> list[tuple[int, int]]:
    """Where the cells of a line begin and end, at most so many; of quoted CSV, too."""
    if separator == "  ":  # aligned by blanks: a cell is what stands between two or more
        return [match.span() for match in re.finditer(r"\S+(?: \S+){0,8}", line)][:MAX_CELLS]
    spans, start, quoted = [], 0, False
    for place, character in enumerate(line):
        if character == '"':
            quoted = not quoted
        elif character == separator and not quoted:
            spans.append((start, place))
            start = place + 1
            if len(spans) > MAX_CELLS:
                break
    return [*spans, (start, len(line))]


def _hidden_cells(line: str, cells: list[tuple[int, int]], columns: dict[int, str]) -> str:
    spans = []
    for place, kind in columns.items():
        start, end = cells[place]
        cell = line[start:end]
        bare = cell.strip(" \t\r")
        left, right = stripped(bare)
        core = bare[left:right]
        is_one = core and len(core.split()) == 1 and set(core) - set("-:=")
        if is_one and _is_cell_value(core, kind):
            at = start + cell.find(bare)
            spans.append((at + left, at + right))
    return without(line, spans)


def _is_cell_value(core: str, kind: str) -> bool:
    if kind == "common":
        kind = "key"
    if kind == "key" and looks_random(core):
        return True
    return is_value(core, kind, "=", "", quoted=False, words=0)
