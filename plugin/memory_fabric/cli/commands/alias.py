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
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="An entity; left out: all.")] = "",
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...", help="Its other names; left out: those it has are shown."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Take a name from it again; may be said several times."),
    ] = None,
    as_json: show.AsJson = False,
) -> int:
    """Give an entity other names by which it is found, too; without any, show them.

    A name that belongs to another entity is told and left out; where each of them does, nothing is
    changed. The graph tools keep names exactly.
    """
    if names and remove:
        raise BadInput("--remove", "Names to add and --remove: one at a time.", remedy="")
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
        show.complain(because)
    return 0


def _changed(memory: Memory, entity: str, names: list[str], remove: list[str]) -> list[Aliases]:
    if not names and not remove:
        return merging.all_aliases(memory, entity)
    if names:
        known = merging.add_aliases(memory, entity, names, environment.said_here())
    else:
        known = merging.remove_aliases(memory, entity, remove, environment.said_here())
    memory.flush()
    return [known]
