"""A connection from which only some domains can be read, whatever is asked of it.

Views of the session's own, named like the tables, stand before them: a query that forgets the
condition cannot be written. They cannot be changed through either: who writes has a connection of
his own. Full-text tables give row ids only, and what is fetched for those comes from the views.
What was put to use of a session (ledger, tasks, block) has no domain; it is read by its session.
"""

from __future__ import annotations

from memory_fabric.store.database import translated
from memory_fabric.store.graph import existing
from memory_fabric.store.sqlite import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from memory_fabric.store.database import Database

_ROWS = "SELECT * FROM main.{table} AS t WHERE t.domain {these}"
# An entity is one for all domains that speak of it: it is seen where one of them says something of
# it or made it, with its name and type and only what they say. Its other names and its times tell
# of everybody's doings, and `extra` holds those names again.
_ENTITIES = """
SELECT t.id, t.name, t.key, t.type, {extra} AS extra,
    CASE WHEN t.domain {these} THEN t.domain ELSE {first} END AS domain,
    CASE WHEN t.domain {these} THEN t.record ELSE '' END AS record,
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
# Nobody noted who gave an entity its other names; the index finds it by them, and tells none. Who
# only misses the isolated domains knows these names, as everybody outside of them does.
_ALIASES = "SELECT t.key, t.alias, t.entity FROM main.aliases AS t WHERE 0"
# A change is of its own domain and of those of all rows in it, for it holds what it took away; an
# undo, whose steps name none, is of that of the change that it took back, and so on.
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
# A row of another domain, or one of an entity with its other names (pairs of key and name).
_FOREIGN = """(j.key = 'domain' AND j.type = 'text' AND NOT j.value {these})
    OR ({names} AND j.key = 'aliases' AND j.type = 'array'
        AND json_type(j.value, '$[0]') = 'array')"""
# Texts that came in say in their body what domain they are of.
_INTAKE = (
    "SELECT * FROM main.intake AS t WHERE json_valid(t.body) "
    "AND coalesce(json_extract(t.body, '$.domain'), '') {these}"
)
ROWS = ("observations", "relations", "records", "episodes")


def confine(database: Database, domains: Sequence[str], *, hidden: bool = False) -> None:
    """From now on the database shows these domains only, or, if they are `hidden`, all others.

    Raises StoreUnavailable.
    """
    try:
        # They are made for each connection, also where the disk is full.
        database.connection.execute("PRAGMA temp_store = MEMORY")
        for name, select in views(domains, hidden=hidden).items():
            database.connection.execute(f"CREATE TEMP VIEW {name} AS {select}")
        database.confined = True
    except sqlite3.Error as error:
        raise translated(database.path, error) from error


def views(domains: Sequence[str], *, hidden: bool = False) -> dict[str, str]:
    """What stands before each table whose rows are of domains, in the order to be made."""
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
    found["intake"] = _INTAKE.format(these=these)
    return found


def seen_of(result: dict[str, Any], databases: Sequence[Database]) -> dict[str, Any]:
    """What a change tells of, without entities that these databases do not show: spellings of a
    name, and what a deletion left alone.
    """
    told = dict(result)
    if "variants" in told:
        every = {name for others in told["variants"].values() for name in others}
        known = _known(every, databases)
        kept = {
            name: [one for one in others if one in known]
            for name, others in told["variants"].items()
        }
        told["variants"] = {name: others for name, others in kept.items() if others}
    if "orphans" in told:
        known = _known(told["orphans"], databases)
        told["orphans"] = [name for name in told["orphans"] if name in known]
    return told


def _known(names: Iterable[str], databases: Sequence[Database]) -> set[str]:
    wanted = list(names)
    return {name for db in databases for name in existing(db, wanted)}
