"""How old entities and records are: when something was last said of each, and by what.

Only names, types and times are read for all of them; texts for those that somebody is shown.
"""

from __future__ import annotations

from memory_fabric.models import OTHERS
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from memory_fabric.store.database import Database

ENTITY, RECORD = "entity", "record"
CHUNK = 500
# What is still a memory of ours: nothing closed, nothing of others, nothing that ends by itself.
_STANDING = (
    "status = 'active' AND pinned = 0 AND superseded_by = '' AND (valid_to = '' OR valid_to > ?) "
    f"AND scope <> 'local' AND source <> '{OTHERS}'"
)
_RECORDS = "SELECT seq, id, type, created_at, sightings FROM records"
_ENTITIES = """
    SELECT e.id, e.name, e.type,
        coalesce(max(o.created_at), max(e.created_at,
            coalesce((SELECT max(created_at) FROM relations WHERE source = e.id), ''),
            coalesce((SELECT max(created_at) FROM relations WHERE target = e.id), ''))) AS last,
        coalesce(max(o.id), 0), count(o.id)
    FROM entities AS e LEFT JOIN observations AS o ON o.entity = e.id
"""
_SPEAKING = """
    SELECT at.entity, r.type, max(r.created_at), max(r.pinned) FROM (
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


class Aged(Value):
    """An entity or record as it stands: when it was last spoken of, and what tells a change of it.

    `kind` is "entity" or "record", `id` a record's id, `row` its row. `newest` is the row of an
    entity's newest observation, or the number of sessions that said a record; `linked` the row of
    an entity's newest relation, and `relations` how many it has.
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


class Voice(Value):
    """Standing records of one type that speak of an entity: the newest's time, whether pinned."""

    type: str
    at: str
    pinned: bool


def entities(db: Database, before: str) -> list[Aged]:
    """Entities of which nothing was said since, without texts and numbers of relations."""
    found = db.rows(f"{_ENTITIES} GROUP BY e.id HAVING last < ?", (before,))
    return [_entity(db.kind, row) for row in found]


def records(db: Database, before: str, now: str) -> list[Aged]:
    """Records of before that still hold, without texts: not pinned, local, or somebody else's."""
    found = db.rows(f"{_RECORDS} WHERE created_at < ? AND {_STANDING}", (before, now))
    return [_record(db.kind, row) for row in found]


def voices(db: Database, now: str) -> dict[int, list[Voice]]:
    """For each entity's row, by type, the records that still hold and say something of it."""
    found: dict[int, list[Voice]] = {}
    for entity, kind, at, pinned in db.rows(_SPEAKING, (now,)):
        found.setdefault(entity, []).append(Voice(kind, at, bool(pinned)))
    return found


def told(db: Database, aged: Aged, max_chars: int) -> Aged:
    """The same with its last observation, cut, and the number of its relations."""
    if aged.kind == RECORD:
        row = db.row(
            "SELECT substr(what, 1, ?1), (SELECT group_concat(value, ', ') FROM (SELECT "
            "json_extract(value, '$[0]') AS value FROM json_each(body, '$.entities') LIMIT 3)) "
            "FROM records WHERE seq = ?2",
            (max_chars, aged.row),
        )
        return aged._replace(text=row[0], name=row[1] or "") if row else aged
    text = db.row(
        "SELECT substr(text, 1, ?) FROM observations WHERE entity = ? "
        "ORDER BY created_at DESC, id DESC LIMIT 1",
        (max_chars, aged.row),
    )
    return _linked(db, aged)._replace(text=text[0] if text else "")


def again(db: Database, shown: Sequence[Aged], now: str) -> list[Aged | None]:
    """Each as it stands now, without its text; None for what is gone, closed or pinned."""
    rows: dict[tuple[str, int], Aged] = {}
    for some in _chunks([a.row for a in shown if a.kind == ENTITY]):
        where = f"WHERE e.id IN ({', '.join('?' * len(some))})"
        for row in db.rows(f"{_ENTITIES} {where} GROUP BY e.id", some):
            rows[ENTITY, row[0]] = _linked(db, _entity(db.kind, row))
    for some in _chunks([a.row for a in shown if a.kind == RECORD]):
        marks = ", ".join("?" * len(some))
        for row in db.rows(f"{_RECORDS} WHERE {_STANDING} AND seq IN ({marks})", (now, *some)):
            rows[RECORD, row[0]] = _record(db.kind, row)
    return [rows.get((a.kind, a.row)) for a in shown]


def _linked(db: Database, aged: Aged) -> Aged:
    row = db.row(
        "SELECT count(*), coalesce(max(id), 0) FROM relations WHERE source = ?1 OR target = ?1",
        (aged.row,),
    )
    return aged._replace(relations=row[0], linked=row[1]) if row else aged


def _record(store: str, row: Sequence[Any]) -> Aged:
    number, id_, kind, at, sightings = row
    return Aged(RECORD, store, number, "", kind, at, id=id_, newest=sightings)


def _entity(store: str, row: Sequence[Any]) -> Aged:
    number, name, kind, last, newest, said = row
    return Aged(ENTITY, store, number, name, kind, last, newest=newest, observations=said)


def _chunks(values: Sequence[Any]) -> Iterable[list[Any]]:
    return (list(values[at : at + CHUNK]) for at in range(0, len(values), CHUNK))
