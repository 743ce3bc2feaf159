"""Changes to memory: each is redacted, sanitised, applied and logged in one transaction.

A change of the graph that specifies no database is applied to the database that has the entities
concerned; if none has them, to the project's. A large import is split into operations of limited
size, so that other processes wait only briefly for the lock, and each operation can be undone.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.models import Entity, Json, Operation, Payload, Provenance, Relation
from memory_fabric.redaction.redact import redacted_object, without_secrets
from memory_fabric.store.database import Database
from memory_fabric.store.operations import kinds, rows
from memory_fabric.store.operations.kinds import KINDS
from memory_fabric.store.queries.conditions import insert
from memory_fabric.text import encodable, name_key, unfenced

Item = Entity | Relation
# The maximum number of items and characters in an operation that imports part of a graph.
BATCH_ITEMS, BATCH_CHARS = 2000, 4 << 20


def cleaned(payload: Payload) -> Json:
    """Return the payload without secrets and memory-block markers, in valid UTF-8, for storage."""
    return dict(_harmless(redacted_object(payload)))


def cleaned_provenance(by: Provenance) -> Provenance:
    """Return the provenance without secrets, in valid UTF-8, because clients supply some fields."""
    return Provenance(*(encodable(without_secrets(part)) for part in by))


def apply(db: Database, operation: Operation, *, is_new: bool = False) -> Json:
    """Apply an operation durably and return its result. An id is applied only once: for a known id,
    return `{"applied_before": True}`. An operation that changes nothing, such as storing a known
    record again, is not logged. But a deletion without effect is logged if it comes from a journal
    (not `is_new`). Its id is then known when the journal is read again, so it cannot delete newer
    rows. Raises NotFound, BadInput or StoreUnavailable, after which nothing has changed.
    """
    return apply_all(db, (operation,), are_new=is_new)[0]


def apply_all(db: Database, changes: Sequence[Operation], *, are_new: bool = False) -> list[Json]:
    """Apply all operations in one transaction, or none; `are_new` and errors are as in `apply`."""
    for operation in changes:
        if problem := kinds.problem(operation.kind, operation.payload):
            raise BadInput(operation.kind, problem)
    with db.transaction() as connection:
        return [apply_within(connection, change, is_new=are_new) for change in changes]


def apply_within(c: sqlite3.Connection, operation: Operation, *, is_new: bool = False) -> Json:
    """Apply a valid operation within the caller's transaction; return its result."""
    if c.execute("SELECT 1 FROM operations WHERE id = ?", (operation.id,)).fetchone():
        return {"applied_before": True}
    result, inverse = KINDS[operation.kind].apply(c, operation.payload, operation.provenance)
    result |= _verified(c, operation.kind, operation.payload, result)
    # Idle operations are not logged: a repeated record and, if `is_new`, a deletion without effect.
    is_repeated = bool(result.get("repeated")) and not inverse
    removed = (part for step in inverse for part in step["payload"].values())
    is_idle = is_repeated or (is_new and result.get("deleted") == 0 and not any(removed))
    # Kinds with `is_logged=False` are never logged: their texts expire or belong to other users.
    if KINDS[operation.kind].is_logged and not (is_idle or is_local(operation)):
        payload, by = operation.payload, operation.provenance
        row = {"id": operation.id, "kind": operation.kind, "session": by.session}
        row |= {"payload": json.dumps(payload, ensure_ascii=False), "created_at": by.at}
        row |= {"inverse": kinds.stored_inverse(operation.kind, payload, inverse)}
        row |= {"provenance": json.dumps(by._asdict(), ensure_ascii=False)}
        insert(c, "operations", row)
    return result


def _verified(c: sqlite3.Connection, kind: str, payload: Payload, result: dict[str, Any]) -> Json:
    """Check that the entities of a change can be read (requirement BR-9); raise StoreUnavailable if
    not. Remove the internal field `touched`, the names of affected entities, from `result`. Return
    fields to add to the result: `variants` (existing names that differ from a new one only in case
    or separators) or `orphans` (entities left without content).
    """
    touched = result.pop("touched", ())
    if kind == "create_entities":
        _must_exist(c, [item["name"] for item in payload["entities"]], result)
        new = dict.fromkeys(item["name"] for item in result["entities"])
        alike: dict[str, list[str]] = {}
        of_keys = "SELECT key, name FROM entities WHERE key IN ({}) ORDER BY id"
        for key, name in rows.among(c, of_keys, map(name_key, new)):
            alike.setdefault(key, []).append(name)
        others = ((name, [n for n in alike[name_key(name)] if n != name]) for name in new)
        variants = {name: names for name, names in others if names}
        return {"variants": variants} if variants else {}
    if kind == "create_relations":
        both = [(item["from"], item["to"]) for item in payload["relations"]]
        away = set(result.get("forgotten", ()))
        _must_exist(c, [end for ends in both if away.isdisjoint(ends) for end in ends], result)
        return {}
    if kind == "merge":
        _must_exist(c, [payload["into"]], result)
    orphans = [row["name"] for row in rows.orphans(c, touched)]
    return {"orphans": orphans} if orphans else {}


def _must_exist(c: sqlite3.Connection, names: Sequence[str], result: Payload) -> None:
    ids, forgotten = rows.entity_ids(c, names), set(result.get("forgotten", ()))
    for name in names:
        if name not in ids and name not in forgotten:
            raise StoreUnavailable("", f"The entity {name[:100]!r} could not be read back.")


def is_local(operation: Operation) -> bool:
    """Return True if the payload has a `local` record, which must not outlive its session."""
    record = operation.payload.get("record")
    return isinstance(record, dict) and record.get("scope") == "local"


def as_object(operation: Operation) -> Json:
    """Return the operation as a JSON object, for a line of the queue or the journal."""
    line = {name: getattr(operation, name) for name in ("id", "kind", "store", "payload")}
    return line | {"provenance": operation.provenance._asdict()}


def from_object(value: Payload) -> Operation | None:
    """Parse and sanitise an operation line, which anyone may have edited; None if invalid."""
    id_, kind, payload = value.get("id"), value.get("kind"), value.get("payload")
    stated = value.get("provenance")
    if not (isinstance(id_, str) and id_ and isinstance(stated, dict)):
        return None
    if not (isinstance(kind, str) and kind in KINDS and isinstance(payload, dict)):
        return None
    if kinds.problem(kind, payload) or not isinstance(stated.get("source"), str):
        return None
    fields = {k: v for k, v in stated.items() if k in Provenance._fields and isinstance(v, str)}
    store = "user" if value.get("store") == "user" else "project"
    by = cleaned_provenance(Provenance(**fields))
    return Operation(encodable(id_), kind, cleaned(payload), by, store)


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(unfenced(value))
    if isinstance(value, dict):
        return {encodable(str(k)): _harmless(v) for k, v in value.items()}
    return [_harmless(v) for v in value] if isinstance(value, list | tuple) else value


def names_in(kind: str, payload: Payload) -> list[str]:
    """Return the names of all entities that a change of the graph mentions."""
    field, name_fields = KINDS[kind].items
    return [item[name] for item in payload[field] for name in name_fields]


def split(
    kind: str, payload: Payload, living: Mapping[str, set[str]], unavailable: Collection[str]
) -> list[tuple[str, dict[str, Any]]]:
    """Split a change into pairs of a database's kind and its part of the payload. `living` maps
    each readable database to the entities of the change that it has; databases in `unavailable`
    cannot be opened now. Deletions apply to every database. Other items go to the user's database
    if it alone has their entities, else to the project's. An observation of an unknown entity goes
    to an unavailable database, which may have the entity; if none is unavailable, raise NotFound.
    """
    if kind.startswith("delete_"):
        stores = [s for s in ("project", "user") if s in living or s in unavailable]
        return [(store, dict(payload)) for store in stores]
    field, name_fields = KINDS[kind].items
    in_project, in_user = living.get("project", set()), living.get("user", set())
    parts: dict[str, list[Any]] = {}
    for item in payload[field]:
        names, store = {item[name] for name in name_fields}, "project"
        if names <= in_user and not names & in_project:
            store = "user"
        elif kind == "add_observations" and not names & (in_project | in_user):
            name = next(iter(names))
            if not unavailable:
                raise NotFound(name, f"Entity with name {name} not found")
            store = "user" if "project" not in unavailable else "project"
        parts.setdefault(store, []).append(item)
    return [(store, {**payload, field: part}) for store, part in (parts or {"project": []}).items()]


def combine(
    kind: str, payload: Payload, results: Sequence[Payload], known: Collection[str] = ()
) -> Json:
    """Combine the results of a split change: add counts, order lists as in `payload`; omit from the
    created ends of relations what another database had before (`known`).
    """
    whole: dict[str, Any] = {}
    for result in results:
        for name, value in result.items():
            if isinstance(value, bool | str) or name not in whole:
                whole[name] = whole.get(name) or value
            elif isinstance(value, list | int):
                whole[name] = whole[name] + value
            elif isinstance(value, dict):
                whole[name] = {**whole[name], **value}
    if kind.startswith("delete_"):
        return {"deleted": 0} | whole
    if "created_ends" in whole:
        whole["created_ends"] = [name for name in whole["created_ends"] if name not in known]
    if len(results) > 1:
        field, fields = KINDS[kind].answers
        # Positions of equal items in reverse order, so that `pop` below returns the first one left.
        positions: dict[tuple[str, ...], list[int]] = {}
        for position, item in reversed(list(enumerate(payload[KINDS[kind].items[0]]))):
            positions.setdefault(tuple(item[f] for f in fields), []).append(position)
        answers = whole.get(field, [])
        placed = [(positions[tuple(item[f] for f in fields)].pop(), item) for item in answers]
        whole[field] = [item for _, item in sorted(placed, key=lambda pair: pair[0])]
    return whole


def create_operations(items: Iterable[Item]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield operations of limited size, as (kind, payload), that create these items in order."""
    batch: list[Any] = []
    chars = 0
    for item in chain(items, (None,)):
        full = len(batch) >= BATCH_ITEMS or chars >= BATCH_CHARS
        if batch and (full or type(item) is not type(batch[0])):
            if isinstance(batch[0], Entity):
                yield "create_entities", {"entities": list(map(entity_object, batch))}
            else:
                yield "create_relations", {"relations": list(map(relation_object, batch))}
            batch, chars = [], 0
        batch.append(item)
        texts = (item.name, *item.observations) if isinstance(item, Entity) else item or ()
        chars += sum(map(len, texts))


def entity_object(entity: Entity) -> Json:
    """Return the entity as an item for the operation `create_entities`."""
    texts = list(entity.observations)
    return {"name": entity.name, "entityType": entity.type, "observations": texts}


def relation_object(relation: Relation) -> Json:
    """Return the relation as an item for the operation `create_relations`."""
    return {"from": relation.source, "to": relation.target, "relationType": relation.type}
