"""merge, alias: several names of one entity."""

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import AsJson, Step, argument, flag, option
from memory_fabric.errors import BadInput
from memory_fabric.store.history import merge as merging
from memory_fabric.store.history.merge import Plan


def merge(
    into: str = argument(..., "INTO", "The entity to keep."),
    names: list[str] = argument(..., "NAME...", "The entities to merge into it."),
    yes: bool = flag("--yes", "Merge the entities of the preview."),
    step: Step = "",
    as_json: bool = flag("--json", "Answer in JSON: the merged entities."),
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
            {"name": part.name, "entityType": part.type, "observations": part.observations}
            for part in plan.others
        ]
        done = bool(result) and not result.get("queued")
        return show.json_out({"merged": done, "into": plan.into.name, "names": parts})
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
    entity: str = argument("", "ENTITY", "An entity; by default all."),
    names: list[str] | None = argument(
        None, "NAME...", "Names to add; without any, the existing ones are shown."
    ),
    remove: list[str] | None = option(None, "NAME", "Remove this name from it; can be repeated."),
    as_json: AsJson = False,
) -> int:
    """Show or add other names by which an entity is found.

    A name that belongs to another entity is reported and skipped; if all of them do, nothing is
    changed. The graph tools do not use aliases.
    """
    if names and remove:
        text = "Names cannot be added and removed at once."
        raise BadInput("--remove", text, remedy="Use one command for each.")
    with environment.open_memory() as memory:
        if names:
            aliases = [merging.add_aliases(memory, entity, names, environment.provenance())]
        elif remove:
            aliases = [merging.remove_aliases(memory, entity, remove, environment.provenance())]
        else:
            aliases = merging.all_aliases(memory, entity)
        if names or remove:
            memory.flush()
    if as_json:
        rows = [
            {"entity": a.entity, "aliases": list(a.names), "store": a.store}
            | ({"refused": dict(a.refused)} if a.refused else {})
            for a in aliases
        ]
        show.json_out(rows)
    elif any(a.names for a in aliases):
        show.table(("entity", "also called"), [(a.entity, ", ".join(a.names)) for a in aliases])
    else:
        show.line("No entity has another name." if not entity else "It has no other name.")
    show.warn_all(why for a in aliases for why in a.refused.values())
    return 0
