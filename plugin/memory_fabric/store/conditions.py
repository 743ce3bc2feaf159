"""SQL conditions for a query's filters, one function for each kind of row.

A row must have one of the values of every field that is filtered; without the attribute it does not
match. Graph rows that a record added have the record's scope and project, others those of their
database. Only records have a category, and the graph rows that they added. A relation has a
session, agent and type only through a record that states it. `projects`
are case-folded names; an empty one means rows without a project tag, which belong to the database's
own project. Domains are not filtered here: see store.domains.views.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from memory_fabric.models import HAS_OTHERS, OTHERS, Filters
from memory_fabric.store.database import Database

# Turns are stored in the project's database.
TURNS_SCOPE = "team"
# Records that the session of the bound value may be told: others' local ones are not its own.
OF_SESSION = "(scope <> 'local' OR session = ?)"
NOTHING = "AND 0"
# Words that others shared: a fourth of the limit, in addition to it.
SHARE_OF_OTHERS = 4
_CATEGORY = "coalesce(json_extract({table}.body, '$.category'), '') COLLATE NOCASE"
_CATEGORY_OF_RECORD = (
    "coalesce((SELECT json_extract(x.body, '$.category') FROM records AS x "
    "WHERE x.id = {record}), '') COLLATE NOCASE"
)


class Condition(NamedTuple):
    """A part of a WHERE clause that begins with AND, and its bound values."""

    sql: str = ""
    values: tuple[Any, ...] = ()

    def also(self, sql: str, values: Sequence[Any] = ()) -> Condition:
        """Return this condition and a further one."""
        return Condition(f"{self.sql} {sql}", (*self.values, *values))

    def among(self, expression: str, wanted: Sequence[str]) -> Condition:
        """Return this condition with `expression IN (wanted)`; unchanged if nothing is wanted."""
        if not wanted:
            return self
        return self.also(f"AND {expression} IN ({marks(wanted)})", wanted)


def shares(db: Database, wanted: Condition, limit: int, alias: str) -> list[tuple[Condition, int]]:
    """Return the condition with its limit; if there are words of others, one for each part.

    These, however many, do not displace the user's own.
    """
    if db.row("SELECT 1 FROM meta WHERE key = ?", (HAS_OTHERS,)) is None:
        return [(wanted, limit)]
    ours, theirs = (wanted.also(f"AND {alias}.source {sign} '{OTHERS}'") for sign in ("<>", "="))
    return [(ours, limit), (theirs, max(1, limit // SHARE_OF_OTHERS))]


def of_records(db: Database, filters: Filters, session: str) -> Condition:
    """Return the condition on active records `r`; only the session itself sees those of scope
    local.
    """
    own = Condition("AND r.status = 'active' AND (r.scope <> 'local' OR r.session = ?)", (session,))
    said = _said_by(own, filters, "r").among("r.type", filters.types)
    said = said.among("r.scope", filters.scopes)
    said = said.among(_CATEGORY.format(table="r"), filters.categories)
    return _timed(_tagged(db, said, filters, "json_extract(r.body, '$.project')"), filters, "r")


def of_observations(db: Database, filters: Filters) -> Condition:
    """Return the condition on observations `o` of entities `e`."""
    said = _said_by(Condition(), filters, "o")
    said = said.among("e.type COLLATE NOCASE", filters.types)
    said = said.among(_CATEGORY_OF_RECORD.format(record="o.record"), filters.categories)
    return _timed(_placed(db, said, filters, "o.record"), filters, "o")


def of_episodes(db: Database, filters: Filters) -> Condition:
    """Return the condition on turns `o` of past sessions, which have no type and no category."""
    if (
        filters.types
        or filters.categories
        or (filters.scopes and TURNS_SCOPE not in filters.scopes)
    ):
        return Condition(NOTHING)
    said = _said_by(Condition(), filters, "o")
    return _timed(_tagged(db, said, filters, "o.project"), filters, "o")


def of_entities(db: Database, filters: Filters) -> Condition:
    """Return the condition on entities `e`, which have neither session nor agent."""
    if filters.sessions or filters.agents:
        return Condition(NOTHING)
    known = Condition().among("e.type COLLATE NOCASE", filters.types)
    known = known.among(_CATEGORY_OF_RECORD.format(record="e.record"), filters.categories)
    return _timed(_placed(db, known, filters, "e.record"), filters, "e", "updated_at")


def of_relations(db: Database, filters: Filters) -> Condition:
    """Return the condition on relations `r` of the graph.

    A record that states the relation must meet the filters. A relation that no record states has
    the scope and project of its database.
    """
    times = _timed(Condition(), filters._replace(as_of=""), "r")
    record = _said_by(Condition(), filters, "x").among("x.type", filters.types)
    record = record.among("x.scope", filters.scopes)
    record = record.among(_CATEGORY.format(table="x"), filters.categories)
    record = _tagged(db, record, filters, "json_extract(x.body, '$.project')")
    if not record.sql:
        return times
    stated = (
        "EXISTS (SELECT 1 FROM claims AS c JOIN records AS x ON x.id = c.record "
        "WHERE c.kind = 'relations' AND c.row = r.id"
    )
    of_record = filters.sessions or filters.agents or filters.types or filters.categories
    if of_record or not _is_here(db, filters):
        return times.also(f"AND {stated} {record.sql})", record.values)
    return times.also(f"AND (NOT {stated}) OR {stated} {record.sql}))", record.values)


def scope_of(db: Database) -> str:
    """Return the scope of rows in this database that belong to no record."""
    return "user" if db.kind == "user" else "team"


def marks(values: Sequence[object]) -> str:
    """Return the SQL parameter marks for these values."""
    return ", ".join("?" * len(values))


def _said_by(so_far: Condition, filters: Filters, table: str) -> Condition:
    said = so_far.among(f"{table}.agent", filters.agents)
    return said.among(f"{table}.session", filters.sessions)


def _placed(db: Database, so_far: Condition, filters: Filters, record: str) -> Condition:
    """Add scope and project, which are those of the record that added a row."""
    mine = f"FROM records AS x WHERE x.id = {record}"
    scope = f"coalesce((SELECT x.scope {mine}), '{scope_of(db)}')"
    found = so_far.among(scope, filters.scopes)
    return _tagged(db, found, filters, f"(SELECT json_extract(x.body, '$.project') {mine})")


def _tagged(db: Database, so_far: Condition, filters: Filters, tag: str) -> Condition:
    if not filters.projects:
        return so_far
    # SQLite folds the case of English letters only.
    db.connection.create_function("folded", 1, str.casefold, deterministic=True)
    # Rows of the user's database without a tag belong to no project.
    wanted = [name for name in filters.projects if name or db.kind == "project"]
    return so_far.among(f"folded(coalesce({tag}, ''))", wanted) if wanted else Condition(NOTHING)


def _timed(
    so_far: Condition, filters: Filters, table: str, column: str = "created_at"
) -> Condition:
    for moment, sign in ((filters.since, ">="), (filters.before, "<")):
        if moment:
            so_far = so_far.also(f"AND {table}.{column} {sign} ?", (moment,))
    if filters.as_of:
        so_far = so_far.also(f"AND {table}.created_at <= ?", (filters.as_of,))
    return so_far


def _is_here(db: Database, filters: Filters) -> bool:
    """True if rows without a record meet the filters' scope and project."""
    scope = not filters.scopes or scope_of(db) in filters.scopes
    return scope and (not filters.projects or (db.kind == "project" and "" in filters.projects))
