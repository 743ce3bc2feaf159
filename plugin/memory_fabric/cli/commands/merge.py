"""merge: make several entities one."""

from __future__ import annotations

from typing import Annotated

import typer

from memory_fabric.cli import environment, show
from memory_fabric.store import merge as merging
from memory_fabric.store.merge import Plan


def merge(
    into: Annotated[str, typer.Argument(metavar="INTO", help="The entity to keep.")],
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="The entities to merge into it.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Merge the entities of the preview.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: the merged entities.")
    ] = False,
) -> int:
    """Show which entities would be merged; with `--yes` merge them.

    Their observations and relations move to the first, and their names become its aliases;
    `memory-fabric undo` separates them again.
    """
    with environment.open_memory() as memory:
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
