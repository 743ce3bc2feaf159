"""Output: tables and lines for people, JSON for programs; never a control character of a memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_fabric.errors import BadInput
from memory_fabric.text import neutralised

# rich is imported where something is drawn: help and JSON need none of it.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# Where no terminal says its width: what a log or a model reads without folded lines.
PLAIN_WIDTH = 200
# The option of every command whose JSON needs no words of its own.
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def console() -> Console:
    """Where tables go: as wide as the terminal, colour only there."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(width=width, highlight=False, markup=False, emoji=False)


def json_out(value: Any) -> None:
    """One JSON value for programs."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def line(text: str, style: str = "") -> None:
    """One paragraph; what is not for a screen is dropped."""
    console().print(styled(text, style), soft_wrap=True)


def block(text: str) -> None:
    """A block as a session is given it: its lines are harmless, its fence is ours."""
    console().print(_without_controls(text), soft_wrap=True)


def styled(text: str, style: str) -> Text:
    """The text in a style, for a line or a cell; what is not for a screen is dropped."""
    from rich.text import Text

    return Text(printable(text), style=style)


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """A table with a head; the last column takes the room that is left."""
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for number, name in enumerate(columns):
        last = number == len(columns) - 1
        shown.add_column(name, overflow="fold", no_wrap=not last, ratio=1 if last else None)
    for row in rows:
        shown.add_row(*(styled(c, "") if isinstance(c, str) else c for c in row))
    console().print(shown)


def rows(lines: Iterable[Sequence[str | Text]]) -> None:
    """A table without a head, indented; as wide as `table`."""
    from rich.padding import Padding
    from rich.table import Table

    shown = Table.grid(padding=(0, 2, 0, 0))
    for cells in lines:
        while len(shown.columns) < len(cells):
            shown.add_column(overflow="fold", no_wrap=len(shown.columns) < len(cells) - 1)
        shown.add_row(*(styled(c, "") if isinstance(c, str) else c for c in cells))
    console().print(Padding(shown, (0, 0, 0, 2), expand=False))


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and values under one another; pairs without a value are left out."""
    from rich.table import Table

    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(style="dim", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            shown.add_row(name, styled(value, ""))
    console().print(shown)


def complain(text: str) -> None:
    """One line on standard error, for what did not work beside what did."""
    typer.echo(f"memory-fabric: {printable(' '.join(text.split()))}", err=True)


def confirmed(question: str, yes: bool) -> bool:
    """Whether the person agrees; `--yes` agrees in advance.

    Raises BadInput where nobody can be asked.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise BadInput("--yes", "Nothing was changed: this needs a yes.", remedy="Say --yes.")
    return typer.confirm(question)


def printable(text: str) -> str:
    """The text without control and invisible characters, its fences harmless: a memory must not
    drive the terminal, nor whoever reads along.
    """
    return _without_controls(neutralised(text))


def _without_controls(text: str) -> str:
    return "".join(c for c in text if c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f"))
