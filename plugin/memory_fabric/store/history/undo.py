"""Undo: select changes and reverse them. An undo is an operation, which can itself be undone."""

from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.errors import NotFound
from memory_fabric.models import OTHER_MACHINE, Provenance
from memory_fabric.store.history import changes
from memory_fabric.store.history.changes import Change
from memory_fabric.store.memory import Memory

# SQL condition: the operation can be undone, is not an undo, and was made on this machine.
_NOT_LAST = (
    "kind NOT IN ('undo', 'purged', 'tombstones') AND inverse <> '[]' "
    f"AND json_extract(provenance, '$.origin') <> '{OTHER_MACHINE}'"
)
_UNDO_OF = (
    "SELECT id FROM operations WHERE kind = 'undo' "
    "AND json_extract(payload, '$.operation') = ? ORDER BY seq DESC LIMIT 1"
)


class Undone(NamedTuple):
    """The result of undoing `change`: the undo's id (`by`), or why there is none (`because`)."""

    change: Change
    by: str = ""
    because: str = ""


def last(memory: Memory, session: str = "") -> Change:
    """Return the newest change (of the session, if given) that is not undone. Raises NotFound."""
    where = f"{_NOT_LAST} AND ? IN ('', session)"
    for limit in (50, -1):
        for change in changes.read_all(memory, where, (session,), limit):
            if not change.undone and not change.settles:
                return change
    raise NotFound("", "There is nothing to undo.", remedy="memory-fabric history shows changes.")


def of_session(memory: Memory, session: str) -> list[Change]:
    """Return a session's changes without its own undo operations, newest first. Raises NotFound."""
    listed = changes.read_all(memory, "session = ? AND kind <> 'purged'", (session,))
    own = {change.id for change in listed}
    listed = [c for c in listed if c.kind != "undo" or c.payload.get("operation") not in own]
    if not session or not listed:
        problem = f"No change was made in the session {session!r}."
        remedy = "memory-fabric history --json names the session of each change."
        raise NotFound(session, problem, remedy=remedy)
    return listed


def of_step(memory: Memory, name: str) -> list[Change]:
    """Return the changes made with `--step NAME` and not undone, newest first. Raises NotFound."""
    listed = [change for change in changes.of_batch(memory, name) if not change.undone]
    if not listed:
        problem = f"No change was made with --step {name}, or it is undone already."
        raise NotFound(name, problem, remedy="memory-fabric history shows changes.")
    return listed


def prospect(change: Change) -> str:
    """Return the reason why a change cannot be undone; empty if it can be."""
    if change.kind == "purged":
        return "it was purged"
    if change.undone:
        return "it is undone already"
    if change.inverse:
        return ""
    has_turns = change.payload.get("turns")
    return "a forgotten turn cannot be restored" if has_turns else "it changed nothing"


def undo(memory: Memory, chosen: Sequence[Change], provenance: Provenance) -> list[Undone]:
    """Undo the changes in the given order; return a result for each. Raises StoreUnavailable."""
    results = []
    # The undo of a batch gets a batch id of its own, so that this undo can be undone as a whole.
    batch = {"batch": ids.new_id()} if any(c.payload.get("batch") for c in chosen) else {}
    for change in chosen:
        if not (because := prospect(change)):
            payload = {"operation": change.id, "steps": list(change.inverse), **batch}
            # The undo gets the domain of the change, so that it is visible in that domain.
            by = provenance._replace(domain=change.by.get("domain") or provenance.domain)
            result = memory.write("undo", payload, by, store=change.store)
            because = "it waits in the queue" if result.get("queued") else ""
        # If the undo was queued, the database probably cannot be opened, so do not try.
        database = None if because else memory.database(change.store, create=False)
        newest = database and database.row(_UNDO_OF, (change.id,))
        results.append(Undone(change, str(newest[0]) if newest else "", because))
    memory.flush()
    return results
