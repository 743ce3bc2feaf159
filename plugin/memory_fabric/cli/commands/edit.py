"""edit, pin: change a memory, and give one to every session at its start."""

from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.options import RECORD_TYPES, AsJson, Step, argument, flag, option
from memory_fabric.errors import BadInput
from memory_fabric.ids import new_id, short_id
from memory_fabric.models import LASTING_SCOPES, STATED_TYPES, shown_type, worded
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.store.history import changes, resolve
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 400


def edit(
    identifier: str = argument(..., "ID", "The id that recall shows."),
    text: str | None = option(None, "WORDS", "The new wording, as a whole sentence."),
    kind: str | None = option(
        None,
        "T",
        f"{', '.join(STATED_TYPES[:-1])} or {STATED_TYPES[-1]}.",
        "--type",
        choices=RECORD_TYPES,
    ),
    scope: str | None = option(
        None,
        "S",
        "user, team, or global, which removes names of hosts, paths, people, companies and "
        "locations.",
        choices=LASTING_SCOPES,
    ),
    why: str | None = option(None, "REASON", "The new reason; '' removes it."),
    when: str | None = option(
        None, "PLACE", "The command, path or activity in which it applies; '' removes it."
    ),
    instead_of: list[str] | None = option(
        None, "ID", "Close this memory in favour of the edited one; can be repeated."
    ),
    step: Step = "",
    as_json: bool = flag(
        "--json",
        "Answer in JSON: the memory now, with `was` (before), `replaces`, `tiers`, `undo` and "
        "`failures`.",
    ),
) -> int:
    """Change the words, type, scope or reason of a memory.

    New words are your statement: entities and relations are read from them again, and a candidate
    becomes a memory. `memory-fabric history ID` shows the words before, and one
    `memory-fabric undo` takes the change back, also a move between this project and all projects.
    A memory of others, of one session, or one that was replaced cannot be edited.

        memory-fabric edit 1a2b3c4d --text "Use cursors everywhere" --why "offsets time out"
        memory-fabric edit 1a2b3c4d --instead-of 5e6f7a8b
    """
    from memory_fabric.capture import edit as editing  # not needed for --help
    from memory_fabric.capture.edit import request

    wanted = request(text=text, kind=kind, scope=scope, why=why, when=when, prefix="--")
    if wanted == editing.Edit() and not instead_of:
        raise BadInput(
            "--text",
            f"Nothing to change in {identifier} was given.",
            remedy="Use --text, --type, --scope, --why, --when or --instead-of.",
        )
    with environment.open_memory(step=step) as whole:
        memory, by = visible_to_process(whole), environment.provenance()
        memory.batch = whole.batch = step or new_id()
        old, new, replaced = editing.change(memory, identifier, wanted, instead_of or (), by)
        whole.flush()
        tiers, failures = resolve.tiers_holding(memory, new.id), list(whole.failures)
        made = changes.of_batch(whole, whole.batch)
        newest = short_id(made[0].id) if made else "--last"
        undo = f"memory-fabric undo {f'--step {step}' if step else newest}"
    if as_json:
        return show.json_out(
            formatting.as_json(new)
            | {"was": formatting.as_json(old), "replaces": [r.id for r in replaced]}
            | {"tiers": tiers, "undo": undo, "failures": failures}
        )
    show.line(f"Changed: {shown_type(new.type)} {short_id(new.id)}", style="bold")
    show.facts(
        (
            ("what", cut(new.what, MAX_TEXT_CHARS)),
            ("before", cut(old.what, MAX_TEXT_CHARS) if old.what != new.what else ""),
            ("why", cut(new.why, MAX_TEXT_CHARS)),
            ("type", _arrow(shown_type(old.type), shown_type(new.type))),
            ("scope", _arrow(old.scope, new.scope)),
            ("when", formatting.applies_when(new)),
            ("entities", ", ".join(f"{e.name} ({e.type})" for e in new.entities)),
            ("relations", formatting.relations(new)),
            ("replaces", formatting.replaced(replaced)),
            ("stored in", ", ".join(tiers)),
        )
    )
    show.line(f"{undo} takes this back.")
    show.warn_all(failures)
    return 0


def _arrow(old: str, new: str) -> str:
    return f"{old} → {new}" if old != new else ""


def pin(
    identifier: str = argument(..., "ID", "The id that recall shows."),
    off: bool = flag("--off", "Unpin it."),
    as_json: AsJson = False,
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
