"""The origin and history of a memory: its changes, and the sessions that it was injected into."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_fabric.errors import NotFound
from memory_fabric.models import Record
from memory_fabric.redaction import prefilter
from memory_fabric.store import records
from memory_fabric.store.database import Database
from memory_fabric.store.history import changes, describe, resolve
from memory_fabric.store.history.changes import Change
from memory_fabric.store.memory import Memory

# Operations read for one history; older ones are ignored.
MAX_LOOKED_AT = 10_000
# SQLite refuses expressions that are nested deeper than a thousand.
NEEDLES_AT_ONCE = 200
_STATEMENT_FIELDS = "text trust source session agent domain record created_at".split()


@dataclass(frozen=True, slots=True)
class DescribedChange:
    """A change with a phrase that describes it."""

    change: Change
    what: str


@dataclass(frozen=True, slots=True)
class Injection:
    """An injection of a memory: the session (and agent of it), the channel, and the time."""

    memory: str
    session: str
    agent: str
    channel: str
    at: str


@dataclass(frozen=True, slots=True)
class RecordTrace:
    """The origin of a record; `deletion` is the change that deleted it, if any."""

    record: Record
    seen_in: tuple[str, ...]
    store: str
    tiers: tuple[str, ...]
    injections: tuple[Injection, ...]
    deletion: DescribedChange | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One observation of an entity with its provenance and injections."""

    text: str
    trust: str
    source: str
    session: str
    agent: str
    domain: str
    record: str
    at: str
    injections: tuple[Injection, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityTrace:
    """The origin of an entity; `deletion` is the change that deleted it, if any."""

    name: str
    type: str
    aliases: tuple[str, ...]
    store: str
    statements: tuple[Statement, ...]
    injections: tuple[Injection, ...]
    deletion: DescribedChange | None = None


def as_json(described: DescribedChange) -> dict[str, Any]:
    """Return a change as JSON, redacted by the current rules."""
    change = described.change
    return {
        "id": change.id,
        "kind": change.kind,
        "at": change.at,
        "by": {k: v for k, v in change.by.items() if v and k != "at"},
        "store": change.store,
        "what": described.what,
        "undone": change.undone,
        "payload": prefilter.object_without_secrets(change.payload),
    }


def history(memory: Memory, name: str | None, limit: int) -> list[DescribedChange]:
    """Return changes of an entity (under all its names), of a record by its id, or all; newest
    first.

    Forgotten and deleted memories have a history, too.
    """
    if name is None:
        found = changes.read_all(memory, limit=limit)
    else:
        found = _concerning(memory, name)[:limit]
    return [described(memory, change) for change in found]


def why(memory: Memory, name: str) -> RecordTrace | EntityTrace:
    """Return the origin and injections of a record (by its id) or an entity. Raises NotFound.

    A forgotten or deleted memory is read from the changes that are kept, with its `deletion`.
    """
    if resolve.looks_like_id(name):
        try:
            record, seen, store = resolve.record_by_id(memory, name)
        except NotFound:
            return _forgotten_record(memory, name)
        tiers = resolve.tiers_holding(memory, record.id)
        injections = _injections(memory, (record.id, f"record:{record.id}"))
        return RecordTrace(record, tuple(seen), store, tuple(tiers), tuple(injections))
    for database in memory.databases():
        for meant in _names_meant(memory, database, name):
            return _entity(memory, database, meant)
    return _deleted_entity(memory, name)


def _names_meant(memory: Memory, database: Database, name: str) -> list[str]:
    exact = [
        found for store, found in resolve.entities_meant(memory, name) if store == database.kind
    ]
    known = sorted(resolve.names_of(memory, name))
    return exact or [
        row[0]
        for other in known
        for row in database.rows("SELECT name FROM entities WHERE name = ?", (other,))
    ]


def _entity(memory: Memory, database: Database, name: str) -> EntityTrace:
    row = database.row("SELECT id, type FROM entities WHERE name = ?", (name,))
    id_, kind = row or (0, "")
    injections = _injections(memory, (f"graph:{name}",), starting=f"graph:{name}#")
    statements = []
    for number, *fields in database.rows(
        f"SELECT id, {', '.join(_STATEMENT_FIELDS)} FROM observations WHERE entity = ? ORDER BY id",
        (id_,),
    ):
        record = fields[6]
        mine = [
            injection for injection in injections if injection.memory == f"graph:{name}#{number}"
        ]
        if record:
            mine += _injections(memory, (record, f"record:{record}"))
        statements.append(_statement(fields, mine))
    aliases = database.rows("SELECT alias FROM aliases WHERE entity = ? ORDER BY key", (id_,))
    return EntityTrace(
        name,
        kind,
        tuple(row[0] for row in aliases),
        database.kind,
        tuple(statements),
        tuple(injections),
    )


def _forgotten_record(memory: Memory, text: str) -> RecordTrace:
    """Return a deleted record from the change that deleted it. Raises NotFound."""
    for change in _concerning(memory, text):
        if change.undone:
            continue
        for step in change.inverse:
            kept = step["payload"].get("record") if step["kind"] == "put_record" else None
            if kept and str(kept.get("id", "")).endswith(resolve.id_part(text)):
                record = records.from_object(kept)
                injections = _injections(memory, (record.id, f"record:{record.id}"))
                seen = tuple(step["payload"]["seen_in"])
                deletion = described(memory, change)
                return RecordTrace(record, seen, change.store, (), tuple(injections), deletion)
    raise NotFound(
        text, f"No memory has the id {text!r}.", remedy="memory-fabric recall shows ids."
    )


def _deleted_entity(memory: Memory, name: str) -> EntityTrace:
    for change in _concerning(memory, name):
        for rows in _removed_rows(change):
            for row in rows.get("entities") or ():
                if row["name"] != name:
                    continue
                statements = [
                    _statement([str(o.get(field, "")) for field in _STATEMENT_FIELDS], ())
                    for o in rows.get("observations") or ()
                    if o["entity"] == name
                ]
                injections = _injections(memory, (f"graph:{name}",), starting=f"graph:{name}#")
                aliases = tuple(pair[1] for pair in row.get("aliases") or ())
                trace = (name, str(row.get("type", "")), aliases, change.store, tuple(statements))
                return EntityTrace(*trace, tuple(injections), described(memory, change))
    raise NotFound(
        name, f"There is no entity {name!r}.", remedy="memory-fabric recall finds names."
    )


def _statement(fields: Sequence[str], injections: Iterable[Injection]) -> Statement:
    text, trust, source, session, agent, domain, record, at = fields
    return Statement(text, trust, source, session, agent, domain, record, at, tuple(injections))


def _removed_rows(change: Change) -> list[Mapping[str, Any]]:
    """Return rows that a change removed from the graph."""
    found = []
    for step in change.inverse:
        payload = step["payload"]
        if step["kind"] == "restore":
            found.append(payload)
        elif step["kind"] == "put_record" and payload.get("rows"):
            found.append(payload["rows"])
        elif step["kind"] == "replace_rows":
            found += [group["in"] for group in payload["groups"]]
    return found


def described(memory: Memory, change: Change) -> DescribedChange:
    """Return a change with a phrase that describes it, redacted by the current rules."""

    def find(id_: str) -> Change | None:
        return changes.find(memory, change.store, id_)

    return DescribedChange(change, prefilter.without_secrets(describe.summary(change, find)))


def _concerning(memory: Memory, name: str) -> list[Change]:
    """Return changes of what a name or id means, newest first."""
    if resolve.looks_like_id(name):
        ids, names = {resolve.id_part(name)}, {name}
    else:
        ids, names = set(), resolve.names_of(memory, name)
        ids |= _records_about(memory, names)
    found: dict[str, Change] = {}
    known: set[str] = set()
    while known != names | ids:  # a merge adds former names of the entity
        known = names | ids
        for change in _mentioning(memory, ids, names):
            if change.id not in found and _concerns(change, ids, names):
                found[change.id] = change
                if change.kind == "merge" and change.payload["into"] in names:
                    names |= set(change.payload["names"])
    return changes.newest_first(found.values())


def _mentioning(memory: Memory, ids: Iterable[str], names: Iterable[str]) -> list[Change]:
    """Return operations that may concern the names or ids; `_concerns` decides.

    A name is a whole string of their JSON, an id the end of one.
    """
    patterns = [f'%"{_escaped(name)}"%' for name in sorted(names)]
    patterns += [f'%{_escaped(id_)}"%' for id_ in sorted(ids)]
    one = "payload LIKE ? ESCAPE '\\' OR inverse LIKE ? ESCAPE '\\'"
    found = []
    for start in range(0, len(patterns), NEEDLES_AT_ONCE):
        some = patterns[start : start + NEEDLES_AT_ONCE]
        values = [pattern for pattern in some for _ in range(2)]
        where = f"({' OR '.join([one] * len(some))})"
        found += changes.read_all(memory, where, values, limit=MAX_LOOKED_AT)
    return found


def _escaped(text: str) -> str:
    inside = json.dumps(text, ensure_ascii=False)[1:-1]
    return inside.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _concerns(change: Change, ids: set[str], names: set[str]) -> bool:
    """True if a change touches one of the ids (by their end) or entities of one of the names."""
    return any(
        text in names or any(text.endswith(ending) for ending in ids)
        for part in (change.payload, *change.inverse)
        for text in _texts(part)
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, Sequence):
        return [text for part in value for text in _texts(part)]
    return []


def _records_about(memory: Memory, names: Iterable[str]) -> set[str]:
    """Return ids of records that state something about the entities of these names."""
    found: set[str] = set()
    for database in memory.databases():
        for name in names:
            found.update(
                row[0]
                for row in database.rows(
                    "SELECT c.record FROM claims AS c JOIN observations AS o ON o.id = c.row "
                    "JOIN entities AS e ON e.id = o.entity "
                    "WHERE c.kind = 'observations' AND e.name = ?",
                    (name,),
                )
            )
    return found


def _injections(memory: Memory, keys: Sequence[str], *, starting: str = "") -> list[Injection]:
    """Return injections of the memories with these hit ids, newest first."""
    found = []
    marks = ", ".join("?" * len(keys))
    for database in memory.databases():
        rows = database.rows(
            "SELECT memory, session, agent, channel, created_at FROM injections "
            f"WHERE memory IN ({marks}) OR (? <> '' AND substr(memory, 1, ?) = ?)",
            [*keys, starting, len(starting), starting],
        )
        found += [Injection(*row) for row in rows if memory.domains is None or row[0] in keys]
    return sorted(found, key=lambda injection: injection.at, reverse=True)
