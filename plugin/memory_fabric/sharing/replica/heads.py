"""Heads: the operations on a key that no other replaces, as rows of `team_heads`.

This user's own operations form one register per key, whatever machine they come from, if they are
proved; those of each other member form a register of their own. An unproved operation under this
user's name is another's.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

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

_COLUMNS = ("op_id key author origin kind base clock value made_at state form payload seen").split()
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM team_heads"
_INSERT = (
    f"INSERT OR REPLACE INTO team_heads ({', '.join(_COLUMNS)}) "
    f"VALUES ({', '.join('?' * len(_COLUMNS))})"
)
# A member whose name has no character that a rendered line may hold.
NAMELESS = "a member"
# Keys in one query.
SOME = 500


class Head(NamedTuple):
    """A row of `team_heads`. `value` is JSON, empty if the author withdrew what the key held.

    `payload` is the operation as it came if it cannot be read, the reason why it was refused, or
    AGAIN;
    `seen`: it came from the log, not only from here.
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
    def shown_author(self) -> str:
        """The author's name as it may stand in a rendered line; never empty, as for own rows."""
        return claims_read.name_in(self.author) or NAMELESS

    @property
    def order(self) -> tuple[str, str]:
        """The order among concurrent heads: the greatest is the current one."""
        return (self.clock, self.op_id)


def of_keys(c: sqlite3.Connection, keys: Iterable[str]) -> dict[str, list[Head]]:
    """Return all rows of these keys, by key."""
    found: dict[str, list[Head]] = {}
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), SOME):
        some = wanted[start : start + SOME]
        marks = ", ".join("?" * len(some))
        for row in c.execute(f"{_SELECT} WHERE key IN ({marks})", some):
            head = of_row(row)
            found.setdefault(head.key, []).append(head)
    return found


def of_ids(c: sqlite3.Connection, op_ids: Sequence[str]) -> list[Head]:
    """Return the rows with these ids."""
    found: list[Head] = []
    for start in range(0, len(op_ids), SOME):
        some = op_ids[start : start + SOME]
        found += where(c, f"op_id IN ({', '.join('?' * len(some))})", some)
    return found


def where(c: sqlite3.Connection, condition: str, values: Sequence[object] = ()) -> list[Head]:
    """Return the rows that meet an SQL condition."""
    return [of_row(row) for row in c.execute(f"{_SELECT} WHERE {condition}", values)]


def of_row(row: Sequence[object]) -> Head:
    """Return the head in a row."""
    whole = dict(zip(_COLUMNS, row, strict=True))
    whole["base"] = tuple(json.loads(str(whole["base"]))) if whole["base"] else ()
    whole["seen"] = bool(whole["seen"])
    return Head(**whole)  # type: ignore[arg-type]


def put(c: sqlite3.Connection, found: Iterable[Head]) -> None:
    """Insert or replace these rows."""
    c.executemany(
        _INSERT, ((*h[:5], json.dumps(list(h.base)) if h.base else "", *h[6:]) for h in found)
    )


def remove(c: sqlite3.Connection, op_ids: Iterable[str]) -> None:
    """Delete the rows with these ids."""
    c.executemany("DELETE FROM team_heads WHERE op_id = ?", ((id_,) for id_ in op_ids))


def current(found: Iterable[Head]) -> Head | None:
    """Return the head that is shown; None if there is none."""
    return max(found, key=lambda head: head.order, default=None)


def as_operation(head: Head) -> TeamOperation:
    """Return the operation of a row."""
    return TeamOperation(
        op_id=head.op_id,
        origin=head.origin,
        kind=head.kind,
        key=head.key,
        value=json.loads(head.value) if head.value else None,
        base=head.base,
        clock=head.clock,
        made_at=head.made_at,
        author="" if head.state in (WAITING, UNSENT) else head.author,
        form=head.form,
    )


def text_of(value: object) -> str:
    """Return a value as the text by which two are compared; empty for None."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
