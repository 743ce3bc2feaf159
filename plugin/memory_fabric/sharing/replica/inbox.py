"""Operations that were read from a shared log, merged into a database in one transaction.

Which operations of a register are its heads follows from the set of those that were read, whatever
their order. What is shown follows from the heads.
"""

import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.models import Provenance
from memory_fabric.sharing.replica import claims, heads, others, outbox, own, space, wire
from memory_fabric.sharing.replica.heads import Head
from memory_fabric.sharing.replica.wire import Position, TeamOperation
from memory_fabric.store.database import Database
from memory_fabric.store.protocols import Memory

Verified = Callable[[TeamOperation], TeamOperation | None]


# Operations whose rows are looked up together.
SOME = 1000


class Merged(NamedTuple):
    """The result of a merge, in operations.

    `applied` changed what is stored; `conflicts` are keys of this user on which machines differ
    now, `asked` own keys that another demands to erase, `unread` are kept for later, `refused` are
    unusable. `erased` are the keys of what others had erased.
    """

    applied: int = 0
    conflicts: int = 0
    asked: int = 0
    unread: int = 0
    refused: int = 0
    erased: tuple[str, ...] = ()


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
    """Merge operations in the order of the log, and note how far it was read, all or nothing.

    `verified` returns an operation, unsealed, if its proof shows that it is this user's own, else
    None. `owner` is the member who may have others' operations erased. Without a `position` none
    is noted. `erase` is called before with heads of others that were erased in the log, to remove
    their traces (`store.forget.purge_foreign`). Raises StoreUnavailable, DeadlinePassed, and what
    `erase` raises.
    """
    memory = memory.whole
    gone = _to_erase(database, operations, owner) if erase is not None else []
    if erase is not None and gone:
        erase(gone)
    read = [_Read(one, _own(one, verified)) for one in operations]
    tie = space.tie(database)
    if tie is None:
        return Merged()
    mine = any(one.own or one.came.author == tie.member for one in read)
    if mine:
        outbox.settle(memory, database)  # in short transactions, for which hooks need not wait
    with database.transaction() as c:
        tie = space.tie_of(c)
        if tie is None:
            return Merged()
        if mine:
            outbox.settle_within(memory, database.kind, c)
        batch = _Batch(memory, database.kind, c, tie, owner)
        for start in range(0, len(read), SOME):
            batch.take(read[start : start + SOME])
        if position is not None:
            space.set_position(c, position)
    return Merged(
        applied=batch.applied,
        conflicts=len(batch.conflicts),
        asked=batch.asked,
        unread=batch.unread,
        refused=batch.refused,
        erased=tuple(dict.fromkeys((*(head.key for head in gone), *batch.erased))),
    )


def read_again(
    memory: Memory, database: Database, verified: Verified, *, owner: str = ""
) -> Merged:
    """Merge the operations that could not be read so far and can be now.

    After an update, or when this user's key was given. Raises StoreUnavailable, DeadlinePassed.
    """
    kept = heads.where(database.connection, "state = 'unread' ORDER BY clock, op_id")
    found = [claims.from_text(head.payload) for head in kept]
    able = [one for one in found if _is_known(one) and _can_unseal(one, verified)]
    if not able:
        return Merged()
    return merge(memory, database, able, None, verified, owner=owner)


def _to_erase(database: Database, operations: Sequence[TeamOperation], owner: str) -> list[Head]:
    """Return what is stored here of others and is to be erased by the demands among these."""
    demands = [one for one in operations if one.kind == wire.PURGE]
    if not demands:
        return []
    found: dict[str, Head] = {}
    known = heads.of_keys(database.connection, [one.key for one in demands])
    for one in demands:
        here = known.get(one.key, [])
        if any(head.op_id == one.op_id for head in here):
            continue  # it was met before
        stated = [head for head in here if head.state == heads.THEIRS and head.value]
        meant = [head for head in stated if one.author in (head.author, owner)]
        # A row of the graph stays if another member states it, too. Of a record, whose id another
        # may have copied, `erase` takes what is shown as this member's.
        if one.key.startswith(wire.key_of_record("")) or len(meant) == len(stated):
            found |= {head.op_id: head for head in meant}
    return list(found.values())


class _Read(NamedTuple):
    """An operation as it came, and as proved to be this user's own, or None."""

    came: TeamOperation
    own: TeamOperation | None


class _Batch:
    """The merge of one batch: registers in memory, and what they change in the database."""

    def __init__(
        self, memory: Memory, kind: str, c: sqlite3.Connection, tie: space.Tie, owner: str
    ) -> None:
        self._memory, self._kind, self._c, self._tie, self._owner = memory, kind, c, tie, owner
        self._isolated = memory.settings.domains.isolated
        self._by = Provenance(others.SOURCE, trust=others.TRUST, at=ids.timestamp())
        self._known: dict[str, dict[str, Head]] = {}
        self._ids: dict[str, Head] = {}
        self._put: dict[str, Head] = {}
        self._gone: dict[str, None] = {}
        # Keys whose shown state may have changed: of others, with values that were replaced, and of
        # this user with the head before.
        self._theirs: dict[str, None] = {}
        self._was: dict[str, Head] = {}
        self._mine: dict[str, Head | None] = {}
        self.applied = self.asked = self.unread = self.refused = 0
        self.conflicts: set[str] = set()
        self.erased: dict[str, None] = {}

    def take(self, read: Sequence[_Read]) -> None:
        """Merge some operations and show what they say."""
        self._load(read)
        for one in read:
            self._take(one)
        self._replace_unread(read)
        heads.remove(self._c, self._gone)
        heads.put(self._c, self._put.values())
        self._show()

    def _load(self, read: Sequence[_Read]) -> None:
        keys = [(one.own or one.came).key for one in read]
        self._known = {
            key: {head.op_id: head for head in found}
            for key, found in heads.of_keys(self._c, keys).items()
        }
        for head in heads.of_ids(self._c, [one.came.op_id for one in read]):
            self._known.setdefault(head.key, {})[head.op_id] = head
        self._ids = {id_: head for found in self._known.values() for id_, head in found.items()}
        self._put, self._gone, self._theirs, self._was, self._mine = {}, {}, {}, {}, {}

    def _replace_unread(self, read: Sequence[_Read]) -> None:
        """Remove operations that could not be read and that their author replaced since."""
        stored = heads.where(self._c, "state = ?", (heads.UNREAD,))
        unread = {head.op_id: head for head in (*stored, *self._put.values())}
        unread = {id_: head for id_, head in unread.items() if head.state == heads.UNREAD}
        if not unread:
            return
        for one in read:
            if one.came.op_id in unread:
                continue
            for id_ in one.came.base:
                if id_ in unread and unread[id_].author == one.came.author:
                    self._put.pop(id_, None)
                    self._gone[id_] = None

    def _take(self, one: _Read) -> None:
        operation = one.own or one.came
        if not _is_known(one.came) or (one.came.kind == wire.SEALED and one.own is None):
            self._keep_unread(one.came)
            return
        known = self._ids.get(operation.op_id)
        if known is not None and not _is_same(known, one.came):
            return  # an id that was copied, after the server was set back
        if known is not None and known.state == heads.UNREAD:
            self._drop(known)
        elif known is not None:
            self._come_back(known, operation, proved=one.own is not None)
            return
        problem = claims.problem(operation)
        if problem:
            self._refuse(operation, problem)
        elif operation.kind == wire.PURGE:
            self._erase(operation)
        elif one.own is not None:
            self._take_own(operation)
        else:
            self._take_theirs(operation)

    def _take_theirs(self, operation: TeamOperation) -> None:
        if self._kind == "user":
            self._refuse(operation, "It has no proof, and this space is one user's own.")
            return
        value = None
        if operation.value is not None:
            value = claims.fields(operation.kind, operation.key, operation.value)
            if value is None:
                self._refuse(operation, f"Its value is no {operation.kind} of its key.")
                return
            if value["domain"] in self._isolated:
                self._refuse(operation, f"The domain {value['domain']} is isolated here.")
                return
        if operation.author == self._tie.member and (
            self._is_replaced(operation) or self._repeats_own(operation)
        ):
            return
        head = _head(operation, heads.THEIRS, heads.text_of(value))
        register = [
            other
            for other in self._at(head.key)
            if other.state == heads.THEIRS and other.author == head.author
        ]
        if self._add(head, register):
            self._theirs[head.key] = None

    def _take_own(self, operation: TeamOperation) -> None:
        value = operation.value
        if value is not None:
            value = claims.own_fields(operation.kind, operation.key, value)
            if value is None:
                self._refuse(operation, f"Its value is no {operation.kind} of its key.")
                return
            if value.get("domain") in self._isolated:
                self._refuse(operation, f"The domain {value['domain']} is isolated here.")
                return
        here = operation.origin == self._tie.origin
        head = _head(operation, heads.SENT if here else heads.MINE, heads.text_of(value))
        self._tick(head.clock)
        register = [other for other in self._at(head.key) if other.is_own]
        before = heads.current(register)
        for other in register:  # the same, made here before the log was read
            if _is_unknown(other) and other.value == head.value and head.op_id not in other.base:
                self._drop(other)
        register = [other for other in self._at(head.key) if other.is_own]
        unproved = [
            other
            for other in self._at(head.key)
            if other.state == heads.THEIRS and other.author == operation.author
        ]
        for other in unproved:
            if other.op_id in head.base:
                self._drop(other)
        if self._add(head, register):
            self._mine.setdefault(head.key, before)

    def _is_replaced(self, operation: TeamOperation) -> bool:
        """True for an own operation whose answer was lost, if it was replaced here since."""
        return any(
            other.is_own and operation.op_id in other.base for other in self._at(operation.key)
        )

    def _repeats_own(self, operation: TeamOperation) -> bool:
        """Take an unproved operation under this user's name as own if it says what is said here.

        As after a database was lost and built again from its journal.
        """
        told = operation.value
        if told is None:
            return False
        value = heads.text_of(claims.own_fields(operation.kind, operation.key, told))
        same = [
            other
            for other in self._at(operation.key)
            if _is_unknown(other) and other.value == value
        ]
        if not value or not same:
            return False
        before = [o for o in self._at(operation.key) if not o.is_own and o.op_id in operation.base]
        for other in (*same, *before):
            self._drop(other)
        self._keep(_head(operation, heads.SENT, value))
        return True

    def _add(self, head: Head, register: Sequence[Head]) -> bool:
        """Add a head to its register unless it is replaced already; return True if that changes it.

        What it replaces is removed in either case.
        """
        replaced = [other for other in register if other.op_id in head.base]
        for other in replaced:
            self._drop(other)
        is_over = any(head.op_id in other.base for other in register)
        if not is_over:
            self._keep(head)
        self.applied += not is_over
        return bool(replaced) or not is_over

    def _come_back(self, known: Head, operation: TeamOperation, *, proved: bool) -> None:
        """Take an operation that is stored already: an own one is acknowledged by that."""
        if known.state == heads.PAST:
            self._drop(known)
            if proved:
                for other in self._at(known.key):
                    if other.is_own and other.op_id in operation.base:
                        self._drop(other)
        elif known.state in (heads.WAITING, heads.UNSENT, heads.SENT) and not known.seen:
            self._keep(known._replace(state=heads.SENT, seen=True, payload=""))

    def _erase(self, operation: TeamOperation) -> None:
        """Take the demand to erase a key: of its author, or of the owner for all but this user."""
        stub = _head(operation, heads.PAST, "")
        here = self._at(stub.key)
        self._keep(stub)
        if operation.author == self._tie.member and any(o.state == heads.DEMANDED for o in here):
            return
        for other in here:
            may = operation.author in (other.author, self._owner)
            if other.state == heads.THEIRS and other.value and may:
                self._was[other.key] = other
                self._keep(other._replace(value=""))
                self._theirs[other.key] = None
                self.erased[other.key] = None
        may = operation.author in (self._tie.member, self._owner)
        if may and any(other.is_own for other in here):
            self._keep(stub._replace(state=heads.ASKED))
            self.asked += 1

    def _keep_unread(self, operation: TeamOperation) -> None:
        if operation.op_id in self._ids:
            return
        head = _head(operation, heads.UNREAD, "")
        self._keep(head._replace(payload=claims.as_text(operation)))
        self.unread += 1

    def _refuse(self, operation: TeamOperation, reason: str) -> None:
        self._keep(_head(operation, heads.REFUSED, "")._replace(payload=reason))
        self.refused += 1

    def _at(self, key: str) -> list[Head]:
        return list(self._known.get(key, {}).values())

    def _keep(self, head: Head) -> None:
        self._known.setdefault(head.key, {})[head.op_id] = head
        self._ids[head.op_id] = head
        self._put[head.op_id] = head
        self._gone.pop(head.op_id, None)

    def _drop(self, head: Head) -> None:
        if head.state == heads.THEIRS and head.value:
            self._was[head.key] = head
        self._known[head.key].pop(head.op_id, None)
        self._ids.pop(head.op_id, None)
        self._put.pop(head.op_id, None)
        self._gone[head.op_id] = None

    def _tick(self, reading: str) -> None:
        """Move the clock of this machine past another reading of this user."""
        if reading > space.value(self._c, space.CLOCK):
            space.note(self._c, space.CLOCK, reading)

    def _show(self) -> None:
        """Bring records and graph to what the heads of the changed keys say."""
        if self._theirs:
            project = self._memory.project.name if self._memory.project else ""
            changed = {key: self._at(key) for key in self._theirs}
            others.show(self._c, changed, self._was, project, self._by)
        for key, before in self._mine.items():
            register = [head for head in self._at(key) if head.is_own]
            own.show(self._c, before, heads.current(register), self._by.at)
            if len({head.value for head in register}) > 1:
                self.conflicts.add(key)
            else:
                self.conflicts.discard(key)


def _own(operation: TeamOperation, verified: Verified) -> TeamOperation | None:
    if not (operation.proof or operation.sealed) or operation.form > wire.FORM:
        return None
    return verified(operation)


def _is_unknown(head: Head) -> bool:
    """True for an own operation that no other machine can have met, as far as is known here."""
    return head.state == heads.WAITING and head.payload != heads.AGAIN


def _can_unseal(operation: TeamOperation, verified: Verified) -> bool:
    return operation.kind != wire.SEALED or verified(operation) is not None


def _is_same(known: Head, operation: TeamOperation) -> bool:
    """True if an operation of a stored id is the stored one; a sealed key differs here."""
    if operation.kind in (wire.SEALED, wire.PURGE):
        return known.author == operation.author
    return (known.author, known.key) == (operation.author, operation.key)


def _is_known(operation: TeamOperation) -> bool:
    return operation.form <= wire.FORM and operation.kind in wire.KINDS


def _head(operation: TeamOperation, state: str, value: str) -> Head:
    return heads.Head(
        operation.op_id,
        operation.key,
        operation.author,
        operation.origin,
        operation.kind,
        tuple(operation.base),
        operation.clock,
        value,
        operation.made_at,
        state,
        operation.form,
        seen=True,
    )
