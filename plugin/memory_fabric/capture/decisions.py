"""Decisions of the user: on candidates, on what contradicts, and on what a note replaced."""

from __future__ import annotations

from collections.abc import Callable

from memory_fabric.capture import edit, remember
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.ids import short_id
from memory_fabric.models import AGREED, Provenance, Record, contradicted
from memory_fabric.store.history import candidates, resolve
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations.remember import OPEN
from memory_fabric.store.schema import ACTIVE_CURRENT

Done = tuple[str, Record]

REMEMBERED, FORGOTTEN, KEPT, OPENED = "remembered", "forgotten", "kept", "taken back"


def decision(memory: Memory, name: str, by: Provenance, *, keep: bool) -> Callable[[], Done]:
    """Return the change that keeps or drops the candidate of this id, and then says what was done.

    Raises NotFound and BadInput; the change raises StoreUnavailable.
    """
    record = candidates.named(memory, name)

    def change() -> Done:
        if not keep:
            memory.forget([record.id], by)
            return FORGOTTEN, record
        kept = remember.keep(memory, record, by)
        if kept is None:
            raise StoreUnavailable(
                "", "The candidate could not be stored.", remedy="Run memory-fabric doctor."
            )
        return REMEMBERED, kept

    return change


def keep(memory: Memory, name: str, by: Provenance) -> Done:
    """Keep what an id names: a candidate as the user's, any other beside what contradicts it.

    What was replaced or dropped is opened again. Raises NotFound, BadInput and StoreUnavailable.
    """
    record, seen, store = resolve.record_by_id(memory, name)
    if record.status == "candidate":
        return decision(memory, record.id, by, keep=True)()
    if not record.valid_to:
        return KEPT, edit.confirm(memory, edit.editable(memory, record.id), by)
    was = {"by": record.superseded_by, "at": record.valid_to}
    memory.write_now(
        "supersede", {"links": [{"id": record.id, **OPEN, "was": was}]}, by, store=store
    )
    opened = record._replace(superseded_by="", valid_to="")
    return OPENED, edit.confirm(memory, edit.Stored(opened, seen, store), by)


def replace(memory: Memory, name: str, by: Provenance) -> tuple[Record, tuple[Record, ...]]:
    """Close what the record of an id contradicts in its favour; return it and what was closed.

    Whatever its trust, the user has agreed to it. Raises NotFound, BadInput, StoreUnavailable.
    """
    new = edit.editable(memory, name).record
    marks = ", ".join("?" * len(contradicted(new)))
    old = memory.find_records(f"id IN ({marks}) AND {ACTIVE_CURRENT}", contradicted(new))
    if not old:
        raise BadInput(
            "id",
            f"{short_id(new.id)} contradicts nothing on record.",
            remedy="memory-fabric edit ID --instead-of OTHER closes any other.",
        )
    if new.status == "candidate":
        _, new = decision(memory, new.id, by, keep=True)()
    changed = edit.change(memory, new.id, edit.Edit(), [one.id for one in old], by)
    stored = edit.editable(memory, changed.new.id)
    if new.trust != "user":
        evidence = {AGREED: f"replace {short_id(new.id)}", **stored.record.evidence}
        stored = stored._replace(record=stored.record._replace(evidence=evidence))
    return edit.confirm(memory, stored, by), changed.replaced
