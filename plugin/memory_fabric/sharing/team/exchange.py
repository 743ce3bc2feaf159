"""One exchange between a database of this machine and the space that it is tied to.

    rows that changed ── settle ──▶ waiting operations ── push ──▶ the log
    the log ── pull ──▶ operations of others and of this user's machines ── merge ──▶ rows

Each part can be stopped at any moment: what is acknowledged was sent, and what is merged was read,
in one transaction each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memory_fabric import ids
from memory_fabric.models import Provenance
from memory_fabric.sharing.replica import heads, inbox, outbox, space
from memory_fabric.sharing.replica.heads import Head
from memory_fabric.sharing.replica.inbox import Merged
from memory_fabric.sharing.replica.wire import PURGE, SEALED, Position, TeamOperation
from memory_fabric.sharing.server import members
from memory_fabric.sharing.server.log import SharedLog, SpaceState
from memory_fabric.sharing.team import state
from memory_fabric.sharing.team.errors import ServerFull, ServerReadOnly, TeamError
from memory_fabric.sharing.team.keys import Key
from memory_fabric.sharing.team.outcome import Outcome
from memory_fabric.sharing.team.ties import USER, Tie
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory

if TYPE_CHECKING:
    from memory_fabric.models import Progress

# Operations in one batch. What is read is merged in one transaction, for which hooks that write
# wait; a machine that reads the whole log at first is seldom in a session.
PUSH_AT_ONCE, PULL_AT_ONCE, PULL_AT_FIRST = 500, 500, 2000
# The key of an operation that says that a machine holds the user's key; it changes no memory.
MACHINE = "machine:"


class Exchange:
    """The exchange of one tie over an open connection to its space; `open` makes one."""

    def __init__(
        self, memory: Memory, tie: Tie, log: SharedLog, key: Key | None, database: Database
    ) -> None:
        self._memory, self._tie, self._log, self._key = memory, tie, log, key
        self._database = database
        self.server = SpaceState(0, "", "", 0)

    @classmethod
    def open(cls, memory: Memory, tie: Tie, log: SharedLog, key: Key | None) -> Exchange:
        """Return the exchange of a tie whose database is tied, too.

        Raises TeamError, StoreUnavailable, OSError.
        """
        if (tie.me or tie.key == USER) and key is None:
            raise NoKey(
                "The key of your machines is missing here.",
                remedy="Run memory-fabric team join DSN --me, and give its words.",
            )
        database = memory.database(tie.kind, create=True)
        assert database is not None
        origin = state.origin(memory.settings.home)
        space.begin(database, tie.space, tie.member, origin)
        return cls(memory, tie, log, key, database)

    def run(self, progress: Progress | None = None) -> Outcome:
        """Exchange everything once. Raises TeamError, StoreUnavailable, DeadlinePassed."""
        again = self.look()
        if space.number_of(self._database, heads.UNREAD):
            inbox.read_again(self._memory, self._database, self._verified)
        first = self._pull(progress) if self._is_new() else Outcome()
        return first.plus(self.round(progress))._replace(again=again)

    def round(self, progress: Progress | None = None, *, only_due: bool = False) -> Outcome:
        """Send what waits and read what came, without a look at the state of the space.

        With `only_due` nothing is written here if no row changed and nothing came.
        """
        if only_due:
            self._follow_database()
        if not only_due or self._database.row("SELECT 1 FROM team_due LIMIT 1") is not None:
            outbox.settle(self._memory, self._database)
        try:
            sent = self._push(progress)
        except (ServerReadOnly, ServerFull):
            self._pull(progress)  # what others said can still be read
            raise
        return sent.plus(self._pull(progress))

    def _follow_database(self) -> None:
        """Use the database that is there now: a long-lived process may outlive a repaired one."""
        now = self._memory.database(self._tie.kind, create=True)
        if now is not None and now is not self._database:
            self._database = now
            space.begin(
                now, self._tie.space, self._tie.member, state.origin(self._memory.settings.home)
            )

    def look(self) -> str:
        """Read the state of the space; begin anew if the log is another one or was set back.

        Returns the reason for that, empty without one. Raises TeamError.
        """
        self._follow_database()
        self.server = self._log.state()
        if self.server.member != self._tie.member:
            raise TeamError(
                f"The server knows this connection as {self.server.member}, not as "
                f"{self._tie.member}.",
                remedy="Run memory-fabric team join again.",
            )
        read_to = space.position(self._database)
        again = ""
        if read_to.epoch not in (0, self.server.epoch):
            again = "it was moved to another server"
        elif not self._has_all(read_to):
            again = "it was set back to an earlier state"
        if again:
            space.forget_position(self._database, self.server.epoch)
            self.announce()
        return again

    def announce(self) -> None:
        """Say in the user's own space that this machine has the key. Raises TeamError."""
        if self._tie.key == USER and self._key is not None:
            origin = state.origin(self._memory.settings.home)
            self._log.push([announcement(self._key, self._tie.space, origin)])

    def silent(self, since_s: float) -> list[str]:
        """Return the other members who have not read the log since then (seconds since 1970)."""
        found = members.members(self._log.connection, self._tie.space)
        return [
            one.name
            for one in found
            if one.removed_at is None
            and one.name != self._tie.member
            and (one.seen_at or one.added_at).timestamp() < since_s
        ]

    def compact(self) -> None:
        """Blank what was replaced long ago, if this member owns the space. Raises TeamError."""
        if self.server.role == "owner":
            self._log.compact()

    def has_work(self) -> bool:
        """True if something waits to be sent."""
        row = self._database.row(state.WAITS)
        return bool(row and row[0])

    def _is_new(self) -> bool:
        return space.position(self._database).tx == 0

    def _has_all(self, read_to: Position) -> bool:
        """True if the log holds what was read last from it, and what was sent last to it."""
        if not self._log.holds(read_to):
            return False
        newest = self._database.row(
            "SELECT op_id FROM team_heads WHERE state = 'sent' ORDER BY clock DESC LIMIT 1"
        )
        return newest is None or newest[0] in self._log.has([newest[0]])

    def _push(self, progress: Progress | None) -> Outcome:
        sent = refused = 0
        todo = space.number_of(self._database, heads.WAITING) if progress is not None else 0
        while operations := outbox.waiting(self._database, PUSH_AT_ONCE):
            done, wrong = self._append([o for o in operations if o.kind != PURGE])
            purges = [o for o in operations if o.kind == PURGE]
            if purges:
                self._log.purge([self._key_there(o.key) for o in purges])
                outbox.acknowledge(self._database, [o.op_id for o in purges])
            sent, refused = sent + done + len(purges), refused + wrong
            if progress is not None:
                progress(sent, max(sent, todo))
            if not done and not wrong and not purges:
                break  # the server took nothing and refused nothing: not in this exchange
        return Outcome(sent=sent, refused=refused)

    def _append(self, operations: Sequence[TeamOperation]) -> tuple[int, int]:
        """Append operations; return how many the server has, and how many it refused for good."""
        refused: list[str] = []

        def refuse(op_id: str, reason: str) -> None:
            refused.append(op_id)
            outbox.refuse(self._database, op_id, reason)

        held = self._log.push([self._outgoing(o) for o in operations], refuse)
        outbox.acknowledge(self._database, held)
        return len(held), len(refused)

    def _pull(self, progress: Progress | None) -> Outcome:
        total = Outcome()
        at_once = PULL_AT_FIRST if self._is_new() else PULL_AT_ONCE
        while True:
            read_to = space.position(self._database)._replace(epoch=self.server.epoch)
            operations, after = self._log.pull(read_to, at_once)
            if after == read_to and not operations:
                return total
            total = total.plus(Outcome(read=len(operations)))
            total = total.plus(self._merge(self._incoming(operations), after))
            if progress is not None:
                progress(total.read, total.read + len(operations))

    def _merge(self, operations: Sequence[TeamOperation], after: Position) -> Outcome:
        """Merge what came; the position is noted with the last part."""
        total = Outcome()
        parts = list(self._by_owner(operations))
        for number, (owner, part) in enumerate(parts, start=1):
            position = after if number == len(parts) else None
            merged = inbox.merge(
                self._memory,
                self._database,
                part,
                position,
                self._verified,
                owner=owner,
                erase=self._erase,
            )
            total = total.plus(_outcome(merged))
        return total

    def _erase(self, found: Sequence[Head]) -> None:
        """Purge what other members said and had erased in the log."""
        from memory_fabric.store.forget import purge_foreign  # rare, and it loads the whole purge

        by = Provenance("journal", trust="foreign")
        purge_foreign.erase(self._memory, found, by)

    def _by_owner(
        self, operations: Sequence[TeamOperation]
    ) -> Iterator[tuple[str, Sequence[TeamOperation]]]:
        """Yield the operations in parts in which one owner of the space demands erasures."""
        begin, owner = 0, ""
        purges = [(i, o.author) for i, o in enumerate(operations) if o.kind == PURGE]
        owners = self._owners() if purges else frozenset()
        for place, author in purges:
            if author in owners and author != owner:
                if owner:
                    yield owner, operations[begin:place]
                    begin = place
                owner = author
        yield owner, operations[begin:]

    def _owners(self) -> frozenset[str]:
        found = members.members(self._log.connection, self._tie.space)
        return frozenset(one.name for one in found if one.role == "owner")

    def _outgoing(self, operation: TeamOperation) -> TeamOperation:
        """Return the operation as it leaves this machine: sealed, proved or as it is."""
        if self._key is None:
            return operation
        if self._tie.key == USER:
            return self._key.seal(operation, self._tie.space)
        return self._key.prove(operation, self._tie.space) if self._tie.me else operation

    def _incoming(self, operations: Sequence[TeamOperation]) -> list[TeamOperation]:
        """Return the operations without those of machines, purges with the keys of this machine."""
        kept = [o for o in operations if not o.key.startswith(MACHINE)]
        if self._tie.key != USER or not any(o.kind == PURGE for o in kept):
            return kept
        rows = self._database.rows("SELECT DISTINCT key FROM team_heads")
        here = {self._key_there(key): key for (key,) in rows}
        return [o._replace(key=here.get(o.key, o.key)) if o.kind == PURGE else o for o in kept]

    def _key_there(self, key: str) -> str:
        """Return the key under which the server has what this machine has under `key`."""
        if self._tie.key == USER and self._key is not None:
            return self._key.sealed_key(key)
        return key

    def _verified(self, operation: TeamOperation) -> TeamOperation | None:
        return self._key.verified(operation, self._tie.space) if self._key is not None else None


def _outcome(merged: Merged) -> Outcome:
    return Outcome(
        applied=merged.applied,
        conflicts=merged.conflicts,
        asked=merged.asked,
        unread=merged.unread,
    )


class NoKey(TeamError):
    """The key of the user's machines is missing on this one."""


def announcement(key: Key, space_: str, origin: str) -> TeamOperation:
    """Return the operation by which a machine says that it holds the key."""
    plain = TeamOperation(
        op_id=ids.id_for(f"machine {space_} {origin} {key.mark}"),
        origin=origin,
        kind=SEALED,
        key=MACHINE + origin,
        value={"mark": key.mark},
        made_at=ids.timestamp(),
    )
    return key.seal(plain, space_)._replace(key=plain.key)


def opens(key: Key, space_: str, operation: TeamOperation) -> bool:
    """True if the operation says that a machine holds this key."""
    inside = operation._replace(key=key.sealed_key(operation.key))
    return key.verified(inside, space_) is not None
