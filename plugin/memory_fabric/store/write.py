"""The path of every change: redacted, made harmless, applied and logged in one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric.errors import BadInput
from memory_fabric.models import Operation, Provenance
from memory_fabric.redaction.prefilter import object_without_secrets, without_secrets
from memory_fabric.store import invariants
from memory_fabric.store.database import Database
from memory_fabric.store.operations import kinds
from memory_fabric.store.operations.kinds import KINDS
from memory_fabric.text import encodable, unfenced


def cleaned(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload as it may be stored: no secrets, no block markers, valid UTF-8."""
    found = _harmless(object_without_secrets(payload))
    return dict(found)


def cleaned_provenance(by: Provenance) -> Provenance:
    """Clean the provenance likewise: names and ids come from outside, too."""
    return Provenance(*(encodable(without_secrets(part)) for part in by))


def apply(db: Database, operation: Operation, *, is_new: bool = False) -> dict[str, Any]:
    """Apply an operation, at most once by id, and return its result, durable on return.

    An operation that changes nothing, as reading a known record again, is not logged. Neither is a
    deletion that found nothing, if it `is_new`; one from a journal is logged as applied, so that it
    never deletes anything created later. Returns `{"applied_before": True}` for a known id. Raises
    NotFound and BadInput (nothing changed), StoreUnavailable (nothing changed; it may be queued).
    """
    return apply_all(db, (operation,), are_new=is_new)[0]


def apply_all(
    db: Database, operations: Sequence[Operation], *, are_new: bool = False
) -> list[dict[str, Any]]:
    """Apply operations in one transaction, all or none, and return their results.

    Raises as `apply`.
    """
    for operation in operations:
        problem = kinds.problem(operation.kind, operation.payload)
        if problem:
            raise BadInput(operation.kind, problem)
    with db.transaction() as connection:
        return [apply_within(connection, one, is_new=are_new) for one in operations]


def apply_within(
    connection: sqlite3.Connection, operation: Operation, *, is_new: bool = False
) -> dict[str, Any]:
    """Apply a valid operation within the caller's transaction and return its result."""
    done = connection.execute("SELECT 1 FROM operations WHERE id = ?", (operation.id,))
    if done.fetchone():
        return {"applied_before": True}
    apply_kind = KINDS[operation.kind].apply
    result, inverse = apply_kind(connection, operation.payload, operation.provenance)
    result |= invariants.verify(connection, operation.kind, operation.payload, result)
    idle = _changed_nothing(result, inverse) or (is_new and _deleted_nothing(result, inverse))
    if is_logged(operation) and not idle:
        connection.execute(
            "INSERT INTO operations (id, kind, payload, inverse, provenance, session, "
            "created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                operation.id,
                operation.kind,
                json.dumps(operation.payload, ensure_ascii=False),
                kinds.stored_inverse(operation.kind, operation.payload, inverse),
                json.dumps(operation.provenance._asdict(), ensure_ascii=False),
                operation.provenance.session,
                operation.provenance.at,
            ),
        )
    return result


def is_logged(operation: Operation) -> bool:
    """True if the operation is logged and journalled: not turns, others' records, or local ones."""
    # Turns are in the client's transcript and expire; others' records are in their journal. No
    # operation keeps a second copy of their text.
    return KINDS[operation.kind].is_logged and not is_local(operation)


def _changed_nothing(result: Mapping[str, Any], inverse: Sequence[Any]) -> bool:
    """True if a known record was only read again: nothing to report, undo or replay."""
    return bool(result.get("repeated")) and not inverse


def _deleted_nothing(result: Mapping[str, Any], inverse: Sequence[Mapping[str, Any]]) -> bool:
    """True if a deletion found nothing to delete."""
    return result.get("deleted") == 0 and not any(
        part for step in inverse for part in step["payload"].values()
    )


def is_local(operation: Operation) -> bool:
    """True if the operation concerns a record that must not outlive its session."""
    record = operation.payload.get("record")
    return isinstance(record, dict) and record.get("scope") == "local"


def as_object(operation: Operation) -> dict[str, Any]:
    """Return the operation as a JSON object: a line of the queue or the journal."""
    return {
        "id": operation.id,
        "kind": operation.kind,
        "store": operation.store,
        "payload": operation.payload,
        "provenance": operation.provenance._asdict(),
    }


def from_object(value: Mapping[str, Any]) -> Operation | None:
    """Return the operation in a line of the queue or journal; None if it is not a known one.

    The payload is cleaned again, as anyone may have edited the file.
    """
    id_, kind, payload = value.get("id"), value.get("kind"), value.get("payload")
    stated = value.get("provenance")
    if not (isinstance(id_, str) and id_ and isinstance(stated, dict)):
        return None
    if not (isinstance(kind, str) and kind in KINDS and isinstance(payload, dict)):
        return None
    if kinds.problem(kind, payload) or not isinstance(stated.get("source"), str):
        return None
    fields = {k: v for k, v in stated.items() if k in Provenance._fields and isinstance(v, str)}
    return Operation(
        id=encodable(id_),
        kind=kind,
        payload=cleaned(payload),
        provenance=cleaned_provenance(Provenance(**fields)),
        store="user" if value.get("store") == "user" else "project",
    )


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(unfenced(value))
    if isinstance(value, dict):
        return {encodable(str(k)): _harmless(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_harmless(v) for v in value]
    return value
