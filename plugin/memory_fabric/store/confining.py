"""A connection from which only some domains can be read, whatever is asked of it.

Views of the session's own, named like the tables, stand before them: a query that forgets the
condition cannot be written. They cannot be changed through either: who writes has a connection of
his own. Full-text tables give row ids only, and what is fetched for those comes from the views.
"""

from __future__ import annotations

from memory_fabric.store.database import translated
from memory_fabric.store.sqlite import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.models import Operation
    from memory_fabric.store.database import Database

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


def confined(operation: Operation, domains: Sequence[str]) -> Operation:
    """The operation as somebody may do it who sees these domains only: what it says lies in one of
    them, what it takes away in none but them.
    """
    by, payload = operation.provenance, dict(operation.payload)
    if domains and by.domain not in domains:
        by = by._replace(domain=domains[0])
    record = payload.get("record")
    if isinstance(record, dict) and record.get("domain") not in domains:
        payload["record"] = {**record, "domain": by.domain}
    if operation.kind in _ADDING:
        payload["apart"] = True
    if operation.kind in _TAKING:
        payload["only"] = list(domains)
    return operation._replace(payload=payload, provenance=by)
