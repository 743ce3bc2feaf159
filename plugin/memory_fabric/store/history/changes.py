"""The log of operations for reading: author, time, and whether each was undone."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import STAGED
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import inverses

# Displayed short ids have eight characters; with fewer than six several ids would often fit.
MIN_ID_CHARS = 6
# The kind of the change that begins a run over past sessions.
LEARN = "learn"


@dataclass(frozen=True, slots=True)
class Change:
    """One logged operation: `by` is its provenance, `inverse` takes it back."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    inverse: Sequence[Mapping[str, Any]]
    by: Mapping[str, str]
    store: str
    seq: int
    undone: bool = False

    @property
    def at(self) -> str:
        """The time at which it was made, in ISO 8601."""
        return str(self.by.get("at", ""))

    @property
    def settles(self) -> bool:
        """True if it only gave a staged record its trust: it is undone with what was stated."""
        return self.kind == "put_record" and any(
            STAGED in step["payload"]["record"].get("evidence", {})
            for step in self.inverse
            if step["kind"] == "put_record"
        )


def read(
    database: Database, where: str = "1", values: Sequence[Any] = (), limit: int = -1
) -> list[Change]:
    """Return operations of one database that meet a condition on their columns, newest first."""
    return _read(database, where, values, limit, undone_ids(database))


def find(memory: Memory, store: str, id_: str) -> Change | None:
    """Return the operation with this id in one database; its `undone` is not filled in."""
    database = memory.database(store, create=False)
    found = _read(database, "id = ?", (id_,), 1, frozenset()) if database else []
    return found[0] if found else None


def _read(
    database: Database, where: str, values: Sequence[Any], limit: int, undone: frozenset[str]
) -> list[Change]:
    rows = database.rows(
        "SELECT id, kind, payload, inverse, provenance, seq FROM operations "
        f"WHERE {where} ORDER BY seq DESC LIMIT ?",
        [*values, limit],
    )
    found = []
    for id_, kind, payload, inverse, provenance, seq in rows:
        said = json.loads(payload)
        back = inverses.read(kind, said, inverse)
        by = json.loads(provenance)
        found.append(Change(id_, kind, said, back, by, database.kind, seq, id_ in undone))
    return found


def read_all(
    memory: Memory, where: str = "1", values: Sequence[Any] = (), limit: int = -1
) -> list[Change]:
    """Return operations of both databases that meet a condition, newest first."""
    read_from = (read(database, where, values, limit) for database in memory.databases())
    found = newest_first(change for changes in read_from for change in changes)
    return found if limit < 0 else found[:limit]


def newest_first(found: Iterable[Change]) -> list[Change]:
    """Sort changes of both databases by time; those of one database keep its order.

    A change that waited in a queue was made earlier than it was applied.
    """
    stores: dict[str, list[Change]] = {}
    for change in found:
        stores.setdefault(change.store, []).append(change)
    for changes in stores.values():
        changes.sort(key=lambda change: change.seq, reverse=True)
    return list(heapq.merge(*stores.values(), key=lambda change: change.at, reverse=True))


def by_id(memory: Memory, text: str) -> Change:
    """Return the operation that an id, its beginning or its end names. Raises NotFound,
    BadInput.
    """
    part = text.strip().lower().replace("%", "").replace("_", "")
    found = []
    if len(part) >= MIN_ID_CHARS:
        found = read_all(memory, "id LIKE ? OR id LIKE ?", (f"{part}%", f"%{part}"))
    if not found:
        raise NotFound(
            text, f"No change has the id {text!r}.", remedy="memory-fabric history shows ids."
        )
    if len(found) > 1:
        ids = ", ".join(change.id for change in found)
        raise BadInput(
            "id", f"{text!r} fits several changes: {ids}.", remedy="Type more of the id."
        )
    return found[0]


def together(memory: Memory, change: Change, *, is_named: bool = False) -> list[Change]:
    """Return the change with all others of its batch (a prune) that are not undone, newest first;
    the change alone if it has no batch.

    A run over past sessions makes changes that have little in common: one that `is_named` by its
    id stands alone, but the run's beginning for all of them.
    """
    batch = change.payload.get("batch")
    if not isinstance(batch, str) or not batch:
        return [change]
    found = [c for c in of_batch(memory, batch) if not c.undone]
    if is_named and change.kind != LEARN and any(c.kind == LEARN for c in found):
        return [change]
    return found or [change]


def of_batch(memory: Memory, batch: str) -> list[Change]:
    """Return the changes of a batch, newest first."""
    # The first condition avoids parsing most payloads.
    where = "instr(payload, ?1) > 0 AND json_extract(payload, '$.batch') = ?1"
    return read_all(memory, where, (batch,))


def undone_ids(database: Database) -> frozenset[str]:
    """Return ids of operations that an undo has taken back that was not undone itself."""
    undone: set[str] = set()
    for id_, target in database.rows(
        "SELECT id, json_extract(payload, '$.operation') FROM operations WHERE kind = 'undo' "
        "ORDER BY seq DESC"
    ):
        if id_ not in undone:
            undone.add(target)
    return frozenset(undone)
