"""Undo: which changes it means, and taking them back, newest first.

An undo is an operation itself and holds all its steps: a journal replays it, and it can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memory_fabric import ids
from memory_fabric.errors import NotFound
from memory_fabric.models import Provenance
from memory_fabric.store.history import changes
from memory_fabric.store.history.changes import Change
from memory_fabric.store.memory import Memory

# What changed nothing that a reader sees, or cannot come back.
_NOT_LAST = "kind NOT IN ('undo', 'purged', 'tombstones') AND inverse <> '[]'"


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of one change: undone by the operation `by`, or not, `because` of something."""

    change: Change
    by: str = ""
    because: str = ""


def last(memory: Memory) -> Change:
    """The newest change that stands; called again after an undo, the one before. Raises NotFound.

    An undo counts as the change that it took back: to undo an undo, name it by its id.
    """
    for limit in (50, -1):
        for change in changes.read_all(memory, _NOT_LAST, limit=limit):
            if not change.undone:
                return change
    raise NotFound("", "There is nothing to undo.", remedy="memory-fabric history shows changes.")


def of_session(memory: Memory, session: str) -> list[Change]:
    """All changes of a session, newest first, in both databases; without its undos of them.

    Raises NotFound when it made none.
    """
    found = changes.read_all(memory, "session = ? AND kind <> 'purged'", (session,))
    own = {change.id for change in found}
    left = [c for c in found if c.kind != "undo" or c.payload.get("operation") not in own]
    if not session or not left:
        raise NotFound(
            session,
            f"No change was made in the session {session!r}.",
            remedy="memory-fabric history --json names the session of each change.",
        )
    return left


def prospect(change: Change) -> str:
    """Why a change cannot be undone; empty when it can."""
    if change.kind == "purged":
        return "it was erased for good"
    if change.undone:
        return "it is undone already"
    if change.inverse:
        return ""
    return "a turn does not come back" if change.payload.get("turns") else "it changed nothing"


def undo(memory: Memory, chosen: Sequence[Change], provenance: Provenance) -> list[Undone]:
    """Take back these changes, in this order, each as one operation; then the other tiers follow.

    Those that cannot be undone are skipped and said. What was added or forgotten since stays so.
    Raises StoreUnavailable.
    """
    told = []
    # What was done as one and undone as one is done again as one.
    batch = {"batch": ids.new_id()} if any(c.payload.get("batch") for c in chosen) else {}
    for change in chosen:
        because = prospect(change)
        if not because:
            payload = {"operation": change.id, "steps": _steps(memory, change), **batch}
            # Who may read the change may read that it was taken back.
            by = provenance._replace(domain=change.by.get("domain") or provenance.domain)
            result = memory.write("undo", payload, by, store=change.store)
            because = "it waits in the queue" if result.get("queued") else ""
        told.append(Undone(change, "" if because else _newest_undo(memory, change), because))
    memory.flush()
    return told


def _steps(memory: Memory, change: Change) -> list[Any]:
    steps = list(change.inverse)
    if change.kind != "forget" or any(step["kind"] == "tombstones" for step in steps):
        return steps
    # Release 0.1.0 did not note which tombstones its forgetting had set.
    database = memory.database(change.store, create=False)
    graves = [
        list(row)
        for id_ in change.payload["ids"]
        for row in (
            database.rows("SELECT * FROM tombstones WHERE id = ?", (id_,)) if database else ()
        )
        if row[2] == change.at
    ]
    return [{"kind": "tombstones", "payload": {"add": [], "remove": graves}}, *steps]


def _newest_undo(memory: Memory, change: Change) -> str:
    database = memory.database(change.store, create=False)
    row = database and database.row(
        "SELECT id FROM operations WHERE kind = 'undo' "
        "AND json_extract(payload, '$.operation') = ? ORDER BY seq DESC LIMIT 1",
        (change.id,),
    )
    return str(row[0]) if row else ""
