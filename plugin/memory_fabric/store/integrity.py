"""What must hold after every mutation (BR-9), checked inside the same transaction."""

from __future__ import annotations

from memory_fabric.errors import StoreUnavailable
from memory_fabric.store import rows
from memory_fabric.text import name_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence
    from typing import Any

    from memory_fabric.store.database import Database


def verify(
    c: sqlite3.Connection, kind: str, payload: Mapping[str, Any], result: dict[str, Any]
) -> dict[str, Any]:
    """Findings about a mutation that just ran: `variants` of new names, `orphans` of a deletion.

    Takes `touched` out of the result. Raises StoreUnavailable when what was written cannot be read
    back; all of it is then undone.
    """
    touched = result.pop("touched", ())
    if kind == "create_entities":
        names = [item["name"] for item in payload["entities"]]
        _must_exist(c, names)
        return _found(variants=_variants(c, [item["name"] for item in result["entities"]]))
    if kind == "create_relations":
        ends = [item[end] for item in payload["relations"] for end in ("from", "to")]
        _must_exist(c, ends)
        return {}
    return _found(orphans=[row["name"] for row in rows.orphans(c, touched)])


def orphans(db: Database, limit: int = 100) -> list[str]:
    """Entities with neither observations nor relations, oldest first: what a clean-up may offer."""
    found = db.rows(
        "SELECT e.name FROM entities AS e WHERE "
        "NOT EXISTS (SELECT 1 FROM observations AS o WHERE o.entity = e.id) "
        "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.source = e.id) "
        "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.target = e.id) "
        "ORDER BY e.id LIMIT ?",
        (limit,),
    )
    return [row[0] for row in found]


def _must_exist(c: sqlite3.Connection, names: Sequence[str]) -> None:
    for name in dict.fromkeys(names):
        if rows.entity_id(c, name) is None:
            raise StoreUnavailable("", f"The entity {name[:100]!r} could not be read back.")


def _variants(c: sqlite3.Connection, names: Sequence[str]) -> dict[str, list[str]]:
    """For each name, the other names that differ only in case, `-`, `_` or spaces."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        known = c.execute(
            "SELECT name FROM entities WHERE key = ? AND name <> ? ORDER BY id",
            (name_key(name), name),
        ).fetchall()
        if known:
            found[name] = [row[0] for row in known]
    return found


def _found(**findings: Any) -> dict[str, Any]:
    return {name: value for name, value in findings.items() if value}
