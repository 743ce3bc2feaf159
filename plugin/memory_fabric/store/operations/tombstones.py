"""Tombstones: rows without texts that keep forgotten content from being stored again.

A record's tombstone has the record's id; the tombstone of an entity or observation has a digest. A
later statement of the same content removes the tombstone, unless it is from an import or a journal.
"""

from collections.abc import Iterable
from sqlite3 import Connection
from typing import Any

from memory_fabric.models import Payload, Provenance
from memory_fabric.store.database import Database
from memory_fabric.store.operations.kind import Kind, Result, Steps, step
from memory_fabric.text import many

# Statements from these sources only repeat earlier ones, so they never remove a tombstone.
REPEATING = ("import", "journal")


def of_entity(name: str) -> str:
    """Return the id of a tombstone for this entity."""
    return "entity:" + _digest(name)


def of_observation(name: str, text: str) -> str:
    """Return the id of a tombstone for this observation of an entity."""
    return "observation:" + _digest(f"{name}\n{text}")


def of_turn(uuid: str) -> str:
    """Return the id of a tombstone for this turn of a session, or tool call in one."""
    return f"turn:{uuid}"


def is_set(c: Connection, id_: str) -> bool:
    """Return True if there is a tombstone with this id."""
    return c.execute("SELECT 1 FROM tombstones WHERE id = ?", (id_,)).fetchone() is not None


def were_forgotten(databases: Iterable[Database], key: int, since: str) -> bool:
    """Return True if a text was forgotten at `since` or later; `key` is its `remember.key_sum`."""
    last = "SELECT 1 FROM tombstones WHERE key = ? AND created_at >= ?"
    return any(database.row(last, (key, since)) for database in databases)


def put(c: Connection, id_: str, key: int, at: str) -> list[list[Any]]:
    """Set a tombstone; return a list with its row, empty if the tombstone existed already."""
    cursor = c.execute("INSERT OR IGNORE INTO tombstones VALUES (?, ?, ?)", (id_, key, at))
    return [[id_, key, at]] if cursor.rowcount > 0 else []


def set_and_lift(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Set tombstones in `add`; delete those in `remove` unless their key or time has changed."""
    same = "DELETE FROM tombstones WHERE id = ? AND key = ? AND created_at = ?"
    lifted = [list(row) for row in payload["remove"] if c.execute(same, tuple(row)).rowcount > 0]
    added = [new for row in payload["add"] for new in put(c, *row)]
    return {"set": len(added), "lifted": len(lifted)}, op(lifted, added)


def op(rows: list[list[Any]], lifted: list[list[Any]] | None = None) -> Steps:
    """Return the steps that set the tombstones `rows` and delete `lifted`; [] if both are empty."""
    return [step("tombstones", add=rows, remove=lifted or [])] if rows or lifted else []


class StatementGuard:
    """Refuses statements of forgotten content; `forgotten` has the names of the entities concerned.
    `lifted` lists tombstones that were deleted because a newer statement repeats the content.
    """

    def __init__(self, c: Connection, by: Provenance) -> None:
        self._c, self._by = c, by
        of_graph = "id GLOB 'entity:*' OR id GLOB 'observation:*'"
        rows = c.execute(f"SELECT 1 FROM tombstones WHERE {of_graph} LIMIT 1")
        self._any = rows.fetchone() is not None
        self.forgotten: dict[str, None] = {}
        self.lifted: list[list[Any]] = []

    def refuse_entity(self, name: str) -> bool:
        """Return True if the entity was forgotten, unless this newer statement restores it."""
        return self._any and self._refuses(of_entity(name), name)

    def refuse_text(self, name: str, text: str) -> bool:
        """Return True if this missing observation was forgotten and must not be added."""
        return self._any and self._refuses(of_observation(name, text), name)

    def _refuses(self, id_: str, name: str) -> bool:
        row = self._c.execute("SELECT * FROM tombstones WHERE id = ?", (id_,)).fetchone()
        if row is None:
            return False
        # A queued statement may be older than the user's request to forget its content.
        if self._by.source in REPEATING or self._by.at < row[2]:
            self.forgotten[name] = None
            return True
        self._c.execute("DELETE FROM tombstones WHERE id = ?", (id_,))
        self.lifted.append(list(row))
        return False


def _digest(text: str) -> str:
    import hashlib  # imported late: it loads OpenSSL, and few hooks need it

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _is_row(value: Any) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 3:
        return False
    return isinstance(value[0], str) and type(value[1]) is int and isinstance(value[2], str)


KINDS = {
    "tombstones": Kind(
        {"add": [_is_row], "remove": [_is_row]},
        set_and_lift,
        lambda payload, _: f"set {many(len(payload['add']), 'tombstone')}",
    )
}
