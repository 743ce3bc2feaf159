"""Operations that say something, for tests."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric import ids
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.wire import TeamOperation

AT = "2026-02-01T10:00:00.000Z"
_numbers = itertools.count(1)


def record(
    what: str, *, entities: Sequence[str] = (), base: Sequence[str] = (), **fields: Any
) -> TeamOperation:
    """Return an operation that states a decision."""
    id_ = fields.pop("id", "") or ids.new_id()
    value = {
        "id": id_,
        "type": "decision",
        "what": what,
        "why": "",
        "entities": [[name, "technology"] for name in entities],
        "created_at": AT,
        "scope": "team",
        "status": "active",
        "domain": "general",
    }
    return _operation(wire.RECORD, wire.key_of(wire.RECORD, id_), value | fields, base)


def entity(name: str, type_: str = "service", aliases: Sequence[str] = ()) -> TeamOperation:
    """Return an operation that states an entity."""
    value = {"name": name, "type": type_, "aliases": list(aliases)}
    return _operation(wire.ENTITY, wire.key_of(wire.ENTITY, name), _with_times(value))


def observation(name: str, text: str, domain: str = "general") -> TeamOperation:
    """Return an operation that states an observation of an entity."""
    value = _with_times({"entity": name, "text": text}) | {"domain": domain}
    return _operation(wire.OBSERVATION, wire.key_of(wire.OBSERVATION, name, text), value)


def relation(source: str, kind: str, target: str) -> TeamOperation:
    """Return an operation that states a relation."""
    value = _with_times({"from": source, "relationType": kind, "to": target})
    return _operation(wire.RELATION, wire.key_of(wire.RELATION, source, kind, target), value)


def withdrawal(operation: TeamOperation) -> TeamOperation:
    """Return an operation that withdraws what another says."""
    return _operation(operation.kind, operation.key, None, [operation.op_id])


def _with_times(value: Mapping[str, Any]) -> dict[str, Any]:
    return {**value, "domain": "general", "created_at": AT}


def _operation(
    kind: str, key: str, value: Mapping[str, Any] | None, base: Sequence[str] = ()
) -> TeamOperation:
    return TeamOperation(
        op_id=str(uuid.uuid4()),
        origin="machine1",
        kind=kind,
        key=key,
        value=value,
        base=tuple(base),
        clock=f"{next(_numbers):013x}0000machine1",
        made_at=AT,
    )
