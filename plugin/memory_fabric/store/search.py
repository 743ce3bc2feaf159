"""Ranked candidates from the full-text indexes: observations, records, episodes, entity names.

Row ids come from FTS5 first and texts are fetched after the LIMIT, which costs least. `bm25` is
turned round so that bigger is better.
"""

from __future__ import annotations

from memory_fabric import jsontext
from memory_fabric.models import HAS_OTHERS, INGEST, OTHERS, Filters
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from memory_fabric.store.database import Database

EVERYTHING = Filters()
# Of what is asked for, so much of what others shared, beside it.
SHARE_OF_OTHERS = 4


class Candidate(Value):
    """A row that matched. `id` is `graph:<entity>#<n>`, `record:<uuid>` or `episode:<uuid>`.

    `before` and `after` are the texts of the turns beside a turn; a turn that came along because it
    stands beside one that matched has a `bm25` of 0.
    """

    id: str
    source: str
    text: str
    entity: str = ""
    before: str = ""
    after: str = ""
    before_id: str = ""
    after_id: str = ""
    timestamp: str = ""
    bm25: float = 0.0
    metadata: Mapping[str, Any] = {}
    store: str = "project"


def observations(
    db: Database, match: str, limit: int, filters: Filters = EVERYTHING
) -> list[Candidate]:
    """Observations of the graph that match, best first."""
    if not match or _is_elsewhere(db, filters.scopes):
        return []
    condition, values = _conditions(
        filters, {"domains": "o.domain", "agents": "o.agent", "sessions": "o.session"}, "o"
    )
    if filters.types:
        condition += f" AND e.type COLLATE NOCASE IN ({_marks(filters.types)})"
        values += filters.types
    rows = _ranked(db, _OBSERVATIONS, match, condition, values, limit)
    return [
        Candidate(
            id=f"record:{record}" if record else f"graph:{name}#{id_}",
            source="graph",
            entity=name,
            text=text,
            timestamp=at,
            bm25=-score,
            metadata={
                "entityType": kind,
                "trust": trust,
                "said_in": source,
                "session": session,
                "agent": agent,
                "domain": domain,
                "scope": "user" if db.kind == "user" else "team",
                "record": record,
                "superseded_by": (link or "").partition(" ")[0],
                "valid_to": (link or "").partition(" ")[2],
            },
            store=db.kind,
        )
        for (
            id_,
            name,
            kind,
            text,
            record,
            trust,
            source,
            session,
            agent,
            domain,
            at,
            link,
            score,
        ) in rows
    ]


def records(
    db: Database, match: str, limit: int, filters: Filters = EVERYTHING, session: str = ""
) -> list[Candidate]:
    """Active records that match, best first; those of scope local only for their own session."""
    if not match:
        return []
    condition, values = _record_conditions(filters, session)
    if db.row("SELECT 1 FROM meta WHERE key = ?", (HAS_OTHERS,)) is None:
        rows = _ranked(db, _RECORDS, match, condition, values, limit)
    else:  # however many others wrote, they take no place of ours
        theirs = max(1, limit // SHARE_OF_OTHERS)
        rows = _ranked(db, _RECORDS, match, f"{condition} {_OURS}", values, limit)
        rows += _ranked(db, _RECORDS, match, f"{condition} {_THEIRS}", values, theirs)
    return [_record_candidate(db, row[:-1], -row[-1]) for row in rows]


def records_by_id(
    db: Database, ids: Sequence[str], filters: Filters = EVERYTHING, session: str = ""
) -> list[Candidate]:
    """The active records with these ids that the filters allow."""
    condition, values = _record_conditions(filters, session)
    rows = db.rows(
        f"SELECT {_RECORD_FIELDS} FROM records AS r WHERE r.id IN ({_marks(ids)}) {condition}",
        [*ids, *values],
    )
    return [_record_candidate(db, row, 0.0) for row in rows]


def episodes(
    db: Database,
    match: str,
    limit: int,
    filters: Filters = EVERYTHING,
    *,
    neighbours: bool = False,
) -> list[Candidate]:
    """Turns of past sessions that match, best first, each with the turns beside it.

    With `neighbours` those are candidates, too, after the others: an answer rarely repeats the
    words of what was asked.
    """
    if not match or filters.types or _is_elsewhere(db, filters.scopes):
        return []
    condition, values = _conditions(
        filters, {"domains": "o.domain", "agents": "o.agent", "sessions": "o.session"}, "o"
    )
    rows = _ranked(db, _EPISODES, match, condition, values, limit)
    found = {row[0]: row for row in rows}
    if neighbours:
        ids = dict.fromkeys(id_ for row in rows for id_ in row[1:3] if id_ and id_ not in found)
        _, _, join, fields = _EPISODES
        beside = [(id_, 0.0) for id_ in ids]
        rows += _fetched(db, beside, join, fields, condition, values, len(beside))
    return [
        Candidate(
            id=f"episode:{uuid}",
            source="episodes",
            text=text,
            before=before or "",
            after=after or "",
            before_id=f"episode:{before_uuid}",
            after_id=f"episode:{after_uuid}",
            timestamp=at,
            bm25=-score,
            metadata={
                "type": "episode",
                "role": role,
                "session": session,
                "place": place,
                "agent": agent,
                "domain": domain,
                "trust": _trust(role, place),
                "scope": "team",
            },
            store=db.kind,
        )
        for _, _, _, uuid, session, role, text, place, agent, domain, at, *beside_it, score in rows
        for before_uuid, before, after_uuid, after in (beside_it,)
    ]


def _trust(role: str, place: str) -> str:
    """Whose word a turn is: the user's, the assistant's, or that of a program that sent it."""
    if place == INGEST:
        return "tool"
    return "user" if role == "user" else "assistant"


def entities_named(
    db: Database, match: str, limit: int, filters: Filters = EVERYTHING
) -> list[Candidate]:
    """Entities whose name or type matches, with their observations as the text, best first."""
    if not match or _is_elsewhere(db, filters.scopes):
        return []
    condition, values = _conditions(filters, {"domains": "e.domain"}, "e")
    if filters.types:
        condition += f" AND e.type COLLATE NOCASE IN ({_marks(filters.types)})"
        values += filters.types
    rows = _ranked(db, _ENTITIES, match, condition, values, limit)
    said = _first_observations(db, [row[0] for row in rows], filters.as_of)
    return [
        Candidate(
            id=f"graph:{name}",
            source="graph",
            entity=name,
            text=said.get(id_) or f"{name} ({kind})",
            timestamp=at,
            bm25=-score,
            metadata={
                "entityType": kind,
                "domain": domain,
                "scope": "user" if db.kind == "user" else "team",
                "whole_entity": True,
            },
            store=db.kind,
        )
        for id_, name, kind, domain, at, score in rows
    ]


def recent(
    db: Database, limit: int, filters: Filters = EVERYTHING, session: str = ""
) -> list[Candidate]:
    """The newest active records, then the newest observations that belong to none."""
    condition, values = _record_conditions(filters, session)
    rows = db.rows(
        f"SELECT {_RECORD_FIELDS} FROM records AS r WHERE 1 {condition} "
        "ORDER BY r.created_at DESC, r.seq DESC LIMIT ?",
        [*values, limit],
    )
    found = [_record_candidate(db, row, 0.0) for row in rows]
    if len(found) < limit and not filters.types and not _is_elsewhere(db, filters.scopes):
        found += _recent_observations(db, limit - len(found), filters)
    return found


_OURS, _THEIRS = (f"AND r.source {sign} '{OTHERS}'" for sign in ("<>", "="))
_RECORD_FIELDS = (
    "r.id, r.type, r.what, r.why, r.confidence, r.trust, r.source, r.scope, r.domain, r.session, "
    "r.agent, r.pinned, r.created_at, r.valid_to, r.superseded_by, r.promoted_at, r.body"
)
# What a function asks for: the index, the weights of its columns, the rows behind it, their fields.
_OBSERVATIONS = (
    "observations_fts",
    "0.6, 1.0, 0.5",
    "JOIN observations AS o ON o.id = {id} JOIN entities AS e ON e.id = o.entity",
    "o.id, e.name, e.type, o.text, o.record, o.trust, o.source, o.session, o.agent, o.domain, "
    # What replaced the record that says it; of several the one that stood longest counts.
    "o.created_at, (SELECT x.superseded_by || ' ' || x.valid_to FROM claims AS c "
    "JOIN records AS x ON x.id = c.record WHERE o.record <> '' AND c.kind = 'observations' "
    "AND c.row = o.id ORDER BY x.valid_to <> '', x.valid_to DESC LIMIT 1)",
)
_RECORDS = (
    "records_fts",
    "1.0, 0.6, 0.7, 0.4",
    "JOIN records AS r ON r.seq = {id}",
    _RECORD_FIELDS,
)
_EPISODES = (
    "episodes_fts",
    "1.0, 0.5",
    "JOIN episodes AS o ON o.id = {id} "
    "LEFT JOIN episodes AS p ON p.id = (SELECT max(id) FROM episodes WHERE session = o.session "
    "AND id < o.id) LEFT JOIN episodes AS n ON n.id = (SELECT min(id) FROM episodes "
    "WHERE session = o.session AND id > o.id)",
    "o.id, p.id, n.id, o.uuid, o.session, o.role, o.text, o.place, o.agent, o.domain, "
    "o.created_at, p.uuid, p.text, n.uuid, n.text",
)
_ENTITIES = (
    "entities_fts",
    "1.0, 0.3, 0.5",
    "JOIN entities AS e ON e.id = {id}",
    "e.id, e.name, e.type, e.domain, e.updated_at",
)


def _ranked(
    db: Database,
    source: tuple[str, str, str, str],
    match: str,
    condition: str,
    values: Sequence[Any],
    limit: int,
) -> list[tuple[Any, ...]]:
    """Rows that match and meet the condition, best first, each with its score as the last field.

    The condition is tried on the best matches only, a few times more than are wanted; where they do
    not suffice, on all: looking at the row of every match costs more than the search itself.
    """
    table, weights, join, fields = source
    scored = f"SELECT t.rowid, bm25({table}, {weights}) AS score FROM {table} AS t "
    chosen = f"WHERE {table} MATCH ? "
    best = "ORDER BY score LIMIT ?"
    enough = limit if not condition else 4 * limit + 100
    found = db.rows(scored + chosen + best, (match, enough))
    rows = _fetched(db, found, join, fields, condition, values, limit)
    if len(rows) < limit and len(found) == enough:
        whole = scored + join.format(id="t.rowid") + " " + chosen + condition + best
        found = db.rows(whole, (match, *values, limit))
        rows = _fetched(db, found, join, fields, "", (), limit)
    return rows


def _fetched(
    db: Database,
    found: Sequence[tuple[Any, ...]],
    join: str,
    fields: str,
    condition: str,
    values: Sequence[Any],
    limit: int,
) -> list[tuple[Any, ...]]:
    rows = db.rows(
        f"SELECT {fields}, j.key FROM json_each(?) AS j CROSS {join.format(id='j.value')} "
        f"WHERE 1 {condition} ORDER BY j.key LIMIT ?",
        (jsontext.dumps([row[0] for row in found]), *values, limit),
    )
    return [(*row[:-1], found[row[-1]][1]) for row in rows]


def _record_conditions(filters: Filters, session: str) -> tuple[str, list[Any]]:
    condition, values = _conditions(
        filters,
        {
            "domains": "r.domain",
            "agents": "r.agent",
            "sessions": "r.session",
            "types": "r.type",
            "scopes": "r.scope",
            "projects": "json_extract(r.body, '$.project')",
        },
        "r",
    )
    own = "AND r.status = 'active' AND (r.scope <> 'local' OR r.session = ?)"
    return f"{own} {condition}", [session, *values]


def _conditions(filters: Filters, columns: Mapping[str, str], table: str) -> tuple[str, list[Any]]:
    condition, values = "", []
    for field, column in columns.items():
        wanted = getattr(filters, field)
        if wanted:
            condition += f" AND {column} IN ({_marks(wanted)})"
            values += wanted
    time_column = f"{table}.updated_at" if table == "e" else f"{table}.created_at"
    if filters.since:
        condition += f" AND {time_column} >= ?"
        values.append(filters.since)
    if filters.before:
        condition += f" AND {time_column} < ?"
        values.append(filters.before)
    if filters.as_of:
        condition += f" AND {table}.created_at <= ?"
        values.append(filters.as_of)
    return condition, values


def _record_candidate(db: Database, row: tuple[Any, ...], bm25: float) -> Candidate:
    names = (
        "id type what why confidence trust said_in scope domain session agent pinned created_at "
        "valid_to superseded_by promoted_at"
    ).split()
    value = dict(zip(names, row, strict=False))
    body = jsontext.loads(row[-1])
    return Candidate(
        id=f"record:{value['id']}",
        source="records",
        text=value.pop("what"),
        timestamp=value.pop("created_at"),
        bm25=bm25,
        metadata=value
        | {
            "record": value["id"],
            "pinned": bool(value["pinned"]),
            "entities": [e[0] for e in body["entities"]],
            "relations": body["relations"],
            "alternatives": body["alternatives"],
            "outcome": body["outcome"],
            "author": body["author"],
            "project": body["project"],
        },
        store=db.kind,
    )


def _recent_observations(db: Database, limit: int, filters: Filters) -> list[Candidate]:
    condition, values = _conditions(filters, {"domains": "o.domain", "sessions": "o.session"}, "o")
    rows = db.rows(
        "SELECT o.id, e.name, e.type, o.text, o.trust, o.domain, o.session, o.created_at "
        "FROM observations AS o JOIN entities AS e ON e.id = o.entity "
        f"WHERE o.record = '' {condition} ORDER BY o.id DESC LIMIT ?",
        [*values, limit],
    )
    return [
        Candidate(
            id=f"graph:{name}#{id_}",
            source="graph",
            entity=name,
            text=text,
            timestamp=at,
            metadata={
                "entityType": kind,
                "trust": trust,
                "domain": domain,
                "session": session,
                "scope": "user" if db.kind == "user" else "team",
            },
            store=db.kind,
        )
        for id_, name, kind, text, trust, domain, session, at in rows
    ]


def _first_observations(
    db: Database, ids: Sequence[int], as_of: str, each: int = 3
) -> dict[int, str]:
    """What was last said of entities, by then, without what had been replaced."""
    said: dict[int, list[str]] = {}
    then = as_of or "9999"
    for id_ in ids:
        rows = db.rows(
            "SELECT text FROM observations AS o WHERE entity = ? AND created_at <= ? "
            "AND NOT EXISTS (SELECT 1 FROM records AS x WHERE x.id = o.record "
            "AND x.valid_to <> '' AND x.valid_to <= ?) ORDER BY id DESC LIMIT ?",
            (id_, then, then, each),
        )
        said[id_] = [row[0] for row in rows]
    return {id_: "; ".join(texts) for id_, texts in said.items()}


def _is_elsewhere(db: Database, scopes: Sequence[str]) -> bool:
    """Whether only scopes are wanted whose memories do not lie in this database's graph."""
    here = {"user", "global"} if db.kind == "user" else {"team"}
    return bool(scopes) and here.isdisjoint(scopes)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
