"""Commands edit, pin, merge and alias: change memories and entities, and choose pinned memories."""

from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.options import AS_JSON, RECORD_TYPES, STEP, argument, flag, option, repeated
from memory_fabric.errors import BadInput
from memory_fabric.ids import new_id, short_id
from memory_fabric.models import LASTING_SCOPES, STATED_TYPES, shown_type, worded
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.store.history import changes, resolve
from memory_fabric.store.history import merge as merging
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 400


def edit(
    identifier: str = argument("ID  The id that recall shows."),
    text: str | None = option("WORDS  The new wording, as a whole sentence.", None),
    kind: str | None = option(f"--type T  {', '.join(STATED_TYPES)}.", None, RECORD_TYPES),
    scope: str | None = option("S  user, team, or global (anonymised).", None, LASTING_SCOPES),
    why: str | None = option("REASON  The new reason; '' removes it.", None),
    when: str | None = option("PLACE  Command, path or activity it is for; '' removes it.", None),
    first: str | None = option("C  Command or activity that must pass first; '' removes it.", None),
    instead_of: list[str] | None = repeated("ID  Close this memory in favour of the edited one."),
    step: str = STEP,
    as_json: bool = flag("--json  Answer in JSON: the memory, `was`, `replaces`, `tiers`, `undo`."),
) -> int:
    """Change the words, type, scope or reason of a memory.

    New words are your statement: entities and relations are read from them again, and a candidate
    becomes a memory. `memory-fabric history ID` shows the words before, and one undo takes the
    change back. A memory of others, of one session, or one that was replaced cannot be edited.

        memory-fabric edit 1a2b3c4d --text "Use cursors" --why "offsets time out"
    """
    from memory_fabric.capture import edit as editing  # imported late: not needed for --help
    from memory_fabric.capture.edit import request
    from memory_fabric.rules.required import stated_first

    when = when if first is None else stated_first(when, first)
    wanted = request(text=text, kind=kind, scope=scope, why=why, when=when, prefix="--")
    if wanted == editing.Edit() and not instead_of:
        text = f"Nothing to change in {identifier} was given."
        remedy = "Use --text, --type, --scope, --why, --when, --first or --instead-of."
        raise BadInput("--text", text, remedy=remedy)
    with environment.open_memory(step=step) as whole:
        memory, by = visible_to_process(whole), environment.provenance()
        memory.batch = whole.batch = step or new_id()
        old, new, replaced = editing.change(memory, identifier, wanted, instead_of or (), by)
        whole.flush()
        tiers, failures = resolve.tiers_holding(memory, new.id), list(whole.failures)
        new_changes = changes.of_batch(whole, whole.batch)
        newest = short_id(new_changes[0].id) if new_changes else "--last"
        undo = f"memory-fabric undo {f'--step {step}' if step else newest}"
    if as_json:
        fields = {"was": formatting.as_json(old), "replaces": [r.id for r in replaced]}
        fields |= {"tiers": tiers, "undo": undo, "failures": failures}
        return show.json_out(formatting.as_json(new) | fields)
    show.line(f"Changed: {shown_type(new.type)} {short_id(new.id)}", style="bold")
    kinds, scopes = (shown_type(old.type), shown_type(new.type)), (old.scope, new.scope)
    show.facts(
        ("what", cut(new.what, MAX_TEXT_CHARS)),
        ("before", cut(old.what, MAX_TEXT_CHARS) if old.what != new.what else ""),
        ("why", cut(new.why, MAX_TEXT_CHARS)),
        ("type", " → ".join(kinds) if len(set(kinds)) > 1 else ""),
        ("scope", " → ".join(scopes) if len(set(scopes)) > 1 else ""),
        ("when", formatting.applies_when(new)),
        ("entities", ", ".join(f"{e.name} ({e.type})" for e in new.entities)),
        ("relations", formatting.relations(new)),
        ("replaces", formatting.replaced(replaced)),
        ("stored in", ", ".join(tiers)),
    )
    show.line(f"{undo} takes this back.")
    show.warn_all(failures)
    return 0


def pin(
    identifier: str = argument("ID  The id that recall shows."),
    off: bool = flag("--off  Unpin it."),
    as_json: bool = AS_JSON,
) -> int:
    """Give a memory to every session at its start, before newer ones."""
    with environment.open_memory() as memory:
        record = resolve.pin(memory, identifier, environment.provenance(), off=off)
        memory.flush()
    if as_json:
        return show.json_out(formatting.as_json(record))
    about = f"{shown_type(record.type)} {short_id(record.id)}, {one_line(worded(record))}"
    show.line(f"{'Not pinned' if off else 'Pinned'}: {about}")
    return 0


def merge(
    into: str = argument("INTO  The entity to keep."),
    names: list[str] = argument("NAME...  The entities to merge into it."),
    yes: bool = flag("--yes  Merge the entities of the preview."),
    step: str = STEP,
    as_json: bool = flag("--json  Answer in JSON: the merged entities."),
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
        is_merged = bool(result) and not result.get("queued")
        return show.json_out({"merged": is_merged, "into": plan.into.name, "names": parts})
    every = (plan.into, *plan.others)
    rows = [(p.name, p.type, str(p.observations), str(p.relations)) for p in every]
    show.table(("entity", "type", "observations", "relations"), rows)
    gone = ", ".join(part.name for part in plan.others)
    if yes:
        show.line(f"{gone}: now {plan.into.name}. memory-fabric undo --last separates them.")
    else:
        show.line(f"{gone} would become {plan.into.name}; nothing was changed. --yes merges them.")
    return 0


def alias(
    entity: str = argument("ENTITY  An entity; by default all.", ""),
    names: list[str] | None = argument("NAME...  Names to add; by default they are listed.", None),
    remove: list[str] | None = repeated("NAME  Remove this name from it."),
    as_json: bool = AS_JSON,
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
            aliases = [merging.change_aliases(memory, entity, names, environment.provenance())]
        elif remove:
            aliases = [
                merging.change_aliases(
                    memory, entity, remove, environment.provenance(), remove=True
                )
            ]
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
