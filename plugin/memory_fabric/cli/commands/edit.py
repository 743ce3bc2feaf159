"""edit: change the words, type, scope or reason of a memory."""

from __future__ import annotations

from typing import Annotated

import typer

from memory_fabric.cli import environment, formatting, option_values, show
from memory_fabric.cli.option_values import LASTING_SCOPES, STATED_TYPES
from memory_fabric.errors import BadInput
from memory_fabric.ids import new_id, short_id
from memory_fabric.models import Record, record_type
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.store.history import changes, resolve
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line, without_controls

MAX_TEXT_CHARS = 16 << 10


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

    wanted = editing.Edit(
        _words(text, "--text", required=True),
        _one_of(kind and record_type(kind), "--type", STATED_TYPES),
        _one_of(scope, "--scope", LASTING_SCOPES),
        _words(why, "--why"),
        _words(when, "--when"),
    )
    if wanted == editing.Edit() and not instead_of:
        raise BadInput(
            "--text",
            f"Nothing to change in {identifier} was given.",
            remedy="Use --text, --type, --scope, --why, --when or --instead-of.",
        )
    with environment.open_memory(step=step) as whole:
        memory, by = visible_to_process(whole), environment.provenance()
        memory.batch = whole.batch = step or new_id()
        old = editing.editable(memory, identifier)
        closing = [editing.editable(memory, name) for name in instead_of or ()]
        if any(one.record.id == old.record.id for one in closing):
            raise BadInput(
                "--instead-of", f"{identifier} cannot replace itself.", remedy="Name another."
            )
        new = old.record
        if wanted != editing.Edit():
            closed_ids = [one.record.id for one in closing]
            new = editing.edited(memory, old.record, wanted, by, closed_ids)
            editing.save(memory, old, new, by)
        for one in closing:
            editing.close(memory, one, new, by)
        whole.flush()
        replaced = [one.record for one in closing]
        tiers, failures = resolve.tiers_holding(memory, new.id), list(whole.failures)
        undo = f"undo --step {step}" if step else f"undo {_change(whole)}"
    if as_json:
        show.json_out(
            formatting.as_json(new)
            | {"was": formatting.as_json(old.record), "replaces": [r.id for r in replaced]}
            | {"tiers": tiers, "undo": f"memory-fabric {undo}", "failures": failures}
        )
        return 0
    _show(old.record, new, replaced, tiers)
    show.line(f"memory-fabric {undo} takes this back.")
    for failure in failures:
        show.warn(failure)
    return 0


def _words(text: str | None, option: str, *, required: bool = False) -> str | None:
    """Return the text as it may be stored; None if it was not given. Raises BadInput."""
    if text is None:
        return None
    from memory_fabric.redaction.redact import redact, says_only_secrets  # not needed for --help

    text = one_line(without_controls(text))
    if required and not any(map(str.isalnum, text)):
        raise BadInput(
            option, f"{option} is empty.", remedy="Give a sentence; forget removes a memory."
        )
    if len(text) > MAX_TEXT_CHARS:
        raise BadInput(
            option,
            f"{option} has {len(text)} characters; the limit is {MAX_TEXT_CHARS}.",
            remedy="Shorten it.",
        )
    if text and says_only_secrets(text):
        raise BadInput(
            option,
            f"{option} is only a secret, and secrets are not stored.",
            remedy="State where the secret is kept instead.",
        )
    return redact(text)


def _one_of(value: str | None, option: str, known: tuple[str, ...] | list[str]) -> str | None:
    if value is not None and value not in known:
        local = " A memory of scope local ends with its session." if value == "local" else ""
        raise BadInput(
            option, f"{option} cannot be {value!r}.{local}", remedy=f"Use {', '.join(known)}."
        )
    return value


def _change(memory: Memory) -> str:
    """Return the id of the newest change of this command."""
    made = changes.of_batch(memory, memory.batch)
    return short_id(made[0].id) if made else "--last"


def _show(old: Record, new: Record, replaced: list[Record], tiers: list[str]) -> None:
    show.line(f"Changed: {new.type} {short_id(new.id)}", style="bold")
    show.facts(
        (
            ("what", cut(new.what, 400)),
            ("before", cut(old.what, 400) if old.what != new.what else ""),
            ("why", cut(new.why, 400)),
            ("type", f"{old.type} → {new.type}" if old.type != new.type else ""),
            ("scope", f"{old.scope} → {new.scope}" if old.scope != new.scope else ""),
            ("when", formatting.applies_when(new)),
            ("entities", ", ".join(f"{e.name} ({e.type})" for e in new.entities)),
            ("relations", "; ".join(f"{r.source} {r.type} {r.target}" for r in new.relations)),
            ("replaces", "; ".join(f"{r.what} ({short_id(r.id)})" for r in replaced)),
            ("stored in", ", ".join(tiers)),
        )
    )
