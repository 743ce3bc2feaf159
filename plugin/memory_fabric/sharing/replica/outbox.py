"""Outgoing operations of this user for a shared log: created, listed, acknowledged or refused.
Functions with a database raise StoreUnavailable and DeadlinePassed. `wire` defines keys and heads.
"""

import itertools
import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence

from memory_fabric import ids
from memory_fabric.sharing.replica import heads, others, own, space, wire
from memory_fabric.sharing.replica.wire import PURGE, TeamOperation
from memory_fabric.store.base_memory import BaseMemory as Memory
from memory_fabric.store.database import Database
from memory_fabric.store.operations import tombstones

# Selects other members' statements that were forgotten here, with the tombstone's key and time.
_FORGOTTEN = (
    "SELECT h.key, t.key, t.created_at FROM tombstones AS t CROSS JOIN team_heads AS h "
    "INDEXED BY team_heads_by_key ON h.key = CASE WHEN t.id LIKE 'entity:%' "
    "THEN 'e' || substr(t.id, 7) WHEN t.id LIKE 'observation:%' THEN 'o' || substr(t.id, 12) "
    "ELSE 'r:' || t.id END AND h.state = ? GROUP BY h.key"
)
# The number of rows in one transaction; a hook that writes may have to wait for its end.
BATCH = 200
# Maximum number of replaced ids in `base`. A machine with only older operations sees a conflict.
MAX_BASE = 100
# A key without operations: a demand with it erases only operations that this user has replaced.
REPLACED = "p:replaced"
# The size of a payload without its value and without the ids in its base.
_FRAME_BYTES = 1024
_ID_BYTES = 40


def settle(memory: Memory, database: Database, *, limit: int = 1_000_000) -> int:
    """Create operations to send for at most `limit` changed rows; return how many were created."""
    total = 0
    while limit > 0 and space.tie_of(database.connection) is not None:
        with database.transaction() as c:
            number, looked = settle_within(memory, database.kind, c, min(limit, BATCH))
        total, limit = total + number, limit - looked
        if looked < BATCH:
            break
    return total


def settle_within(
    memory: Memory, kind: str, c: sqlite3.Connection, limit: int = -1
) -> tuple[int, int]:
    """Create operations in the caller's transaction; return (operations created, rows checked)."""
    if (tie := space.tie_of(c)) is None:
        return 0, 0
    _follow_isolation(memory, c)
    # If the user gave an alias to another member's entity, the entity becomes the user's own, too.
    named = "SELECT entity FROM aliases"
    c.execute(f"UPDATE entities SET said_by = '' WHERE said_by <> '' AND id IN ({named})")
    due = _due(c, limit)
    is_private = space.value(c, space.PROVED) == space.PRIVATE
    outgoing = own.Outgoing(memory.whole, kind, words=is_private or memory.settings.share_words)
    stated = [(row, *outgoing.of(c, row, key)) for row, key in due]
    registers = heads.of_keys(c, [key for _, key, _ in stated])
    batch = _Batch(c, tie)
    unstated: dict[str, list[heads.Head]] = {}
    for row, key, stated_value in stated:
        value = heads.text_of(stated_value)
        register = [head for head in registers.get(key, ()) if head.kind != PURGE]
        if not value and any(head.is_theirs for head in register):
            unstated[key] = register
        current = heads.current(head for head in register if head.is_own)
        # Send no unchanged value, because this would resolve a conflict between several heads.
        is_unsent = current is not None and current.state == heads.UNSENT
        if is_unsent or value != (current.value if current else ""):
            batch.state(row, key, value, register)
    batch.store()
    c.executemany("DELETE FROM team_due WHERE kind = ? AND key = ?", due)
    if unstated:  # this user no longer states these, but other members do: show theirs
        others.show(c, unstated, {}, memory.project.name if memory.project else "")
    return len(batch.made), len(due)


def settle_dismissals(database: Database) -> None:
    """Create operations stating which of others' statements are forgotten or accepted again."""
    c = database.connection
    if not space.value(c, space.PROVED):
        return
    stated = [head for head in heads.where(c, "key BETWEEN 'd:' AND 'd;'") if head.is_own]
    known = {head.stated["of"]: head for head in stated if head.value}
    forgotten = {key: rest for key, *rest in c.execute(_FORGOTTEN, (heads.THEIRS,))}
    new = forgotten.keys() - known.keys()
    lasting = [key for key, head in known.items() if not head.stated.get("purged")]
    readmitted = [key for key in lasting if not tombstones.is_set(c, own.tombstone_of(key))]
    if (tie := space.tie_of(c)) is None or not (new or readmitted):
        return
    with database.transaction() as c:
        batch = _Batch(c, tie)
        for key in sorted(new):
            number, at = forgotten[key]
            batch.dismiss(key, {"key": number, "created_at": at})
        for head in map(known.__getitem__, readmitted):
            batch.state(wire.DISMISSAL, head.key, "", [head])
        batch.store()


def withdraw_forgotten(database: Database) -> None:
    """Let `settle` withdraw what `own.show` found forgotten. Callers have read the whole log."""
    with database.transaction() as c:
        c.execute("UPDATE OR REPLACE team_due SET kind = replace(kind, ?, '')", (own.FORGOTTEN,))


def waiting(database: Database, limit: int) -> list[TeamOperation]:
    """Return at most `limit` of the oldest operations that the server has not acknowledged: either
    only demands to erase a key (kind `purge`), which are for the log's `purge`, or only other
    operations. Such separate batches keep the order, so that no demand erases later operations.
    """
    rows = heads.where(database.connection, "state = 'waiting' ORDER BY clock LIMIT ?", (limit,))
    alike = itertools.takewhile(lambda head: (head.kind == PURGE) == (rows[0].kind == PURGE), rows)
    made = ((head.stated, {name: getattr(head, name) for name in heads.SAME}) for head in alike)
    return [TeamOperation(**same | {"author": "", "value": value}) for value, same in made]


def acknowledge(database: Database, op_ids: Sequence[str]) -> None:
    query = (
        "UPDATE team_heads SET state = CASE kind WHEN 'purge' THEN 'demanded' ELSE 'sent' END, "
        "payload = '' WHERE op_id = ? AND state IN ('waiting', 'unsent')"
    )
    # There is one update per id: with a list of ids, the planner would read every waiting row.
    with database.transaction() as c:
        c.executemany(query, ((op_id,) for op_id in op_ids))


def refuse(database: Database, op_id: str, reason: str) -> None:
    """Store that the server refused an operation; a later change of its row creates a new one."""
    query = "UPDATE team_heads SET state = ?, payload = ? WHERE op_id = ? AND state = 'waiting'"
    with database.transaction() as c:
        c.execute(query, (heads.UNSENT, reason[:500], op_id))


def demand_purge(c: sqlite3.Connection, keys: Iterable[str], *, here: bool = True) -> None:
    """Queue demands to erase this user's operations under these keys, and all operations that this
    user has replaced. Then queue the withdrawal of the statements: it comes second, because other
    members erase their copies only on a demand. A row that still exists, for example because only
    some words were purged, is sent again. With `here`, own other machines purge the keys, too.
    """
    if (tie := space.tie_of(c)) is None:
        return
    batch = _Batch(c, tie)
    for key, register in heads.of_keys(c, keys).items():
        if mine := [head for head in register if head.is_own]:
            if here and space.value(c, space.PROVED):
                # Sent first, so that own machines purge the key without asking about the demand.
                batch.dismiss(key, {"key": 0, "created_at": ids.timestamp(), "purged": True})
            batch.demand(key)
            batch.state(mine[0].kind, key, "", register)
    batch.demand(REPLACED)
    batch.store()


def drop_repeated(database: Database, erased: Iterable[heads.Head], clock: str) -> None:
    """Drop what `demand_purge` queued after `clock` for own statements whose purge the log has.
    Mark as REPEATED the withdrawals of statements that were changed here before that was read.
    """
    own_heads = [head for head in erased if head.is_own]
    changed = {head.key: bool(head.value) for head in own_heads if not head.seen}
    keys = {head.key for head in own_heads} - changed.keys()
    names = [name for key in keys for name in (key, wire.key_of(wire.DISMISSAL, key))]
    queued = f"state = 'waiting' AND clock > ? AND key {heads.ANY_OF}"
    marked = (
        f"UPDATE team_heads SET payload = '{heads.REPEATED}' WHERE kind <> 'purge' AND {queued}"
    )
    with database.transaction() as c:
        c.execute(f"DELETE FROM team_heads WHERE {queued}", (clock, json.dumps(names)))
        c.execute(marked, (clock, json.dumps([key for key in changed if changed[key]])))


def erase_replaced(memory: Memory, database: Database, *, look_again: bool = False) -> None:
    """Queue a demand to erase all that the user replaced; `look_again` first rechecks all rows."""
    if look_again:
        with database.transaction() as c:
            space.mark_all(c)
    settle(memory, database)
    with database.transaction() as c:
        demand_purge(c, ())


class _Batch:
    """Operations created in one transaction, each with a new timestamp of the logical clock."""

    def __init__(self, c: sqlite3.Connection, tie: space.Tie) -> None:
        self._c, self._tie = c, tie
        self._reading = space.value(c, space.CLOCK)
        self.made: list[heads.Head] = []

    def demand(self, key: str) -> None:
        """Add a demand that the log erase the operations under a key."""
        self.made.append(self._head(PURGE, key))

    def dismiss(self, key: str, value: Mapping[str, object]) -> None:
        """Make the user's other machines forget `key`'s statements, or purge if `value` says so."""
        name = wire.key_of(wire.DISMISSAL, key)
        register = heads.where(self._c, "key = ?", (name,))
        self.state(wire.DISMISSAL, name, heads.text_of({"of": key, **value}), register)

    def state(self, kind: str, key: str, value: str, register: Sequence[heads.Head]) -> None:
        """Add an operation that replaces this user's operations in `register` (heads of `key`)."""
        base: dict[str, None] = {}
        for head in register:
            if head.is_own or (head.state == heads.THEIRS and head.author == self._tie.member):
                # Also list what `head` replaced, because a machine may never read `head` itself.
                base |= dict.fromkeys((*head.base, head.op_id))
        base.pop(wire.KEPT, None)
        is_gone = kind == wire.RECORD and not value
        is_kept = is_gone and not tombstones.is_set(self._c, own.tombstone_of(key))
        replaced = (*tuple(base)[-MAX_BASE:], *[wire.KEPT] * is_kept)
        made = self._head(kind, key)._replace(base=replaced, value=value)
        size = len(value.encode("utf-8", "replace")) + _FRAME_BYTES + _ID_BYTES * len(base)
        if size > wire.MAX_PAYLOAD_BYTES:
            reason = f"It has {size} bytes, and the log takes {wire.MAX_PAYLOAD_BYTES}."
            made = made._replace(state=heads.UNSENT, payload=reason)
        self.made.append(made)
        mine = [head for head in register if head.is_own]
        # Mark replaced heads that were sent but not read back as PAST, to recognise their ids.
        coming = [head for head in mine if head.state == heads.SENT and not head.seen]
        heads.remove(self._c, [head.op_id for head in mine if head not in coming])
        heads.put(self._c, [head._replace(state=heads.PAST, value="", base=()) for head in coming])

    def store(self) -> None:
        heads.put(self._c, self.made)
        if self.made:
            space.note(self._c, space.CLOCK, self._reading)

    def _head(self, kind: str, key: str) -> heads.Head:
        tie, now_ms = self._tie, time.time_ns() // 1_000_000
        self._reading = wire.reading_after(self._reading, now_ms, tie.origin)
        head = heads.Head(ids.new_id(), key, tie.member, tie.origin, kind, clock=self._reading)
        return head._replace(made_at=ids.timestamp(), state=heads.WAITING)


def _due(c: sqlite3.Connection, limit: int) -> list[tuple[str, str]]:
    """Return at most `limit` changed rows (all if negative) as (kind, key). Entities come before
    their observations and relations, successors before the records that they replace.
    """
    due: list[tuple[str, str]] = []
    # There is one query per kind, in the order of the primary key, so that nothing is sorted.
    for kind in (wire.ENTITY, wire.OBSERVATION, wire.RECORD, wire.RELATION):
        query = "SELECT kind, key FROM team_due WHERE kind = ? ORDER BY key DESC LIMIT ?"
        due += c.execute(query, (kind, limit - len(due) if limit >= 0 else -1))
    return due


def _follow_isolation(memory: Memory, c: sqlite3.Connection) -> None:
    """If the isolated (unshared) domains changed, let `settle` recheck all rows. In the domains now
    isolated, remove others' statements; withdraw this user's, and demand their erasure in the log.
    """
    isolated = memory.settings.domains.isolated
    now, before = json.dumps(sorted(isolated)), space.value(c, space.ISOLATED)
    space.note(c, space.ISOLATED, now)
    if before not in (now, ""):
        space.mark_all(c)
        c.execute("DELETE FROM team_heads WHERE state = 'refused' AND payload LIKE '%isolated%'")
        space.note(c, space.POSITION, "")  # read again what was refused
        others.refuse_domains(c, isolated)
        domain = "json_extract(nullif(value, ''), '$.domain')"
        sent = heads.where(c, f"state IN ('sent', 'mine') AND {domain} {heads.ANY_OF}", (now,))
        demand_purge(c, [head.key for head in sent], here=False)


def say_again(database: Database) -> None:
    """Make `settle` send all rows again: the sent ones lack the HMAC that own machines require."""
    # Set the stored sent values to {}: no row has this value, so all rows will be sent again.
    query = "UPDATE team_heads SET value = '{}' WHERE state = ? AND kind <> ? AND value <> ''"
    with database.transaction() as c:
        c.execute(query, (heads.SENT, PURGE))
        space.mark_all(c)
