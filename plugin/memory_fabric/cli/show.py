"""Output of commands: tables and lines for people, JSON for programs.

Control characters in memories are never printed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_fabric.errors import BadInput
from memory_fabric.text import neutralised

# rich is imported late, since help and JSON do not need it.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# The width outside a terminal, so that logs and models get unwrapped lines.
PLAIN_WIDTH = 200
# Spaces after a column, and the least width of the last one.
COLUMN_GAP, MIN_LAST_WIDTH = 2, 20
# Cells that say nothing about a single row.
NOTHING_SAID = frozenset(("", "—", "0", "0.00"))
# The option for commands whose JSON needs no description of its own.
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def console() -> Console:
    """Return a console as wide as the terminal, with colour only in a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(width=width, highlight=False, markup=False, emoji=False)


def json_out(value: Any) -> None:
    """Print a JSON value."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def line(text: str, style: str = "") -> None:
    """Print one paragraph, without control characters."""
    console().print(styled(text, style), soft_wrap=True)


def block(text: str) -> None:
    """Print a block that is given to sessions, whose text is neutralised already."""
    console().print(_without_controls(text), soft_wrap=True)


def styled(text: str, style: str) -> Text:
    """Return the text in a style, for a line or a table cell, without control characters."""
    from rich.text import Text

    return Text(printable(text), style=style)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    lines: int = 0,
    optional: Collection[str] = (),
) -> None:
    """Print a table with a header; the last column takes the remaining width.

    In a terminal, texts of the last column are cut to so many `lines` of it; 0 cuts none. Columns
    in `optional` are left out where they say the same in all of several rows, or nothing.
    """
    from rich.table import Table

    whole = [[styled(c, "") if isinstance(c, str) else c for c in row] for row in rows]
    kept = [n for n, name in enumerate(columns) if name not in optional or _tells(whole, n)]
    cells = [[row[n] for n in kept] for row in whole]
    out = console()
    if lines and out.is_terminal:
        _cut_last([columns[n] for n in kept], cells, out, lines)
    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, COLUMN_GAP, 0, 0))
    for n in kept:
        last = n == kept[-1]
        shown.add_column(columns[n], overflow="fold", no_wrap=not last, ratio=1 if last else None)
    for row in cells:
        shown.add_row(*row)
    out.print(shown)


def _tells(rows: Sequence[Sequence[Text]], column: int) -> bool:
    """Return True if a column distinguishes rows, or says something about the only one."""
    said = {row[column].plain for row in rows}
    return len(said) > 1 or (len(rows) == 1 and not said & NOTHING_SAID)


def _cut_last(
    columns: Sequence[str], cells: Sequence[list[Text]], out: Console, lines: int
) -> None:
    """Cut the last cell of each row to so many lines of the width that the others leave."""
    others = sum(
        max([len(name), *(row[n].cell_len for row in cells)]) + COLUMN_GAP
        for n, name in enumerate(columns[:-1])
    )
    room = max(out.width - others - COLUMN_GAP, MIN_LAST_WIDTH)
    for row in cells:
        folded = row[-1].wrap(out, room)
        if len(folded) > lines:
            kept = folded[:lines]
            kept[-1].truncate(room - 1)
            kept[-1].append("…")
            row[-1] = kept[0].blank_copy("\n").join(kept)


def rows(lines: Iterable[Sequence[str | Text]]) -> None:
    """Print an indented table without a header, as wide as `table`."""
    from rich.padding import Padding
    from rich.table import Table

    shown = Table.grid(padding=(0, 2, 0, 0))
    for cells in lines:
        while len(shown.columns) < len(cells):
            shown.add_column(overflow="fold", no_wrap=len(shown.columns) < len(cells) - 1)
        shown.add_row(*(styled(c, "") if isinstance(c, str) else c for c in cells))
    console().print(Padding(shown, (0, 0, 0, 2), expand=False))


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and values, one pair per line, without empty values."""
    from rich.table import Table

    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(style="dim", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            shown.add_row(name, styled(value, ""))
    console().print(shown)


def warn(text: str) -> None:
    """Print one line on standard error, for a failure of part of a command."""
    typer.echo(f"memory-fabric: {printable(' '.join(text.split()))}", err=True)


def confirmed(question: str, yes: bool) -> bool:
    """Return True if the user agrees, or agreed in advance with `--yes`.

    Raises BadInput without a terminal to ask in.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise BadInput(
            "--yes", "Nothing was changed: this needs a confirmation.", remedy="Use --yes."
        )
    return typer.confirm(question)


def printable(text: str) -> str:
    """Return the text without control and invisible characters, and with neutralised fences.

    A memory must control neither the terminal nor a model that reads the output.
    """
    return _without_controls(neutralised(text))


def _without_controls(text: str) -> str:
    return "".join(c for c in text if c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f"))
