"""The tie of a database to the space of a shared log: who one is there, and how far it was read."""

import json
import sqlite3
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.models import OTHERS
from memory_fabric.sharing.replica import heads, wire
from memory_fabric.sharing.replica.wire import Position
from memory_fabric.store.database import Database
from memory_fabric.store.migrations import TEAM_SPACE

MEMBER, ORIGIN, CLOCK = "team member", "team origin", "team clock"
POSITION, ISOLATED = "team position", "team isolated"
_MARKS = (TEAM_SPACE, MEMBER, ORIGIN, CLOCK, POSITION, ISOLATED)
# Keys with several operations: only on these can machines differ.
SEVERAL = "SELECT key FROM team_heads GROUP BY key HAVING count(*) > 1"
# Rows that may travel, as (kind, key of `team_due`); `settle` looks at each of them.
_TRAVELLING = (
    "SELECT 'record', id FROM records WHERE source <> 'journal' AND scope IN ('team', 'user')",
    "SELECT 'entity', json_array(name) FROM entities WHERE record = '' AND said_by = ''",
    "SELECT 'observation', json_array(e.name, o.text) FROM observations AS o JOIN entities AS e "
    "ON e.id = o.entity WHERE o.record = '' AND o.source <> 'journal'",
    "SELECT 'relation', json_array(s.name, r.type, t.name) FROM relations AS r "
    "JOIN entities AS s ON s.id = r.source JOIN entities AS t ON t.id = r.target "
    "WHERE r.record = '' AND r.said_by = ''",
)


class Tie(NamedTuple):
    """The space of a database, this user's name as a member of it, and the id of this machine."""

    space: str
    member: str
    origin: str


class Counts(NamedTuple):
    """The state of a tied database in numbers.

    `due` rows changed since operations were made of them, `waiting` operations are not acknowledged
    by the server, which refused the `unsent` ones; `unread` wait for a later release or a key,
    `refused` are other members' operations that cannot be used. `conflicts` are keys on which
    machines of this user differ, `asked` own keys that another demands to erase. `records` are the
    numbers of members' records by member; `oldest` is the time of the oldest waiting operation.
    """

    due: int = 0
    waiting: int = 0
    unsent: int = 0
    unread: int = 0
    refused: int = 0
    conflicts: int = 0
    asked: int = 0
    records: tuple[tuple[str, int], ...] = ()
    oldest: str = ""


def begin(database: Database, space: str, member: str, origin: str = "") -> bool:
    """Tie a database to a space; return True unless it was tied so already.

    Everything that travels is then due; read the log before `settle`, so that operations of this
    user from before (a lost or restored database) are known first. `origin` is an id of this
    machine that should outlive its databases. Raises StoreUnavailable, DeadlinePassed.
    """
    known = tie(database)
    if known is not None and (known.space, known.member) == (space, member):
        if not origin or origin == known.origin:
            return False
        with database.transaction() as c:
            note(c, ORIGIN, origin)
        return False
    if known is not None:
        end(database, keep=False)
    with database.transaction() as c:
        note(c, TEAM_SPACE, space)
        note(c, MEMBER, member)
        note(c, ORIGIN, origin or ids.new_id()[-8:])
        mark_all(c)
    return True


def end(database: Database, *, keep: bool) -> None:
    """Untie a database; unless `keep`, remove what other members said.

    Raises StoreUnavailable, DeadlinePassed.
    """
    from memory_fabric.sharing.replica import others  # rare: only `team leave`

    with database.transaction() as c:
        marks = ", ".join("?" * len(_MARKS))
        c.execute(f"DELETE FROM meta WHERE key IN ({marks})", _MARKS)
        if not keep:
            others.remove_all(c)
        c.execute("DELETE FROM team_due")
        c.execute("DELETE FROM team_heads")


def tie(database: Database) -> Tie | None:
    """Return the tie of a database; None if it is in no space."""
    return tie_of(database.connection)


def tie_of(c: sqlite3.Connection) -> Tie | None:
    """Return the tie of the database behind a connection; None if it is in no space."""
    found = {name: value(c, name) for name in (TEAM_SPACE, MEMBER, ORIGIN)}
    return Tie(*found.values()) if found[TEAM_SPACE] else None


def position(database: Database) -> Position:
    """Return the place up to which the log was read."""
    stored = value(database.connection, POSITION)
    return Position(*json.loads(stored)) if stored else Position()


def set_position(c: sqlite3.Connection, to: Position) -> None:
    """Note the place up to which the log was read."""
    note(c, POSITION, json.dumps(list(to)))


def forget_position(database: Database, epoch: int) -> None:
    """Have the log read from its beginning, and all own operations sent again.

    For a server that was set back or moved. Raises StoreUnavailable, DeadlinePassed.
    """
    with database.transaction() as c:
        set_position(c, Position(epoch))
        c.execute("DELETE FROM team_heads WHERE state = ? AND kind <> ?", (heads.PAST, wire.PURGE))
        c.execute(
            "UPDATE team_heads SET state = ?, seen = 0, payload = CASE state WHEN ? THEN ? ELSE '' "
            "END WHERE state IN (?, ?, ?, ?)",
            (
                *(heads.WAITING, heads.SENT, heads.AGAIN),
                *(heads.SENT, heads.MINE, heads.UNSENT, heads.DEMANDED),
            ),
        )
        _say_again(c)


def _say_again(c: sqlite3.Connection) -> None:
    """Give new ids to what was said after its key was erased in the log.

    The demand is sent again, before it, and erases everything that the log has of the key.
    """
    said = heads.where(
        c,
        "state IN (?, ?) AND kind <> ? AND value <> '' AND key IN "
        "(SELECT key FROM team_heads WHERE state = ? AND kind = ?)",
        (heads.WAITING, heads.MINE, wire.PURGE, heads.WAITING, wire.PURGE),
    )
    origin = value(c, ORIGIN)
    heads.remove(c, [head.op_id for head in said])
    heads.put(
        c,
        [
            head._replace(
                op_id=ids.new_id(),
                base=(*head.base, head.op_id),
                origin=origin,
                state=heads.WAITING,
                seen=False,
            )
            for head in said
        ],
    )


def counts(database: Database) -> Counts:
    """Return the state of a tied database in numbers. Raises StoreUnavailable, DeadlinePassed."""
    states = dict(database.rows("SELECT state, count(*) FROM team_heads GROUP BY state"))
    due, oldest = (
        database.rows(query)[0][0]
        for query in (
            "SELECT count(*) FROM team_due",
            "SELECT min(made_at) FROM team_heads WHERE state = 'waiting'",
        )
    )
    (conflicts,) = database.rows(
        "SELECT count(*) FROM (SELECT 1 FROM team_heads WHERE state IN (?, ?, ?) AND kind <> ? "
        f"AND key IN ({SEVERAL}) GROUP BY key HAVING count(DISTINCT value) > 1)",
        (*heads.OWN, wire.PURGE),
    )[0]
    records = database.rows(
        "SELECT json_extract(r.body, '$.author') AS author, count(*) FROM records AS r "
        "WHERE r.source = ? AND EXISTS (SELECT 1 FROM team_heads AS h WHERE h.key = 'r:' || r.id "
        "AND h.state = ?) GROUP BY author ORDER BY count(*) DESC, author",
        (OTHERS, heads.THEIRS),
    )
    return Counts(
        due=due,
        waiting=states.get(heads.WAITING, 0),
        unsent=states.get(heads.UNSENT, 0),
        unread=states.get(heads.UNREAD, 0),
        refused=states.get(heads.REFUSED, 0),
        conflicts=conflicts,
        asked=states.get(heads.ASKED, 0),
        records=tuple((str(author or ""), number) for author, number in records),
        oldest=oldest or "",
    )


def number_of(database: Database, state: str) -> int:
    """Return the number of operations in a state of `heads`; cheaper than `counts`.

    Raises StoreUnavailable, DeadlinePassed.
    """
    row = database.row("SELECT count(*) FROM team_heads WHERE state = ?", (state,))
    return int(row[0]) if row else 0


def mark_all(c: sqlite3.Connection) -> None:
    """Mark every row that may travel as due."""
    for rows in _TRAVELLING:
        c.execute(f"INSERT OR IGNORE INTO team_due {rows}")


def value(c: sqlite3.Connection, key: str) -> str:
    """Return a value of `meta`; empty if there is none."""
    row = c.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else ""


def note(c: sqlite3.Connection, key: str, text: str) -> None:
    """Set a value of `meta`."""
    c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, text))
