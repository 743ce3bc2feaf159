"""Heads: the operations on a key that no other operation has replaced, as rows of `team_heads`.

The heads of a key are grouped in *registers*. One has the operations of this user's machines, which
an HMAC or encryption proves to be the user's. Another has unproved operations under this user's
name. Each other member has one register, too.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memory_fabric.sharing.git import claims_read
from memory_fabric.sharing.replica.wire import PURGE, TeamOperation

# States of own operations: unacknowledged, acknowledged, made on another machine of the user.
WAITING, SENT, MINE = "waiting", "sent", "mine"
OWN = (WAITING, SENT, MINE)
# More states of own operations: replaced before being read from the log, refused by the server.
PAST, UNSENT = "past", "unsent"
# States of others' operations: in use, not readable yet, refused as unusable.
THEIRS, UNREAD, REFUSED = "theirs", "unread", "refused"
# Demands to erase a key: accepted by the server; received, and waiting for the user's answer.
DEMANDED, ASKED = "demanded", "asked"
# The `payload` of an operation to send again because the server lost it. Others may have read it.
AGAIN = "again"
# The `payload` of a withdrawal queued because this machine repeats a purge of another one.
REPEATED = "repeated"
# The name shown for a member whose own name contains no character that is safe to show.
NAMELESS = "a member"
ANY_OF = "IN (SELECT value FROM json_each(?))"


class Head(NamedTuple):
    """A row of `team_heads`. `value` is JSON, or '' for a withdrawn statement. `payload` depends on
    `state`: the whole operation (UNREAD), the reason (REFUSED, UNSENT), or AGAIN (WAITING, because
    the server lost the operation). `seen` is True once the operation was read from the log.
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
        """Return True for a statement proved to be this user's, but not for a demand to erase."""
        return self.kind != PURGE and (self.state in OWN or self.state == UNSENT)

    @property
    def is_theirs(self) -> bool:
        """Return True if the operation is another member's statement that was not withdrawn."""
        return self.state == THEIRS and self.value != ""

    @property
    def stated(self) -> Any:
        """Return the operation's parsed value; None if the author withdrew the statement."""
        return json.loads(self.value) if self.value else None

    @property
    def shown_author(self) -> str:
        """Return the author's name, safe to show; never '', because '' stands for this user."""
        return claims_read.name_in(self.author) or NAMELESS

    @property
    def order(self) -> tuple[str, str]:
        """Return the sort key of concurrent heads; the greatest head is the current one."""
        return (self.clock, self.op_id)


SAME = [name for name in TeamOperation._fields if name in Head._fields and name != "value"]
_COLUMNS, _MARKS = ", ".join(Head._fields), ", ".join("?" * len(Head._fields))
_INSERT = f"INSERT OR REPLACE INTO team_heads ({_COLUMNS}) VALUES ({_MARKS})"


def of_keys(c: sqlite3.Connection, keys: Iterable[str]) -> dict[str, list[Head]]:
    """Map each given key to its rows in `team_heads`."""
    rows: dict[str, list[Head]] = {}
    for head in where(c, f"key {ANY_OF}", (json.dumps(list(keys)),)):
        rows.setdefault(head.key, []).append(head)
    return rows


def where(c: sqlite3.Connection, condition: str, values: Sequence[object] = ()) -> list[Head]:
    """Return the rows of `team_heads` that match an SQL condition."""
    rows = c.execute(f"SELECT {_COLUMNS} FROM team_heads WHERE {condition}", values)
    pairs = ((head, tuple(json.loads(str(head.base) or "[]"))) for head in map(Head._make, rows))
    return [head._replace(base=base, seen=bool(head.seen)) for head, base in pairs]


def put(c: sqlite3.Connection, heads: Iterable[Head]) -> None:
    """Insert rows into `team_heads`, replacing rows with the same operation id."""
    c.executemany(_INSERT, ((*h[:5], json.dumps(h.base) if h.base else "", *h[6:]) for h in heads))


def remove(c: sqlite3.Connection, op_ids: Iterable[str]) -> None:
    c.executemany("DELETE FROM team_heads WHERE op_id = ?", ((id_,) for id_ in op_ids))


def current(heads: Iterable[Head]) -> Head | None:
    """Return the greatest head, which is the one shown; None if there are no heads."""
    return max(heads, key=lambda head: head.order, default=None)


def of_operation(operation: TeamOperation, state: str, value: str, payload: str = "") -> Head:
    """Return the row of an operation read from the log, with the `value` and `payload` to store."""
    same = {name: getattr(operation, name) for name in SAME}
    return Head(**same, value=value, state=state, payload=payload, seen=True)


def text_of(value: object) -> str:
    """Return a value as canonical JSON, so that values can be compared; '' for None."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
