"""The entities and relations of a memory, page by page, and the number of its other rows.

Of a memory that is limited to a domain (store.domains.scoped_memory) these are the domain's.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from memory_fabric.store.database import Database
from memory_fabric.store.domains.counts import TABLES


class ListedEntity(NamedTuple):
    """An entity of one database (`store`), with the number of its observations."""

    name: str
    type: str
    observations: int
    created_at: str
    store: str


class ListedRelation(NamedTuple):
    """A relation of one database (`store`), with the time at which it was stated."""

    source: str
    type: str
    target: str
    created_at: str
    store: str


class Contents(NamedTuple):
    """One page of entities and of relations, oldest first, and the numbers of all rows by table."""

    counts: dict[str, int]
    entities: tuple[ListedEntity, ...] = ()
    relations: tuple[ListedRelation, ...] = ()


_ENTITIES = """
    SELECT e.name, e.type, (SELECT count(*) FROM observations AS o WHERE o.entity = e.id),
        e.created_at
    FROM entities AS e ORDER BY e.id LIMIT ? OFFSET ?"""
_RELATIONS = """
    SELECT s.name, r.type, t.name, r.created_at
    FROM relations AS r JOIN entities AS s ON s.id = r.source JOIN entities AS t ON t.id = r.target
    ORDER BY r.id LIMIT ? OFFSET ?"""


def contents(databases: Sequence[Database], limit: int, offset: int = 0) -> Contents:
    """Return at most `limit` entities and relations after the first `offset` of each.

    An entity that two databases have is listed twice. Raises StoreUnavailable.
    """
    by_database = [(db, _counts(db)) for db in databases]
    counts = {table: sum(known[table] for _, known in by_database) for table in TABLES}
    entities = _page(by_database, "entities", _ENTITIES, limit, offset)
    relations = _page(by_database, "relations", _RELATIONS, limit, offset)
    return Contents(
        counts,
        tuple(ListedEntity(*row) for row in entities),
        tuple(ListedRelation(*row) for row in relations),
    )


def _counts(db: Database) -> dict[str, int]:
    columns = ", ".join(f"(SELECT count(*) FROM {table})" for table in TABLES)
    row = db.row(f"SELECT {columns}")
    return dict(zip(TABLES, row or (0,) * len(TABLES), strict=True))


def _page(
    databases: Sequence[tuple[Database, dict[str, int]]],
    table: str,
    query: str,
    limit: int,
    offset: int,
) -> list[tuple[Any, ...]]:
    """Return rows of all databases, in their order, each with the kind of its database."""
    found: list[tuple[Any, ...]] = []
    for db, counts in databases:
        if len(found) < limit and offset < counts[table]:
            rows = db.rows(query, (limit - len(found), offset))
            found += [(*row, db.kind) for row in rows]
        offset = max(0, offset - counts[table])
    return found
