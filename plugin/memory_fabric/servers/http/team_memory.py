"""A team's memory as one member sees it within one transaction; it has no SQLite database or file.

Recall and the tools use it in place of `store.memory.Memory`. A change appends operations to the
shared log (sharing.replica.wire). An operation is a member's statement about one record or graph
row, named by a key. It replaces only the member's own current operations ("heads") with this key.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric import config, errors, ids
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.models import Entity, Operation, Provenance, Record
from memory_fabric.servers.http import team_rows
from memory_fabric.servers.http.team_reader import TeamReader
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.own import value_of
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.team.errors import TeamError
from memory_fabric.store import records
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations.rows import UNKNOWN_TYPE
from memory_fabric.store.queries.reader import Reader
from memory_fabric.text import name_key, same_form

Result = dict[str, Any]
# `origin` of this server's operations, and of its undos. In other operations, it is a machine's id.
ORIGIN, UNDOING = "serve-team", "serve-undo"
# SQL that selects the caller's operations made here that hold: not replaced, or each later one on
# the key was undone by one undo. A purge removes the value.
_STANDING = (
    "FROM memory_fabric.operations o WHERE o.space = %s AND o.author = memory_fabric.caller() AND "
    "o.origin = %s AND o.payload ? 'value' AND (NOT o.superseded OR (0, 0) = (SELECT min(n), "
    "(array_agg(n ORDER BY seq DESC))[1] FROM (SELECT l.seq, sum(CASE l.origin WHEN %s THEN -1 "
    "ELSE 1 END) OVER (ORDER BY l.seq) AS n FROM memory_fabric.operations l WHERE l.space = o.space"
    " AND l.key = o.key AND l.author = o.author AND l.seq > o.seq) AS later))"
)


class TeamMemory(Memory):
    """A team's memory as one member sees it, limited to `reader.domains` unless that is None."""

    def __init__(self, settings: config.Settings, reader: TeamReader) -> None:
        super().__init__(settings._replace(semantic=False), None, repair=False)
        self.reader, self.connection = reader, reader.connection
        self.space, self.member, self.domains = reader.space, reader.member, reader.domains

    def databases(self) -> list[Database]:
        """Return an empty list, because a team's memory has no local database."""
        return []

    def readers(self) -> list[Reader]:
        return [self.reader]

    def limited_to(self, domains: Sequence[str]) -> Memory | None:
        visible = [name for name in domains if self.domains is None or name in self.domains]
        own = self.reader
        reader = TeamReader(own.connection, own.space, own.member, own.vocabulary, visible)
        return TeamMemory(self.settings, reader)

    def follow_switches(self) -> None:
        """Do nothing: a server reads its settings when it starts, and cannot be switched off."""

    follow_settings = follow_switches

    def database(self, kind: str, *, create: bool) -> Database | None:
        """Return None: there is no local database. Raises StoreUnavailable if `create` is set."""
        if create:
            raise errors.StoreUnavailable("", "A shared server keeps no sessions.")
        return None

    def remember(
        self,
        record: Record,
        by: Provenance,
        supersedes: Sequence[str] = (),
        *,
        echo: bool = False,
        at: str = "",
    ) -> Record | None:
        """Store a record as `Memory.remember` does. Raises BadInput if its scope is not `team`."""
        if record.scope != team_rows.SCOPE:
            text = f"This server keeps what is for the team, not for the scope {record.scope}."
            raise errors.BadInput("scope", text, remedy="Leave the scope out.")
        domain = self.domain_of(record.domain if record.domain != "general" else by.domain)
        by = by._replace(domain=domain)
        return super().remember(record._replace(domain=domain), by, supersedes, echo=echo, at=at)

    def write(
        self, kind: str, payload: Mapping[str, Any], by: Provenance, *, store: str = ""
    ) -> dict[str, Any]:
        """Append a change to the shared log; take and return the same values as `Memory.write`."""
        by = by._replace(domain=self.domain_of(by.domain))
        return self.apply_now(self.operation(kind, payload, by, store))

    def apply_now(self, operation: Operation, *, is_new: bool = False) -> dict[str, Any]:
        """Append an operation's statements to the log; return its result. Raises FabricError."""
        _one_at_a_time(self)
        return _EFFECTS[operation.kind](self, operation)

    def _apply(self, operation: Operation) -> dict[str, Any]:
        return self.apply_now(operation)  # changes to the shared log are not queued

    def domain_of(self, stated: str) -> str:
        """Return the domain `stated`, or if that is hidden, the first visible domain (if any)."""
        if self.domains is None or stated in self.domains:
            return stated
        return self.domains[0] if self.domains else stated


class Statement(NamedTuple):
    """A statement about the record or row of the graph named `key`; value None withdraws it."""

    kind: str
    key: str
    value: Mapping[str, Any] | None


def append(memory: TeamMemory, statements: Iterable[Statement], origin: str = ORIGIN) -> None:
    """Append statements to the log; each replaces the member's current statements for its key."""
    by_key = {statement.key: statement for statement in statements}
    if not by_key:
        return
    heads: dict[str, list[str]] = {}
    last = ""
    rows = memory.reader.call("heads_of", list(by_key), True, "{}", columns="op_id, key, clock")
    for op_id, key, reading in rows:
        heads.setdefault(key, []).append(str(op_id))
        last = max(last, reading)
    operations = []
    for kind, key, value in by_key.values():
        last = wire.reading_after(last, time.time_ns() // 1_000_000, origin)
        base, times = tuple(heads.get(key, ())), (last, ids.timestamp())
        operations.append(wire.TeamOperation(ids.new_id(), origin, kind, key, value, base, *times))
    reasons: list[str] = []
    log = SharedLog(memory.connection, memory.space)
    try:
        log.push(operations, lambda _, reason: reasons.append(reason))
    except TeamError as error:
        raise team_rows.of_log(error) from error
    if reasons:
        raise errors.FabricError(f"The shared log refuses this: {reasons[0]}.")


def undo_last(memory: TeamMemory) -> int:
    """Undo the member's last change made through a server; return the number of its statements."""
    _one_at_a_time(memory)
    last = memory.reader.query(
        f"SELECT o.key, o.kind, o.base {_STANDING} AND o.stored_at = ("
        # All statements of a change have the same `stored_at`: the time of their transaction.
        f"SELECT o.stored_at {_STANDING} ORDER BY o.stored_at DESC LIMIT 1)",
        (memory.space, ORIGIN, UNDOING) * 2,
    )
    replaced = memory.reader.query(
        "SELECT key, payload -> 'value' FROM memory_fabric.operations "
        "WHERE space = %s AND op_id = ANY (%s::uuid[]) ORDER BY payload ->> 'clock', op_id",
        (memory.space, [str(op_id) for _, _, base in last for op_id in base]),
    )
    before: dict[str, Any] = dict(replaced)
    append(memory, [Statement(kind, key, before.get(key)) for key, kind, _ in last], UNDOING)
    return len(last)


def _create_entities(memory: TeamMemory, operation: Operation) -> Result:
    entities = operation.payload["entities"]
    existing = _entities(memory, [entity["name"] for entity in entities])
    statements: list[Statement] = []
    new: dict[str, dict[str, Any]] = {}
    merged: dict[str, list[str]] = {}
    for entity in entities:
        name, texts = entity["name"], list(dict.fromkeys(entity["observations"]))
        if name in existing or name in new:
            texts = _new_texts(memory, name, texts)
            if name in new:
                known = new[name]["observations"]
                known += [text for text in texts if text not in known]
            else:
                merged.setdefault(name, []).extend(texts)
        else:
            new[name] = {"name": name, "entityType": entity["entityType"], "observations": texts}
            statements.append(_entity(operation, name, entity["entityType"]))
        statements += [_observation(operation, name, text) for text in texts]
    append(memory, statements)
    additions = [{"name": name, "observations": texts} for name, texts in merged.items() if texts]
    return {"entities": list(new.values()), "merged": additions, "variants": {}}


def _add_observations(memory: TeamMemory, operation: Operation) -> Result:
    additions = operation.payload["observations"]
    names = [addition["entityName"] for addition in additions]
    existing = _entities(memory, names) | _named(memory, names)
    statements, results = [], []
    for name, addition in zip(names, additions, strict=True):
        if name not in existing:
            raise errors.NotFound(name, f"Entity with name {name} not found")
        texts = _new_texts(memory, name, list(dict.fromkeys(addition["contents"])))
        statements += [_observation(operation, name, text) for text in texts]
        results.append({"entityName": name, "addedObservations": texts})
    append(memory, statements)
    return {"results": results}


def _create_relations(memory: TeamMemory, operation: Operation) -> Result:
    relations = operation.payload["relations"]
    new = {wire.key_in(wire.RELATION, relation): relation for relation in relations}
    for row in memory.reader.standing(list(new)):
        new.pop(row.key, None)
    ends = list(dict.fromkeys(end for r in new.values() for end in (r["from"], r["to"])))
    existing = _entities(memory, ends) | _named(memory, ends)
    created = [name for name in ends if name not in existing]
    statements = [_entity(operation, n, entity_type(n) or UNKNOWN_TYPE) for n in created]
    statements += [_stated(operation, wire.RELATION, relation) for relation in new.values()]
    append(memory, statements)
    return {"relations": list(new.values()), "created_ends": created}


def _withdraw(memory: TeamMemory, operation: Operation) -> Result:
    """Withdraw the member's statements: those that `operation` lists, or all about its entities."""
    payload, keys = operation.payload, list[str]()
    for deletion in payload.get("deletions", ()):
        name = deletion["entityName"]
        keys += [wire.key_of(wire.OBSERVATION, name, text) for text in deletion["observations"]]
    keys += [wire.key_in(wire.RELATION, relation) for relation in payload.get("relations", ())]
    keys += [wire.key_of(wire.RECORD, id_) for id_ in payload.get("ids", ())]
    about = memory.reader.about(payload.get("entityNames", ()))
    own = [row for row in about if row.author == memory.member] or memory.reader.own(keys)
    append(memory, [Statement(row.kind, row.key, None) for row in own])
    return {"deleted": len(own)}


def _remember(memory: TeamMemory, operation: Operation) -> Result:
    """Store a record unless the member has an equal one; mark those that it supersedes as ended."""
    stated = operation.payload["record"]
    record = records.from_object(stated)
    wanted = (record.type, record.domain, same_form(record.what))
    for row in memory.reader.own_records_with(record.what):
        value, own = row.value, row.value.get("own")
        form = (value.get("type"), value.get("domain"), same_form(str(value.get("what"))))
        if form == wanted and not value.get("superseded_by"):
            return {"record": {**value, **(own if isinstance(own, dict) else {})}, "repeated": True}
    statements = [Statement(wire.RECORD, wire.key_of(wire.RECORD, record.id), value_of(record))]
    superseded = operation.payload.get("supersedes", ())
    for row in memory.reader.own([wire.key_of(wire.RECORD, id_) for id_ in superseded]):
        closed = {**row.value, "superseded_by": record.id, "valid_to": record.created_at}
        statements.append(Statement(wire.RECORD, row.key, closed))
    append(memory, statements)
    return {"record": stated}


_EFFECTS: dict[str, Callable[[TeamMemory, Operation], Result]] = {
    "create_entities": _create_entities, "create_relations": _create_relations,
    "add_observations": _add_observations, "delete_entities": _withdraw,
    "delete_observations": _withdraw, "delete_relations": _withdraw,
    "remember": _remember, "forget": _withdraw,
}  # fmt: skip


def _new_texts(memory: TeamMemory, name: str, texts: Sequence[str]) -> list[str]:
    keys = {wire.key_of(wire.OBSERVATION, name, text): text for text in texts}
    standing = {row.key for row in memory.reader.standing(list(keys))}
    return [text for key, text in keys.items() if key not in standing]


def _entities(memory: TeamMemory, names: Iterable[str]) -> set[str]:
    keys = {wire.key_of(wire.ENTITY, name): name for name in names}
    return {keys[row.key] for row in memory.reader.standing(list(keys))}


def _named(memory: TeamMemory, names: Sequence[str]) -> set[str]:
    """Return those of `names` that occur in any visible statement, such as a relation or record."""
    entities = memory.reader.entities_by_key(map(name_key, names))
    return {name for name in names if entities.get(name_key(name), Entity("", "")).name == name}


def _stated(operation: Operation, kind: str, value: Mapping[str, Any]) -> Statement:
    by = operation.provenance
    whole = {**value, "created_at": by.at, "domain": by.domain}
    return Statement(kind, wire.key_in(kind, whole), whole)


def _entity(operation: Operation, name: str, type_: str) -> Statement:
    return _stated(operation, wire.ENTITY, {"name": name, "type": type_, "aliases": []})


def _observation(operation: Operation, name: str, text: str) -> Statement:
    return _stated(operation, wire.OBSERVATION, {"entity": name, "text": text})


def _one_at_a_time(memory: TeamMemory) -> None:
    """Lock out other changes by the member, which could replace the same current operations."""
    lock = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
    memory.reader.query(lock, (f"{memory.space}\n{memory.member}",))
