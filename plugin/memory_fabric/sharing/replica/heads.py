"""Heads: the operations on a key that no other replaces, as rows of `team_heads`.

This user's own operations form one register per key, whatever machine they come from, if they are
proved; those of each other member form a register of their own. An unproved operation under this
user's name is another's.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memory_fabric.sharing.git import claims_read
from memory_fabric.sharing.replica.wire import PURGE, TeamOperation

# Own operations: not acknowledged yet, acknowledged, made on another machine of this user.
WAITING, SENT, MINE = "waiting", "sent", "mine"
OWN = (WAITING, SENT, MINE)
# An acknowledged own operation that was replaced before it came back from the log; an own one that
# the server refuses.
PAST, UNSENT = "past", "unsent"
# Operations of other members: in use, kept for a later release or a key, unusable.
THEIRS, UNREAD, REFUSED = "theirs", "unread", "refused"
# Demands to erase a key: own ones that the server has, and those of another for an own key, which
# the user is asked about.
DEMANDED, ASKED = "demanded", "asked"

# The payload of a waiting operation that the server had and lost: other machines may have it.
AGAIN = "again"
# A member whose name has no character that a rendered line may hold.
NAMELESS = "a member"
# Any of several values in a query, given as one JSON list.
ANY_OF = "IN (SELECT value FROM json_each(?))"


class Head(NamedTuple):
    """A row of `team_heads`. `value` is JSON, empty if the author withdrew what the key held.

    `payload` is the operation as it came if it cannot be read, the reason why it was refused, or
    AGAIN; `seen`: it came from the log, not only from here.
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
        """True for a head of this user's own register."""
        return self.kind != PURGE and (self.state in OWN or self.state == UNSENT)

    @property
    def is_theirs(self) -> bool:
        """Return True if another member states the value."""
        return self.state == THEIRS and self.value != ""

    @property
    def stated(self) -> Any:
        """The value, parsed; None if the author withdrew it."""
        return json.loads(self.value) if self.value else None

    @property
    def shown_author(self) -> str:
        """The author's name as it may stand in a rendered line; never empty, as for own rows."""
        return claims_read.name_in(self.author) or NAMELESS

    @property
    def order(self) -> tuple[str, str]:
        """The order among concurrent heads: the greatest is the current one."""
        return (self.clock, self.op_id)


# The fields that a row has in common with its operation.
_SAME = [name for name in TeamOperation._fields if name in Head._fields and name != "value"]
_COLUMNS = ", ".join(Head._fields)
_INSERT = (
    f"INSERT OR REPLACE INTO team_heads ({_COLUMNS}) VALUES ({', '.join('?' * len(Head._fields))})"
)


def of_keys(c: sqlite3.Connection, keys: Iterable[str]) -> dict[str, list[Head]]:
    """Return all rows of these keys, by key."""
    rows: dict[str, list[Head]] = {}
    for head in where(c, f"key {ANY_OF}", (json.dumps(list(keys)),)):
        rows.setdefault(head.key, []).append(head)
    return rows


def where(c: sqlite3.Connection, condition: str, values: Sequence[object] = ()) -> list[Head]:
    """Return the rows that meet an SQL condition."""
    rows = c.execute(f"SELECT {_COLUMNS} FROM team_heads WHERE {condition}", values)
    heads = map(Head._make, rows)
    return [
        head._replace(
            base=tuple(json.loads(str(head.base))) if head.base else (), seen=bool(head.seen)
        )
        for head in heads
    ]


def put(c: sqlite3.Connection, heads: Iterable[Head]) -> None:
    """Insert or replace these rows."""
    c.executemany(
        _INSERT, ((*h[:5], json.dumps(list(h.base)) if h.base else "", *h[6:]) for h in heads)
    )


def remove(c: sqlite3.Connection, op_ids: Iterable[str]) -> None:
    """Delete the rows with these ids."""
    c.executemany("DELETE FROM team_heads WHERE op_id = ?", ((id_,) for id_ in op_ids))


def current(heads: Iterable[Head]) -> Head | None:
    """Return the head that is shown; None if there is none."""
    return max(heads, key=lambda head: head.order, default=None)


def of_operation(operation: TeamOperation, state: str, value: str, payload: str = "") -> Head:
    """Return the row of an operation that came from the log."""
    same = {name: getattr(operation, name) for name in _SAME}
    return Head(**same, value=value, state=state, payload=payload, seen=True)


def as_operation(head: Head) -> TeamOperation:
    """Return the operation of a row; one that waits here has no author yet."""
    same = {name: getattr(head, name) for name in _SAME}
    operation = TeamOperation(**same, value=head.stated)
    return operation._replace(author="") if head.state in (WAITING, UNSENT) else operation


def text_of(value: object) -> str:
    """Return a value as the text by which two are compared; empty for None."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
