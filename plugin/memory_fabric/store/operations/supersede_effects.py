"""Links from a record to the one that replaced it, set and taken back inside a transaction.

A link is `{"id", "by", "at", "was": {"by", "at"}}`: the record `id` is closed by the record `by` at
that time (both empty: it is open), and `was` is its state before. A link is set only if the record
is still in the state `was`: so repeating an operation has no effect, and a record that something
else closed meanwhile stays closed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from memory_fabric.models import Provenance, Record, may_close, stated_at
from memory_fabric.store import records

Link = dict[str, Any]
Result = tuple[dict[str, Any], list[dict[str, Any]]]

OPEN = {"by": "", "at": ""}


def supersede(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Set the links that still fit; the inverse sets them back."""
    done = [link for link in payload["links"] if _set(c, link)]
    return {"links": len(done)}, op(map(_reversed, reversed(done)))


def close(c: sqlite3.Connection, new: Record, stored: Record, ids: Iterable[str]) -> list[Link]:
    """Close those of the records that `new` may close; return the links that were set.

    `new` is the statement as it was made, `stored` the record that keeps it, which may be an older
    one that it repeats: trust is that of the statement. Permission is checked again here, inside
    the transaction.
    """
    if stored.status != "active":
        return []
    links = [
        {"id": old.id, "by": stored.id, "at": stated_at(new), "was": OPEN}
        for id_ in dict.fromkeys(ids)
        for old, _ in records.find(c, "id = ?", (id_,))
        if old.id != stored.id and old.status == "active" and may_close(new, old)
    ]
    return [link for link in links if _set(c, link)]


def reopen(c: sqlite3.Connection, deleted: Record) -> list[Link]:
    """Reopen the records that a deleted record had closed; return the links that were set.

    If the deleted record was itself replaced, they stay closed, by its successor.
    """
    successor = deleted.superseded_by if _exists(c, deleted.superseded_by) else ""
    links = []
    for old, _ in records.find(c, "superseded_by = ?", (deleted.id,)):
        was = {"by": deleted.id, "at": old.valid_to}
        now = {"by": successor, "at": old.valid_to} if successor and successor != old.id else OPEN
        links.append({"id": old.id, **now, "was": was})
    return [link for link in links if _set(c, link)]


def with_current_link(c: sqlite3.Connection, given: Record, live: Record | None) -> Record:
    """Return a restored record with its link as it is now, since other operations set and remove
    links.

    A record that no longer exists keeps its own link, if its successor exists.
    """
    if live is not None:
        return given._replace(superseded_by=live.superseded_by, valid_to=live.valid_to)
    if given.superseded_by and not _exists(c, given.superseded_by):
        return given._replace(superseded_by="", valid_to="")
    return given


def op(links: Iterable[Link]) -> list[dict[str, Any]]:
    """Return the operation that sets these links; empty if there are none."""
    found = list(links)
    return [{"kind": "supersede", "payload": {"links": found}}] if found else []


def back(links: Iterable[Link]) -> list[dict[str, Any]]:
    """Return the operation that sets these links back."""
    return op(map(_reversed, reversed(list(links))))


def _reversed(link: Mapping[str, Any]) -> Link:
    was = link["was"]
    return {
        "id": link["id"],
        "by": was["by"],
        "at": was["at"],
        "was": {"by": link["by"], "at": link["at"]},
    }


def _set(c: sqlite3.Connection, link: Mapping[str, Any]) -> bool:
    if link["by"] and not _exists(c, link["by"]):
        return False
    was = link["was"]
    done = c.execute(
        "UPDATE records SET superseded_by = ?, valid_to = ? "
        "WHERE id = ? AND superseded_by = ? AND valid_to = ?",
        (link["by"], link["at"], link["id"], was["by"], was["at"]),
    )
    return done.rowcount > 0


def _exists(c: sqlite3.Connection, id_: str) -> bool:
    found = id_ and c.execute("SELECT 1 FROM records WHERE id = ?", (id_,)).fetchone()
    return bool(found)
