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
from memory_fabric.store.operations import occurrences
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 160
NOTHING = (
    "No candidates. A statement without a reason waits here until another session repeats it; a "
    "rule that you had to correct twice is proposed here to be pinned."
)


def candidates(
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            metavar="ID",
            help="Remember a candidate as your own statement, or pin a rule that was corrected "
            "twice.",
        ),
    ] = "",
    drop: Annotated[
        str,
        typer.Option(
            "--drop",
            metavar="ID",
            help="Forget a candidate, or leave such a rule unpinned and do not propose it again.",
        ),
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: `candidates` and `corrected_twice`.")
    ] = False,
) -> int:
    """List statements that were heard only once, and rules that were corrected twice.

    Shows the date, session and confidence of each, and what it lacks to become a memory; rules
    only if they are not pinned. A candidate is not given to sessions, not found by
    `memory-fabric recall` and not written to MEMORY.md. It is dropped if it is not repeated within
    90 days.
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
    record, seen, kind = store.named(memory, identifier)
    by = environment.provenance()
    if record.status != "candidate":
        settle, done = (store.pin, "pinned") if keep else (store.decline, "left unpinned")
        return done, settle(memory, record, seen, kind, by)
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


def _as_json(found: store.Waiting) -> dict[str, Any]:
    return {
        "candidates": [
            formatting.as_json(r) | {"missing": store.missing([r])} for r in found.candidates
        ],
        "corrected_twice": [
            formatting.as_json(r) | {"corrected": occurrences.times(r)} for r in found.proposals
        ],
    }


def _show(found: store.Waiting) -> None:
    if not (found.candidates or found.proposals):
        show.line(NOTHING)
        return
    if found.candidates:
        show.line("Heard once, not a memory yet", style="bold")
        columns = ("id", "type", "since", "session", "sure", "what")
        show.table(columns, [_row(r) for r in found.candidates])
        lacking = store.missing(found.candidates)
        show.line(f"Missing: {lacking}. --keep ID remembers a candidate, --drop ID forgets it.")
    if found.proposals:
        show.line("Corrected twice, not pinned", style="bold")
        show.table(("id", "corrected", "what"), [_proposal(r) for r in found.proposals])
        show.line("--keep ID (or memory-fabric pin ID) pins one, --drop ID leaves it unpinned.")


def _row(record: Record) -> Sequence[str]:
    said = cut(one_line(record.what), MAX_TEXT_CHARS)
    where = f"{short_id(record.session)}, {record.source}" if record.session else record.source
    day = record.created_at[:10]
    return (short_id(record.id), record.type, day, where, f"{record.confidence:.2f}", said)


def _proposal(record: Record) -> Sequence[str]:
    days = ", ".join(dict.fromkeys(at[:10] for at in occurrences.times(record)))
    times = f"{len(occurrences.times(record))} times, {days}"
    return (short_id(record.id), times, cut(one_line(record.what), MAX_TEXT_CHARS))


def _line(record: Record) -> str:
    return f"{record.type} {short_id(record.id)}, {one_line(record.what)}"
