"""Read access to the log of operations: author, time, description, and whether each was undone."""

import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import STAGED, Payload
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import kinds
from memory_fabric.store.operations.kind import former_records
from memory_fabric.text import cut, one_line

# The shortest part of an id that is accepted; displayed short ids have eight characters.
MIN_ID_CHARS = 4
MAX_PHRASE_CHARS = 200
# The kind of the operation that begins a `learn` run; a run reads past sessions as one batch.
LEARN = "learn"
# Fields of payloads that contain the name of an entity, or a list of names.
_NAMES = frozenset(("name", "names", "entity", "entityName", "entityNames", "into", "from", "to"))


class Change(NamedTuple):
    """One logged operation. `by` is its provenance; applying `inverse` undoes it. `what` is a
    phrase that describes the operation; only `trace` sets it.
    """

    id: str
    kind: str
    payload: Payload
    inverse: Sequence[Payload]
    by: Mapping[str, str]
    store: str
    seq: int
    undone: bool
    what: str = ""

    @property
    def at(self) -> str:
        """Return the time of the change, in ISO 8601."""
        return str(self.by.get("at", ""))

    @property
    def settles(self) -> bool:
        """Return True if this only sets the final trust of a staged note, and is undone with it."""
        former = former_records(self.inverse)
        return self.kind == "put_record" and any(STAGED in r.get("evidence", {}) for r in former)


def read(
    database: Database,
    where: str = "1",
    values: Sequence[Any] = (),
    limit: int = -1,
    undone: frozenset[str] | None = None,
) -> list[Change]:
    """Return the operations that match the SQL condition `where` with `values`, newest first.
    `undone` is the set of ids of undone operations; if None, it is read from the database.
    """
    if undone is None:
        ids_undone: set[str] = set()
        undos = "FROM operations WHERE kind = 'undo' ORDER BY seq DESC"
        query = f"SELECT id, json_extract(payload, '$.operation') {undos}"
        for id_, target in database.rows(query):
            if id_ not in ids_undone:  # skip an undo that was itself undone
                ids_undone.add(target)
        undone = frozenset(ids_undone)
    changes = []
    columns, newest = "id, kind, payload, inverse, provenance, seq", "ORDER BY seq DESC LIMIT ?"
    query = f"SELECT {columns} FROM operations WHERE {where} {newest}"
    for id_, kind, text, inverse, provenance, seq in database.rows(query, [*values, limit]):
        payload, by = json.loads(text), json.loads(provenance)
        back = kinds.read_inverse(kind, payload, inverse)
        changes.append(Change(id_, kind, payload, back, by, database.kind, seq, id_ in undone))
    return changes


def find(memory: Memory, store: str, id_: str) -> Change | None:
    """Return a database's operation with this id, or None; its `undone` is always False."""
    database = memory.database(store, create=False)
    return next(iter(read(database, "id = ?", (id_,), 1, frozenset()) if database else ()), None)


def read_all(
    memory: Memory, where: str = "1", values: Sequence[Any] = (), limit: int = -1
) -> list[Change]:
    """Return operations of both databases that match a condition, newest first."""
    lists = (read(database, where, values, limit) for database in memory.databases())
    changes = newest_first(change for changes in lists for change in changes)
    return changes if limit < 0 else changes[:limit]


def newest_first(changes: Iterable[Change]) -> list[Change]:
    """Sort by time; within a database, keep the log's order: queued changes are logged late."""
    stores: dict[str, list[Change]] = {}
    for change in sorted(changes, key=lambda change: change.seq, reverse=True):
        stores.setdefault(change.store, []).append(change)
    return list(heapq.merge(*stores.values(), key=lambda change: change.at, reverse=True))


def by_id(memory: Memory, text: str) -> Change:
    """Return the operation whose id begins or ends with this text. Raises NotFound, BadInput."""
    part = text.strip().lower().replace("%", "").replace("_", "")
    like, is_id = "id LIKE ? OR id LIKE ?", len(part) >= MIN_ID_CHARS
    matches = read_all(memory, like, (f"{part}%", f"%{part}")) if is_id else []
    if not matches:
        problem = f"No change has the id {text!r}."
        raise NotFound(text, problem, remedy="memory-fabric history shows ids.")
    if len(matches) > 1:
        problem = f"{text!r} fits several changes: {', '.join(c.id for c in matches)}."
        raise BadInput("id", problem, remedy="Type more of the id.")
    return matches[0]


def together(memory: Memory, change: Change, *, is_named: bool = False) -> list[Change]:
    """Return the changes to undo together with this one: those of its batch, newest first, then all
    changes to records that a note of the batch replaced. If the user selected this change
    (`is_named`), and it belongs to a `learn` run but did not begin it, return only this change.
    """
    batch = change.payload.get("batch")
    if not isinstance(batch, str) or not batch:
        return [change]
    changes = [c for c in of_batch(memory, batch) if not c.undone]
    if is_named and change.kind != LEARN and any(c.kind == LEARN for c in changes):
        return [change]
    listed_ids = {c.id for c in changes}
    # A `forget` without tombstones (`bury` False) deleted what a note of the batch replaces.
    said_better = [c for c in changes if c.kind == "forget" and c.payload.get("bury") is False]
    said_better = [c for c in said_better if not c.payload.get("moved_to")]
    replaced = [record for c in said_better for record in former_records(c.inverse)]
    for id_ in [record["id"] for record in replaced if record.get("status") == "active"]:
        where = "kind IN ('remember', 'put_record') AND instr(payload || inverse, ?) > 0"
        for c in read_all(memory, where, (id_,)):
            stored = (c.payload["record"], *former_records(c.inverse))
            is_about = any(record.get("id") == id_ for record in stored)
            changes += [c] if is_about and not c.undone and c.id not in listed_ids else []
    return changes or [change]


def of_batch(memory: Memory, batch: str) -> list[Change]:
    """Return the changes of a batch, newest first."""
    # The first condition is cheap and avoids parsing most payloads.
    where = "instr(payload, ?1) > 0 AND json_extract(payload, '$.batch') = ?1"
    return read_all(memory, where, (batch,))


def summary(change: Change, find: Callable[[str], Change | None]) -> str:
    """Describe a change, such as `added 2 observations to Redis`. `find` returns a change by id."""
    undos = 0
    while change.kind == "undo" and (target := find(str(change.payload.get("operation", "")))):
        change, undos = target, undos + 1
    kind = kinds.KINDS.get(change.kind)
    text = kind.describe(change.payload, change.inverse) if kind else change.kind
    prefix = ("redid: ", "undid: ")[undos % 2] if undos else ""
    return cut(one_line(prefix + text), MAX_PHRASE_CHARS)


def who(by: Payload) -> str:
    """Return author, agent and source of a change, from its provenance, as one text."""
    return " ".join(str(by[name]) for name in ("author", "agent", "source") if by.get(name))


def entity_names(change: Change) -> list[str]:
    """Return the values of all fields of a change that can contain an entity's name, each once."""
    parts = (change.payload, *(step["payload"] for step in change.inverse))
    return list(dict.fromkeys(name for part in parts for name in _names(part)))


def record_ids(change: Change) -> list[str]:
    """Return the ids of records that a change stored, changed, superseded or deleted, each once."""
    ids: list[str] = []
    for payload in (change.payload, *(step["payload"] for step in change.inverse)):
        if isinstance(payload.get("record"), Mapping):
            ids.append(str(payload["record"].get("id", "")))
        ids += _texts(payload.get("ids"))
        for link in payload.get("links") or ():
            ids += _texts([link.get("id"), link.get("by")])
    return list(dict.fromkeys(ids))


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _names(part) if isinstance(part, Mapping) else ()
    if not isinstance(value, Mapping):
        return
    # Only in a relation is `source` an entity. Elsewhere, it says where a statement comes from.
    if "source" in value and "target" in value:
        yield from _texts([value["source"], value["target"]])
    for field, part in value.items():
        if field in _NAMES:
            yield from _texts(part)
        elif field in ("entities", "relations") and isinstance(part, list | tuple):
            # In a record, entities are pairs [name, type], and relations are triples.
            for item in (item for item in part if item and isinstance(item, list | tuple)):
                yield from _texts(item[:1] if field == "entities" else (item[0], item[-1]))
        yield from _names(part)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [p for p in value if isinstance(p, str)] if isinstance(value, Sequence) else []
