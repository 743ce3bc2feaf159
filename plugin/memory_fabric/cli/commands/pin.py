"""pin: give a memory to every session at its start."""

from typing import Annotated

import typer

from memory_fabric.cli import environment, formatting, show
from memory_fabric.ids import short_id
from memory_fabric.models import shown_type, worded
from memory_fabric.store.history import resolve
from memory_fabric.text import one_line


def pin(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The id that recall shows.")],
    off: Annotated[bool, typer.Option("--off", help="Unpin it.")] = False,
    as_json: show.AsJson = False,
) -> int:
    """Give a memory to every session at its start, before newer ones."""
    with environment.open_memory() as memory:
        record = resolve.pin(memory, identifier, environment.provenance(), off=off)
        memory.flush()
        if as_json:
            show.json_out(formatting.as_json(record))
        else:
            done = "Not pinned" if off else "Pinned"
            kind = shown_type(record.type)
            show.line(f"{done}: {kind} {short_id(record.id)}, {one_line(worded(record))}")
    return 0
