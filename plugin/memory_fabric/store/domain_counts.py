"""Rows by domain, and relations that cross domains.

Of a memory that is limited to a domain (store.scoped_memory) they are the domain's.
"""

from collections.abc import Sequence
from typing import NamedTuple

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
        fields = "s.name, s.domain, r.type, t.name, t.domain"
        oldest = f"SELECT {fields} {_ACROSS} ORDER BY r.id LIMIT ?"
        rows = database.rows(oldest, (max_shown - len(first),))
        first += [CrossDomainRelation._make((*row, database.kind)) for row in rows]
    return DomainCounts(
        tuple((domain, tuple(counts[domain])) for domain in sorted(counts)), crossings, tuple(first)
    )
