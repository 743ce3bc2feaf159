"""Operations of this user from another machine, applied as if they were said here."""

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from memory_fabric import ids
from memory_fabric.errors import FabricError
from memory_fabric.models import TRUST_ORDER, Operation, Provenance, Record
from memory_fabric.sharing.replica import heads, wire
from memory_fabric.sharing.replica.heads import Head
from memory_fabric.sharing.replica.own_rows import EVIDENCE
from memory_fabric.store import records, write
from memory_fabric.store.operations import rows

Value = dict[str, Any]


def show(c: sqlite3.Connection, before: Head | None, now: Head | None, at: str) -> None:
    """Change the row of an own key to what its current head says, as an operation that is logged.

    Raises what effects raise.
    """
    was = json.loads(before.value) if before is not None and before.value else None
    value = json.loads(now.value) if now is not None and now.value else None
    if value == was:
        return
    kind = now.kind if now is not None else before.kind if before is not None else ""
    if value is not None:
        _SAID[kind](c, value, at)
    elif was is not None:
        _WITHDRAWN[kind](c, was, at)


def _say_record(c: sqlite3.Connection, value: Value, at: str) -> None:
    id_ = value["id"]
    found = records.find(c, "id = ?", (id_,))
    record = _record_in(value, found[0][0] if found else None)
    by = _by(value, at)
    # Lift the tombstone of a record that was restored on another machine.
    buried = [list(row) for row in c.execute("SELECT * FROM tombstones WHERE id = ?", (id_,))]
    if buried:
        _apply(c, "tombstones", {"add": [], "remove": buried}, by)
    sessions = found[0][1] if found else []
    payload = {"record": records.as_object(record), "seen_in": sessions}
    _apply(c, "put_record", payload, by)
    _link(c, record, by)


def _withdraw_record(c: sqlite3.Connection, was: Value, at: str) -> None:
    _apply(c, "forget", {"ids": [was["id"]]}, _by(was, at))


def _record_in(value: Value, here: Record | None) -> Record:
    """Return the record that a value states; session and agent are known only where it was said."""
    own = value.get("own")
    whole = records.from_object({**value, **(own if isinstance(own, dict) else {})})
    if here is None:
        return whole
    kept = {key: part for key, part in here.evidence.items() if key not in EVIDENCE}
    evidence = {**kept, **whole.evidence}
    return whole._replace(session=here.session, agent=here.agent, evidence=evidence)


def _link(c: sqlite3.Connection, record: Record, by: Provenance) -> None:
    """Close or reopen a record as its value says."""
    stored = "SELECT superseded_by, valid_to FROM records WHERE id = ?"
    row = c.execute(stored, (record.id,)).fetchone()
    if row is None or tuple(row) == (record.superseded_by, record.valid_to):
        return
    link = {
        "id": record.id,
        "by": record.superseded_by,
        "at": record.valid_to,
        "was": {"by": row[0], "at": row[1]},
    }
    _apply(c, "supersede", {"links": [link]}, by)


def _say_entity(c: sqlite3.Connection, value: Value, at: str) -> None:
    by = _by(value, at)
    item = {"name": value["name"], "entityType": value["type"], "observations": []}
    _apply(c, "create_entities", {"entities": [item]}, by)
    c.execute(
        "UPDATE entities SET type = ?, domain = ?, created_at = ? WHERE name = ? AND record = ''",
        (value["type"], value["domain"], value["created_at"], value["name"]),
    )
    here = rows.entities(c, "e.name = ?", (value["name"],))
    known = {alias for row in here for _, alias in row["aliases"]}
    wanted = {alias for alias in value.get("aliases") or () if isinstance(alias, str)}
    for kind, names in (("unalias", known - wanted), ("alias", wanted - known)):
        if names:
            _apply(c, kind, {"entity": value["name"], "aliases": sorted(names)}, by)


def _withdraw_entity(c: sqlite3.Connection, was: Value, at: str) -> None:
    _apply(c, "remove_orphans", {"entityNames": [was["name"]]}, _by(was, at))


def _say_observation(c: sqlite3.Connection, value: Value, at: str) -> None:
    by = _by(value, at)
    entity = {"name": value["entity"], "entityType": rows.UNKNOWN_TYPE}
    if rows.entity_id(c, value["entity"]) is None:
        _apply(c, "create_entities", {"entities": [entity]}, by)
    said = [{"entityName": value["entity"], "contents": [value["text"]]}]
    _apply(c, "add_observations", {"observations": said}, by)


def _withdraw_observation(c: sqlite3.Connection, was: Value, at: str) -> None:
    said = [{"entityName": was["entity"], "observations": [was["text"]]}]
    _apply(c, "delete_observations", {"deletions": said}, _by(was, at))
    _remove_if_unsaid(c, was["entity"], _by(was, at))


def _say_relation(c: sqlite3.Connection, value: Value, at: str) -> None:
    _apply(c, "create_relations", {"relations": [_edge(value)]}, _by(value, at))


def _withdraw_relation(c: sqlite3.Connection, was: Value, at: str) -> None:
    _apply(c, "delete_relations", {"relations": [_edge(was)]}, _by(was, at))
    for end in ("from", "to"):
        _remove_if_unsaid(c, was[end], _by(was, at))


def _remove_if_unsaid(c: sqlite3.Connection, name: str, by: Provenance) -> None:
    """Remove an entity that was withdrawn before the last statement about it."""
    found = heads.of_keys(c, [wire.key_of_entity(name)]).values()
    if not any(head.is_own and head.value for some in found for head in some):
        _apply(c, "remove_orphans", {"entityNames": [name]}, by)


def _edge(value: Value) -> Value:
    return {name: value[name] for name in ("from", "relationType", "to")}


def _by(value: Value, at: str) -> Provenance:
    """Return the provenance that the statement had where it was made."""
    own = value.get("own")
    said: Value = own if isinstance(own, dict) else {}
    trust, source = said.get("trust"), said.get("source")
    return Provenance(
        source if isinstance(source, str) and source else "cli",
        trust=trust if trust in TRUST_ORDER else "tool",
        at=str(value.get("created_at") or at),
        domain=str(value.get("domain") or "general"),
    )


def _apply(c: sqlite3.Connection, kind: str, payload: Value, by: Provenance) -> None:
    """Apply and log an operation; one that does not fit what is stored here changes nothing."""
    operation = Operation(ids.new_id(), kind, write.cleaned(payload), by)
    c.execute("SAVEPOINT said")
    try:
        write.apply_within(c, operation)
    except FabricError:
        c.execute("ROLLBACK TO said")
    finally:
        c.execute("RELEASE said")


_SAID: dict[str, Callable[[sqlite3.Connection, Value, str], None]] = {
    wire.RECORD: _say_record,
    wire.ENTITY: _say_entity,
    wire.OBSERVATION: _say_observation,
    wire.RELATION: _say_relation,
}
_WITHDRAWN: dict[str, Callable[[sqlite3.Connection, Value, str], None]] = {
    wire.RECORD: _withdraw_record,
    wire.ENTITY: _withdraw_entity,
    wire.OBSERVATION: _withdraw_observation,
    wire.RELATION: _withdraw_relation,
}
