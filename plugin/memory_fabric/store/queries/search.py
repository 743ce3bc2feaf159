"""Ranked candidates from the full-text indexes: observations, records, episodes, entity names.

FTS5 first returns only row ids; texts are fetched after the LIMIT, which is cheapest. `bm25` is
negated so that bigger is better. Filters apply to every source (see `conditions`). Domains are not
filtered here: a memory limited to some domains contains no others (see store.scoped_memory).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric import models
from memory_fabric.models import INGEST, OTHERS, QUOTATION, Filters
from memory_fabric.store.database import Database
from memory_fabric.store.queries import conditions
from memory_fabric.store.queries.conditions import Condition

EVERYTHING = Filters()


class Candidate(NamedTuple):
    """A row that matched; its id is `graph:<entity>#<row>`, `record:<uuid>` or `episode:<uuid>`. A
    turn also has the texts around it; its `bm25` is 0 if only a neighbouring turn matched.
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
    """Return the matching observations whose row number is above `after`, the best first."""
    rows = _shared(db, _OBSERVATIONS, match, conditions.of_observations(db, filters), limit, after)
    return [_observation_candidate(db, row) for row in rows]


def newest_observations(
    db: Database, where: str, values: Sequence[Any], wanted: Condition, limit: int
) -> list[Candidate]:
    """Return observations that match `where` and `wanted`, newest first, with a `bm25` of 0."""
    of = "FROM observations AS o JOIN entities AS e ON e.id = o.entity"
    newest = f"{of} WHERE {where} {wanted.sql} ORDER BY o.id DESC LIMIT ?"
    query = f"SELECT {_OBSERVATIONS.fields}, 0.0 {newest}"
    return [_observation_candidate(db, r) for r in db.rows(query, [*values, *wanted.values, limit])]


def records(
    db: Database, match: str, limit: int, filters: Filters = EVERYTHING, session: str = ""
) -> list[Candidate]:
    """Return matching active records, best first; local records only if they are of `session`."""
    rows = _shared(db, _RECORDS, match, conditions.of_records(db, filters, session), limit)
    return [record_candidate(db, row) for row in rows]


def _shared(
    db: Database, source: "_Source", match: str, wanted: Condition, limit: int, after: int = 0
) -> list[tuple[Any, ...]]:
    alias = source.fields[0]  # fields begin with their table's alias
    parts = conditions.shares(db, wanted, limit, alias) if match else ()
    return [row for part, n in parts for row in _ranked(db, source, match, part, n, after)]


def episodes(
    db: Database, match: str, limit: int, filters: Filters = EVERYTHING, *, neighbours: bool = False
) -> list[Candidate]:
    """Return matching turns of past sessions, best first, each with the texts of the previous and
    next turn that the filters allow. With `neighbours`, these turns also follow as candidates,
    because an answer rarely repeats the words of its question.
    """
    if not match:
        return []
    wanted = conditions.of_episodes(db, filters)
    source = with_neighbours(wanted)
    rows = _ranked(db, source, match, wanted, limit)
    if neighbours:
        matches = {row[0] for row in rows}
        ids = dict.fromkeys(id_ for row in rows for id_ in row[1:3] if id_ and id_ not in matches)
        rows += fetched(db, [(id_, 0.0) for id_ in ids], source, wanted, len(ids))
    return episode_candidates(db, rows)


def at_rows(
    db: Database, table: str, rows: Sequence[int], limit: int, filters: Filters, session: str = ""
) -> list[Candidate]:
    """Return the rows with these row numbers that the filters allow, with a `bm25` of 0."""
    scored = [(row, 0.0) for row in rows]
    if table == "records":
        wanted = conditions.of_records(db, filters, session)
        return [record_candidate(db, r) for r in fetched(db, scored, _RECORDS, wanted, limit)]
    if table == "observations":
        wanted = conditions.of_observations(db, filters)
        found = fetched(db, scored, _OBSERVATIONS, wanted, limit)
        return [_observation_candidate(db, row) for row in found]
    alone = _EPISODES._replace(fields=f"o.id, 0, 0, {_EPISODES.fields}")
    wanted = conditions.of_episodes(db, filters)
    return episode_candidates(db, fetched(db, scored, alone, wanted, limit))


def with_neighbours(wanted: Condition) -> "_Source":
    """Return _EPISODES extended by the ids of the previous and next turn that match `wanted`."""
    beside = wanted.sql.replace("o.", "q.")
    of_session = "FROM episodes AS q WHERE q.session = o.session AND q.id"
    before = f"(SELECT max(q.id) {of_session} < o.id {beside})"
    after = f"(SELECT min(q.id) {of_session} > o.id {beside})"
    fields = f"o.id, {before}, {after}, {_EPISODES.fields}"
    return _EPISODES._replace(fields=fields, values=2 * wanted.values)


def episode_candidates(db: Database, rows: Sequence[Sequence[Any]]) -> list[Candidate]:
    """Return turns as candidates. A row begins with the ids of the turn and of its neighbours."""
    numbers = [id_ for row in rows for id_ in row[1:3] if id_]
    turns: dict[int, tuple[str, str]] = {}
    if numbers:
        of = "SELECT q.id, q.uuid, q.text FROM json_each(?) AS j CROSS JOIN episodes AS q"
        beside = db.rows(f"{of} ON q.id = j.value", (json.dumps(list(set(numbers))),))
        turns = {id_: (uuid, text) for id_, uuid, text in beside}
    candidates = []
    for _, *beside_ids, uuid, session, role, text, place, agent, domain, project, at, score in rows:
        before, after = (turns.get(id_, (None, "")) for id_ in beside_ids)
        near = (before[1], after[1], f"episode:{before[0]}", f"episode:{after[0]}")
        trust = "tool" if place == INGEST else "user" if role == "user" else "assistant"
        about = {"type": "episode", "role": role, "session": session, "place": place}
        about |= {"agent": agent, "domain": domain, "project": project, "trust": trust}
        about |= {"scope": conditions.TURNS_SCOPE}
        id_of = f"episode:{uuid}"
        candidates.append(Candidate(id_of, "episodes", text, "", *near, at, -score, about, db.kind))
    return candidates


def entities_named(
    db: Database, match: str, limit: int, filters: Filters = EVERYTHING
) -> list[Candidate]:
    """Return entities whose name or type matches, best first, with their newest observations."""
    if not match:
        return []
    rows = _ranked(db, _ENTITIES, match, conditions.of_entities(db, filters), limit)
    then = filters.as_of or "9999"
    wanted = conditions.of_observations(db, filters._replace(types=()))
    newest = (
        f"SELECT o.text FROM observations AS o WHERE o.entity = ? AND o.source <> '{OTHERS}' "
        "AND o.created_at <= ? AND NOT EXISTS (SELECT 1 FROM records x WHERE x.id = o.record "
        f"AND x.valid_to <> '' AND x.valid_to <= ?) {wanted.sql} ORDER BY o.id DESC LIMIT 3"
    )
    candidates = []
    for id_, name, kind, domain, at, said_by, scope, score in rows:
        texts = (row[0] for row in db.rows(newest, (id_, then, then, *wanted.values)))
        text = "; ".join(texts) or f"{name} ({kind})"
        about = {"entityType": kind, "domain": domain, "scope": scope or conditions.scope_of(db)}
        about |= {"trust": "foreign", "author": said_by, "is_member": True} if said_by else {}
        common = {"timestamp": at, "bm25": -score, "metadata": about | {"whole_entity": True}}
        candidates.append(Candidate(f"graph:{name}", "graph", text, name, store=db.kind, **common))
    return candidates


def recent(
    db: Database, limit: int, filters: Filters = EVERYTHING, session: str = ""
) -> list[Candidate]:
    """Return the newest active records and, if fewer than `limit`, then the newest observations
    without a record. With a filter by type, observations of records are included: the type of an
    entity may match although the type of the record does not.
    """
    wanted = conditions.of_records(db, filters, session)
    newest = f"WHERE 1 {wanted.sql} ORDER BY r.created_at DESC, r.seq DESC LIMIT ?"
    rows = db.rows(f"SELECT {RECORD_FIELDS} FROM records AS r {newest}", [*wanted.values, limit])
    candidates = [record_candidate(db, (*row, 0.0)) for row in rows]
    if len(rows) < limit:
        condition = conditions.of_observations(db, filters)
        own = "1" if filters.types else "o.record = ''"
        candidates += newest_observations(db, own, (), condition, limit - len(rows))
    return candidates


_RECORD_NAMES = (
    "id type what why confidence trust said_in scope domain session agent pinned created_at "
    "valid_to superseded_by promoted_at"
).split()
RECORD_FIELDS = ", ".join(f"r.{name}" for name in (*_RECORD_NAMES, "body"))
RECORD_FIELDS = RECORD_FIELDS.replace("r.said_in", "r.source")
_OF_BODY = ("relations", "alternatives", "outcome", "author", "project")


class _Source(NamedTuple):
    """An FTS index: table, column weights, SQL for the join and the fields, and bound `values`."""

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
    # Of the observation's records, the one that ends last or never: its successor and its end.
    "o.created_at, (SELECT x.superseded_by || ' ' || x.valid_to FROM claims AS c "
    "JOIN records AS x ON x.id = c.record WHERE o.record <> '' AND c.kind = 'observations' "
    "AND c.row = o.id ORDER BY x.valid_to <> '', x.valid_to DESC LIMIT 1), "
    # The scope of the observation's record, and the user's words that the record quotes.
    "(SELECT x.scope || ' ' || coalesce(CASE WHEN x.trust = 'user' THEN "
    f"json_extract(x.body, '$.evidence.{QUOTATION}') END, '') FROM records AS x "
    "WHERE x.id = o.record)",
)
_RECORDS = _Source(
    "records_fts", "1.0, 0.6, 0.7, 0.4", "JOIN records AS r ON r.seq = {id}", RECORD_FIELDS
)
_EPISODES = _Source(
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
    db: Database, source: _Source, match: str, wanted: Condition, limit: int, after: int = 0
) -> list[tuple[Any, ...]]:
    """Return matching rows with a row id above `after`, best first; the last field is the score.
    Testing `wanted` on every match costs more than the search. Therefore the best 4 * `limit` + 100
    matches are tested first, and all matches only if too few of these remain.
    """
    table = source.table
    ranking = f"SELECT t.rowid, bm25({table}, {source.weights}) AS score FROM {table} AS t "
    chosen, best = f"WHERE {table} MATCH ? AND t.rowid > ? ", "ORDER BY score LIMIT ?"
    enough = 4 * limit + 100 if wanted.sql or db.is_scoped else limit
    scored = db.rows(ranking + chosen + best, (match, after, enough))
    rows = fetched(db, scored, source, wanted, limit)
    if len(rows) < limit and len(scored) == enough:
        whole = f"{ranking}{source.join.format(id='t.rowid')} {chosen}{wanted.sql} {best}"
        scored = db.rows(whole, (match, after, *wanted.values, limit))
        rows = fetched(db, scored, source, Condition(), limit)
    return rows


def fetched(
    db: Database, scored: Sequence[tuple[Any, ...]], source: _Source, wanted: Condition, limit: int
) -> list[tuple[Any, ...]]:
    if not scored:
        return []
    joined = f"json_each(?) AS j CROSS {source.join.format(id='j.value')} WHERE 1 {wanted.sql}"
    query = f"SELECT {source.fields}, j.key FROM {joined} ORDER BY j.key LIMIT ?"
    numbers = json.dumps([row[0] for row in scored])
    rows = db.rows(query, (*source.values, numbers, *wanted.values, limit))
    return [(*row[:-1], scored[row[-1]][1]) for row in rows]


def record_candidate(db: Database, row: tuple[Any, ...]) -> Candidate:
    """Return a record as a candidate. A row has the RECORD_FIELDS, and the score at the end."""
    *_, encoded, score = row
    value, body = dict(zip(_RECORD_NAMES, row, strict=False)), json.loads(encoded)
    text, at, evidence = value.pop("what"), value.pop("created_at"), body.get("evidence") or {}
    value |= {name: body[name] for name in _OF_BODY} | {"record": value["id"]}
    value |= {"pinned": bool(value["pinned"]), "entities": [e[0] for e in body["entities"]]}
    value |= {"category": body.get("category", ""), "stated_at": body.get("valid_from", "")}
    value |= {"is_member": body.get("origin") == models.SHARED_LOG}
    shown = (models.CONFIRMED, models.CONTRADICTS, models.IMPORTED, QUOTATION)
    value |= {key: evidence[key] for key in shown if evidence.get(key)}
    id_of, common = f"record:{value['id']}", {"timestamp": at, "metadata": value}
    return Candidate(id_of, "records", text, bm25=-score, store=db.kind, **common)


def _observation_candidate(db: Database, row: Sequence[Any]) -> Candidate:
    id_, name, kind, text, record, trust, source, session, agent, domain, at, link, own, score = row
    superseded_by, _, valid_to = (link or "").partition(" ")
    scope, _, words = (own or "").partition(" ")
    metadata = {"entityType": kind, "trust": trust, "said_in": source, "session": session}
    metadata |= {"agent": agent, "domain": domain, "scope": scope or conditions.scope_of(db)}
    metadata |= {"record": record, "superseded_by": superseded_by, "valid_to": valid_to}
    if words:
        metadata |= {"trust": "user", QUOTATION: words}
    if source == OTHERS:
        metadata |= {"author": agent, "is_member": True}
    name_of = f"record:{record}" if record else f"graph:{name}#{id_}"
    # Passed by position, because an answer has hundreds of candidates and keywords would be slow.
    return Candidate(name_of, "graph", text, name, "", "", "", "", at, -score, metadata, db.kind)
