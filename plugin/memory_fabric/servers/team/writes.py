"""Changes of a member as operations of the shared log, in the form of sharing.replica.wire.

An operation replaces the member's own heads of its key. A member withdraws only what the member
said; what others said stays.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from memory_fabric import ids
from memory_fabric.errors import FabricError, NotFound
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.models import Entity, Operation, Record
from memory_fabric.servers.team.errors import of_log
from memory_fabric.servers.team.reader import TeamReader
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.own import CLAIMED, EVIDENCE, OWN
from memory_fabric.sharing.replica.wire import TeamOperation
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.team.errors import TeamError
from memory_fabric.store import records
from memory_fabric.text import name_key, same_form

Result = dict[str, Any]


# The machine that operations come from, here; those of an undo are told apart.
ORIGIN, UNDOING = "serve-team", "serve-undo"
UNKNOWN_TYPE = "unknown"


class Statement(NamedTuple):
    """A member's present statement under a key; a value of None withdraws it."""

    kind: str
    key: str
    value: Mapping[str, Any] | None


class SpaceOfMember(Protocol):
    """The parts of a `TeamMemory` that writing needs."""

    connection: Connection
    space: str
    member: str
    reader: TeamReader

    def query(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query in this transaction."""


def apply(memory: SpaceOfMember, operation: Operation) -> Result:
    """Append what a change says, and return its result as the local memory would.

    Raises NotFound, StoreUnavailable; then nothing is changed.
    """
    _one_at_a_time(memory)
    return _EFFECTS[operation.kind](memory, operation)


def append(memory: SpaceOfMember, statements: Iterable[Statement], origin: str = ORIGIN) -> None:
    """Append statements, each in place of the member's heads of its key."""
    said = {one.key: one for one in statements}
    if not said:
        return
    heads = _own_heads(memory, list(said))
    last = max((reading for found in heads.values() for _, reading in found), default="")
    operations = []
    for one in said.values():
        last = wire.reading_after(last, time.time_ns() // 1_000_000, origin)
        operations.append(
            TeamOperation(
                op_id=ids.new_id(),
                origin=origin,
                kind=one.kind,
                key=one.key,
                value=one.value,
                base=tuple(id_ for id_, _ in heads.get(one.key, ())),
                clock=last,
                made_at=ids.timestamp(),
            )
        )
    refused: list[str] = []
    log = SharedLog(memory.connection, memory.space)
    try:
        log.push(operations, lambda _, reason: refused.append(reason))
    except TeamError as error:
        raise of_log(error) from error
    if refused:
        raise FabricError(f"The shared log refuses this: {refused[0]}.")


def undo_last(memory: SpaceOfMember) -> int:
    """Take back the member's last change made here, and return how many statements it had.

    What it replaced is said again, and the rest withdrawn. 0 if nothing of it stands any more.
    """
    _one_at_a_time(memory)
    last = memory.query(
        "SELECT key, kind, base FROM memory_fabric.operations WHERE space = %s "
        "AND author = memory_fabric.caller() AND NOT superseded AND origin = %s AND stored_at = ("
        # The time of the transaction, so that all of a change have the same.
        "SELECT max(stored_at) FROM memory_fabric.operations WHERE space = %s "
        "AND author = memory_fabric.caller() AND NOT superseded AND origin = %s)",
        (memory.space, ORIGIN, memory.space, ORIGIN),
    )
    before = _values_before(memory, [id_ for _, _, base in last for id_ in base])
    append(memory, [Statement(kind, key, before.get(key)) for key, kind, _ in last], UNDOING)
    return len(last)


def _values_before(memory: SpaceOfMember, op_ids: Sequence[object]) -> dict[str, Any]:
    rows = memory.query(
        "SELECT key, payload -> 'value' FROM memory_fabric.operations "
        "WHERE space = %s AND op_id = ANY (%s::uuid[]) ORDER BY payload ->> 'clock', op_id",
        (memory.space, [str(id_) for id_ in op_ids]),
    )
    return dict(rows)


def _create_entities(memory: SpaceOfMember, operation: Operation) -> Result:
    stated = operation.payload["entities"]
    known = _entities(memory, [one["name"] for one in stated])
    said: list[Statement] = []
    new: dict[str, dict[str, Any]] = {}
    merged: dict[str, list[str]] = {}
    for one in stated:
        name, texts = one["name"], list(dict.fromkeys(one["observations"]))
        if name in known or name in new:
            added = _new_texts(memory, name, texts)
            if name in new:
                new[name]["observations"] += added
            else:
                merged.setdefault(name, []).extend(added)
            texts = added
        else:
            new[name] = {"name": name, "entityType": one["entityType"], "observations": texts}
            said.append(_entity(operation, name, one["entityType"]))
        said += [_observation(operation, name, text) for text in texts]
    append(memory, said)
    shown = [{"name": name, "observations": texts} for name, texts in merged.items() if texts]
    return {"entities": list(new.values()), "merged": shown, "variants": {}}


def _add_observations(memory: SpaceOfMember, operation: Operation) -> Result:
    stated = operation.payload["observations"]
    names = [one["entityName"] for one in stated]
    known = _entities(memory, names) | _named(memory, names)
    said, results = [], []
    for one in stated:
        name = one["entityName"]
        if name not in known:
            raise NotFound(name, f"Entity with name {name} not found")
        texts = _new_texts(memory, name, list(dict.fromkeys(one["contents"])))
        said += [_observation(operation, name, text) for text in texts]
        results.append({"entityName": name, "addedObservations": texts})
    append(memory, said)
    return {"results": results}


def _create_relations(memory: SpaceOfMember, operation: Operation) -> Result:
    stated = {
        wire.key_of_relation(one["from"], one["relationType"], one["to"]): one
        for one in operation.payload["relations"]
    }
    standing = {row.key for row in memory.reader.standing(list(stated))}
    new = {key: one for key, one in stated.items() if key not in standing}
    ends = list(dict.fromkeys(end for one in new.values() for end in (one["from"], one["to"])))
    known = _entities(memory, ends) | _named(memory, ends)
    created = [name for name in ends if name not in known]
    said = [_entity(operation, name, entity_type(name) or UNKNOWN_TYPE) for name in created]
    said += [Statement(wire.RELATION, key, _with_time(operation, one)) for key, one in new.items()]
    append(memory, said)
    return {"relations": list(new.values()), "created_ends": created}


def _delete_entities(memory: SpaceOfMember, operation: Operation) -> Result:
    names = operation.payload["entityNames"]
    own = memory.reader.own_about(names)
    append(memory, [Statement(row.kind, row.key, None) for row in own])
    return {"deleted": len(own)}


def _delete_observations(memory: SpaceOfMember, operation: Operation) -> Result:
    said = [
        Statement(wire.OBSERVATION, wire.key_of_observation(one["entityName"], text), None)
        for one in operation.payload["deletions"]
        for text in one["observations"]
    ]
    return _withdrawn(memory, said)


def _delete_relations(memory: SpaceOfMember, operation: Operation) -> Result:
    said = [
        Statement(
            wire.RELATION, wire.key_of_relation(one["from"], one["relationType"], one["to"]), None
        )
        for one in operation.payload["relations"]
    ]
    return _withdrawn(memory, said)


def _withdrawn(memory: SpaceOfMember, said: Sequence[Statement]) -> Result:
    standing = {row.key for row in memory.reader.own([one.key for one in said])}
    mine = [one for one in said if one.key in standing]
    append(memory, mine)
    return {"deleted": len(mine)}


def _forget(memory: SpaceOfMember, operation: Operation) -> Result:
    said = [
        Statement(wire.RECORD, wire.key_of_record(id_), None) for id_ in operation.payload["ids"]
    ]
    return _withdrawn(memory, said)


def _remember(memory: SpaceOfMember, operation: Operation) -> Result:
    """Store a record, unless the member said it before; close those it supersedes."""
    stated = operation.payload["record"]
    record = records.from_object(stated)
    known = _same_record(memory, record)
    if known is not None:
        return {"record": known, "repeated": True}
    said = [Statement(wire.RECORD, wire.key_of_record(record.id), value_of(record))]
    for row in memory.reader.own(
        [wire.key_of_record(id_) for id_ in operation.payload.get("supersedes", ())]
    ):
        closed = {**row.value, "superseded_by": record.id, "valid_to": record.created_at}
        said.append(Statement(wire.RECORD, row.key, closed))
    append(memory, said)
    return {"record": stated}


def value_of(record: Record) -> dict[str, Any]:
    """Return the value of a record on the wire (sharing.replica.own)."""
    whole = records.as_object(record)
    own = {name: whole[name] for name in OWN}
    own["evidence"] = {key: record.evidence[key] for key in EVIDENCE if key in record.evidence}
    return {name: whole[name] for name in CLAIMED} | {"own": own}


_EFFECTS: dict[str, Callable[[SpaceOfMember, Operation], Result]] = {
    "create_entities": _create_entities,
    "create_relations": _create_relations,
    "add_observations": _add_observations,
    "delete_entities": _delete_entities,
    "delete_observations": _delete_observations,
    "delete_relations": _delete_relations,
    "remember": _remember,
    "forget": _forget,
}


def _same_record(memory: SpaceOfMember, record: Record) -> dict[str, Any] | None:
    """Return the member's own standing record with the same text, type and domain."""
    wanted = same_form(record.what)
    for row in memory.reader.own_records_with(record.what):
        value = row.value
        same = (value.get("type"), value.get("domain")) == (record.type, record.domain)
        if same and same_form(str(value.get("what"))) == wanted and not value.get("superseded_by"):
            own = value.get("own")
            return {**value, **(own if isinstance(own, dict) else {})}
    return None


def _new_texts(memory: SpaceOfMember, name: str, texts: Sequence[str]) -> list[str]:
    """Return the texts that nobody says of the entity yet."""
    keys = {wire.key_of_observation(name, text): text for text in texts}
    standing = {row.key for row in memory.reader.standing(list(keys))}
    return [text for key, text in keys.items() if key not in standing]


def _entities(memory: SpaceOfMember, names: Iterable[str]) -> set[str]:
    """Return those of the names that are exactly an entity's name."""
    keys = {wire.key_of_entity(name): name for name in names}
    return {keys[row.key] for row in memory.reader.standing(list(keys))}


def _named(memory: SpaceOfMember, names: Iterable[str]) -> set[str]:
    """Return those of the names that a relation or a record has."""
    wanted = list(names)
    known: dict[str, Entity] = memory.reader.entities_by_key(map(name_key, wanted))
    return {name for name in wanted if known.get(name_key(name), Entity("", "")).name == name}


def _entity(operation: Operation, name: str, type_: str) -> Statement:
    value = _with_time(operation, {"name": name, "type": type_, "aliases": []})
    return Statement(wire.ENTITY, wire.key_of_entity(name), value)


def _observation(operation: Operation, name: str, text: str) -> Statement:
    value = _with_time(operation, {"entity": name, "text": text})
    return Statement(wire.OBSERVATION, wire.key_of_observation(name, text), value)


def _with_time(operation: Operation, value: Mapping[str, Any]) -> dict[str, Any]:
    by = operation.provenance
    return {**value, "created_at": by.at, "domain": by.domain}


def _own_heads(memory: SpaceOfMember, keys: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return (id, clock) of the member's own heads of keys, withdrawn ones, too."""
    found: dict[str, list[tuple[str, str]]] = {}
    for id_, key, reading in memory.query(
        "SELECT op_id, key, clock FROM memory_fabric.heads_of(%s, %s, true, '{}')",
        (memory.space, list(keys)),
    ):
        found.setdefault(key, []).append((str(id_), reading))
    return found


def _one_at_a_time(memory: SpaceOfMember) -> None:
    """Let a member's changes wait for each other, or two could replace the same heads."""
    memory.query(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
        (f"{memory.space}\n{memory.member}",),
    )
