"""Merging of operations from a shared log into a database, in one transaction. The result does not
depend on the order in which the operations were read. `heads` defines heads and registers.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memory_fabric.sharing.replica import heads, others, outbox, own, space, statements, wire
from memory_fabric.sharing.replica.heads import Head
from memory_fabric.sharing.replica.wire import DISMISSAL, Position, TeamOperation
from memory_fabric.store.base_memory import BaseMemory as Memory
from memory_fabric.store.database import Database

Verified = Callable[[TeamOperation], TeamOperation | None]
Fields = Callable[[str, str, statements.Fields], statements.Fields | None]
# The number of operations that are merged at a time.
SOME = 1000


class Merged(NamedTuple):
    """The result of a merge. Counts of operations: `applied`, and `unread` (stored until an update
    or a key makes them readable). `conflicts` counts keys on which this user's machines disagree;
    `asked` counts demands to erase this user's statements.
    """

    applied: int = 0
    conflicts: int = 0
    asked: int = 0
    unread: int = 0


class _Read(NamedTuple):
    """A received operation; `own` is its decrypted form if it is proved to be this user's."""

    came: TeamOperation
    own: TeamOperation | None


def merge(
    memory: Memory,
    database: Database,
    operations: Sequence[TeamOperation],
    position: Position | None,
    verified: Verified,
    *,
    owner: str = "",
    erase: Callable[[Sequence[Head]], object] | None = None,
) -> Merged:
    """Merge operations and store the new `position` (unless None), in one transaction. `verified`
    decrypts an operation and returns it if it is proved to be this user's own, else None. `owner`
    is the space owner who demands in these operations that others' statements are erased, or ''. If
    given, `erase` is called before the merge with the heads to erase, to remove their traces
    (`sharing.team.exchange.erase`). Raises StoreUnavailable, DeadlinePassed, any error of `erase`.
    """
    memory, before = memory.whole, space.value(database.connection, space.POSITION)
    parts = [
        _Read(o, verified(o) if (o.proof or o.sealed) and o.form <= wire.FORM else None)
        for o in operations
    ]
    # Dismissals come first: they say which statements of others the user has forgotten.
    parts.sort(key=lambda part: (part.own or part.came).kind != DISMISSAL)
    erased = _to_erase(database, parts, owner) if erase is not None else []
    if erase is not None and erased:
        clock = space.value(database.connection, space.CLOCK)
        erase(erased)
        outbox.drop_repeated(database, erased, clock)
    tie = space.tie_of(database.connection)
    mine = any(part.own or (tie and part.came.author == tie.member) for part in parts)
    if mine:
        outbox.settle(memory, database)  # transactions of few rows do not block hooks long
    with database.transaction() as c:
        tie = space.tie_of(c)
        if tie is None:
            return Merged()
        if mine:
            outbox.settle_within(memory, database.kind, c)
        batch = _Batch(memory, database.kind, c, tie, owner)
        for start in range(0, len(parts), SOME):
            batch.take(parts[start : start + SOME])
        if position is not None and space.value(c, space.POSITION) == before:
            space.note(c, space.POSITION, json.dumps(position))
    return Merged(batch.applied, len(batch.conflicts), batch.asked, batch.unread)


def read_again(memory: Memory, database: Database, verified: Verified) -> Merged:
    """Merge stored operations that an update, or the user's key, has made readable."""
    unread = heads.where(database.connection, "state = 'unread' ORDER BY clock, op_id")
    fields = (json.loads(head.payload) for head in unread)
    operations = (TeamOperation(**o | {"base": tuple(o["base"])}) for o in fields)
    readable = [o for o in operations if _is_known(o) and (o.kind != wire.SEALED or verified(o))]
    return merge(memory, database, readable, None, verified) if readable else Merged()


def _to_erase(database: Database, parts: Sequence[_Read], owner: str) -> list[Head]:
    """Return heads that the author or `owner` wants erased, or that this user purged elsewhere."""
    demands = [part.came for part in parts if part.came.kind == wire.PURGE]
    said = [part.own for part in parts if part.own and part.own.kind == DISMISSAL]
    known = heads.of_keys(database.connection, [o.key for o in said])
    new = (o for o in said if not any(o.op_id in (h.op_id, *h.base) for h in known.get(o.key, ())))
    values = [o.value or {} for o in new]
    purged = [str(value.get("of")) for value in values if value.get("purged") is True]
    rows = heads.of_keys(database.connection, [*purged, *(demand.key for demand in demands)])
    erased = {head.op_id: head for key in purged for head in rows.get(key, ()) if head.is_own}
    for demand in demands:
        register = rows.get(demand.key, [])
        if any(head.op_id == demand.op_id for head in register):
            continue  # the demand was already merged
        theirs = [head for head in register if head.is_theirs]
        erasable = [head for head in theirs if demand.author in (head.author, owner)]
        # Keep graph rows that others also state. For records, `exchange.erase` compares the author.
        if demand.key.startswith(wire.key_of(wire.RECORD, "")) or len(erasable) == len(theirs):
            erased |= {head.op_id: head for head in erasable}
    return list(erased.values())


class _Batch:
    """The merge of one batch of operations: their registers, and the changes for the database."""

    def __init__(
        self, memory: Memory, kind: str, c: sqlite3.Connection, tie: space.Tie, owner: str
    ) -> None:
        self._memory, self._kind, self._c, self._tie, self._owner = memory, kind, c, tie, owner
        self._isolated = memory.settings.domains.isolated
        self.applied = self.asked = self.unread = 0
        self.conflicts: set[str] = set()

    def take(self, parts: Sequence[_Read]) -> None:
        """Merge operations into `team_heads`; update the records and graph rows that they state."""
        registers = heads.of_keys(self._c, [(part.own or part.came).key for part in parts])
        op_ids = json.dumps([part.came.op_id for part in parts])
        same = heads.where(self._c, f"op_id {heads.ANY_OF}", (op_ids,))
        self._ids = {h.op_id: h for register in (*registers.values(), same) for h in register}
        self._known: dict[str, dict[str, Head]] = {}
        for head in self._ids.values():
            self._known.setdefault(head.key, {})[head.op_id] = head
        self._put: dict[str, Head] = {}
        self._gone: dict[str, None] = {}
        # `_theirs`: keys that others changed. `_was`: for some of them, a replaced head of another
        # member. `_mine`: keys that this user changed, each with the user's former head or None.
        self._theirs: dict[str, None] = {}
        self._was: dict[str, Head] = {}
        self._mine: dict[str, Head | None] = {}
        for part in parts:
            self._take(part)
        self._replace_unread(parts)
        heads.remove(self._c, self._gone)
        heads.put(self._c, self._put.values())
        self._blank_purged()
        self._show()

    def _blank_purged(self) -> None:
        """Delete the values of own statements that the user later purged on another machine."""
        key_of = {wire.key_of(DISMISSAL, key): key for key in self._mine}
        for name, register in heads.of_keys(self._c, key_of).items():
            purge = heads.current(head for head in register if head.is_own and head.value)
            if purge is None or not purge.stated.get("purged"):
                continue
            for head in self._own_at(key_of[name]):
                if head.value and head.clock < purge.clock:  # keep later statements
                    self._keep(head._replace(value="", payload=""))
        heads.put(self._c, self._put.values())

    def _replace_unread(self, parts: Sequence[_Read]) -> None:
        """Remove stored unreadable operations that their author has replaced since."""
        stored = heads.where(self._c, "state = ?", (heads.UNREAD,))
        unread = {head.op_id: head for head in (*stored, *self._put.values())}
        unread = {id_: head for id_, head in unread.items() if head.state == heads.UNREAD}
        for operation in (part.came for part in parts if part.came.op_id not in unread):
            for id_ in operation.base:
                if id_ in unread and unread[id_].author == operation.author:
                    self._put.pop(id_, None)
                    self._gone[id_] = None

    def _take(self, part: _Read) -> None:
        operation = part.own or part.came
        is_hidden = part.came.kind == wire.SEALED and part.own is None
        if is_hidden and self._kind == "project" and part.came.author != self._tie.member:
            return  # only another member's machines can read the operation
        stored = self._ids.get(operation.op_id)
        if not _is_known(part.came) or is_hidden:
            if stored is None:
                payload = json.dumps(part.came._asdict())  # kept until it becomes readable
                self._keep(heads.of_operation(part.came, heads.UNREAD, "", payload))
                self.unread += 1
            return
        # Keys of encrypted operations and demands to erase may be HMACs, so do not compare them.
        is_same_key = stored is not None and stored.key == part.came.key
        is_same_key |= part.came.kind in (wire.SEALED, wire.PURGE)
        if stored is not None and not (stored.author == part.came.author and is_same_key):
            return  # since a server reset, another operation has the stored one's id: ignore it
        if stored is not None and stored.state == heads.UNREAD:
            self._drop(stored)
        elif stored is not None:
            self._come_back(stored, operation, proved=part.own is not None)
            return
        if problem := statements.problem(operation):
            self._refuse(operation, problem)
        elif operation.kind == wire.PURGE:
            self._erase(operation)
        elif part.own is not None:
            self._take_own(operation)
        else:
            self._take_theirs(operation)

    def _take_theirs(self, operation: TeamOperation) -> None:
        if self._kind == "user" or operation.kind == DISMISSAL:
            self._refuse(operation, "It has no proof, and this space is one user's own.")
            return
        value = self._value_of(operation, statements.fields)
        if value is None:
            return
        if operation.author == self._tie.member:
            # The user may have replaced the operation here after its acknowledgement was lost.
            if any(operation.op_id in own_head.base for own_head in self._own_at(operation.key)):
                return
            if self._repeats_own(operation):
                return
        head = heads.of_operation(operation, heads.THEIRS, value)
        theirs = [sibling for sibling in self._at(head.key) if sibling.state == heads.THEIRS]
        if self._add(head, [sibling for sibling in theirs if sibling.author == head.author]):
            self._theirs[head.key] = None

    def _take_own(self, operation: TeamOperation) -> None:
        value = self._value_of(operation, statements.own_fields)
        if value is None:
            return
        state = heads.SENT if operation.origin == self._tie.origin else heads.MINE
        head = heads.of_operation(operation, state, value)
        if head.clock > space.value(self._c, space.CLOCK):
            space.note(self._c, space.CLOCK, head.clock)
        before = heads.current(self._own_at(head.key))
        purges = self._own_at(wire.key_of(DISMISSAL, head.key))
        if value and head.origin in {purge.origin for purge in purges if purge.clock < head.clock}:
            # The machine that purged some words states the rest; a demand queued here erases that.
            for queued in (h for h in self._own_at(head.key) if h.payload == heads.REPEATED):
                base = (*queued.base, *head.base, head.op_id)
                head = queued._replace(value=value, base=base, payload="")
        for sibling in self._at(head.key):
            # This machine may have made an equal statement before it read this operation.
            repeats = sibling.is_own and _is_repeated(sibling, operation, value)
            unproved = sibling.state == heads.THEIRS and sibling.author == operation.author
            if repeats or (unproved and sibling.op_id in head.base):
                self._drop(sibling)
        if self._add(head, self._own_at(head.key)):
            self._mine.setdefault(head.key, before)

    def _value_of(self, operation: TeamOperation, read: Fields) -> str | None:
        """Return the value as JSON, '' if withdrawn; refuse an invalid value, and return None."""
        if operation.value is None:
            return ""
        value = read(operation.kind, operation.key, dict(operation.value))
        if value is None:
            self._refuse(operation, f"Its value is no {operation.kind} of its key.")
            return None
        if value.get("domain") in self._isolated:
            self._refuse(operation, f"The domain {value['domain']} is isolated here.")
            return None
        return heads.text_of(value)

    def _repeats_own(self, operation: TeamOperation) -> bool:
        """If an unproved operation under this user's name equals an unsent local statement, accept
        the operation as own and return True. It was sent before the database was lost and rebuilt.
        """
        if operation.value is None:
            return False
        value = heads.text_of(statements.own_fields(operation.kind, operation.key, operation.value))
        register = self._at(operation.key)
        same = [sibling for sibling in register if _is_repeated(sibling, operation, value)]
        if not value or not same:
            return False
        before = [o for o in register if not o.is_own and o.op_id in operation.base]
        for sibling in (*same, *before):
            self._drop(sibling)
        self._keep(heads.of_operation(operation, heads.SENT, value))
        return True

    def _add(self, head: Head, register: Sequence[Head]) -> bool:
        """Add a head unless it was replaced; drop those it replaces. Return True on a change."""
        replaced = [sibling for sibling in register if sibling.op_id in head.base]
        for sibling in replaced:
            self._drop(sibling)
        is_over = any(head.op_id in sibling.base for sibling in register)
        if not is_over:
            self._keep(head)
        self.applied += not is_over
        return bool(replaced) or not is_over

    def _come_back(self, stored: Head, operation: TeamOperation, *, proved: bool) -> None:
        """Drop `stored` if PAST, or mark it as sent if own, now that it was read from the log."""
        if stored.state == heads.PAST and stored.kind != wire.PURGE:
            self._drop(stored)
            for sibling in self._own_at(stored.key) if proved else ():
                if sibling.op_id in operation.base:
                    self._drop(sibling)
        elif stored.state in (heads.WAITING, heads.UNSENT, heads.SENT) and not stored.seen:
            self._keep(stored._replace(state=heads.SENT, seen=True, payload=""))

    def _erase(self, operation: TeamOperation) -> None:
        """Erase statements as their author or an owner demands; ask the user about own ones."""
        stub = heads.of_operation(operation, heads.PAST, "")
        register = self._at(stub.key)
        self._keep(stub)
        demanded = any(other.state == heads.DEMANDED for other in register)
        if demanded and operation.author == self._tie.member:
            return
        for sibling in register:
            if sibling.is_theirs and operation.author in (sibling.author, self._owner):
                self._was[sibling.key] = sibling
                self._keep(sibling._replace(value=""))
                self._theirs[sibling.key] = None
        may = operation.author in (self._tie.member, self._owner)
        if may and any(sibling.is_own and sibling.value for sibling in register):
            self._keep(stub._replace(state=heads.ASKED))
            self.asked += 1

    def _refuse(self, operation: TeamOperation, reason: str) -> None:
        self._keep(heads.of_operation(operation, heads.REFUSED, "", reason))

    def _at(self, key: str) -> list[Head]:
        return list(self._known.get(key, {}).values())

    def _own_at(self, key: str) -> list[Head]:
        return [head for head in self._at(key) if head.is_own]

    def _keep(self, head: Head) -> None:
        self._known.setdefault(head.key, {})[head.op_id] = head
        self._ids[head.op_id] = head
        self._put[head.op_id] = head
        self._gone.pop(head.op_id, None)

    def _drop(self, head: Head) -> None:
        if head.is_theirs:
            self._was[head.key] = head
        self._known[head.key].pop(head.op_id, None)
        self._ids.pop(head.op_id, None)
        self._put.pop(head.op_id, None)
        self._gone[head.op_id] = None

    def _show(self) -> None:
        project = self._memory.project.name if self._memory.project else ""
        if self._theirs:
            others.show(self._c, {key: self._at(key) for key in self._theirs}, self._was, project)
        again: dict[str, None] = {}
        registers = {key: self._own_at(key) for key in self._mine}
        now = {key: heads.current(register) for key, register in registers.items()}
        # Withdraw first: after entities were merged, a withdrawn name may become another's alias.
        for key in sorted(now, key=lambda key: bool((head := now[key]) and head.value)):
            own.show(self._c, self._mine[key], now[key])
        for key, register in registers.items():
            before, current = self._mine[key], now[key]
            self.conflicts.discard(key)
            if any(head.kind == DISMISSAL for head in (before, current) if head):
                values = [head.stated for head in (before, current) if head and head.value]
                again |= dict.fromkeys(str(value["of"]) for value in values)
            elif len({head.value for head in register}) > 1:
                self.conflicts.add(key)
        if again:
            others.show(self._c, heads.of_keys(self._c, again), {}, project)


def _is_repeated(head: Head, operation: TeamOperation, value: str) -> bool:
    """Return True if `operation` has an unsent head's value and replaces at least the same ids."""
    is_unknown = head.state == heads.WAITING and head.payload != heads.AGAIN
    return is_unknown and head.value == value and set(head.base) <= set(operation.base)


def _is_known(operation: TeamOperation) -> bool:
    return operation.form <= wire.FORM and operation.kind in wire.KINDS
