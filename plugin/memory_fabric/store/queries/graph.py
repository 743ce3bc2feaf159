"""Queries that read the knowledge graph: the whole graph, entities by name or key, relations."""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from memory_fabric.models import OTHERS, Entity, Graph, Relation
from memory_fabric.store.database import Database
from memory_fabric.store.queries.conditions import Condition, chunks, marks
from memory_fabric.store.schema import IS_ORPHAN
from memory_fabric.text import name_key

# Old builds of SQLite allow at most 999 bound values in a query.
CHUNK = 500
ENDS = ("source", "target")
EVERY = Condition()
# Added to a statement of another team member: the graph's format has no field for the author.
_CLAIMED = "' (from ' || {by} || ', unverified)'"
_TEXT = f"text || CASE source WHEN '{OTHERS}' THEN {_CLAIMED.format(by='agent')} ELSE '' END"
_TYPE = f"r.type || CASE r.said_by WHEN '' THEN '' ELSE {_CLAIMED.format(by='r.said_by')} END"
_WITH_ENDS = (
    "FROM relations AS r JOIN entities AS s ON s.id = r.source "
    "JOIN entities AS t ON t.id = r.target"
)
# A graph with at most this many entities is cached as a whole; a larger graph is read in parts.
MAX_SMALL_ENTITIES = 500


def read_graph(db: Database) -> Graph:
    """Return the whole graph: all entities, observations and relations in creation order."""
    entities = db.rows("SELECT id, name, type FROM entities ORDER BY id")
    # Each domain has its own row for an observation, so equal texts of one entity are listed once.
    texts: dict[int, dict[str, None]] = {}
    for entity, text in db.rows(f"SELECT entity, {_TEXT} FROM observations ORDER BY id"):
        texts.setdefault(entity, {})[text] = None
    relations = db.rows(f"SELECT s.name, {_TYPE}, t.name {_WITH_ENDS} ORDER BY r.id")
    whole = (Entity(name, kind, tuple(texts.get(id_, ()))) for id_, name, kind in entities)
    return Graph(tuple(whole), tuple(map(Relation._make, relations)))


def read_all(databases: Sequence[Database]) -> Graph:
    """Return one graph that combines the graphs of these databases; see `merged`."""
    return merged(read_graph(db) for db in databases)


def read_if_small(databases: Sequence[Database]) -> Graph | None:
    """Return one graph of all databases, cached until one changes; None if any graph is large."""
    parts = []
    for db in databases:
        state = (db.data_version(), db.connection.total_changes)
        if db.kept is None or db.kept[0] != state:
            db.kept = (state, read_graph(db) if counts(db)[0] <= MAX_SMALL_ENTITIES else None)
        if db.kept[1] is None:
            return None
        parts.append(db.kept[1])
    return merged(parts)


def merged(graphs: Iterable[Graph]) -> Graph:
    """Combine several graphs in order; `by_name` combines entities of the same name."""
    parts = list(graphs)
    if len(parts) == 1:
        return parts[0]
    entities = by_name(part.entities for part in parts)
    relations = dict.fromkeys(relation for part in parts for relation in part.relations)
    return Graph(tuple(entities.values()), tuple(relations))


def by_name(parts: Iterable[Iterable[Entity]]) -> dict[str, Entity]:
    """Combine entities of the same name: the first known type, all observations, each once."""
    entities: dict[str, Entity] = {}
    for entity in chain.from_iterable(parts):
        if before := entities.get(entity.name):
            texts = dict.fromkeys((*before.observations, *entity.observations))
            kind = entity.type if before.type == "unknown" else before.type
            entity = Entity(entity.name, kind, tuple(texts))
        entities[entity.name] = entity
    return entities


def open_nodes(db: Database, names: Sequence[str]) -> Graph:
    """Return the entities with exactly these names, and every relation from or to them."""
    entities, relations = opened(db, names)
    return Graph(tuple(entities), tuple(relations[id_] for id_ in sorted(relations)))


def opened(
    db: Database, names: Sequence[str], limit: int = -1, ends: Sequence[str] = ENDS
) -> tuple[list[Entity], dict[int, Relation]]:
    """Return the entities with these names, and their relations by row id. `ends` selects relations
    of which an entity is the source, the target, or either. For each CHUNK of entities, only the
    `limit` oldest relations are read (-1: all).
    """
    rows = _by_name(db, names)
    ids = [id_ for id_, _, _ in rows]
    texts: dict[int, dict[str, None]] = {}
    for chunk in chunks(ids, CHUNK):
        of_chunk = f"FROM observations WHERE entity IN ({marks(chunk)}) ORDER BY id"
        for entity, text in db.rows(f"SELECT entity, {_TEXT} {of_chunk}", chunk):
            texts.setdefault(entity, {})[text] = None
    entities = [Entity(name, kind, tuple(texts.get(id_, ()))) for id_, name, kind in rows]
    return entities, _numbered(db, ids, limit, ends)


def names_from(db: Database, position: int, limit: int) -> list[str]:
    """Return up to `limit` names of entities in creation order; `position` 0 is the first name."""
    rows = db.rows("SELECT name FROM entities ORDER BY id LIMIT ? OFFSET ?", (limit, position))
    return [row[0] for row in rows]


def counts(db: Database) -> tuple[int, int]:
    """Return the number of entities and the number of relations."""
    tables = "SELECT (SELECT count(*) FROM entities), (SELECT count(*) FROM relations)"
    return db.row(tables) or (0, 0)


def existing(db: Database, names: Sequence[str]) -> list[str]:
    """Return the given names that are exactly the name of an entity, in creation order."""
    return [name for _, name, _ in _by_name(db, names)]


def relations_of(
    db: Database, names: Sequence[str], limit: int = 200, *, at: str = "", only: Condition = EVERY
) -> list[Relation]:
    """Return the relations from or to entities with exactly these names, oldest first. `at` is a
    time (ISO 8601, or NOW): relations stated later, or ended by then, are left out. `only` is a
    further condition on the relations (alias `r`).
    """
    return relations_at(db, [id_ for id_, _, _ in _by_name(db, names)], at, only, limit)


def stated_at(db: Database, relation: Relation) -> str:
    """Return the time when exactly this relation was stated (ISO 8601); "" if it does not exist."""
    stated = f"SELECT r.created_at {_WITH_ENDS} WHERE s.name = ? AND r.type = ? AND t.name = ?"
    row = db.row(stated, tuple(relation))
    return str(row[0]) if row else ""


def entities_by_key(db: Database, keys: Iterable[str]) -> dict[str, Entity]:
    """Map keys of names or aliases (see `name_key`) to entities; observations are not read."""
    return {key: Entity(name, kind) for key, (_, name, kind) in meant_by(db, keys).items()}


def orphans(db: Database, limit: int = 100) -> list[str]:
    """Return the names of entities that have no observations and no relations, oldest first."""
    query = f"SELECT e.name FROM entities AS e WHERE {IS_ORPHAN} ORDER BY e.id LIMIT ?"
    return [name for (name,) in db.rows(query, (limit,))]


def left_alone(db: Database, deletions: int = 100) -> list[str]:
    """Return names of entities that the last `deletions` left with observations but no relation."""
    ends: dict[str, None] = {}
    kinds = "kind IN ('delete_entities', 'delete_relations', 'forget')"
    query = f"SELECT inverse FROM operations WHERE {kinds} ORDER BY seq DESC LIMIT ?"
    for (inverse,) in db.rows(query, (deletions,)):
        for step in json.loads(inverse):
            for row in step["payload"].get("relations", ()):
                ends |= dict.fromkeys((row["from"], row["to"]))
    described = (
        "SELECT 1 FROM entities AS e WHERE e.name = ? "
        "AND EXISTS (SELECT 1 FROM observations AS o WHERE o.entity = e.id) "
        "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE e.id IN (r.source, r.target))"
    )
    return [name for name in ends if db.row(described, (name,))]


def shown(name: str) -> str:
    """Return the name; for a blank one, which the reference server allows, return a description."""
    return name if name.strip() else f"{name!r} (a blank name)"


def variants(db: Database) -> list[list[str]]:
    """Return groups of names that differ only in case, `-`, `_` or spaces, oldest name first."""
    several = "SELECT key FROM entities GROUP BY key HAVING count(*) > 1"
    query = f"SELECT key, name FROM entities WHERE key IN ({several}) ORDER BY id"
    groups: dict[str, list[str]] = {}
    for key, name in db.rows(query):
        groups.setdefault(key, []).append(name)
    return list(groups.values())


def alias_conflicts(db: Database) -> list[tuple[str, str, str]]:
    """Return (alias, its entity, other entity) for each alias that is the other entity's name."""
    return db.rows(
        "SELECT a.alias, e.name, o.name FROM aliases AS a JOIN entities AS e ON e.id = a.entity "
        "JOIN entities AS o ON o.key = a.key AND o.id <> a.entity ORDER BY a.key, o.id"
    )


# A time later than that of any statement.
NOW = "9999"
_VALID_AT = (
    "AND r.created_at <= ? AND (r.record = '' OR EXISTS (SELECT 1 FROM claims AS c "
    "JOIN records AS x ON x.id = c.record WHERE c.kind = 'relations' AND c.row = r.id "
    "AND (x.valid_to = '' OR x.valid_to > ?)))"
)


def meant_by(db: Database, keys: Iterable[str]) -> dict[str, tuple[int, str, str]]:
    """Map keys (see `name_key`) to the entity (id, name, type) that has this name or alias."""
    wanted = json.dumps(list(dict.fromkeys(map(name_key, keys))))
    return {key: (id_, *rest) for key, id_, *rest in db.rows(_ENTITIES_OF_KEYS, (wanted, wanted))}


# The caller uses each key's last row: a name wins over an alias, an older entity over a newer one.
_ENTITIES_OF_KEYS = """
SELECT j.value, e.id, e.name, e.type FROM json_each(?) AS j
    JOIN aliases AS a ON a.key = j.value JOIN entities AS e ON e.id = a.entity
UNION ALL SELECT * FROM (SELECT j.value, e.id, e.name, e.type FROM json_each(?) AS j
    JOIN entities AS e ON e.key = j.value ORDER BY e.id DESC)"""


def _by_name(db: Database, names: Sequence[str]) -> list[tuple[int, str, str]]:
    entities: list[Any] = []
    for chunk in chunks(dict.fromkeys(names), CHUNK):
        of_names = f"SELECT id, name, type FROM entities WHERE name IN ({marks(chunk)})"
        entities += db.rows(of_names, chunk)
    return sorted(entities)


def relations_at(
    db: Database, ids: Sequence[int], at: str, only: Condition, limit: int = 200
) -> list[Relation]:
    """Return the relations from or to entities with these row ids that held at the time `at`."""
    relations = _numbered(db, ids, limit, at=at, only=only)
    ordered = [relations[id_] for id_ in sorted(relations)]
    return ordered if limit < 0 else ordered[:limit]


def _numbered(
    db: Database,
    ids: Sequence[int],
    limit: int,
    ends: Sequence[str] = ENDS,
    at: str = "",
    only: Condition = EVERY,
) -> dict[int, Relation]:
    relations: dict[int, Relation] = {}
    standing, times = (_VALID_AT, [at, at]) if at else ("", [])
    for chunk in chunks(ids, CHUNK):
        # One query for all ends, because preparing a query takes longer than running it.
        among = f"IN ({marks(chunk)})"
        at_ends = " UNION ALL ".join(f"SELECT id FROM relations WHERE {e} {among}" for e in ends)
        where = f"r.id IN ({at_ends}) {standing} {only.sql} ORDER BY r.id LIMIT ?"
        query = f"SELECT r.id, s.name, {_TYPE}, t.name {_WITH_ENDS} WHERE {where}"
        for id_, *edge in db.rows(query, [*(chunk * len(ends)), *times, *only.values, limit]):
            relations.setdefault(id_, Relation(*edge))
    return relations
