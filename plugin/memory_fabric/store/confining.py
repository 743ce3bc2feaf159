"""A connection from which only some domains can be read, whatever is asked of it.

Views of the session's own, named like the tables, stand before them: a query that forgets the
condition cannot be written. They cannot be changed through either: who writes has a connection of
his own. Full-text tables give row ids only, and what is fetched for those comes from the views.
"""

from __future__ import annotations

from memory_fabric.errors import NotFound
from memory_fabric.store.database import translated
from memory_fabric.store.graph import existing
from memory_fabric.store.sqlite import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from memory_fabric.models import Provenance
    from memory_fabric.store.database import Database
    from memory_fabric.store.memory import Memory

# An entity is one for all domains that speak of it: it is seen where one of them says something of
# it or made it, and only with what they say.
_VIEWS = {
    "observations": "domain IN ({domains})",
    "relations": "domain IN ({domains})",
    "records": "domain IN ({domains})",
    "episodes": "domain IN ({domains})",
    "entities": "domain IN ({domains}) OR EXISTS (SELECT 1 FROM main.observations AS o "
    "WHERE o.entity = t.id AND o.domain IN ({domains})) OR EXISTS (SELECT 1 FROM main.relations "
    "AS r WHERE r.source = t.id AND r.domain IN ({domains})) OR EXISTS (SELECT 1 "
    "FROM main.relations AS r WHERE r.target = t.id AND r.domain IN ({domains}))",
    # What others changed tells what they know.
    "operations": "json_extract(provenance, '$.domain') IN ({domains})",
}
# What adds to an entity, and what takes away: only in the domains of who asks for it.
_ADDING = frozenset(("create_entities", "add_observations"))
_TAKING = frozenset(("delete_entities", "delete_observations", "delete_relations", "forget"))


def confine(database: Database, domains: Sequence[str]) -> None:
    """From now on the database shows these domains only. Raises StoreUnavailable."""
    # A view takes no parameters.
    allowed = ", ".join("'" + domain.replace("'", "''") + "'" for domain in domains)
    try:
        for table, condition in _VIEWS.items():
            database.connection.execute(
                f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} AS t "
                f"WHERE {condition.format(domains=allowed)}"
            )
    except sqlite3.Error as error:
        raise translated(database.path, error) from error


def inside(
    memory: Memory, kind: str, payload: Mapping[str, Any], by: Provenance
) -> tuple[dict[str, Any], Provenance]:
    """A change as somebody may make it who sees the memory's domains only: what it says lies in one
    of them, what it takes away in none but them. Raises NotFound for what he speaks of unseen.
    """
    domains, kept = memory.domains or (), dict(payload)
    if domains and by.domain not in domains:
        by = by._replace(domain=domains[0])
    if kind == "add_observations":
        _need_seen(memory, [item["entityName"] for item in payload["observations"]])
    record = payload.get("record")
    if isinstance(record, dict) and record.get("domain") not in domains:
        kept["record"] = {**record, "domain": by.domain}
    if kind in _ADDING:
        kept["apart"] = True
    if kind in _TAKING:
        kept["only"] = list(domains)
    return kept, by


def _need_seen(memory: Memory, names: Sequence[str]) -> None:
    known = {name for database in memory.databases() for name in existing(database, names)}
    unseen = next((name for name in names if name not in known), None)
    if unseen is not None and not memory.unavailable:
        raise NotFound(unseen, f"Entity with name {unseen} not found")
