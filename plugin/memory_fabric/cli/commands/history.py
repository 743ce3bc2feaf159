"""history: list changes and who made them."""

from __future__ import annotations

from typing import Annotated

import typer

from memory_fabric.cli import environment, formatting, show
from memory_fabric.errors import NotFound
from memory_fabric.ids import short_id
from memory_fabric.store.history import describe, trace
from memory_fabric.store.history.trace import DescribedChange


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
        changes = trace.history(memory, name, limit)
    if as_json:
        show.json_out([trace.as_json(one) for one in changes])
    elif changes:
        show.table(("when", "id", "by", "what"), [_row(one) for one in changes])
    elif not name:
        show.line("Nothing has changed yet.")
    if name and not changes:
        raise NotFound(
            name,
            f"There is no memory or entity {name!r}.",
            remedy="memory-fabric recall finds names.",
        )
    return 0 if changes else 3


def _row(described: DescribedChange) -> tuple[str, ...]:
    change = described.change
    what = f"{described.what} (undone)" if change.undone else described.what
    return formatting.when(change.at), short_id(change.id), describe.who(change.by), what
