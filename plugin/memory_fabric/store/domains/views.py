"""Temporary views that limit a database connection to some domains.

The views have the names of the tables and hide them, so no query can forget the condition. Nothing
can be changed through them; a writer uses a connection of its own. Full-text tables give only row
ids, whose content comes from the views. The ledger, tasks and the block of a session have no
domain; only their own session reads them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from memory_fabric.store.database import Database, translated
from memory_fabric.store.graph import existing

_ROWS = "SELECT * FROM main.{table} AS t WHERE t.domain {these}"
# Domains share entities. An entity is visible in a domain that made it or that has an observation
# or relation of it: with its name and type, and only the domain's own observations. Its aliases,
# its times and `extra`, which repeats the aliases, would reveal what other domains know.
_ENTITIES = """
SELECT t.id, t.name, t.key, t.type, {extra} AS extra,
    CASE WHEN t.domain {these} THEN t.domain ELSE {first} END AS domain,
    CASE WHEN t.domain {these} THEN t.record ELSE '' END AS record, t.said_by,
    CASE WHEN t.domain {these} THEN t.created_at ELSE coalesce({earliest}, '') END
        AS created_at,
    coalesce((SELECT max(o.created_at) FROM main.observations AS o
        WHERE o.entity = t.id AND o.domain {these}),
        CASE WHEN t.domain {these} THEN t.created_at ELSE {earliest} END, '') AS updated_at
FROM main.entities AS t WHERE t.domain {these}
    OR EXISTS (SELECT 1 FROM main.observations AS o
        WHERE o.entity = t.id AND o.domain {these})
    OR EXISTS (SELECT 1 FROM main.relations AS r WHERE r.source = t.id AND r.domain {these})
    OR EXISTS (SELECT 1 FROM main.relations AS r WHERE r.target = t.id AND r.domain {these})
"""
_EARLIEST = """(SELECT min(s.created_at) FROM (
    SELECT o.created_at FROM main.observations AS o
        WHERE o.entity = t.id AND o.domain {these}
    UNION ALL SELECT r.created_at FROM main.relations AS r
        WHERE r.source = t.id AND r.domain {these}
    UNION ALL SELECT r.created_at FROM main.relations AS r
        WHERE r.target = t.id AND r.domain {these}) AS s)"""
# The domain of an alias is not recorded, so none is shown, though the full-text index finds
# entities by it. A memory that only hides isolated domains shows aliases, as outside of those
# everybody knows them.
_ALIASES = "SELECT t.key, t.alias, t.entity FROM main.aliases AS t WHERE 0"
# An operation belongs to its own domain and to those of all rows in it, since it holds what it
# removed. An undo has no domains in its steps; it belongs to those of the operation that it undid,
# recursively.
_OPERATIONS = """
SELECT t.* FROM main.operations AS t WHERE {own} AND (t.kind <> 'undo' OR (
    EXISTS (SELECT 1 FROM main.operations AS u
        WHERE u.id = json_extract(t.payload, '$.operation'))
    AND NOT EXISTS (
        WITH RECURSIVE back (id) AS (
            SELECT json_extract(t.payload, '$.operation')
            UNION SELECT json_extract(b.payload, '$.operation') FROM back
            JOIN main.operations AS b ON b.id = back.id WHERE b.kind = 'undo')
        SELECT 1 FROM back LEFT JOIN main.operations AS u ON u.id = back.id
        WHERE u.id IS NULL OR NOT ({others}))))
"""
_OWN = """coalesce(json_extract({t}.provenance, '$.domain'), '') {these}
    AND NOT EXISTS (SELECT 1 FROM json_tree({t}.payload) AS j WHERE {foreign})
    AND NOT EXISTS (SELECT 1 FROM json_tree({t}.inverse) AS j WHERE {foreign})"""
# True for a row of another domain, or of an entity with aliases (pairs of key and name).
_FOREIGN = """(j.key = 'domain' AND j.type = 'text' AND NOT j.value {these})
    OR ({names} AND j.key = 'aliases' AND j.type = 'array'
        AND json_type(j.value, '$[0]') = 'array')"""
# Ingested texts name their domain in the body.
_INGESTED = (
    "SELECT * FROM main.intake AS t WHERE json_valid(t.body) "
    "AND coalesce(json_extract(t.body, '$.domain'), '') {these}"
)
ROWS = ("observations", "relations", "records", "episodes")


def create_views(database: Database, domains: Sequence[str], *, hidden: bool = False) -> None:
    """Create views so that the connection shows only these domains or, if `hidden`, all others.

    Raises StoreUnavailable.
    """
    try:
        # Views are made for each connection, and also when the disk is full.
        database.connection.execute("PRAGMA temp_store = MEMORY")
        for name, select in selects(domains, hidden=hidden).items():
            database.connection.execute(f"CREATE TEMP VIEW {name} AS {select}")
        database.is_scoped = True
    except sqlite3.Error as error:
        raise translated(database.path, error) from error


def selects(domains: Sequence[str], *, hidden: bool = False) -> dict[str, str]:
    """Return the SELECT of each view by table, in the order of creation."""
    # A view takes no parameters.
    texts = ["'" + domain.replace("'", "''").replace("\0", "") + "'" for domain in domains]
    first = "'general'" if hidden else texts[0] if texts else "''"
    these = f"{'NOT ' if hidden else ''}IN ({', '.join(texts)})"
    earliest = _EARLIEST.format(these=these)
    foreign = _FOREIGN.format(these=these, names=int(not hidden))
    own, others = (_OWN.format(t=t, these=these, foreign=foreign) for t in ("t", "u"))
    found = {table: _ROWS.format(table=table, these=these) for table in ROWS}
    extra = "t.extra" if hidden else "''"
    found["entities"] = _ENTITIES.format(these=these, first=first, earliest=earliest, extra=extra)
    if not hidden:
        found["aliases"] = _ALIASES
    found["operations"] = _OPERATIONS.format(own=own, others=others)
    found["intake"] = _INGESTED.format(these=these)
    return found


def visible_part(result: dict[str, Any], databases: Sequence[Database]) -> dict[str, Any]:
    """Return the result of a change without entities that these databases do not show.

    This concerns spelling variants of a name, and entities that a deletion left orphaned.
    """
    visible = dict(result)
    if "variants" in visible:
        every = {name for others in visible["variants"].values() for name in others}
        known = _known(every, databases)
        kept = {
            name: [one for one in others if one in known]
            for name, others in visible["variants"].items()
        }
        visible["variants"] = {name: others for name, others in kept.items() if others}
    if "orphans" in visible:
        known = _known(visible["orphans"], databases)
        visible["orphans"] = [name for name in visible["orphans"] if name in known]
    return visible


def _known(names: Iterable[str], databases: Sequence[Database]) -> set[str]:
    wanted = list(names)
    return {name for db in databases for name in existing(db, wanted)}
