"""alias: give an entity other names."""

from __future__ import annotations

from typing import Annotated

import typer

from memory_fabric.cli import environment, show
from memory_fabric.errors import BadInput
from memory_fabric.store import merge as merging
from memory_fabric.store.memory import Memory
from memory_fabric.store.merge import Aliases


def alias(
    entity: Annotated[
        str, typer.Argument(metavar="ENTITY", help="An entity; by default all.")
    ] = "",
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...", help="Names to add; without any, the existing ones are shown."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Remove this name from it; can be repeated."),
    ] = None,
    as_json: show.AsJson = False,
) -> int:
    """Give an entity other names by which it is also found, or show them.

    A name that belongs to another entity is reported and skipped; if all of them do, nothing is
    changed. The graph tools do not use aliases.
    """
    if names and remove:
        raise BadInput(
            "--remove",
            "Names cannot be added and removed at once.",
            remedy="Use one command for each.",
        )
    with environment.open_memory() as memory:
        known = _changed(memory, entity, names or [], remove or [])
    if as_json:
        show.json_out(
            [
                {"entity": a.entity, "aliases": list(a.names), "store": a.store}
                | ({"refused": dict(a.refused)} if a.refused else {})
                for a in known
            ]
        )
    elif any(a.names for a in known):
        show.table(("entity", "also called"), [(a.entity, ", ".join(a.names)) for a in known])
    else:
        show.line("No entity has another name." if not entity else "It has no other name.")
    for because in [why for a in known for why in a.refused.values()]:
        show.warn(because)
    return 0


def _changed(memory: Memory, entity: str, names: list[str], remove: list[str]) -> list[Aliases]:
    if not names and not remove:
        return merging.all_aliases(memory, entity)
    if names:
        known = merging.add_aliases(memory, entity, names, environment.provenance())
    else:
        known = merging.remove_aliases(memory, entity, remove, environment.provenance())
    memory.flush()
    return [known]
