"""Operations of this user on their way to a shared log: made, listed, acknowledged, refused."""

import itertools
import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memory_fabric import ids
from memory_fabric.models import OTHERS, Provenance
from memory_fabric.sharing.replica import clock, heads, space
from memory_fabric.sharing.replica.own_rows import Outgoing
from memory_fabric.sharing.replica.wire import (
    ENTITY,
    MAX_PAYLOAD_BYTES,
    OBSERVATION,
    PURGE,
    RECORD,
    RELATION,
    TeamOperation,
)
from memory_fabric.store.database import Database
from memory_fabric.store.operations.others import TRUST as FOREIGN
from memory_fabric.store.protocols import Memory

# The value of a head that no row has.
_OUTDATED = "{}"
# Rows in one transaction: a hook that writes at the same time waits for no more.
BATCH = 200
# A machine that has read none of so many states of a key takes its own for a concurrent one.
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
    made = 0
    while limit > 0 and space.tie(database) is not None:
        with database.transaction() as c:
            found, looked = settle_within(memory, database.kind, c, min(limit, BATCH))
        made, limit = made + found, limit - looked
        if looked < BATCH:
            break
    return made


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
    due = _due(c, limit)
    said = _said(c, Outgoing(memory.whole, kind), due)
    known = heads.of_keys(c, [key for _, key, _ in said])
    reading = space.value(c, space.CLOCK)
    made: list[heads.Head] = []
    left: dict[str, list[heads.Head]] = {}
    for row, key, value in said:
        here = [head for head in known.get(key, ()) if head.kind != PURGE]
        own = [head for head in here if head.is_own]
        if not value and any(head.state == heads.THEIRS and head.value for head in here):
            left[key] = here
        if _says_already(own, value):
            continue
        reading = clock.after(reading, time.time_ns() // 1_000_000, tie.origin)
        made.append(_operation(tie, row, key, value, reading, here))
        _replace(c, own)
    heads.put(c, made)
    if made:
        space.note(c, space.CLOCK, reading)
    c.executemany("DELETE FROM team_due WHERE kind = ? AND key = ?", due)
    if left:
        _show_left(memory, c, left)
    return len(made), len(due)


def waiting(database: Database, limit: int) -> list[TeamOperation]:
    """Return operations that the server has not acknowledged, oldest first.

    One of kind `purge` demands that the server erases its key: it is not appended, but given to the
    server's function for that, and then acknowledged like the others. Such demands come alone:
    what follows them must not be erased, too.
    """
    found = heads.where(database.connection, "state = 'waiting' ORDER BY clock LIMIT ?", (limit,))
    alike = itertools.takewhile(
        lambda head: (head.kind == PURGE) == (found[0].kind == PURGE), found
    )
    return [heads.as_operation(head) for head in alike]


def acknowledge(database: Database, op_ids: Sequence[str]) -> None:
    """Note that the server has these operations. Raises StoreUnavailable, DeadlinePassed."""
    ids_ = [(id_,) for id_ in op_ids]
    with database.transaction() as c:
        c.executemany(
            "UPDATE team_heads SET state = 'demanded' "
            "WHERE op_id = ? AND kind = 'purge' AND state = 'waiting'",
            ids_,
        )
        c.executemany(
            "UPDATE team_heads SET state = 'sent', payload = '' "
            "WHERE op_id = ? AND state IN ('waiting', 'unsent')",
            ids_,
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


def demand_purge(c: sqlite3.Connection, keys: Iterable[str]) -> int:
    """Have the server erase what it holds of these own keys; return how many these are.

    They are withdrawn, too, for the other machines of this user. A row that is still there, as
    without some words, is said again by `settle`. The demand comes first: other members erase by it
    what they hold. With any demand the server erases what this user replaced earlier; for that one
    is made in any case.
    """
    tie = space.tie_of(c)
    if tie is None:
        return 0
    reading, made = space.value(c, space.CLOCK), []
    for key, found in heads.of_keys(c, keys).items():
        own = [head for head in found if head.is_own]
        if not own:
            continue
        reading = clock.after(reading, time.time_ns() // 1_000_000, tie.origin)
        demand = heads.Head(ids.new_id(), key, tie.member, tie.origin, PURGE, clock=reading)
        made.append(demand._replace(made_at=ids.timestamp(), state=heads.WAITING))
        reading = clock.after(reading, time.time_ns() // 1_000_000, tie.origin)
        made.append(_operation(tie, own[0].kind, key, "", reading, found))
        _replace(c, own)
        heads.remove(c, [head.op_id for head in found if head.state == heads.ASKED])
    number = len(made) // 2
    reading = clock.after(reading, time.time_ns() // 1_000_000, tie.origin)
    replaced = heads.Head(ids.new_id(), REPLACED, tie.member, tie.origin, PURGE, clock=reading)
    made.append(replaced._replace(made_at=ids.timestamp(), state=heads.WAITING))
    heads.put(c, made)
    space.note(c, space.CLOCK, reading)
    return number


def _due(c: sqlite3.Connection, limit: int) -> list[tuple[str, str]]:
    """Return rows that changed, as (kind, key); all of them for a negative limit.

    Newer records come first: what closes another is then known before the other is closed. Entities
    come before what is said of them.
    """
    found: list[tuple[str, str]] = []
    # One by one in the order of the table's own key: no batch sorts all that is left.
    for kind in (ENTITY, OBSERVATION, RECORD, RELATION):
        left = limit - len(found) if limit >= 0 else -1
        found += c.execute(
            "SELECT kind, key FROM team_due WHERE kind = ? ORDER BY key DESC LIMIT ?", (kind, left)
        )
    return found


def _said(
    c: sqlite3.Connection, outgoing: Outgoing, due: Sequence[tuple[str, str]]
) -> list[tuple[str, str, Any]]:
    """Return kind, key and value of the rows; the value is JSON, empty for none."""
    found = []
    for kind, row in due:
        key, value = outgoing.of(c, kind, row)
        found.append((kind, key, heads.text_of(value)))
    return found


def _says_already(own: Sequence[heads.Head], value: str) -> bool:
    """True if the shown head has this value: only a change settles a conflict of several."""
    shown = heads.current(own)
    if shown is None:
        return not value
    return shown.value == value and shown.state != heads.UNSENT


def _operation(
    tie: space.Tie, kind: str, key: str, value: str, reading: str, here: Sequence[heads.Head]
) -> heads.Head:
    """Return the operation that replaces the heads which this user's machines made of a key."""
    base: dict[str, None] = {}
    for head in here:
        unproved = head.state == heads.THEIRS and head.author == tie.member
        if not (head.is_own or unproved):
            continue
        # Of an operation that is replaced before a machine reads it, that machine sees only its
        # successor, which therefore names what it replaced, too.
        base |= dict.fromkeys((*head.base, head.op_id))
    head = heads.Head(
        ids.new_id(),
        key,
        tie.member,
        tie.origin,
        kind,
        tuple(base)[-MAX_BASE:],
        reading,
        value,
        ids.timestamp(),
        heads.WAITING,
    )
    size = len(value.encode("utf-8", "replace")) + _FRAME_BYTES + _ID_BYTES * len(base)
    if size <= MAX_PAYLOAD_BYTES:
        return head
    reason = f"It has {size} bytes, and the log takes {MAX_PAYLOAD_BYTES}."
    return head._replace(state=heads.UNSENT, payload=reason)


def _replace(c: sqlite3.Connection, own: Iterable[heads.Head]) -> None:
    """Remove replaced heads; of those that the log has still to return, the ids are kept."""
    found = list(own)
    coming = [head for head in found if head.state == heads.SENT and not head.seen]
    heads.remove(c, [head.op_id for head in found if head not in coming])
    heads.put(c, [head._replace(state=heads.PAST, value="", base=()) for head in coming])


def _show_left(
    memory: Memory, c: sqlite3.Connection, left: Mapping[str, Sequence[heads.Head]]
) -> None:
    """Show what others say where this user says nothing any more."""
    from memory_fabric.sharing.replica import others  # rare

    project = memory.project.name if memory.project else ""
    others.show(c, left, {}, project, _by_others())


def _by_others() -> Provenance:
    return Provenance(OTHERS, trust=FOREIGN, at=ids.timestamp())


def _follow_isolation(memory: Memory, c: sqlite3.Connection) -> None:
    """Look at every row again if other domains are isolated than before.

    What other members said in a domain that is isolated now is removed.
    """
    now = json.dumps(sorted(memory.settings.domains.isolated))
    if space.value(c, space.ISOLATED) in (now, ""):
        space.note(c, space.ISOLATED, now)
        return
    from memory_fabric.sharing.replica import others  # rare

    space.note(c, space.ISOLATED, now)
    space.mark_all(c)
    others.refuse_domains(c, memory.settings.domains.isolated, _by_others())


def say_again(database: Database) -> None:
    """Have `settle` make new operations of everything that was sent, which replace those.

    Operations that were sent before this user had a key bear no proof, so other machines of the
    user take them for another's. Raises StoreUnavailable, DeadlinePassed.
    """
    with database.transaction() as c:
        c.execute(
            "UPDATE team_heads SET value = ? WHERE state = ? AND kind <> ? AND value <> ''",
            (_OUTDATED, heads.SENT, PURGE),
        )
        space.mark_all(c)
