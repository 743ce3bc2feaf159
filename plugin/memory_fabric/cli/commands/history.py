"""history: list changes and who made them."""

from __future__ import annotations

from typing import Annotated

import typer

from memory_fabric.cli import environment, formatting, show
from memory_fabric.errors import NotFound
from memory_fabric.ids import short_id
from memory_fabric.store.history import describe
from memory_fabric.store.history import trace as tracing
from memory_fabric.store.history.trace import Told


def history(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME-OR-ID",
            help="An entity, under all its names, or a memory; by default all.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=10_000, help="The maximum number of changes.")
    ] = 20,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: all fields of the changes.")
    ] = False,
) -> int:
    """Show what changed and who changed it, newest first.

    Each change has the id that `memory-fabric undo` takes. Forgotten and deleted memories have a
    history, too.
    """
    with environment.open_memory() as memory:
        told = tracing.history(memory, name, limit)
    if as_json:
        show.json_out([tracing.as_json(one) for one in told])
    elif told:
        show.table(("when", "id", "by", "what"), [_row(one) for one in told])
    elif not name:
        show.line("Nothing has changed yet.")
    if name and not told:
        raise NotFound(
            name,
            f"There is no memory or entity {name!r}.",
            remedy="memory-fabric recall finds names.",
        )
    return 0 if told else 3


def _row(told: Told) -> tuple[str, ...]:
    change = told.change
    what = f"{told.what} (undone)" if change.undone else told.what
    return formatting.when(change.at), short_id(change.id), describe.who(change.by), what
