"""candidates: confirm or drop statements that are not memories yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, formatting, show
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.ids import short_id, timestamp
from memory_fabric.models import Record
from memory_fabric.store.history import candidates as store
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 160
NOTHING = (
    "No candidates. A sentence that sounded like a rule or a decision, and that was not noted, "
    "waits here until it is kept or dropped, or another session says it."
)


def candidates(
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            metavar="ID",
            help="Remember a candidate as your own statement.",
        ),
    ] = "",
    drop: Annotated[
        str,
        typer.Option(
            "--drop",
            metavar="ID",
            help="Forget a candidate.",
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON: `candidates`.")] = False,
) -> int:
    """List sentences that were heard and not noted.

    Shows the date, session and confidence of each, and what it lacks to become a memory. A
    candidate is not given to sessions, not found by `memory-fabric recall` and not written to
    MEMORY.md. It is dropped if it is not repeated within 90 days.
    """
    if keep and drop:
        raise BadInput("--keep", "Use either --keep or --drop, not both.")
    with environment.open_memory() as memory:
        if keep or drop:
            done, record = _confirm_or_drop(memory, keep or drop, bool(keep))
            memory.flush()
            if as_json:
                show.json_out({"done": done, "record": formatting.as_json(record)})
            else:
                show.line(f"{done.capitalize()}: {_line(record)}")
            return 0
        found = store.waiting(memory)
        store.note_shown(memory, found, timestamp())
    if as_json:
        show.json_out(_as_json(found))
    else:
        _show(found)
    return 0


def _confirm_or_drop(memory: Memory, identifier: str, keep: bool) -> tuple[str, Record]:
    """Return a word for what was done, and the record after (or before) it."""
    record = store.named(memory, identifier)
    by = environment.provenance()
    if not keep:
        memory.forget([record.id], by)
        return "forgotten", record
    from memory_fabric.capture import remember  # not needed to list

    kept = remember.keep(memory, record, by)
    if kept is None:
        raise StoreUnavailable(
            "", "The candidate could not be stored.", remedy="Run memory-fabric doctor."
        )
    return "remembered", kept


def _as_json(found: Sequence[Record]) -> dict[str, Any]:
    told = [formatting.as_json(r) | {"missing": store.missing([r])} for r in found]
    return {"candidates": told}


def _show(found: Sequence[Record]) -> None:
    if not found:
        show.line(NOTHING)
        return
    show.line("Heard once, not a memory yet", style="bold")
    columns = ("id", "type", "since", "session", "sure", "what")
    show.table(columns, [_row(r) for r in found])
    lacking = store.missing(found)
    show.line(f"Missing: {lacking}. --keep ID remembers a candidate, --drop ID forgets it.")


def _row(record: Record) -> Sequence[str]:
    said = cut(one_line(record.what), MAX_TEXT_CHARS)
    where = f"{short_id(record.session)}, {record.source}" if record.session else record.source
    day = record.created_at[:10]
    return (short_id(record.id), record.type, day, where, f"{record.confidence:.2f}", said)


def _line(record: Record) -> str:
    return f"{record.type} {short_id(record.id)}, {one_line(record.what)}"
