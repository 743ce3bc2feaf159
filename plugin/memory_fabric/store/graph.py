"""The knowledge graph for reading: whole, by name, by key, and the edges around a name."""

from __future__ import annotations

from memory_fabric import jsontext
from memory_fabric.models import Entity, Graph, Relation
from memory_fabric.store.conditions import Condition
from memory_fabric.text import name_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from memory_fabric.store.database import Database

# SQLite takes 999 bound values in its oldest builds.
CHUNK = 500
ENDS = ("source", "target")
EVERY = Condition()
# Entities of a graph that is read at once and kept; a larger one is read part by part.
SMALL = 500


def read_graph(db: Database) -> Graph:
    """Everything: entities and relations in creation order, observations in insertion order."""
    entities = db.rows("SELECT id, name, type FROM entities ORDER BY id")
    # Two domains may say the same of an entity, each in a row of its own: it is told once.
    said: dict[int, dict[str, None]] = {}
    for entity, text in db.rows("SELECT entity, text FROM observations ORDER BY id"):
        said.setdefault(entity, {})[text] = None
    relations = db.rows(
        "SELECT s.name, r.type, t.name FROM relations AS r JOIN entities AS s ON s.id = r.source "
        "JOIN entities AS t ON t.id = r.target ORDER BY r.id"
    )
    return Graph(
        tuple(Entity(name, kind, tuple(said.get(id_, ()))) for id_, name, kind in entities),
        tuple(Relation(*row) for row in relations),
    )


def whole(databases: Sequence[Database]) -> Graph:
    """Everything in these databases as one graph; see `merged`."""
    return merged(read_graph(db) for db in databases)


def small(databases: Sequence[Database]) -> Graph | None:
    """Everything in these databases as one graph, where it has few entities; else None.

    It is kept while nobody changes them: clients read small graphs whole, again and again.
    """
    parts = []
    for db in databases:
        state = (db.data_version(), db.connection.total_changes)
        if db.kept is None or db.kept[0] != state:
            few = counts(db)[0] <= SMALL
            db.kept = (state, read_graph(db) if few else None)
        if db.kept[1] is None:
            return None
        parts.append(db.kept[1])
    return merged(parts)


def merged(graphs: Iterable[Graph]) -> Graph:
    """Several graphs as one, the first one's part first; entities as in `by_name`."""
    parts = list(graphs)
    if len(parts) == 1:
        return parts[0]
    entities = by_name(part.entities for part in parts)
    relations = dict.fromkeys(relation for part in parts for relation in part.relations)
    return Graph(tuple(entities.values()), tuple(relations))


def by_name(parts: Iterable[Iterable[Entity]]) -> dict[str, Entity]:
    """Entities of several graphs by their names.

    One that several know has the type of the first, and what each of them says of it.
    """
    entities: dict[str, Entity] = {}
    for part in parts:
        for entity in part:
            known = entities.get(entity.name)
            entities[entity.name] = _joined(known, entity) if known else entity
    return entities


def open_nodes(db: Database, names: Sequence[str]) -> Graph:
    """The entities of exactly these names, and every relation with either end among them."""
    entities, relations = opened(db, names)
    return Graph(tuple(entities), tuple(relations[id_] for id_ in sorted(relations)))


def opened(
    db: Database, names: Sequence[str], limit: int = -1, ends: Sequence[str] = ENDS
) -> tuple[list[Entity], dict[int, Relation]]:
    """The entities of exactly these names in creation order, and relations that touch them.

    The relations are those with one of the `ends` among them, by their numbers in the database; at
    most the oldest `limit` for each end, -1 for all.
    """
    found = _by_name(db, names)
    ids = [id_ for id_, _, _ in found]
    said: dict[int, dict[str, None]] = {}
    for chunk in _chunks(ids):
        for entity, text in db.rows(
            f"SELECT entity, text FROM observations WHERE entity IN ({_marks(chunk)}) ORDER BY id",
            chunk,
        ):
            said.setdefault(entity, {})[text] = None
    entities = [Entity(name, kind, tuple(said.get(id_, ()))) for id_, name, kind in found]
    return entities, _numbered(db, ids, limit, ends)


def names_from(db: Database, position: int, limit: int) -> list[str]:
    """The names of entities in creation order, from a position (0 is the first) on."""
    rows = db.rows("SELECT name FROM entities ORDER BY id LIMIT ? OFFSET ?", (limit, position))
    return [row[0] for row in rows]


def counts(db: Database) -> tuple[int, int]:
    """How many entities and how many relations there are."""
    row = db.row("SELECT (SELECT count(*) FROM entities), (SELECT count(*) FROM relations)")
    return (int(row[0]), int(row[1])) if row else (0, 0)


def existing(db: Database, names: Sequence[str]) -> set[str]:
    """Those of the names that an entity bears, exactly."""
    return set(existing_in_order(db, names))


def existing_in_order(db: Database, names: Sequence[str]) -> list[str]:
    """Those of the names that an entity bears, exactly, in creation order."""
    return [name for _, name, _ in _by_name(db, names)]


def relations_of(
    db: Database,
    names: Sequence[str],
    limit: int = 200,
    *,
    at: str = "",
    only: Condition = EVERY,
) -> list[Relation]:
    """Relations with either end of exactly these names, oldest first, at most `limit`.

    With a time `at` (ISO 8601, or NOW) only those that had been stated by then, and not only by
    records that something had replaced; `only` those that meet a condition on `r`.
    """
    return _relations(db, [id_ for id_, _, _ in _by_name(db, names)], limit, at, only)


def stated_at(db: Database, relation: Relation) -> str:
    """When exactly this relation was stated (ISO 8601); empty where it was not."""
    row = db.row(
        "SELECT r.created_at FROM relations AS r JOIN entities AS s ON s.id = r.source "
        "JOIN entities AS t ON t.id = r.target WHERE s.name = ? AND r.type = ? AND t.name = ?",
        tuple(relation),
    )
    return str(row[0]) if row else ""


def entities_by_key(db: Database, keys: Iterable[str]) -> dict[str, Entity]:
    """Known entities under these name keys, aliases resolved; without their observations.

    Where several names share a key, the oldest stands for all.
    """
    return {key: Entity(name, kind) for key, (_, name, kind) in meant_by(db, keys).items()}


def relations_by_key(
    db: Database,
    keys: Iterable[str],
    limit: int = 200,
    *,
    at: str = "",
    only: Condition = EVERY,
) -> dict[str, list[Relation]]:
    """The names of known entities under these name keys, each with its relations.

    Aliases are resolved; where several names share a key, the oldest stands for all. At most
    `limit` relations in all, oldest first; `at` and `only` as in `relations_of`.
    """
    names = {id_: name for id_, name, _ in sorted(meant_by(db, keys).values())}
    around: dict[str, list[Relation]] = {name: [] for name in names.values()}
    for relation in _relations(db, list(names), limit, at, only):
        for end in dict.fromkeys((relation.source, relation.target)):
            if end in around:
                around[end].append(relation)
    return around


# Later than any time that is stated.
NOW = "9999"
_STANDING = (
    "AND r.created_at <= ? AND (r.record = '' OR EXISTS (SELECT 1 FROM claims AS c "
    "JOIN records AS x ON x.id = c.record WHERE c.kind = 'relations' AND c.row = r.id "
    "AND (x.valid_to = '' OR x.valid_to > ?)))"
)


def _joined(first: Entity, second: Entity) -> Entity:
    said = dict.fromkeys((*first.observations, *second.observations))
    return first._replace(observations=tuple(said))


def meant_by(db: Database, keys: Iterable[str]) -> dict[str, tuple[int, str, str]]:
    """The entity (id, name, type) that each of the name keys means, if there is one."""
    wanted = jsontext.dumps(list(dict.fromkeys(map(name_key, keys))))
    return {key: (id_, *rest) for key, id_, *rest in db.rows(_ENTITIES_OF_KEYS, (wanted, wanted))}


# Of rows with one key the last counts: an own name before an alias, the oldest before the younger.
_ENTITIES_OF_KEYS = """
SELECT j.value, e.id, e.name, e.type FROM json_each(?) AS j
    JOIN aliases AS a ON a.key = j.value JOIN entities AS e ON e.id = a.entity
UNION ALL SELECT * FROM (SELECT j.value, e.id, e.name, e.type FROM json_each(?) AS j
    JOIN entities AS e ON e.key = j.value ORDER BY e.id DESC)"""


def _by_name(db: Database, names: Sequence[str]) -> list[tuple[int, str, str]]:
    found: list[tuple[int, str, str]] = []
    for chunk in _chunks(list(dict.fromkeys(names))):
        rows = db.rows(
            f"SELECT id, name, type FROM entities WHERE name IN ({_marks(chunk)})", chunk
        )
        found += [(id_, name, kind) for id_, name, kind in rows]
    return sorted(found)


def _relations(
    db: Database, ids: Sequence[int], limit: int, at: str, only: Condition
) -> list[Relation]:
    found = _numbered(db, ids, limit, at=at, only=only)
    ordered = [found[id_] for id_ in sorted(found)]
    return ordered if limit < 0 else ordered[:limit]


def _numbered(
    db: Database,
    ids: Sequence[int],
    limit: int,
    ends: Sequence[str] = ENDS,
    at: str = "",
    only: Condition = EVERY,
) -> dict[int, Relation]:
    found: dict[int, Relation] = {}
    standing, times = (_STANDING, [at, at]) if at else ("", [])
    for chunk in _chunks(ids):
        # One query for all ends: it is longer to prepare than to run.
        at_ends = " UNION ALL ".join(
            f"SELECT id FROM relations WHERE {end} IN ({_marks(chunk)})" for end in ends
        )
        for id_, source, kind, target in db.rows(
            "SELECT r.id, s.name, r.type, t.name FROM relations AS r "
            "JOIN entities AS s ON s.id = r.source JOIN entities AS t ON t.id = r.target "
            f"WHERE r.id IN ({at_ends}) {standing} {only.sql} ORDER BY r.id LIMIT ?",
            [*(chunk * len(ends)), *times, *only.values, limit],
        ):
            if id_ not in found:
                found[id_] = Relation(source, kind, target)
    return found


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _chunks(values: Sequence[Any]) -> list[list[Any]]:
    return [list(values[i : i + CHUNK]) for i in range(0, len(values), CHUNK)]
