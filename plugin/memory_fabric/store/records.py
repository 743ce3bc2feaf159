"""Conversion between Record objects, JSON (in journals, operations, exports) and database rows."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from memory_fabric import models
from memory_fabric.ids import checksum
from memory_fabric.models import CONTRADICTS, OTHERS, Entity, Json, Payload, Record, Relation
from memory_fabric.store.database import Database, Values
from memory_fabric.store.queries.conditions import OF_SESSION, chunks, marks
from memory_fabric.store.schema import ACTIVE_CURRENT, CURRENT
from memory_fabric.text import index_extra, loose_stem, same_form, words

# Fields with their own column, because queries use them; the other fields are in `body`.
COLUMNS = (
    "id type what why confidence trust source scope domain session agent status pinned created_at "
    "valid_to superseded_by"
).split()
_BODY = (
    "alternatives constraints tradeoffs outcome category generalizable project author origin "
    "valid_from evidence"
).split()
# Keys of `evidence` that are indexed: `also` has extra search words, the others error symptoms.
FOUND_BY = ("also", "error", "symptom")
MAX_KEY_CHARS = 400
# The number of records per query or transaction, so that other processes wait 0.2 s at most.
CHUNK = 400
# A record with the sessions that stated it.
Stored = tuple[Record, list[str]]
_LISTS = frozenset(("alternatives", "constraints", "tradeoffs"))
_SELECT = ", ".join([*COLUMNS, "body", "sightings"])
_SELECT_R = ", ".join(f"r.{name}" for name in [*COLUMNS, "body", "sightings"])


def as_object(record: Record) -> Json:
    """Return the record as JSON: entities as [name, type], relations as [source, type, target]."""
    out = {name: getattr(record, name) for name in (*COLUMNS, *_BODY)}
    for name in _LISTS:
        out[name] = list(out[name])
    out["evidence"] = dict(record.evidence)
    out["entities"] = [[e.name, e.type] for e in record.entities]
    out["relations"] = [[r.source, r.type, r.target] for r in record.relations]
    return out


def from_object(value: Payload) -> Record:
    """Build a record from JSON, with defaults. Raises KeyError if `type` or `what` is missing."""
    plain = Record(type=str(value["type"]), what=str(value["what"]))
    fields: dict[str, Any] = {}
    for name in (*COLUMNS, *_BODY):
        part, default = value.get(name), getattr(plain, name)
        if name in _LISTS:
            fields[name] = tuple(map(str, part)) if isinstance(part, list | tuple) else ()
        elif name in ("pinned", "generalizable"):
            fields[name] = bool(part)
        elif name == "confidence":
            is_share = isinstance(part, int | float) and 0 <= part <= 1
            fields[name] = float(part or 0) if is_share else default
        elif name == "evidence":
            fields[name] = dict(part) if isinstance(part, dict) else {}
        else:
            fields[name] = part if isinstance(part, str) else default
    entities = tuple(Entity(str(e[0]), str(e[1])) for e in _tuples(value.get("entities"), 2))
    relations = tuple(Relation(*map(str, part)) for part in _tuples(value.get("relations"), 3))
    return plain._replace(**fields, entities=entities, relations=relations)


def have_same_text(one: Record, other: Record) -> bool:
    """Return True if both texts have the same `same_form`, a stricter test than equal `key_of`."""
    return same_form(one.what) == same_form(other.what)


@lru_cache(1000)  # cached: each record's key is computed several times while storing
def key_of(what: str) -> str:
    """Return a key, equal for texts with the same stemmed words; a long key ends in a checksum."""
    key = " ".join(loose_stem(w) for w in words(what))
    return key if len(key) <= MAX_KEY_CHARS else f"{key[:MAX_KEY_CHARS]} {checksum(key):08x}"


def put(connection: sqlite3.Connection, record: Record, sessions: list[str]) -> None:
    """Insert or replace a record; `sessions` are the ids of the sessions that stated it."""
    whole = as_object(record)
    body = {name: whole[name] for name in _BODY}
    body |= {"entities": whole["entities"], "relations": whole["relations"], "seen_in": sessions}
    found_by = [str(record.evidence.get(key) or "") for key in FOUND_BY]
    about = " ".join([*(e.name for e in record.entities), *record.alternatives, *found_by]).strip()
    searched = (key_of(record.what), about, index_extra(f"{record.what} {record.why} {about}"))
    encoded, sightings = json.dumps(body, ensure_ascii=False), max(1, len(sessions))
    columns = [*COLUMNS, "key", "about", "extra", "body", "sightings"]
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
    inserted = f"INSERT INTO records ({', '.join(columns)}) VALUES ({marks(columns)})"
    values = [*(whole[name] for name in COLUMNS), *searched, encoded, sightings]
    connection.execute(f"{inserted} ON CONFLICT (id) DO UPDATE SET {changes}", values)


def find(c: sqlite3.Connection, where: str, values: Values, limit: int = 1000) -> list[Stored]:
    """Return records that match the condition, newest first, with the sessions that stated each."""
    newest = "ORDER BY created_at DESC, seq DESC LIMIT ?"
    query = f"SELECT {_SELECT} FROM records WHERE {where} {newest}"
    return [_of_row(row) for row in c.execute(query, (*values, limit)).fetchall()]


def among(database: Database, column: str, values: Sequence[str]) -> Iterator[Record]:
    """Yield records with one of these values in a column, newest first in each CHUNK of values."""
    for some in chunks(values, CHUNK):
        where = f"{column} IN ({marks(some)})"
        yield from (record for record, _ in find(database.connection, where, tuple(some), -1))


def sightings_of(databases: Iterable[Database], ids: Sequence[str]) -> dict[str, int]:
    """Map each record's id to the number of sessions in which the record was stated."""
    query = f"SELECT id, sightings FROM records WHERE id IN ({marks(ids)})"
    return {row[0]: row[1] for db in databases for row in db.rows(query, ids)} if ids else {}


def about(
    db: Database, match: str, types: Sequence[str], limit: int, *, candidates: bool = False
) -> list[Record]:
    """Return the current records of these types that match the FTS5 query `match`: up to `limit` of
    this user, then up to `limit` of others, each best first. `candidates` adds unreviewed records.
    """
    active = "('active', 'candidate')" if candidates else "('active')"
    rows: list[tuple[Any, ...]] = []
    for sign in ("<>", "="):
        rows += db.rows(
            f"SELECT {_SELECT_R} FROM records_fts AS t JOIN records AS r ON r.seq = t.rowid "
            f"WHERE records_fts MATCH ? AND r.type IN ({marks(types)}) AND r.status IN {active} "
            f"AND {CURRENT} AND r.source {sign} ? "
            "ORDER BY bm25(records_fts, 1.0, 0.3, 0.7, 0.4) LIMIT ?",
            (match, *types, OTHERS, limit),
        )
        if db.row("SELECT 1 FROM meta WHERE key = ?", (models.HAS_OTHERS,)) is None:
            break
    return [_of_row(row)[0] for row in rows]


def newest_fixes(databases: Iterable[Database], session: str, limit: int) -> list[Record]:
    """Return each database's `limit` newest current fixes, with only the fields to match errors."""
    query = (
        "SELECT id, what, trust, session, created_at, json_extract(body, '$.evidence'), "
        "json_extract(body, '$.entities') FROM records WHERE type = 'solution' "
        # Order by `seq`: the index of fixes has the same order, so no sorting is needed.
        f"AND {ACTIVE_CURRENT} AND {OF_SESSION} ORDER BY seq DESC LIMIT ?"
    )
    fixes, rows = [], [row for db in databases for row in db.rows(query, (session, limit))]
    for id_, what, trust, by, at, evidence, about in rows:
        entities = tuple(Entity(*fields) for fields in json.loads(about or "[]"))
        fix = Record("solution", what, id=id_, trust=trust, session=by, created_at=at)
        fixes.append(fix._replace(evidence=json.loads(evidence or "{}"), entities=entities))
    return fixes


def contradicting_any(ids: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition and its values for current records that contradict these records."""
    return (
        f"{ACTIVE_CURRENT} AND scope <> 'local' AND instr(body, '\"{CONTRADICTS}\"') > 0 "
        f"AND id NOT IN ({marks(ids)}) AND EXISTS (SELECT 1 FROM "
        f"json_each(body, '$.evidence.{CONTRADICTS}') WHERE value IN ({marks(ids)}))",
        (*ids, *ids),
    )


def _of_row(row: tuple[Any, ...]) -> Stored:
    body = json.loads(row[len(COLUMNS)])
    value = dict(zip(COLUMNS, row, strict=False)) | body
    value["pinned"] = bool(value["pinned"])
    return from_object(value), [str(s) for s in body.get("seen_in", [])]


def _tuples(value: Any, size: int) -> list[Any]:
    if not isinstance(value, list | tuple):
        return []
    return [part for part in value if isinstance(part, list | tuple) and len(part) == size]
