"""The link of a database to a space of a shared log: the user's name as a member, the position in
the log, and open questions to the user. Functions raise StoreUnavailable and DeadlinePassed.
"""

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from memory_fabric import ids, models
from memory_fabric.sharing.replica import heads, others, wire
from memory_fabric.store.database import Database
from memory_fabric.store.schema import TEAM_SPACE

MEMBER, ORIGIN, CLOCK = "team member", "team origin", "team clock"
POSITION, ISOLATED = "team position", "team isolated"
# How own operations are protected (in `meta`): "1" if an HMAC proves them, PRIVATE if only this
# user's machines can read them, "" if neither.
PROVED, PRIVATE = "team proved", "private"
_MARKS = (TEAM_SPACE, MEMBER, ORIGIN, CLOCK, POSITION, ISOLATED, PROVED, others.OWNERS)
# Selects the keys on which the user's machines disagree; each key has several heads.
_DIFFERING = (
    "FROM team_heads WHERE state IN ('waiting', 'sent', 'mine') "
    "AND kind NOT IN ('purge', 'dismissal') AND key IN (SELECT key FROM team_heads GROUP BY key "
    "HAVING count(*) > 1) GROUP BY key HAVING count(DISTINCT value) > 1"
)
# Queries for the (kind, key) of rows that may be sent; `outbox.settle` decides which are sent.
_TRAVELLING = (
    "SELECT 'record', id FROM records WHERE source <> 'journal' AND scope IN ('team', 'user')",
    "SELECT 'entity', json_array(name) FROM entities WHERE said_by = '' AND (record = '' "
    "OR id IN (SELECT entity FROM aliases))",
    "SELECT 'observation', json_array(e.name, o.text) FROM observations AS o JOIN entities AS e "
    "ON e.id = o.entity WHERE o.record = '' AND o.source <> 'journal'",
    "SELECT 'relation', json_array(s.name, r.type, t.name) FROM relations AS r "
    "JOIN entities AS s ON s.id = r.source JOIN entities AS t ON t.id = r.target "
    "WHERE r.record = '' AND r.said_by = ''",
)


class Tie(NamedTuple):
    """The space linked to a database, this user's member name in it, and the id of this machine."""

    space: str
    member: str
    origin: str


class Counts(NamedTuple):
    """Counts for a linked database. `due`: changed rows to send. `waiting`: own operations that the
    server has not accepted yet. `unsent`: own operations that it refused. `unread`: received
    operations that need an update or a key. `refused`: unusable received operations. `conflicts`:
    keys on which the user's machines disagree. `asked`: members' demands to erase own statements.
    `records`: number by member. `oldest`: the time of the oldest waiting operation.
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


class Asked(NamedTuple):
    """A demand of the member `by` to erase this user's statement under `key`; `text` quotes it."""

    key: str
    by: str
    at: str
    text: str = ""


class Conflict(NamedTuple):
    """A key for which the user's machines state different texts ('' for a withdrawn statement)."""

    key: str
    shown: str
    others: tuple[str, ...]
    at: str = ""


def begin(database: Database, space: str, member: str, origin: str = "") -> bool:
    """Link a database to a space, and mark all rows that may be sent as due; return False if it was
    linked already. Callers read the log before they send: it may contain operations that this user
    sent from a database that was lost. `origin` is this machine's id, which outlives the database.
    """
    before = tie_of(database.connection)
    is_same = before is not None and (before.space, before.member) == (space, member)
    if before is not None and not is_same:
        end(database, keep=False)
    if before is not None and is_same and origin in ("", before.origin):
        return False
    with database.transaction() as c:
        note(c, TEAM_SPACE, space)
        note(c, MEMBER, member)
        note(c, ORIGIN, origin or ids.new_id()[-8:])
        if not is_same:
            mark_all(c)
    return not is_same


def end(database: Database, *, keep: bool) -> None:
    """Unlink a database from its space; remove other members' statements unless `keep`."""
    with database.transaction() as c:
        c.executemany("DELETE FROM meta WHERE key = ?", ((mark,) for mark in _MARKS))
        if keep:
            others.silence(c)
        else:
            others.remove_all(c)
        c.execute("DELETE FROM team_due")
        c.execute("DELETE FROM team_heads")


def tie_of(c: sqlite3.Connection) -> Tie | None:
    """Return the link of this connection's database to a space, or None."""
    space_tie = Tie(*(value(c, name) for name in (TEAM_SPACE, MEMBER, ORIGIN)))
    return space_tie if space_tie.space else None


def position(database: Database) -> wire.Position:
    """Return the position up to which this database has read the log."""
    return wire.Position(*json.loads(value(database.connection, POSITION) or "[]"))


def forget_position(database: Database, epoch: int) -> None:
    """After the log was reset or moved (to `epoch`), mark everything to be read and sent again."""
    with database.transaction() as c:
        note(c, POSITION, json.dumps(wire.Position(epoch)))
        c.execute("DELETE FROM team_heads WHERE state = ? AND kind <> ?", (heads.PAST, wire.PURGE))
        states = (heads.SENT, heads.MINE, heads.UNSENT, heads.DEMANDED)
        c.execute(
            "UPDATE team_heads SET state = ?, seen = 0, payload = CASE WHEN state IN (?, ?) THEN ? "
            "ELSE '' END WHERE state IN (?, ?, ?, ?)",
            (heads.WAITING, heads.SENT, heads.MINE, heads.AGAIN, *states),
        )
        # A resent demand erases all statements under its key, so send the newer ones under new ids.
        stated = heads.where(
            c,
            "state IN ('waiting', 'mine') AND kind <> 'purge' AND value <> '' AND key IN "
            "(SELECT key FROM team_heads WHERE state = 'waiting' AND kind = 'purge')",
        )
        origin = value(c, ORIGIN)
        heads.remove(c, [head.op_id for head in stated])
        for head in stated:
            new = head._replace(op_id=ids.new_id(), base=(*head.base, head.op_id), origin=origin)
            heads.put(c, [new._replace(state=heads.WAITING, seen=False)])


def counts(database: Database) -> Counts:
    """Return the counts that describe the state of a linked database."""
    states = dict(database.rows("SELECT state, count(*) FROM team_heads GROUP BY state"))
    [(due, oldest, conflicts)] = database.rows(
        "SELECT (SELECT count(*) FROM team_due), "
        "(SELECT min(made_at) FROM team_heads WHERE state = 'waiting'), "
        f"(SELECT count(*) FROM (SELECT 1 {_DIFFERING}))"
    )
    records = database.rows(
        "SELECT json_extract(r.body, '$.author') AS author, count(*) FROM records AS r "
        # `INDEXED BY` is needed: otherwise the planner would read all heads in the state THEIRS.
        "WHERE r.source = ? AND EXISTS (SELECT 1 FROM team_heads AS h INDEXED BY team_heads_by_key "
        "WHERE h.key = 'r:' || r.id AND h.state = ?) "
        "GROUP BY author ORDER BY count(*) DESC, author",
        (models.OTHERS, heads.THEIRS),
    )
    by_author = tuple((str(author or ""), number) for author, number in records)
    in_state = {state: number for state, number in states.items() if state in Counts._fields}
    return Counts(due, conflicts=conflicts, records=by_author, oldest=oldest or "", **in_state)


def asked(database: Database) -> list[Asked]:
    """Return the demands of other members that await the user's answer, oldest first."""
    demands = heads.where(database.connection, "state = ? ORDER BY made_at", (heads.ASKED,))
    rows = heads.of_keys(database.connection, [demand.key for demand in demands])
    own = (heads.current(head for head in rows[demand.key] if head.is_own) for demand in demands)
    return [
        Asked(demand.key, demand.author, demand.made_at, _text_of(head))
        for demand, head in zip(demands, own, strict=True)
    ]


def decline(database: Database, key: str) -> bool:
    """Decline all demands to erase this key; return False if there are none."""
    query = "UPDATE team_heads SET state = ? WHERE key = ? AND state = ?"
    with database.transaction() as c:
        return c.execute(query, (heads.PAST, key, heads.ASKED)).rowcount > 0


def conflicts(database: Database) -> list[Conflict]:
    """Return conflicts of the user's machines, latest first. Changing a row ends its conflict."""
    keys = [key for (key,) in database.rows(f"SELECT key {_DIFFERING} ORDER BY max(clock) DESC")]
    rows = heads.of_keys(database.connection, keys)
    conflicting = []
    for key in keys:
        own = [head for head in rows[key] if head.is_own]
        current = max(own, key=lambda head: head.order)
        differing = dict.fromkeys(_text_of(head) for head in own if head.value != current.value)
        conflicting.append(Conflict(key, _text_of(current), tuple(differing), current.made_at))
    return conflicting


def _text_of(head: heads.Head | None) -> str:
    value = (head.stated if head is not None else None) or {}
    for names in (("what",), ("entity", "text"), ("from", "relationType", "to"), ("name",)):
        if all(name in value for name in names):
            return " ".join(str(value[name]) for name in names)
    return ""


def mark_all(c: sqlite3.Connection) -> None:
    for rows in _TRAVELLING:
        c.execute(f"INSERT OR IGNORE INTO team_due {rows}")


def set_owners(database: Database, names: Iterable[str], project: str) -> None:
    """Store the names of the space's owners, and apply the rules that they made for all members."""
    owners = json.dumps(sorted(names))
    if value(database.connection, others.OWNERS) == owners:
        return
    with database.transaction() as c:
        note(c, others.OWNERS, owners)
        rules = heads.of_keys(c, {head.key for head in heads.where(c, others.RULES)})
        others.show(c, rules, {}, project)


def value(c: sqlite3.Connection, key: str) -> str:
    """Return the value of a key in the table `meta`, or ''."""
    row = c.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else ""


def note(c: sqlite3.Connection, key: str, text: str) -> None:
    c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, text))
