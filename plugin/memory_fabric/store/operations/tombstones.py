"""Tombstones: marks that something was forgotten, without its words, so that it does not come back.

The tombstone of a record has its id, that of an entity or observation a digest. A later statement
of the same that is not an import lifts the tombstone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from memory_fabric.models import Provenance

Result = tuple[dict[str, Any], list[dict[str, Any]]]

# Sources that only repeat what was once stated elsewhere.
REPEATING = ("import", "journal")


def of_entity(name: str) -> str:
    """Return the id of the tombstone of an entity."""
    return "entity:" + _digest(name)


def of_observation(name: str, text: str) -> str:
    """Return the id of the tombstone of one observation of an entity."""
    return "observation:" + _digest(f"{name}\n{text}")


def of_turn(uuid: str) -> str:
    """Return the id of the tombstone of a turn."""
    return f"turn:{uuid}"


def is_set(c: sqlite3.Connection, id_: str) -> bool:
    """True if there is a tombstone with this id."""
    return c.execute("SELECT 1 FROM tombstones WHERE id = ?", (id_,)).fetchone() is not None


def put(c: sqlite3.Connection, id_: str, key: int, at: str) -> list[list[Any]]:
    """Set a tombstone; return it in a list, which is empty if it was there already."""
    cursor = c.execute("INSERT OR IGNORE INTO tombstones VALUES (?, ?, ?)", (id_, key, at))
    return [[id_, key, at]] if cursor.rowcount > 0 else []


def tombstones(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Set and lift tombstones, each only if its row is exactly as in the payload."""
    lifted = []
    for row in payload["remove"]:
        same = "DELETE FROM tombstones WHERE id = ? AND key = ? AND created_at = ?"
        if c.execute(same, tuple(row)).rowcount > 0:
            lifted.append(list(row))
    added = [new for row in payload["add"] for new in put(c, *row)]
    changed = {"set": len(added), "lifted": len(lifted)}
    return changed, op(lifted, added)


def op(rows: list[list[Any]], lifted: list[list[Any]] | None = None) -> list[dict[str, Any]]:
    """Return the operation that sets these tombstones and lifts the others; empty if there are
    none.
    """
    if not rows and not lifted:
        return []
    return [{"kind": "tombstones", "payload": {"add": rows, "remove": lifted or []}}]


class StatementGuard:
    """The tombstones that a statement meets: each refuses a name or text, or is lifted.

    `forgotten` are names of what was refused, `lifted` the tombstones that were removed.
    """

    def __init__(self, c: sqlite3.Connection, by: Provenance) -> None:
        self._c, self._by = c, by
        self._any = _any(c)
        self.forgotten: dict[str, None] = {}
        self.lifted: list[list[Any]] = []

    def refuse_entity(self, name: str) -> bool:
        """True if an entity that does not exist must not be created."""
        return self._any and self._refuses(of_entity(name), name)

    def refuse_text(self, name: str, text: str) -> bool:
        """True if an observation that the entity lacks must not be added."""
        return self._any and self._refuses(of_observation(name, text), name)

    def _refuses(self, id_: str, name: str) -> bool:
        row = self._c.execute("SELECT * FROM tombstones WHERE id = ?", (id_,)).fetchone()
        if row is None:
            return False
        # A queued change may be older than the decision to forget.
        if self._by.source in REPEATING or self._by.at < row[2]:
            self.forgotten[name] = None
            return True
        self._c.execute("DELETE FROM tombstones WHERE id = ?", (id_,))
        self.lifted.append(list(row))
        return False


class RestoreGuard:
    """The tombstones that a restored row meets: none of them is lifted."""

    def __init__(self, c: sqlite3.Connection) -> None:
        self._c, self._any = c, _any(c)

    def holds_entity(self, name: str) -> bool:
        """True if the entity was forgotten."""
        return self._any and is_set(self._c, of_entity(name))

    def holds_text(self, name: str, text: str) -> bool:
        """True if this observation was forgotten."""
        return self._any and is_set(self._c, of_observation(name, text))


def _any(c: sqlite3.Connection) -> bool:
    found = c.execute(
        "SELECT 1 FROM tombstones WHERE id BETWEEN 'entity:' AND 'entity;' UNION ALL "
        "SELECT 1 FROM tombstones WHERE id BETWEEN 'observation:' AND 'observation;' LIMIT 1"
    )
    return found.fetchone() is not None


def _digest(text: str) -> str:
    import hashlib  # late: it loads OpenSSL, and few hooks need it

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
