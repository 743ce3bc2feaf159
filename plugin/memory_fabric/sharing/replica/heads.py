"""Heads: the operations on a key that no other operation replaces, as rows of `team_heads`.

This user's own operations on a key form one register, whichever machine made them, if they are
proved; those of each other member form a register of their own. An unproved operation under this
user's name counts as another's.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memory_fabric.sharing.git import claims_read
from memory_fabric.sharing.replica.wire import PURGE, TeamOperation

# States of own operations: unacknowledged, acknowledged, made on another machine of this user.
WAITING, SENT, MINE = "waiting", "sent", "mine"
OWN = (WAITING, SENT, MINE)
# States of own operations: replaced before it came back from the log; refused by the server.
PAST, UNSENT = "past", "unsent"
# States of other members' operations: in use, kept for a later release or a key, unusable.
THEIRS, UNREAD, REFUSED = "theirs", "unread", "refused"
# States of demands to erase a key: own demands that the server has, and demands of another member
# for an own key, about which the user is asked.
DEMANDED, ASKED = "demanded", "asked"
# The payload of a waiting operation that the server had and lost: other machines may have it.
AGAIN = "again"
# Shown for a member whose name has no character that a rendered line may contain.
NAMELESS = "a member"
# Matches any of several values in a query, given as one JSON list.
ANY_OF = "IN (SELECT value FROM json_each(?))"


class Head(NamedTuple):
    """A row of `team_heads`. `value` is JSON, '' if the author withdrew what the key had. `payload`
    is the original operation if it is unreadable, the reason if it was refused, or AGAIN. With
    `seen`, the operation came from the log and is not only local.
    """

    op_id: str
    key: str
    author: str
    origin: str
    kind: str
    base: tuple[str, ...] = ()
    clock: str = ""
    value: str = ""
    made_at: str = ""
    state: str = THEIRS
    form: int = 1
    payload: str = ""
    seen: bool = False

    @property
    def is_own(self) -> bool:
        """Return True if the head belongs to this user's own register."""
        return self.kind != PURGE and (self.state in OWN or self.state == UNSENT)

    @property
    def is_theirs(self) -> bool:
        """Return True if the head is another member's statement of a value."""
        return self.state == THEIRS and self.value != ""

    @property
    def stated(self) -> Any:
        """Return the parsed value; None if the author withdrew the value."""
        return json.loads(self.value) if self.value else None

    @property
    def shown_author(self) -> str:
        """Return the author's name, safe for a rendered line; never '', which marks own rows."""
        return claims_read.name_in(self.author) or NAMELESS

    @property
    def order(self) -> tuple[str, str]:
        """Return the sort key among concurrent heads; the greatest head is the current one."""
        return (self.clock, self.op_id)


# The fields that a row shares with its operation.
_SAME = [name for name in TeamOperation._fields if name in Head._fields and name != "value"]
_COLUMNS = ", ".join(Head._fields)
_INSERT = (
    f"INSERT OR REPLACE INTO team_heads ({_COLUMNS}) VALUES ({', '.join('?' * len(Head._fields))})"
)


def of_keys(c: sqlite3.Connection, keys: Iterable[str]) -> dict[str, list[Head]]:
    """Return all `team_heads` rows of these keys, by key."""
    rows: dict[str, list[Head]] = {}
    for head in where(c, f"key {ANY_OF}", (json.dumps(list(keys)),)):
        rows.setdefault(head.key, []).append(head)
    return rows


def where(c: sqlite3.Connection, condition: str, values: Sequence[object] = ()) -> list[Head]:
    """Return the rows that match an SQL condition."""
    rows = c.execute(f"SELECT {_COLUMNS} FROM team_heads WHERE {condition}", values)
    heads = []
    for head in map(Head._make, rows):
        base = tuple(json.loads(str(head.base))) if head.base else ()
        heads.append(head._replace(base=base, seen=bool(head.seen)))
    return heads


def put(c: sqlite3.Connection, heads: Iterable[Head]) -> None:
    """Insert these rows into `team_heads`, or replace those with the same ids."""
    c.executemany(
        _INSERT, ((*h[:5], json.dumps(list(h.base)) if h.base else "", *h[6:]) for h in heads)
    )


def remove(c: sqlite3.Connection, op_ids: Iterable[str]) -> None:
    """Delete the `team_heads` rows with these operation ids."""
    c.executemany("DELETE FROM team_heads WHERE op_id = ?", ((id_,) for id_ in op_ids))


def current(heads: Iterable[Head]) -> Head | None:
    """Return the head that is shown: the greatest one; None if there are no heads."""
    return max(heads, key=lambda head: head.order, default=None)


def of_operation(operation: TeamOperation, state: str, value: str, payload: str = "") -> Head:
    """Return the `team_heads` row for an operation that came from the log."""
    same = {name: getattr(operation, name) for name in _SAME}
    return Head(**same, value=value, state=state, payload=payload, seen=True)


def as_operation(head: Head) -> TeamOperation:
    """Return the operation of a row; an operation not yet sent has no author."""
    same = {name: getattr(head, name) for name in _SAME}
    operation = TeamOperation(**same, value=head.stated)
    return operation._replace(author="") if head.state in (WAITING, UNSENT) else operation


def text_of(value: object) -> str:
    """Return a value as canonical text, by which two values are compared; '' for None."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
