"""Operations of this user on their way to a shared log: made, listed, acknowledged, refused."""

import itertools
import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence

from memory_fabric import ids
from memory_fabric.models import Provenance
from memory_fabric.sharing.replica import heads, others, own, space, wire
from memory_fabric.sharing.replica.heads import Head
from memory_fabric.sharing.replica.own import Outgoing
from memory_fabric.sharing.replica.wire import PURGE, TeamOperation
from memory_fabric.store.base_memory import BaseMemory as Memory
from memory_fabric.store.database import Database
from memory_fabric.store.operations import tombstones

# Statements of others that were forgotten here (a tombstone is set), as (their key, the tombstone's
# key and time).
_FORGOTTEN = (
    "SELECT h.key, t.key, t.created_at FROM tombstones AS t CROSS JOIN team_heads AS h "
    "INDEXED BY team_heads_by_key ON h.key = CASE WHEN t.id LIKE 'entity:%' "
    "THEN 'e' || substr(t.id, 7) WHEN t.id LIKE 'observation:%' THEN 'o' || substr(t.id, 12) "
    "ELSE 'r:' || t.id END AND h.state = ? GROUP BY h.key"
)
# The value of a head that no row has.
_OUTDATED = "{}"
# Rows in one transaction: a hook that writes at the same time waits for no more.
BATCH = 200
# An operation names at most this many earlier states of its key; a machine that knows none of
# them treats the change as concurrent.
MAX_BASE = 100
# The key of a demand that means no key, only what was replaced.
REPLACED = "p:replaced"
# Parts of a payload besides its value, in bytes, except for the ids in its base.
_FRAME_BYTES = 1024
_ID_BYTES = 40


def settle(memory: Memory, database: Database, *, limit: int = 1_000_000) -> int:
    """Make waiting operations of rows that changed; return how many. No network is used.

    A row whose value is what the log has of this user makes none. At most `limit` rows are looked
    at. Raises StoreUnavailable, DeadlinePassed; what was done before stays done.
    """
    total = 0
    while limit > 0 and space.tie(database) is not None:
        with database.transaction() as c:
            number, looked = settle_within(memory, database.kind, c, min(limit, BATCH))
        total, limit = total + number, limit - looked
        if looked < BATCH:
            break
    return total


def settle_within(
    memory: Memory, kind: str, c: sqlite3.Connection, limit: int = -1
) -> tuple[int, int]:
    """Make operations within the caller's transaction; return how many, and the rows looked at.

    `kind` is that of the database: "project" or "user".
    """
    tie = space.tie_of(c)
    if tie is None:
        return 0, 0
    _follow_isolation(memory, c)
    # Who gives another's entity a name says that there is one.
    named = "SELECT entity FROM aliases"
    c.execute(f"UPDATE entities SET said_by = '' WHERE said_by <> '' AND id IN ({named})")
    due = _due(c, limit)
    is_private = space.value(c, space.PROVED) == space.PRIVATE
    words = is_private or memory.settings.share_words
    outgoing = Outgoing(memory.whole, kind, words=words)
    stated = [(row, *outgoing.of(c, row, key)) for row, key in due]
    registers = heads.of_keys(c, [key for _, key, _ in stated])
    batch = _Batch(c, tie)
    unstated: dict[str, list[Head]] = {}
    for row, key, stated_value in stated:
        value = heads.text_of(stated_value)
        register = [head for head in registers.get(key, ()) if head.kind != PURGE]
        if not value and any(head.is_theirs for head in register):
            unstated[key] = register
        current = heads.current(head for head in register if head.is_own)
        # Only a change settles a conflict of several heads.
        says_already = (
            current.value == value and current.state != heads.UNSENT if current else not value
        )
        if not says_already:
            batch.state(row, key, value, register)
    batch.store()
    c.executemany("DELETE FROM team_due WHERE kind = ? AND key = ?", due)
    if unstated:  # this user says nothing there any more
        project = memory.project.name if memory.project else ""
        others.show(c, unstated, {}, project, _by_others())
    return len(batch.made), len(due)


def settle_dismissals(database: Database) -> None:
    """Tell this user's other machines what was forgotten here of others, and what is no longer.

    Raises StoreUnavailable, DeadlinePassed.
    """
    c = database.connection
    if not space.value(c, space.PROVED):
        return
    stated = [head for head in heads.where(c, "key BETWEEN 'd:' AND 'd;'") if head.is_own]
    known = {head.stated["of"]: head for head in stated if head.value}
    forgotten = {key: rest for key, *rest in c.execute(_FORGOTTEN, (heads.THEIRS,))}
    new = forgotten.keys() - known.keys()
    readmitted = [
        head
        for key, head in known.items()
        if not head.stated.get("purged") and not tombstones.is_set(c, own.tombstone_of(key))
    ]
    tie = space.tie_of(c)
    if tie is None or not (new or readmitted):
        return
    with database.transaction() as c:
        batch = _Batch(c, tie)
        for key in sorted(new):
            number, at = forgotten[key]
            batch.dismiss(key, {"key": number, "created_at": at})
        for head in readmitted:
            batch.state(wire.DISMISSAL, head.key, "", [head])
        batch.store()


def waiting(database: Database, limit: int) -> list[TeamOperation]:
    """Return operations that the server has not acknowledged, oldest first.

    One of kind `purge` demands that the server erases its key: it is not appended, but given to the
    server's function for that, and then acknowledged like the others. Such demands come alone:
    what follows them must not be erased, too.
    """
    rows = heads.where(database.connection, "state = 'waiting' ORDER BY clock LIMIT ?", (limit,))
    alike = itertools.takewhile(lambda head: (head.kind == PURGE) == (rows[0].kind == PURGE), rows)
    return [heads.as_operation(head) for head in alike]


def acknowledge(database: Database, op_ids: Sequence[str]) -> None:
    """Note that the server has these operations. Raises StoreUnavailable, DeadlinePassed."""
    # One by one: of several, the planner would read every row that waits.
    with database.transaction() as c:
        for op_id in op_ids:
            c.execute(
                "UPDATE team_heads SET state = CASE kind WHEN 'purge' THEN 'demanded' ELSE 'sent' "
                "END, payload = '' WHERE op_id = ? AND state IN ('waiting', 'unsent')",
                (op_id,),
            )


def refuse(database: Database, op_id: str, reason: str) -> None:
    """Note that the server refuses an operation for good; a change of its row makes another.

    Raises StoreUnavailable, DeadlinePassed.
    """
    with database.transaction() as c:
        c.execute(
            "UPDATE team_heads SET state = ?, payload = ? WHERE op_id = ? AND state = 'waiting'",
            (heads.UNSENT, reason[:500], op_id),
        )


def demand_purge(c: sqlite3.Connection, keys: Iterable[str], *, here: bool = True) -> int:
    """Have the server erase everything under these own keys; return the number of keys.

    They are withdrawn, too, for the other machines of this user, which purge what was purged
    `here`. A row that is still there, as without some words, is said again by `settle`. The demand
    comes first: other members erase by it what they hold. With any demand the server erases what
    this user replaced earlier; for that one is made in any case.
    """
    tie = space.tie_of(c)
    if tie is None:
        return 0
    batch, number = _Batch(c, tie), 0
    for key, register in heads.of_keys(c, keys).items():
        mine = [head for head in register if head.is_own]
        if mine:
            number += 1
            if here and space.value(c, space.PROVED):
                # First, so that these machines need not be asked about the demand.
                batch.dismiss(key, {"key": 0, "created_at": ids.timestamp(), "purged": True})
            batch.demand(key)
            batch.state(mine[0].kind, key, "", register)
    batch.demand(REPLACED)
    batch.store()
    return number


def erase_replaced(memory: Memory, database: Database, *, look_again: bool = False) -> None:
    """Have the log erase what this user said before, as soon as it has what is said now.

    With `look_again` all rows are compared with what was sent. Raises StoreUnavailable,
    DeadlinePassed.
    """
    if look_again:
        with database.transaction() as c:
            space.mark_all(c)
    settle(memory, database)
    with database.transaction() as c:
        demand_purge(c, ())


class _Batch:
    """Operations that are made in one transaction, each with the next reading of the clock."""

    def __init__(self, c: sqlite3.Connection, tie: space.Tie) -> None:
        self._c, self._tie = c, tie
        self._reading = space.value(c, space.CLOCK)
        self.made: list[Head] = []

    def demand(self, key: str) -> None:
        """Demand that the server erases a key."""
        self.made.append(self._head(PURGE, key))

    def dismiss(self, key: str, value: Mapping[str, object]) -> None:
        """Tell this user's other machines to forget, or purge, what is said under a key."""
        whole = {"of": key, **value}
        name = wire.key_of(wire.DISMISSAL, whole)
        register = heads.of_keys(self._c, [name]).get(name, ())
        self.state(wire.DISMISSAL, name, heads.text_of(whole), register)

    def state(self, kind: str, key: str, value: str, register: Sequence[Head]) -> None:
        """State a value, which replaces the heads that this user's machines made of a key."""
        base: dict[str, None] = {}
        for head in register:
            unproved = head.state == heads.THEIRS and head.author == self._tie.member
            if head.is_own or unproved:
                # Of an operation that is replaced before a machine reads it, that machine sees only
                # its successor, which therefore names what it replaced, too.
                base |= dict.fromkeys((*head.base, head.op_id))
        made = self._head(kind, key)._replace(base=tuple(base)[-MAX_BASE:], value=value)
        size = len(value.encode("utf-8", "replace")) + _FRAME_BYTES + _ID_BYTES * len(base)
        if size > wire.MAX_PAYLOAD_BYTES:
            reason = f"It has {size} bytes, and the log takes {wire.MAX_PAYLOAD_BYTES}."
            made = made._replace(state=heads.UNSENT, payload=reason)
        self.made.append(made)
        # Of replaced heads that the log has still to return, the ids are kept.
        own = [head for head in register if head.is_own]
        coming = [head for head in own if head.state == heads.SENT and not head.seen]
        heads.remove(self._c, [head.op_id for head in own if head not in coming])
        heads.put(self._c, [head._replace(state=heads.PAST, value="", base=()) for head in coming])

    def store(self) -> None:
        """Store what was made, and how far the clock went."""
        heads.put(self._c, self.made)
        if self.made:
            space.note(self._c, space.CLOCK, self._reading)

    def _head(self, kind: str, key: str) -> Head:
        now_ms = time.time_ns() // 1_000_000
        self._reading = wire.reading_after(self._reading, now_ms, self._tie.origin)
        return Head(
            ids.new_id(),
            key,
            self._tie.member,
            self._tie.origin,
            kind,
            clock=self._reading,
            made_at=ids.timestamp(),
            state=heads.WAITING,
        )


def _due(c: sqlite3.Connection, limit: int) -> list[tuple[str, str]]:
    """Return rows that changed, as (kind, key); all of them for a negative limit.

    Newer records come first: what closes another is then known before the other is closed. Entities
    come before what is said of them.
    """
    due: list[tuple[str, str]] = []
    # One by one in the order of the table's own key: no batch sorts all that is left.
    for kind in (wire.ENTITY, wire.OBSERVATION, wire.RECORD, wire.RELATION):
        room = limit - len(due) if limit >= 0 else -1
        due += c.execute(
            "SELECT kind, key FROM team_due WHERE kind = ? ORDER BY key DESC LIMIT ?", (kind, room)
        )
    return due


def _by_others() -> Provenance:
    return Provenance(others.SOURCE, trust=others.TRUST, at=ids.timestamp())


def _follow_isolation(memory: Memory, c: sqlite3.Connection) -> None:
    """Look at every row again if other domains are isolated than before.

    What other members said in a domain that is isolated now is removed; what this user said there
    is withdrawn, and its words are erased on the server.
    """
    isolated = memory.settings.domains.isolated
    now, before = json.dumps(sorted(isolated)), space.value(c, space.ISOLATED)
    space.note(c, space.ISOLATED, now)
    if before not in (now, ""):
        space.mark_all(c)
        others.refuse_domains(c, isolated, _by_others())
        sent = heads.where(
            c,
            f"state {heads.ANY_OF} AND json_extract(nullif(value, ''), '$.domain') {heads.ANY_OF}",
            (json.dumps([heads.SENT, heads.MINE]), now),
        )
        demand_purge(c, [head.key for head in sent], here=False)


def say_again(database: Database) -> None:
    """Have `settle` make new operations of everything that was sent; they replace the old ones.

    Operations that were sent before this user had a key bear no proof, so other machines of the
    user take them for another's. Raises StoreUnavailable, DeadlinePassed.
    """
    with database.transaction() as c:
        c.execute(
            "UPDATE team_heads SET value = ? WHERE state = ? AND kind <> ? AND value <> ''",
            (_OUTDATED, heads.SENT, PURGE),
        )
        space.mark_all(c)
