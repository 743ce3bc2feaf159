"""Rows by domain, relations that cross domains, and the graph of a memory page by page.

Of a memory that is limited to a domain (store.scoped_memory) pages and counts are the
domain's.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from memory_fabric.store.database import Database

TABLES = ("entities", "relations", "observations", "records", "episodes")
_ACROSS = """
    FROM relations AS r JOIN entities AS s ON s.id = r.source JOIN entities AS t ON t.id = r.target
    WHERE s.domain <> t.domain
"""


class CrossDomainRelation(NamedTuple):
    """A relation between entities of different domains."""

    source: str
    source_domain: str
    type: str
    target: str
    target_domain: str
    store: str


class DomainCounts(NamedTuple):
    """Row counts of each domain by TABLES; relations across domains, and the `first`."""

    counts: tuple[tuple[str, tuple[int, ...]], ...] = ()
    crossings: int = 0
    first: tuple[CrossDomainRelation, ...] = ()


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


def count_by_domain(databases: Sequence[Database], max_shown: int) -> DomainCounts:
    """Count the rows of all these databases together. Raises StoreUnavailable."""
    counts: dict[str, list[int]] = {}
    crossings, first = 0, list[CrossDomainRelation]()
    for database in databases:
        for place, table in enumerate(TABLES):
            by_domain = f"SELECT domain, count(*) FROM {table} GROUP BY domain"
            for domain, number in database.rows(by_domain):
                counts.setdefault(domain, [0] * len(TABLES))[place] += number
        crossings += database.rows(f"SELECT count(*) {_ACROSS}")[0][0]
        oldest = (
            f"SELECT s.name, s.domain, r.type, t.name, t.domain {_ACROSS} ORDER BY r.id LIMIT ?"
        )
        rows = database.rows(oldest, (max_shown - len(first),))
        first += [CrossDomainRelation._make((*row, database.kind)) for row in rows]
    return DomainCounts(
        tuple((domain, tuple(counts[domain])) for domain in sorted(counts)), crossings, tuple(first)
    )


def contents(databases: Sequence[Database], limit: int, offset: int = 0) -> Contents:
    """Return at most `limit` entities and relations of the databases after `offset` of each."""
    columns = ", ".join(f"(SELECT count(*) FROM {table})" for table in TABLES)
    counted = [
        (db, dict(zip(TABLES, db.row(f"SELECT {columns}") or (), strict=True))) for db in databases
    ]
    return Contents(
        {table: sum(counts[table] for _, counts in counted) for table in TABLES},
        tuple(ListedEntity(*r) for r in _page(counted, "entities", _ENTITIES, limit, offset)),
        tuple(ListedRelation(*r) for r in _page(counted, "relations", _RELATIONS, limit, offset)),
    )


def _page(
    databases: Sequence[tuple[Database, dict[str, int]]],
    table: str,
    query: str,
    limit: int,
    offset: int,
) -> list[tuple[Any, ...]]:
    """Return the rows of all databases, database by database, each with its database's kind."""
    page: list[tuple[Any, ...]] = []
    for db, counts in databases:
        if len(page) < limit and offset < counts[table]:
            page += [(*row, db.kind) for row in db.rows(query, (limit - len(page), offset))]
        offset = max(0, offset - counts[table])
    return page
