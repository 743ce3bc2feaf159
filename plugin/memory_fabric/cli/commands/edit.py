"""edit: change the words, type, scope or reason of a memory."""

from collections.abc import Sequence
from typing import Annotated

import typer

from memory_fabric.cli import environment, formatting, option_values, show
from memory_fabric.errors import BadInput
from memory_fabric.ids import new_id, short_id
from memory_fabric.models import STATED_TYPES, Record, shown_type
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.store.history import changes, resolve
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut


def edit(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The id that recall shows.")],
    text: Annotated[
        str | None, typer.Option(metavar="WORDS", help="The new wording, as a whole sentence.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="T",
            autocompletion=option_values.record_types,
            help=f"{', '.join(STATED_TYPES[:-1])} or {STATED_TYPES[-1]}.",
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            autocompletion=option_values.lasting_scopes,
            help="user, team, or global, which removes names of hosts, paths, people, companies "
            "and locations.",
        ),
    ] = None,
    why: Annotated[
        str | None, typer.Option(metavar="REASON", help="The new reason; '' removes it.")
    ] = None,
    when: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="The command, path or activity in which it applies; '' removes it.",
        ),
    ] = None,
    instead_of: Annotated[
        list[str] | None,
        typer.Option(
            "--instead-of",
            metavar="ID",
            help="Close this memory in favour of the edited one; can be repeated.",
        ),
    ] = None,
    step: environment.Step = "",
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: the memory now, with `was` (before), `replaces`, `tiers`, "
            "`undo` and `failures`.",
        ),
    ] = False,
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
        undo = f"undo --step {step}" if step else f"undo {_change(whole)}"
    if as_json:
        show.json_out(
            formatting.as_json(new)
            | {"was": formatting.as_json(old), "replaces": [r.id for r in replaced]}
            | {"tiers": tiers, "undo": f"memory-fabric {undo}", "failures": failures}
        )
        return 0
    _show(old, new, replaced, tiers)
    show.line(f"memory-fabric {undo} takes this back.")
    for failure in failures:
        show.warn(failure)
    return 0


def _change(memory: Memory) -> str:
    """Return the id of the newest change of this command."""
    made = changes.of_batch(memory, memory.batch)
    return short_id(made[0].id) if made else "--last"


def _show(old: Record, new: Record, replaced: Sequence[Record], tiers: list[str]) -> None:
    show.line(f"Changed: {shown_type(new.type)} {short_id(new.id)}", style="bold")
    show.facts(
        (
            ("what", cut(new.what, 400)),
            ("before", cut(old.what, 400) if old.what != new.what else ""),
            ("why", cut(new.why, 400)),
            (
                "type",
                f"{shown_type(old.type)} → {shown_type(new.type)}" if old.type != new.type else "",
            ),
            ("scope", f"{old.scope} → {new.scope}" if old.scope != new.scope else ""),
            ("when", formatting.applies_when(new)),
            ("entities", ", ".join(f"{e.name} ({e.type})" for e in new.entities)),
            ("relations", "; ".join(f"{r.source} {r.type} {r.target}" for r in new.relations)),
            ("replaces", "; ".join(f"{r.what} ({short_id(r.id)})" for r in replaced)),
            ("stored in", ", ".join(tiers)),
        )
    )
