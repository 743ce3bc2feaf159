"""The age of entities and records: when each was last mentioned, and by which type of record."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.models import CONFIRMED, OTHERS, RESTATED
from memory_fabric.store.database import Database

KINDS = ENTITY, RECORD = "entity", "record"
# Condition for records that pruning may suggest: active, valid, this user's, not pinned, not local.
_PRUNABLE = (
    "status = 'active' AND pinned = 0 AND superseded_by = '' AND (valid_to = '' OR valid_to > ?) "
    f"AND scope <> 'local' AND source <> '{OTHERS}'"
)
_AT = "coalesce(json_extract({{0}}body, '$.evidence.{}'), '')"
_SAID_AT = f"max({{0}}created_at, {_AT.format(CONFIRMED)}, {_AT.format(RESTATED)})"
# The two queries select the fields of AgedMemory in order, beginning with `row`.
_RECORDS = f"SELECT seq, '', type, {_SAID_AT.format('')} AS at, id, sightings FROM records"
_ENTITIES = """
    SELECT e.id, e.name, e.type,
        coalesce(max(o.created_at), max(e.created_at,
            coalesce((SELECT max(created_at) FROM relations WHERE source = e.id), ''),
            coalesce((SELECT max(created_at) FROM relations WHERE target = e.id), ''))) AS last,
        '', coalesce(max(o.id), 0), count(o.id)
    FROM entities AS e LEFT JOIN observations AS o ON o.entity = e.id
"""
_MENTIONS = f"""
    SELECT at.entity, r.type, max({_SAID_AT.format("r.")}), max(r.pinned) FROM (
        SELECT o.entity AS entity, c.record AS record FROM claims AS c
        JOIN observations AS o ON o.id = c.row WHERE c.kind = 'observations'
        UNION SELECT l.source, c.record FROM claims AS c
        JOIN relations AS l ON l.id = c.row WHERE c.kind = 'relations'
        UNION SELECT l.target, c.record FROM claims AS c
        JOIN relations AS l ON l.id = c.row WHERE c.kind = 'relations'
    ) AS at JOIN records AS r ON r.id = at.record
    WHERE r.status = 'active' AND r.superseded_by = '' AND (r.valid_to = '' OR r.valid_to > ?)
    GROUP BY at.entity, r.type
"""


class AgedMemory(NamedTuple):
    """An entity or record (`kind`), and the time of its last mention. Other fields serve to notice
    changes. For an entity, `newest` and `linked` are the row numbers of its newest observation and
    relation. For a record, `id` is set, and `newest` counts the sessions that stated it.
    """

    kind: str
    store: str
    row: int
    name: str
    type: str
    last_at: str
    id: str = ""
    newest: int = 0
    observations: int = 0
    relations: int = 0
    linked: int = 0
    text: str = ""


class Mention(NamedTuple):
    """An entity's last mention in valid records of one type; `pinned` if one of them is pinned."""

    type: str
    at: str
    pinned: bool


def entities(db: Database, before: str) -> list[AgedMemory]:
    """Return entities last mentioned before `before`. Their texts and relation counts are unset."""
    rows = db.rows(f"{_ENTITIES} GROUP BY e.id HAVING last < ?", (before,))
    return [AgedMemory(ENTITY, db.kind, *row) for row in rows]


def records(db: Database, before: str, now: str) -> list[AgedMemory]:
    """Return records that pruning may suggest, last stated before `before`. Texts are unset."""
    rows = db.rows(f"{_RECORDS} WHERE at < ? AND {_PRUNABLE}", (before, now))
    return [AgedMemory(RECORD, db.kind, *row) for row in rows]


def mentions(db: Database, now: str) -> dict[int, list[Mention]]:
    """Map each entity's row number to its mentions in valid records, one for each record type."""
    by_entity: dict[int, list[Mention]] = {}
    for entity, kind, at, pinned in db.rows(_MENTIONS, (now,)):
        by_entity.setdefault(entity, []).append(Mention(kind, at, bool(pinned)))
    return by_entity


def with_text(db: Database, item: AgedMemory, max_chars: int) -> AgedMemory:
    """Add a record's text, or an entity's newest observation and relation count; cut the text."""
    if item.kind == RECORD:
        row = db.row(
            "SELECT substr(what, 1, ?1), (SELECT group_concat(value, ', ') FROM (SELECT "
            "json_extract(value, '$[0]') AS value FROM json_each(body, '$.entities') LIMIT 3)) "
            "FROM records WHERE seq = ?2",
            (max_chars, item.row),
        )
        return item._replace(text=row[0], name=row[1] or "") if row else item
    newest = "WHERE entity = ? ORDER BY created_at DESC, id DESC LIMIT 1"
    text = db.row(f"SELECT substr(text, 1, ?) FROM observations {newest}", (max_chars, item.row))
    return _linked(db, item)._replace(text=text[0] if text else "")


def reread(db: Database, memories: Sequence[AgedMemory], now: str) -> list[AgedMemory | None]:
    """Return the current state of each memory; None if it was deleted, superseded or pinned."""
    numbers = {kind: json.dumps([a.row for a in memories if a.kind == kind]) for kind in KINDS}
    of_shown = "IN (SELECT value FROM json_each(?))"
    entities = db.rows(f"{_ENTITIES} WHERE e.id {of_shown} GROUP BY e.id", (numbers[ENTITY],))
    query = f"{_RECORDS} WHERE {_PRUNABLE} AND seq {of_shown}"
    current = [_linked(db, AgedMemory(ENTITY, db.kind, *row)) for row in entities]
    current += [AgedMemory(RECORD, db.kind, *r) for r in db.rows(query, (now, numbers[RECORD]))]
    by_row = {(item.kind, item.row): item for item in current}
    return [by_row.get((a.kind, a.row)) for a in memories]


def _linked(db: Database, item: AgedMemory) -> AgedMemory:
    linked = "SELECT count(*), coalesce(max(id), 0) FROM relations WHERE source = ?1 OR target = ?1"
    row = db.row(linked, (item.row,))
    return item._replace(relations=row[0], linked=row[1]) if row else item
