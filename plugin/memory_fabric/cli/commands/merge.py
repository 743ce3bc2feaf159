"""merge, alias: several names of one entity."""

from typing import Annotated

import typer

from memory_fabric.cli import environment, show
from memory_fabric.errors import BadInput
from memory_fabric.store.history import merge as merging
from memory_fabric.store.history.merge import Aliases, Plan
from memory_fabric.store.memory import Memory


def merge(
    into: Annotated[str, typer.Argument(metavar="INTO", help="The entity to keep.")],
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="The entities to merge into it.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Merge the entities of the preview.")] = False,
    step: environment.Step = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: the merged entities.")
    ] = False,
) -> int:
    """Show which entities would be merged; with `--yes` merge them.

    Their observations and relations move to the first, and their names become its aliases;
    `memory-fabric undo` separates them again.
    """
    with environment.open_memory(step=step) as memory:
        plan = merging.plan(memory, into, names)
        result = merging.merge(memory, plan, environment.provenance()) if yes else {}
        if yes:
            memory.flush()
    if as_json:
        parts = [
            {"name": p.name, "entityType": p.type, "observations": p.observations}
            for p in plan.others
        ]
        done = bool(result) and not result.get("queued")
        show.json_out({"merged": done, "into": plan.into.name, "names": parts})
    else:
        _show(plan, done=yes)
    return 0


def _show(plan: Plan, *, done: bool) -> None:
    rows = [
        (part.name, part.type, str(part.observations), str(part.relations))
        for part in (plan.into, *plan.others)
    ]
    show.table(("entity", "type", "observations", "relations"), rows)
    names = ", ".join(part.name for part in plan.others)
    if done:
        show.line(f"{names}: now {plan.into.name}. memory-fabric undo --last separates them.")
    else:
        show.line(
            f"{names} would become {plan.into.name}; nothing was changed. Use --yes to merge them."
        )


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
    """Show or add other names by which an entity is found.

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
