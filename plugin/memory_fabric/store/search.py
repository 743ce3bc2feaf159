"""Ranked candidates from the full-text indexes: observations, records, episodes, entity names.

FTS5 first returns row ids; texts are fetched after the LIMIT, which is cheapest. `bm25` is negated
so that bigger is better. Filters apply to every source (`conditions`). Domains are no filter: a
memory limited to some domains shows no others (store.domains.views).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.models import (
    CONFIRMED,
    CONTRADICTS,
    IMPORTED,
    INGEST,
    OTHERS,
    QUOTATION,
    SHARED_LOG,
    Filters,
)
from memory_fabric.store import conditions
from memory_fabric.store.conditions import marks
from memory_fabric.store.database import Database

EVERYTHING = Filters()


class Candidate(NamedTuple):
    """A row that matched. `id` is `graph:<entity>#<n>`, `record:<uuid>` or `episode:<uuid>`.

    `before` and `after` are texts of a turn's neighbours; one only added as such has a `bm25` of 0.
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
    db: Database, match: str, limit: int, filters: Filters = EVERYTHING, after: int = 0
) -> list[Candidate]:
    """Return matching observations of the graph, best first; only rows `after` a number."""
    if not match:
        return []
    wanted = conditions.of_observations(db, filters)
    rows = _ranked_in_shares(db, _OBSERVATIONS, match, wanted, limit, "o", after)
    return [_observation_candidate(db, row) for row in rows]


def observations_of(
    db: Database, entities: Sequence[int], limit: int, filters: Filters = EVERYTHING
) -> list[Candidate]:
    """Return the newest observations of entities (by row) that belong to no record."""
    if not entities:
        return []
    wanted = conditions.of_observations(db, filters)
    rows = [
        row
        for part, most in conditions.shares(db, wanted, limit, "o")
        for row in db.rows(
            f"SELECT {_OBSERVATIONS.fields}, 0.0 FROM observations AS o JOIN entities AS e "
            f"ON e.id = o.entity WHERE o.entity IN ({marks(entities)}) AND o.record = '' "
            f"{part.sql} ORDER BY o.id DESC LIMIT ?",
            [*entities, *part.values, most],
        )
    ]
    return [_observation_candidate(db, row) for row in rows]


def records(
    db: Database, match: str, limit: int, filters: Filters = EVERYTHING, session: str = ""
) -> list[Candidate]:
    """Return matching active records, best first; those of scope local only for their session."""
    if not match:
        return []
    wanted = conditions.of_records(db, filters, session)
    rows = _ranked_in_shares(db, _RECORDS, match, wanted, limit, "r")
    return [_record_candidate(db, row[:-1], -row[-1]) for row in rows]


def records_by_id(
    db: Database, ids: Sequence[str], filters: Filters = EVERYTHING, session: str = ""
) -> list[Candidate]:
    """Return the active records with these ids that the filters allow."""
    wanted = conditions.of_records(db, filters, session)
    rows = db.rows(
        f"SELECT {_RECORD_FIELDS} FROM records AS r WHERE r.id IN ({marks(ids)}) {wanted.sql}",
        [*ids, *wanted.values],
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
    """Return matching turns of past sessions, best first, each with the texts of its neighbours.

    Neighbours are the nearest turns of the session that meet the filters, too. With `neighbours`
    these are added after the matches: an answer rarely repeats the words of its question.
    """
    if not match:
        return []
    wanted = conditions.of_episodes(db, filters)
    source = _Source(*_EPISODES[:3], _episode_fields(wanted), 2 * wanted.values)
    rows = _ranked(db, source, match, wanted, limit)
    found = {row[0]: row for row in rows}
    if neighbours:
        ids = dict.fromkeys(id_ for row in rows for id_ in row[1:3] if id_ and id_ not in found)
        rows += _fetched(db, [(id_, 0.0) for id_ in ids], source, wanted, len(ids))
    beside = _turns(db, {id_ for row in rows for id_ in row[1:3] if id_})
    return [_episode_candidate(db, row, beside) for row in rows]


def at_rows(
    db: Database,
    table: str,
    rows: Sequence[int],
    limit: int,
    filters: Filters = EVERYTHING,
    session: str = "",
) -> list[Candidate]:
    """Return rows of records, observations or episodes that the filters allow, in this order.

    Their `bm25` is 0; turns are without neighbours.
    """
    scored = [(row, 0.0) for row in rows]
    if table == "records":
        wanted = conditions.of_records(db, filters, session)
        found = _fetched(db, scored, _RECORDS, wanted, limit)
        return [_record_candidate(db, row[:-1], 0.0) for row in found]
    if table == "observations":
        found = _fetched(db, scored, _OBSERVATIONS, conditions.of_observations(db, filters), limit)
        return [_observation_candidate(db, row) for row in found]
    fields = f"o.id, 0, 0, {_EPISODES[3]}"
    source = _Source(*_EPISODES[:3], fields)
    found = _fetched(db, scored, source, conditions.of_episodes(db, filters), limit)
    return [_episode_candidate(db, row, {}) for row in found]


def turns_at(
    db: Database, scored: Sequence[tuple[int, float]], filters: Filters = EVERYTHING
) -> list[Candidate]:
    """Return the turns in these rows, given with their bm25, each with its neighbours' texts."""
    wanted = conditions.of_episodes(db, filters)
    source = _Source(*_EPISODES[:3], _episode_fields(wanted), 2 * wanted.values)
    rows = _fetched(db, [(row, -score) for row, score in scored], source, wanted, len(scored))
    beside = _turns(db, {id_ for row in rows for id_ in row[1:3] if id_})
    return [_episode_candidate(db, row, beside) for row in rows]


def _episode_fields(wanted: conditions.Condition) -> str:
    beside = wanted.sql.replace("o.", "q.")
    of_session = "FROM episodes AS q WHERE q.session = o.session AND q.id"
    before = f"(SELECT max(q.id) {of_session} < o.id {beside})"
    after = f"(SELECT min(q.id) {of_session} > o.id {beside})"
    return f"o.id, {before}, {after}, {_EPISODES[3]}"


def _turns(db: Database, ids: set[int]) -> dict[int, tuple[str, str]]:
    """Return ids and texts of turns by their row numbers."""
    if not ids:
        return {}
    rows = db.rows(
        "SELECT q.id, q.uuid, q.text FROM json_each(?) AS j CROSS JOIN episodes AS q "
        "ON q.id = j.value",
        (json.dumps(list(ids)),),
    )
    return {id_: (uuid, text) for id_, uuid, text in rows}


def _episode_candidate(
    db: Database, row: Sequence[Any], turns: Mapping[int, tuple[str, str]]
) -> Candidate:
    _, before, after, uuid, session, role, text, place, agent, domain, project, at, score = row
    before_uuid, before_text = turns.get(before, (None, ""))
    after_uuid, after_text = turns.get(after, (None, ""))
    return Candidate(
        id=f"episode:{uuid}",
        source="episodes",
        text=text,
        before=before_text,
        after=after_text,
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
            "project": project,
            "trust": _trust(role, place),
            "scope": conditions.TURNS_SCOPE,
        },
        store=db.kind,
    )


def _trust(role: str, place: str) -> str:
    """Return whose statement a turn is: "user", "assistant", or "tool" for an ingested text."""
    if place == INGEST:
        return "tool"
    return "user" if role == "user" else "assistant"


def entities_named(
    db: Database, match: str, limit: int, filters: Filters = EVERYTHING
) -> list[Candidate]:
    """Return entities with a matching name or type, their observations as text, best first."""
    if not match:
        return []
    rows = _ranked(db, _ENTITIES, match, conditions.of_entities(db, filters), limit)
    said = _first_observations(db, [row[0] for row in rows], filters)
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
                "scope": scope or conditions.scope_of(db),
                "whole_entity": True,
            }
            | ({"trust": "foreign", "author": said_by, "is_member": True} if said_by else {}),
            store=db.kind,
        )
        for id_, name, kind, domain, at, said_by, scope, score in rows
    ]


def recent(
    db: Database, limit: int, filters: Filters = EVERYTHING, session: str = ""
) -> list[Candidate]:
    """Return the newest active records, then the newest observations that belong to no record.

    If entity types are filtered, observations of records are included, as a record has another
    type.
    """
    wanted = conditions.of_records(db, filters, session)
    rows = db.rows(
        f"SELECT {_RECORD_FIELDS} FROM records AS r WHERE 1 {wanted.sql} "
        "ORDER BY r.created_at DESC, r.seq DESC LIMIT ?",
        [*wanted.values, limit],
    )
    found = [_record_candidate(db, row, 0.0) for row in rows]
    if len(found) < limit:
        found += _recent_observations(db, limit - len(found), filters)
    return found


_RECORD_FIELDS = (
    "r.id, r.type, r.what, r.why, r.confidence, r.trust, r.source, r.scope, r.domain, r.session, "
    "r.agent, r.pinned, r.created_at, r.valid_to, r.superseded_by, r.promoted_at, r.body"
)
_RECORD_NAMES = (
    "id type what why confidence trust said_in scope domain session agent pinned created_at "
    "valid_to superseded_by promoted_at"
).split()


class _Source(NamedTuple):
    """A full-text index, its column weights, the join to its rows, their fields and values."""

    table: str
    weights: str
    join: str
    fields: str
    values: tuple[Any, ...] = ()


_OBSERVATIONS = _Source(
    "observations_fts",
    "0.6, 1.0, 0.5",
    "JOIN observations AS o ON o.id = {id} JOIN entities AS e ON e.id = o.entity",
    "o.id, e.name, e.type, o.text, o.record, o.trust, o.source, o.session, o.agent, o.domain, "
    # The superseding record of the one that states it; of several, the one that was valid longest.
    "o.created_at, (SELECT x.superseded_by || ' ' || x.valid_to FROM claims AS c "
    "JOIN records AS x ON x.id = c.record WHERE o.record <> '' AND c.kind = 'observations' "
    "AND c.row = o.id ORDER BY x.valid_to <> '', x.valid_to DESC LIMIT 1), "
    # Its scope, and the user's words behind it.
    "(SELECT x.scope || ' ' || coalesce(CASE WHEN x.trust = 'user' THEN "
    f"json_extract(x.body, '$.evidence.{QUOTATION}') END, '') FROM records AS x "
    "WHERE x.id = o.record)",
)
_RECORDS = _Source(
    "records_fts",
    "1.0, 0.6, 0.7, 0.4",
    "JOIN records AS r ON r.seq = {id}",
    _RECORD_FIELDS,
)
_EPISODES = (
    "episodes_fts",
    "1.0, 0.5",
    "JOIN episodes AS o ON o.id = {id}",
    "o.uuid, o.session, o.role, o.text, o.place, o.agent, o.domain, o.project, o.created_at",
)
_ENTITIES = _Source(
    "entities_fts",
    "1.0, 0.3, 0.5",
    "JOIN entities AS e ON e.id = {id}",
    "e.id, e.name, e.type, e.domain, e.updated_at, e.said_by, "
    "(SELECT x.scope FROM records AS x WHERE x.id = e.record)",
)


def _ranked(
    db: Database,
    source: _Source,
    match: str,
    wanted: conditions.Condition,
    limit: int,
    after: int = 0,
) -> list[tuple[Any, ...]]:
    """Return rows `after` a number that match and meet the condition, best first, with the score as
    the last field.

    The condition is first tried on a few times as many best matches as are wanted, and on all only
    if these do not suffice: reading the row of every match costs more than the search itself.
    """
    table, weights, join = source.table, source.weights, source.join
    scored = f"SELECT t.rowid, bm25({table}, {weights}) AS score FROM {table} AS t "
    chosen = f"WHERE {table} MATCH ? AND t.rowid > ? "
    best = "ORDER BY score LIMIT ?"
    enough = 4 * limit + 100 if wanted.sql or db.is_scoped else limit
    found = db.rows(scored + chosen + best, (match, after, enough))
    rows = _fetched(db, found, source, wanted, limit)
    if len(rows) < limit and len(found) == enough:
        whole = scored + join.format(id="t.rowid") + " " + chosen + wanted.sql + " " + best
        found = db.rows(whole, (match, after, *wanted.values, limit))
        rows = _fetched(db, found, source, conditions.Condition(), limit)
    return rows


def _ranked_in_shares(
    db: Database,
    source: _Source,
    match: str,
    wanted: conditions.Condition,
    limit: int,
    alias: str,
    after: int = 0,
) -> list[tuple[Any, ...]]:
    """Return rows as `_ranked`, this user's first; `alias` is that of the table."""
    parts = conditions.shares(db, wanted, limit, alias)
    return [row for part, most in parts for row in _ranked(db, source, match, part, most, after)]


def _fetched(
    db: Database,
    found: Sequence[tuple[Any, ...]],
    source: _Source,
    wanted: conditions.Condition,
    limit: int,
) -> list[tuple[Any, ...]]:
    if not found:
        return []
    rows = db.rows(
        f"SELECT {source.fields}, j.key FROM json_each(?) AS j "
        f"CROSS {source.join.format(id='j.value')} WHERE 1 {wanted.sql} ORDER BY j.key LIMIT ?",
        (*source.values, json.dumps([row[0] for row in found]), *wanted.values, limit),
    )
    return [(*row[:-1], found[row[-1]][1]) for row in rows]


def _record_candidate(db: Database, row: tuple[Any, ...], bm25: float) -> Candidate:
    value = dict(zip(_RECORD_NAMES, row, strict=False))
    body = json.loads(row[-1])
    evidence = body.get("evidence") or {}
    shown = (CONFIRMED, CONTRADICTS, IMPORTED, QUOTATION)
    kept = {key: evidence[key] for key in shown if evidence.get(key)}
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
            "category": body.get("category", ""),
            "author": body["author"],
            "is_member": body.get("origin") == SHARED_LOG,
            "project": body["project"],
            "stated_at": body.get("valid_from", ""),
        }
        | kept,
        store=db.kind,
    )


def _recent_observations(db: Database, limit: int, filters: Filters) -> list[Candidate]:
    wanted = conditions.of_observations(db, filters)
    own = "" if filters.types else "AND o.record = ''"
    rows = db.rows(
        f"SELECT {_OBSERVATIONS.fields}, 0.0 FROM observations AS o JOIN entities AS e "
        f"ON e.id = o.entity WHERE 1 {own} {wanted.sql} ORDER BY o.id DESC LIMIT ?",
        [*wanted.values, limit],
    )
    return [_observation_candidate(db, row) for row in rows]


def _observation_candidate(db: Database, row: Sequence[Any]) -> Candidate:
    id_, name, kind, text, record, trust, source, session, agent, domain, at, link, own, score = row
    superseded_by, _, valid_to = (link or "").partition(" ")
    scope, _, words = (own or "").partition(" ")
    metadata = {
        "entityType": kind,
        "trust": trust,
        "said_in": source,
        "session": session,
        "agent": agent,
        "domain": domain,
        "scope": scope or conditions.scope_of(db),
        "record": record,
        "superseded_by": superseded_by,
        "valid_to": valid_to,
    }
    if words:
        metadata |= {"trust": "user", QUOTATION: words}
    if source == OTHERS:
        metadata |= {"author": agent, "is_member": True}
    name_of = f"record:{record}" if record else f"graph:{name}#{id_}"
    # By position: there are hundreds of them in an answer, and names cost most of their time.
    return Candidate(name_of, "graph", text, name, "", "", "", "", at, -score, metadata, db.kind)


def _first_observations(
    db: Database, ids: Sequence[int], filters: Filters, each: int = 3
) -> dict[int, str]:
    """Return the newest observations of entities, as of the filters' time, joined to one text each,
    without those that had been replaced, that the filters exclude, or that others state.
    """
    said: dict[int, list[str]] = {}
    then = filters.as_of or "9999"
    wanted = conditions.of_observations(db, filters._replace(types=()))
    for id_ in ids:
        rows = db.rows(
            f"SELECT o.text FROM observations AS o WHERE o.entity = ? AND o.source <> '{OTHERS}' "
            "AND o.created_at <= ? AND NOT EXISTS (SELECT 1 FROM records x WHERE x.id = o.record "
            f"AND x.valid_to <> '' AND x.valid_to <= ?) {wanted.sql} ORDER BY o.id DESC LIMIT ?",
            (id_, then, then, *wanted.values, each),
        )
        said[id_] = [row[0] for row in rows]
    return {id_: "; ".join(texts) for id_, texts in said.items()}
