"""Secrets in the columns of tables: Markdown, drawn with boxes, CSV, aligned by blanks."""

from __future__ import annotations

from memory_fabric.cache import cached
from memory_fabric.patterns import IGNORECASE, exact, pattern
from memory_fabric.redaction.secret_kinds import ABOUT, kind_of, names_in
from memory_fabric.redaction.secret_names import looks_random
from memory_fabric.redaction.secret_values import is_value, stripped, without

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

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


def without_inserted(text: str) -> str:
    """The text without what SQL inserts into columns that are named as secrets are."""
    spans = []
    for statement in _insert().finditer(text):
        names = [_column_kind(name) for name in statement.group(1).split(",")]
        for row in _inserted_row().finditer(text, statement.end(), statement.end() + 4000):
            values = list(_inserted_value().finditer(text, *row.span(1)))
            for kind, value in zip(names, values, strict=False):
                if kind and value.group(1) and _is_cell_value(value.group(1), kind):
                    spans.append(value.span(1))
    return without(text, spans)


@cached
def _insert() -> re.Pattern[str]:
    return pattern(
        r"\b(?:insert|replace)\s{1,4}into\s{1,4}[\w.\"`\[\]]{1,80}\s{0,4}\(([^()]{1,400})\)\s{0,4}values",
        IGNORECASE,
    )


@cached
def _inserted_row() -> re.Pattern[str]:
    # Possessive: what is between two quotes can be divided in many ways, which all fail alike.
    return exact(r"\(((?:'[^'\n]{0,400}+'|[^()';]{1,400}+){1,64}+)\)")


@cached
def _inserted_value() -> re.Pattern[str]:
    return exact(r"'([^'\n]{0,400})'|[^',\s][^',]{0,200}")


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
    """Return the spans of a line's cells, up to a limit; quoted CSV included."""
    if separator == "  ":  # aligned by blanks: a cell is what stands between two or more
        return [match.span() for match in exact(r"\S+(?: \S+){0,8}").finditer(line)][:MAX_CELLS]
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
