"""Output of commands, for people and as JSON; control characters are removed from memories."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from memory_fabric.config import has_display
from memory_fabric.errors import BadInput
from memory_fabric.store import files
from memory_fabric.text import neutralised

# rich is imported late, because help and JSON output do not need it.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    Row = Sequence[str | Text]

# The file name that stands for standard input or standard output.
STREAM = "-"
# The width without a terminal: lines in logs and for models should not be wrapped.
PLAIN_WIDTH = 200
# The number of spaces between columns, and the minimum width of the last column.
COLUMN_GAP, MIN_LAST_WIDTH = 2, 20
# Values that count as empty: a table of one row omits an optional column with one of them.
NOTHING_SAID = frozenset(("", "—", "0", "0.00"))
# Seconds until a progress bar appears, and, without a terminal, between two lines of progress.
DELAY_S, LINE_EVERY_S = 0.5, 5.0
# Seconds after which a command that has printed nothing yet reports what it is doing.
PATIENCE_S = 2.0


def console() -> Console:
    """Return a rich console; without a terminal, it has PLAIN_WIDTH columns and no colours."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(width=width, highlight=False, markup=False, emoji=False)


def fields(value: object, names: str) -> dict[str, Any]:
    """Return some attributes of an object as a dict; `names` are separated by spaces."""
    return {name: getattr(value, name) for name in names.split()}


def json_out(value: Any, code: int = 0) -> int:
    """Print a value as JSON and return `code`, so that a command can return the result directly."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
    return code


def line(text: str, style: str = "") -> None:
    """Print a paragraph without control characters."""
    console().print(styled(text, style), soft_wrap=True)


def lines(texts: Iterable[str], style: str = "") -> None:
    """Print each text as a paragraph, skipping empty texts."""
    for text in filter(None, texts):
        line(text, style)


def block(text: str) -> None:
    """Print a block of memories as sessions receive it; tags in `text` must be escaped already."""
    console().print(_without_controls(text), soft_wrap=True)


def styled(text: str | Text, style: str = "") -> Text:
    """Return a str as Text in `style` and without control characters; a Text stays unchanged."""
    from rich.text import Text

    return Text(printable(text), style=style) if isinstance(text, str) else text


def table(
    columns: Sequence[str], rows: Iterable[Row], *, lines: int = 0, optional: Collection[str] = ()
) -> None:
    """Print a table with a header; the last column gets the remaining width.

    In a terminal, texts in the last column are cut to `lines` lines (0: not cut). An `optional`
    column is omitted if all of several rows have the same value, or a single row has an empty one.
    """
    from rich.table import Table

    whole = [[styled(value) for value in row] for row in rows]
    chosen = []
    for n, name in enumerate(columns):
        values = {row[n].plain for row in whole}
        tells = len(values) > 1 or (len(whole) == 1 and not values & NOTHING_SAID)
        if tells or name not in optional:
            chosen.append(n)
    cells = [[row[n] for n in chosen] for row in whole]
    out = console()
    if lines and out.is_terminal:
        # Cut last cells to `lines` lines, in the width that the other columns leave free (`room`).
        widths = (
            max([len(columns[n]), *(row[at].cell_len for row in cells)]) + COLUMN_GAP
            for at, n in enumerate(chosen[:-1])
        )
        room = max(out.width - sum(widths) - COLUMN_GAP, MIN_LAST_WIDTH)
        for row in cells:
            folded = row[-1].wrap(out, room)
            if len(folded) > lines:
                visible = folded[:lines]
                visible[-1].truncate(room - 1)
                visible[-1].append("…")
                row[-1] = visible[0].blank_copy("\n").join(visible)
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, COLUMN_GAP, 0, 0))
    for n in chosen:
        grid.add_column(columns[n], overflow="fold", no_wrap=n != chosen[-1])
    for row in cells:
        grid.add_row(*row)
    out.print(grid)


def rows(lines: Iterable[Row], indent: int = 2) -> None:
    """Print rows as an indented table without a header."""
    from rich.padding import Padding
    from rich.table import Table

    grid = Table.grid(padding=(0, COLUMN_GAP, 0, 0))
    for cells in lines:
        while len(grid.columns) < len(cells):
            grid.add_column(overflow="fold", no_wrap=len(grid.columns) < len(cells) - 1)
        grid.add_row(*map(styled, cells))
    console().print(Padding(grid, (0, 0, 0, indent), expand=False))


def facts(*pairs: tuple[str, str]) -> None:
    """Print (name, value) pairs in two columns, one per line; skip pairs with an empty value."""
    rows(((styled(name, "dim"), value) for name, value in pairs if value), indent=0)


def warn(text: str) -> None:
    """Print a warning on one line of standard error."""
    typer.echo(f"memory-fabric: {printable(' '.join(text.split()))}", err=True)


def warn_all(texts: Iterable[str]) -> None:
    """Print each text as a warning, on its own line of standard error."""
    for text in texts:
        warn(text)


def on(switch: bool) -> str:
    """Return "on" or "off" for the state of a switch."""
    return "on" if switch else "off"


def confirm(question: str, yes: bool) -> None:
    """Ask the user, unless `yes`. Raises Abort if the answer is no, BadInput without a terminal."""
    if not yes and not sys.stdin.isatty():
        text = "Nothing was changed: this needs a confirmation."
        raise BadInput("--yes", text, remedy="Use --yes.")
    if not yes:
        typer.confirm(question, abort=True)


def printable(text: str) -> str:
    """Remove control characters from a text, and escape tags that could mislead a model."""
    return _without_controls(neutralised(text))


def _without_controls(text: str) -> str:
    return "".join(c for c in text if c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f"))


def write_file(target: str, content: bytes | Iterable[bytes], force: bool) -> None:
    """Write an output file atomically. Raises BadInput if the file exists, unless `force`."""
    if os.path.isdir(target):
        raise BadInput("FILE", f"{target} is a folder.", remedy="Name a file in it.")
    if os.path.exists(target) and not os.path.isfile(target):
        text = f"{target} exists and is not a regular file."
        raise BadInput("FILE", text, remedy="Name another file, or - for standard output.")
    if not os.path.isdir(os.path.dirname(os.path.abspath(target))):
        raise BadInput("FILE", f"The folder of {target} does not exist.")
    is_free = None if force else lambda path: not os.path.lexists(path)
    if (is_free and not is_free(target)) or not files.write_atomic(target, content, still=is_free):
        text = f"{target} exists; nothing was written."
        raise BadInput("--force", text, remedy="Use --force to replace it.")


def can_open_page() -> bool:
    """Return True if a browser can be opened: there is a display, and output goes to a terminal."""
    return sys.stdout.isatty() and has_display(os.environ, sys.platform)


def open_page(address: str) -> bool:
    """Open a URL in a browser; return False if there is no browser."""
    import webbrowser  # imported late: rarely needed

    return webbrowser.open(address)


@contextmanager
def progress_bar(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function of (done, total) that updates a progress bar; yield None if `quiet`."""
    if quiet:
        yield None
        return
    began_s = told_s = time.monotonic()
    drawn: list[tuple[Any, Any]] = []  # the bar and its task, once they exist

    def update(done: int, of: int) -> None:
        nonlocal told_s
        if not sys.stderr.isatty():
            if time.monotonic() - told_s >= LINE_EVERY_S:
                told_s = time.monotonic()
                sys.stderr.write(f"{what}: {100 * done // max(of, 1)} %\n")
            return
        if not drawn and time.monotonic() - began_s < DELAY_S:
            return
        if not drawn:
            from rich.console import Console  # imported late: only for a bar
            from rich.progress import Progress

            progress = Progress(console=Console(stderr=True), transient=True)
            drawn.append((progress, progress.add_task(what)))
            progress.start()
        progress, task = drawn[0]
        progress.update(task, completed=done, total=of)

    try:
        yield update
    finally:
        for progress, _ in drawn:
            progress.stop()


@contextmanager
def patience(what: str) -> Iterator[None]:
    """Print `what` if the `with` block takes more than PATIENCE_S; only in a terminal."""
    told = threading.Event()

    def tell() -> None:
        told.set()
        sys.stderr.write(f"{what} ...")
        sys.stderr.flush()

    timer = threading.Timer(PATIENCE_S, tell)
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if timer.ident:
            timer.join()
        if told.is_set():
            sys.stderr.write("\r\x1b[K")
