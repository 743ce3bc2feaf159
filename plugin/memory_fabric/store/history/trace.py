"""The origin and history of a memory: its changes, graph rows, and injections into sessions."""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from memory_fabric.errors import NotFound
from memory_fabric.models import Json, Payload, Record
from memory_fabric.redaction import redact
from memory_fabric.store import records
from memory_fabric.store.database import Database
from memory_fabric.store.history import changes, resolve
from memory_fabric.store.history.changes import Change
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.conditions import chunks

# The maximum number of operations read for one history; older operations are ignored.
MAX_LOOKED_AT = 10_000
# Maximum number of texts per query: each nests the SQL deeper; SQLite allows a thousand levels.
NEEDLES_AT_ONCE = 200
# SQL condition: the session ran without hooks and was only read later, by `learn`.
_ONLY_LEARNED = (
    "(loaded_at = '' AND prompts = 0 AND id IN (SELECT json_extract(value, '$[0]') FROM meta "
    "WHERE key >= 'learned ' AND key < 'learned!' AND instr(key, ' session ') > 0 "
    "AND json_extract(value, '$[1]') = -1))"
)
_SPAN = f"SELECT min(started_at), max(seen_at) FROM sessions WHERE NOT {_ONLY_LEARNED}"
_STATING = (
    "SELECT c.record FROM claims AS c JOIN observations AS o ON o.id = c.row "
    "JOIN entities AS e ON e.id = o.entity WHERE c.kind = 'observations' AND e.name = ?"
)
_STATEMENT_FIELDS = "text trust source session agent domain record created_at".split()
_MENTIONING = "payload LIKE ? ESCAPE '\\' OR inverse LIKE ? ESCAPE '\\'"


class Injection(NamedTuple):
    """One injection of a memory: the session (and its agent), the channel, and the time."""

    memory: str
    session: str
    agent: str
    channel: str
    at: str


class RecordTrace(NamedTuple):
    """The origin of a record; `deletion` is the change that deleted it, or None."""

    record: Record
    seen_in: tuple[str, ...]
    store: str
    tiers: tuple[str, ...]
    injections: tuple[Injection, ...]
    deletion: Change | None = None


class Statement(NamedTuple):
    """One observation of an entity, with its provenance and injections."""

    text: str
    trust: str
    source: str
    session: str
    agent: str
    domain: str
    record: str
    at: str
    injections: tuple[Injection, ...] = ()


class EntityTrace(NamedTuple):
    """The origin of an entity; `deletion` is the change that deleted it, or None."""

    name: str
    type: str
    aliases: tuple[str, ...]
    store: str
    statements: tuple[Statement, ...]
    injections: tuple[Injection, ...]
    deletion: Change | None = None


class GraphRows(NamedTuple):
    """Entities that a record created (`new`) or reused (`known`), and counts of its other rows."""

    new: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    observations: int = 0
    relations: int = 0


def as_json(change: Change) -> Json:
    """Return a change as JSON, redacted by the current rules."""
    by = {k: v for k, v in change.by.items() if v and k != "at"}
    fields: dict[str, Any] = {"id": change.id, "kind": change.kind, "at": change.at, "by": by}
    fields |= {"store": change.store, "what": change.what, "undone": change.undone}
    return fields | {"payload": redact.redacted_object(change.payload)}


def history(memory: Memory, name: str | None, limit: int) -> list[Change]:
    """Return the changes of an entity or record (even if deleted), or all changes; newest first."""
    listed = changes.read_all(memory, limit=limit) if name is None else _concerning(memory, name)
    return [described(memory, change) for change in listed[:limit]]


def why(memory: Memory, name: str) -> RecordTrace | EntityTrace:
    """Return the origin and injections of a record (by id) or an entity. Raises NotFound."""
    if resolve.means_id(memory, name):
        try:
            record, seen_in, store = resolve.record_by_id(memory, name)
        except NotFound:
            return _forgotten_record(memory, name)
        tiers = tuple(resolve.tiers_holding(memory, record.id))
        return RecordTrace(record, tuple(seen_in), store, tiers, _of_record(memory, record.id))
    exact = resolve.entities_meant(memory, name)
    spellings = sorted(resolve.names_of(memory, name))
    for database in memory.databases():
        called = [exact_name for store, exact_name in exact if store == database.kind] or spellings
        for spelling in called:
            if row := database.row("SELECT id, type FROM entities WHERE name = ?", (spelling,)):
                return _entity(memory, database, spelling, *row)
    return _deleted_entity(memory, name)


def described(memory: Memory, change: Change) -> Change:
    """Return the change with `what` set to a description, redacted by the current rules."""
    phrase = changes.summary(change, lambda id_: changes.find(memory, change.store, id_))
    return change._replace(what=redact.without_secrets(phrase))


def graph_rows(memory: Memory, record: Record, *, repeated: bool) -> GraphRows:
    """Return a record's graph rows; if it was `repeated` now, all its entities are `known`."""
    for database in memory.databases():
        if database.row("SELECT 1 FROM records WHERE id = ?", (record.id,)) is None:
            continue
        query = "SELECT name FROM entities WHERE record = ? ORDER BY id"
        created = [] if repeated else [row[0] for row in database.rows(query, (record.id,))]
        query = "SELECT kind, count(*) FROM claims WHERE record = ? GROUP BY kind"
        counts: dict[str, int] = dict(database.rows(query, (record.id,)))
        existing = [entity.name for entity in record.entities if entity.name not in created]
        numbers = counts.get("observations", 0), counts.get("relations", 0)
        return GraphRows(tuple(created), tuple(existing) if counts else (), *numbers)
    return GraphRows()


def injections_since(databases: Iterable[Database], since: str) -> list[tuple[str, str, str, str]]:
    """Return (session, memory, channel, time) of injections; skip subagents and copies in forks."""
    query = (
        "SELECT i.session, i.memory, i.channel, i.created_at FROM injections AS i "
        "JOIN sessions AS s ON s.id = i.session WHERE i.agent = '' AND i.created_at >= ? "
        # Skip injections older than the session: a fork has copies of its parent's injections.
        "AND i.created_at >= s.started_at ORDER BY i.created_at"
    )
    return [row for database in databases for row in database.rows(query, (since,))]


def sessions(databases: Iterable[Database]) -> set[str]:
    """Return the ids of all sessions in which a hook ran."""
    query = f"SELECT id FROM sessions WHERE NOT {_ONLY_LEARNED}"
    return {row[0] for database in databases for row in database.rows(query)}


def span(databases: Iterable[Database]) -> tuple[str, str]:
    """Return the times at which a hook first and last used these databases; '' if none ever did."""
    spans = [row for database in databases if (row := database.row(_SPAN)) and row[0]]
    return min((row[0] for row in spans), default=""), max((row[1] for row in spans), default="")


def transcript_folders(databases: Iterable[Database]) -> list[str]:
    """Return the folders in which the client stores the transcripts of the databases' sessions."""
    query = "SELECT DISTINCT transcript FROM sessions WHERE transcript <> ''"
    paths = [path for database in databases for (path,) in database.rows(query)]
    return list(dict.fromkeys(map(os.path.dirname, paths)))


def _entity(memory: Memory, database: Database, name: str, id_: int, kind: str) -> EntityTrace:
    injections, statements = _of_entity(memory, name), []
    columns = f"id, {', '.join(_STATEMENT_FIELDS)}"
    query = f"SELECT {columns} FROM observations WHERE entity = ? ORDER BY id"
    for number, *fields in database.rows(query, (id_,)):
        statement = Statement(*fields)
        mine = [i for i in injections if i.memory == f"graph:{name}#{number}"]
        mine += _of_record(memory, statement.record) if statement.record else ()
        statements.append(statement._replace(injections=tuple(mine)))
    aliases = tuple(resolve.aliases_of(database, name))
    return EntityTrace(name, kind, aliases, database.kind, tuple(statements), injections)


def _forgotten_record(memory: Memory, text: str) -> RecordTrace:
    for change in _concerning(memory, text):
        for step in change.inverse if not change.undone else ():
            stored = step["payload"].get("record") if step["kind"] == "put_record" else None
            if stored and str(stored.get("id", "")).endswith(resolve.id_part(text)):
                record, seen_in = records.from_object(stored), tuple(step["payload"]["seen_in"])
                injections, deletion = _of_record(memory, record.id), described(memory, change)
                return RecordTrace(record, seen_in, change.store, (), injections, deletion)
    raise resolve.no_such_id(text)


def _deleted_entity(memory: Memory, name: str) -> EntityTrace:
    for change in _concerning(memory, name):
        removed: list[Payload] = []
        for step in change.inverse:
            kind, payload = step["kind"], step["payload"]
            removed += [payload] if kind == "restore" else []
            removed += [payload["rows"]] if kind == "put_record" and payload.get("rows") else []
            removed += [g["in"] for g in payload.get("groups", ()) if kind == "replace_rows"]
        entities = ((row, rows) for rows in removed for row in rows.get("entities") or ())
        for row, rows in ((row, rows) for row, rows in entities if row["name"] == name):
            mine = (o for o in rows.get("observations") or () if o["entity"] == name)
            fields = (map(str, (o.get(f, "") for f in _STATEMENT_FIELDS)) for o in mine)
            statements = tuple(Statement._make((*stated, ())) for stated in fields)
            aliases = tuple(pair[1] for pair in row.get("aliases") or ())
            kind, injections = str(row.get("type", "")), _of_entity(memory, name)
            about = (name, kind, aliases, change.store, statements, injections)
            return EntityTrace(*about, described(memory, change))
    raise resolve.no_such_entity(name)


def _concerning(memory: Memory, name: str) -> list[Change]:
    if resolve.means_id(memory, name):
        ids, names = {resolve.id_part(name)}, {name}
    else:
        names, databases = resolve.names_of(memory, name), memory.databases()
        ids = {id_ for db in databases for n in names for (id_,) in db.rows(_STATING, (n,))}
    concerned: dict[str, Change] = {}
    searched: set[str] = set()
    while searched != names | ids:  # a merge that was found adds former names: search again
        searched, endings = names | ids, tuple(ids)
        patterns = [f'%"{_escaped(name)}"%' for name in sorted(names)]
        patterns += [f'%{_escaped(id_)}"%' for id_ in sorted(ids)]
        mentioning = []
        for some in chunks(patterns, NEEDLES_AT_ONCE):
            where = " OR ".join([_MENTIONING] * len(some))
            values = [pattern for pattern in some for _ in range(2)]
            mentioning += changes.read_all(memory, f"({where})", values, limit=MAX_LOOKED_AT)
        for change in mentioning:
            texts = (text for part in (change.payload, *change.inverse) for text in _texts(part))
            if change.id not in concerned and any(
                text in names or text.endswith(endings) for text in texts
            ):
                concerned[change.id] = change
                if change.kind == "merge" and change.payload["into"] in names:
                    names |= set(change.payload["names"])
    return changes.newest_first(concerned.values())


def _escaped(text: str) -> str:
    inside = json.dumps(text, ensure_ascii=False)[1:-1]
    return inside.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, Mapping) else value
    return [t for p in parts for t in _texts(p)] if isinstance(parts, Iterable) else []


def _of_record(memory: Memory, id_: str) -> tuple[Injection, ...]:
    return _injections(memory, "memory IN (?, ?)", id_, f"record:{id_}")


def _of_entity(memory: Memory, name: str) -> tuple[Injection, ...]:
    key = f"graph:{name}"
    if memory.domains is not None:  # omit observations, as they may be of unreadable domains
        return _injections(memory, "memory = ?", key)
    where = "memory = ?1 OR substr(memory, 1, ?2) = ?1 || '#'"
    return _injections(memory, where, key, len(key) + 1)


def _injections(memory: Memory, where: str, *values: Any) -> tuple[Injection, ...]:
    query = f"SELECT memory, session, agent, channel, created_at FROM injections WHERE {where}"
    rows = (Injection(*row) for db in memory.databases() for row in db.rows(query, values))
    return tuple(sorted(rows, key=lambda injection: injection.at, reverse=True))
