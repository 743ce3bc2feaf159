"""Invariants of the graph after each mutation (BR-9), checked within its transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from json import loads
from typing import Any

from memory_fabric.errors import StoreUnavailable
from memory_fabric.store.database import Database
from memory_fabric.store.operations import rows
from memory_fabric.text import name_key


def verify(
    c: sqlite3.Connection, kind: str, payload: Mapping[str, Any], result: dict[str, Any]
) -> dict[str, Any]:
    """Check a mutation that just ran; return `variants` of new names and `orphans` of a deletion.

    Removes `touched` from the result. Raises StoreUnavailable if something written cannot be read
    back; the whole mutation is then rolled back.
    """
    touched = result.pop("touched", ())
    if kind == "create_entities":
        names = [item["name"] for item in payload["entities"]]
        _must_exist(c, names, result)
        return _found(variants=_variants(c, [item["name"] for item in result["entities"]]))
    if kind == "create_relations":
        away = set(result.get("forgotten", ()))
        both = [(item["from"], item["to"]) for item in payload["relations"]]
        _must_exist(c, [end for ends in both if away.isdisjoint(ends) for end in ends], result)
        return {}
    if kind == "merge":
        _must_exist(c, [payload["into"]], result)
    return _found(orphans=[row["name"] for row in rows.orphans(c, touched)])


def orphans(db: Database, limit: int = 100) -> list[str]:
    """Return entities with neither observations nor relations, oldest first, for a clean-up to
    offer.
    """
    found = db.rows(
        "SELECT e.name FROM entities AS e WHERE "
        "NOT EXISTS (SELECT 1 FROM observations AS o WHERE o.entity = e.id) "
        "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.source = e.id) "
        "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.target = e.id) "
        "ORDER BY e.id LIMIT ?",
        (limit,),
    )
    return [row[0] for row in found]


def left_alone(db: Database, deletions: int = 100) -> list[str]:
    """Return entities with observations that lost their last relation in the last deletions."""
    ends: dict[str, None] = {}
    for (inverse,) in db.rows(
        "SELECT inverse FROM operations WHERE kind IN ('delete_entities', 'delete_relations', "
        "'forget') ORDER BY seq DESC LIMIT ?",
        (deletions,),
    ):
        for step in loads(inverse):
            for row in step["payload"].get("relations", ()):
                ends |= dict.fromkeys((row["from"], row["to"]))
    return [
        name
        for name in ends
        if db.row(
            "SELECT 1 FROM entities AS e WHERE e.name = ?1 "
            "AND EXISTS (SELECT 1 FROM observations AS o WHERE o.entity = e.id) "
            "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE e.id IN (r.source, r.target))",
            (name,),
        )
    ]


def shown(name: str) -> str:
    """Return an entity's name for people; the reference server allows the empty one."""
    return name if name.strip() else f"{name!r} (a blank name)"


def variants(db: Database) -> list[list[str]]:
    """Return groups of names that differ only in case, `-`, `_` or spaces, the oldest first."""
    groups: dict[str, list[str]] = {}
    for key, name in db.rows(
        "SELECT key, name FROM entities WHERE key IN "
        "(SELECT key FROM entities GROUP BY key HAVING count(*) > 1) ORDER BY id"
    ):
        groups.setdefault(key, []).append(name)
    return list(groups.values())


def alias_conflicts(db: Database) -> list[tuple[str, str, str]]:
    """Return aliases that are also another entity's own name, as (alias, its entity, the other)."""
    rows = db.rows(
        "SELECT a.alias, e.name, o.name FROM aliases AS a JOIN entities AS e ON e.id = a.entity "
        "JOIN entities AS o ON o.key = a.key AND o.id <> a.entity ORDER BY a.key, o.id"
    )
    return [(alias, name, owner) for alias, name, owner in rows]


def _must_exist(c: sqlite3.Connection, names: Sequence[str], result: Mapping[str, Any]) -> None:
    """Raise StoreUnavailable if one of the names has no entity, unless it was forgotten."""
    known, forgotten = rows.entity_ids(c, names), set(result.get("forgotten", ()))
    for name in names:
        if name not in known and name not in forgotten:
            raise StoreUnavailable("", f"The entity {name[:100]!r} could not be read back.")


def _variants(c: sqlite3.Connection, names: Sequence[str]) -> dict[str, list[str]]:
    """Return, for each name, the other names that differ only in case, `-`, `_` or spaces."""
    found: dict[str, list[str]] = {}
    by_key = rows.names_by_key(c, map(name_key, names))
    for name in dict.fromkeys(names):
        others = [other for other in by_key[name_key(name)] if other != name]
        if others:
            found[name] = others
    return found


def _found(**findings: Any) -> dict[str, Any]:
    return {name: value for name, value in findings.items() if value}
