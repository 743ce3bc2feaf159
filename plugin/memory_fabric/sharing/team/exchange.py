"""One exchange of operations between a local database and the space that it is linked to.

    changed rows ── settle ──▶ waiting operations ── push ──▶ the log
    the log ── pull ──▶ operations of others and of this user's machines ── merge ──▶ rows

An exchange can be interrupted at any time: operations are marked as sent only after the server has
stored them, and the read position is stored in the transaction that merges the operations read.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from memory_fabric.config import PURGING
from memory_fabric.errors import NotFound
from memory_fabric.models import OTHERS, Progress
from memory_fabric.sharing.replica import heads, inbox, others, outbox, own, space, wire
from memory_fabric.sharing.replica.wire import OWNER, PURGE, Log, SpaceState, TeamOperation
from memory_fabric.sharing.team import errors, keys, ties
from memory_fabric.sharing.team.ties import USER, WAITS, Outcome, Tie
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.schema import IS_ORPHAN

# The usual number of operations per transaction (which blocks hooks), and that of the first read.
PULL_AT_ONCE, PULL_AT_FIRST = 500, 2000
# The prefix of a purge's description if the purge was demanded in the log, not by the user here.
ERASED = "erased in the log: "


def tied_database(memory: Memory, tie: Tie) -> Database:
    """Open or create a link's database; store the link in it. Raises StoreUnavailable, OSError."""
    database = memory.database(tie.kind, create=True)
    assert database is not None
    space.begin(database, tie.space, tie.member, ties.origin(memory.settings.home))
    proved = space.PRIVATE if (tie.is_sealed or bool(tie.via)) else "1" if tie.me else ""
    if space.value(database.connection, space.PROVED) != proved:
        with database.transaction() as c:
            space.note(c, space.PROVED, proved)
    return database


class Exchange:
    """The exchange between a linked database and the log of its space."""

    def __init__(self, memory: Memory, tie: Tie, log: Log, key: keys.Key | None) -> None:
        """Open the database and link it to its space. Raises StoreUnavailable, OSError."""
        self._memory, self._tie, self._log, self._key = memory, tie, log, key
        self.server = SpaceState(0, "", "", 0)
        self._database = tied_database(memory, tie)

    def run(self, progress: Progress | None = None) -> Outcome:
        """Send and read all operations once. Raises TeamError, StoreUnavailable, DeadlinePassed."""
        home = self._memory.settings.home
        # If a killed exchange left an erasure unfinished, resume it; leave a user's purge alone.
        if os.path.exists(os.path.join(home, PURGING)):
            from memory_fabric.store.forget import purge  # imported late: rarely needed, and slow

            if purge.pending(home).startswith(ERASED):
                purge.resume(self._memory, others.BY)
        reason = self.look()
        outbox.settle_dismissals(self._database)
        if self._database.row("SELECT 1 FROM team_heads WHERE state = 'unread' LIMIT 1"):
            inbox.read_again(self._memory, self._database, self._verified)
        first = Outcome() if space.position(self._database).tx else self._pull(progress)
        done = first.plus(self.round(progress))._replace(again=reason)
        outbox.withdraw_forgotten(self._database)
        return done

    def round(self, progress: Progress | None = None, *, only_due: bool = False) -> Outcome:
        """Send waiting operations and read new ones; unlike `run`, skip the check of the space's
        state. With `only_due`, do not write the database if no row changed and nothing new is read.
        """
        if only_due:
            self._follow_database()
        if not only_due or self._database.row("SELECT 1 FROM team_due LIMIT 1") is not None:
            outbox.settle(self._memory, self._database)
        try:
            sent = self._push(progress)
        except (errors.ServerReadOnly, errors.ServerFull):
            self._pull(progress)  # the server refuses writes, but can still be read
            raise
        return sent.plus(self._pull(progress))

    def look(self) -> str:
        """Raise TeamError if the server knows this connection as another member. If the log was
        moved or reset, make the exchange send and read everything again, and return why; else ''.
        """
        self._follow_database()
        self.server = self._log.state()
        member = self._tie.member
        if self.server.member != member:
            text = f"The server knows this connection as {self.server.member}, not as {member}."
            raise errors.TeamError(text, remedy="Run memory-fabric team join again.")
        if self._tie.kind == "project" and not self._tie.via:
            project = self._memory.project.name if self._memory.project else ""
            now = [m.name for m in self._log.members() if m.role == OWNER and not m.removed_at]
            space.set_owners(self._database, now, project)
        read_to = space.position(self._database)
        query = "SELECT op_id FROM team_heads WHERE state = 'sent' ORDER BY clock DESC LIMIT 1"
        last_sent = {op_id for (op_id,) in self._database.rows(query)}
        if read_to.epoch not in (0, self.server.epoch):
            reason = "it was moved to another server"
        elif not self._log.holds(read_to) or (last_sent and not self._log.has(last_sent)):
            reason = "it was set back to an earlier state"
        else:
            return ""
        space.forget_position(self._database, self.server.epoch)
        if self._tie.key == USER and self._key is not None:
            origin = ties.origin(self._memory.settings.home)
            self._log.push([self._key.announcement(self._tie.space, origin)])
        return reason

    def tend(self, now_s: float, since_s: float) -> None:
        """Save in the link's state: the time `now_s`, the names of removed members, and the names
        of members who have not read the log since `since_s`. If this user is an owner, also compact
        the log; that comes last, because it may fail. Raises TeamError.
        """
        members = [member for member in self._log.members() if member.name != self._tie.member]
        removed = [member.name for member in members if member.removed_at is not None]
        seen_s = {m.name: (m.seen_at or m.added_at).timestamp() for m in members}
        silent = [name for name in seen_s if name not in removed and seen_s[name] < since_s]
        names = {"removed": ", ".join(removed), "silent": ", ".join(silent)}
        ties.update_state(self._memory.settings.home, self._tie.key, asked_at=now_s, **names)
        if self.server.role == OWNER:
            self._log.compact()

    def has_work(self) -> bool:
        return self._database.row(WAITS) == (1,)

    def _follow_database(self) -> None:
        """Reopen the database if its file was replaced, for example by a repair."""
        if self._memory.database(self._tie.kind, create=True) not in (None, self._database):
            self._database = tied_database(self._memory, self._tie)

    def _push(self, progress: Progress | None) -> Outcome:
        sent = 0
        refused: list[str] = []
        todo = space.counts(self._database).waiting if progress is not None else 0

        def refuse(op_id: str, reason: str) -> None:
            refused.append(op_id)
            outbox.refuse(self._database, op_id, reason)

        while operations := outbox.waiting(self._database, self._log.at_once):
            refused_before = len(refused)
            if operations[0].kind == PURGE:  # all of them are demands to erase
                self._log.purge([self._key_there(o.key) for o in operations])
                op_ids = [o.op_id for o in operations]
            else:
                op_ids = self._log.push([self._outgoing(o) for o in operations], refuse)
            outbox.acknowledge(self._database, op_ids)
            sent += len(op_ids)
            if progress is not None:
                progress(sent, max(sent, todo))
            if not op_ids and len(refused) == refused_before:
                break  # neither accepted nor refused: retry in a later exchange
        return Outcome(sent=sent, refused=len(refused))

    def _pull(self, progress: Progress | None) -> Outcome:
        total = Outcome()
        at_once = PULL_AT_ONCE if space.position(self._database).tx else PULL_AT_FIRST
        while True:
            read_to = space.position(self._database)._replace(epoch=self.server.epoch)
            operations, after = self._log.pull(read_to, at_once)
            if after == read_to and not operations:
                return total
            total = total.plus(Outcome(read=len(operations)))
            parts = list(self._by_owner(self._incoming(operations)))
            for number, (owner, part) in enumerate(parts, start=1):
                position = after if number == len(parts) else None  # stored only after all batches
                here, erasing = self._database, partial(erase, self._memory, self._tie.kind)
                merged = inbox.merge(
                    self._memory, here, part, position, self._verified, owner=owner, erase=erasing
                )
                total = total.plus(Outcome(**merged._asdict()))
            if progress is not None:
                progress(total.read, total.read + len(operations))

    def _by_owner(
        self, operations: Sequence[TeamOperation]
    ) -> Iterator[tuple[str, Sequence[TeamOperation]]]:
        """Yield (owner, batch): in a batch, at most one owner demands erasure ('' if none does)."""
        begin, owner = 0, ""
        purges = [(i, o.author) for i, o in enumerate(operations) if o.kind == PURGE]
        owners = {m.name for m in (self._log.members() if purges else ()) if m.role == OWNER}
        for place, author in purges:
            if author in owners and author != owner:
                if owner:
                    yield owner, operations[begin:place]
                    begin = place
                owner = author
        yield owner, operations[begin:]

    def _outgoing(self, operation: TeamOperation) -> TeamOperation:
        if self._key is None:
            return operation
        if self._tie.is_sealed or (operation.kind == wire.DISMISSAL and not self._tie.via):
            return self._key.seal(operation, self._tie.space)
        return self._key.prove(operation, self._tie.space) if self._tie.me else operation

    def _incoming(self, operations: Sequence[TeamOperation]) -> list[TeamOperation]:
        """Drop machines' announcements; replace HMACs of keys in demands to erase by local keys."""
        memories = [o for o in operations if not o.key.startswith(keys.MACHINE)]
        if not self._tie.is_sealed or not any(o.kind == PURGE for o in memories):
            return memories
        rows = self._database.rows("SELECT DISTINCT key FROM team_heads")
        local_keys = {self._key_there(key): key for (key,) in rows}
        return [
            o._replace(key=local_keys.get(o.key, o.key)) if o.kind == PURGE else o for o in memories
        ]

    def _key_there(self, key: str) -> str:
        """Return a key as it is in the log: an HMAC if operations are encrypted, else unchanged."""
        return self._key.sealed_key(key) if self._tie.is_sealed and self._key is not None else key

    def _verified(self, operation: TeamOperation) -> TeamOperation | None:
        return self._key.verified(operation, self._tie.space) if self._key is not None else None


def erase(memory: Memory, kind: str, stated: Sequence[heads.Head]) -> None:
    """Purge the memories that these heads state: others' statements that were erased in the log,
    and own ones that this user purged on another machine. Journals, backups and session notes are
    purged, too. Tombstones for others' statements are removed, so that the authors can state the
    same again. Raises the errors of `purge.purge`.
    """
    from memory_fabric.store.forget import purge  # Imported late: rarely needed, and slow.
    from memory_fabric.store.forget.plan import Found, FoundEntity, FoundText
    from memory_fabric.store.history import trace

    records, observations = [], []
    for head in stated:
        value, author = head.stated or {}, head.shown_author
        if head.kind == wire.RECORD:
            with suppress(NotFound):  # `trace.why` finds no trace, not even of a forgotten record
                origin = trace.why(memory, own.tombstone_of(head.key))
                if not isinstance(origin, trace.RecordTrace):
                    continue
                record = origin.record
                if record.source != OTHERS if head.is_own else record.author == author:
                    records.append(record)
        # Purge the observation only if its row is attributed to the head's author.
        elif head.kind == wire.OBSERVATION and _rows(
            memory,
            kind,
            "SELECT 1 FROM observations AS o JOIN entities AS e ON e.id = o.entity "
            "WHERE e.name = ? AND o.text = ? AND iif(?, o.source <> ?, o.source = ? "
            "AND o.agent = ?)",
            (value.get("entity"), value.get("text"), head.is_own, OTHERS, OTHERS, author),
        ):
            observations.append(FoundText(value["entity"], value["text"], kind))
    text = ERASED + ", ".join(head.key for head in stated)
    erased = Found(text, records=tuple(records), observations=tuple(observations))
    names = [h.stated["name"] for h in stated if h.is_own and h.kind == wire.ENTITY and h.value]
    if erased or names:
        tombstones = "SELECT id, key, created_at FROM tombstones"
        before = _rows(memory, kind, tombstones)
        if erased:
            purge.purge_exactly(memory, erased, others.BY)
        # Keep an entity that other statements refer to.
        said = f"SELECT name FROM entities AS e WHERE NOT {IS_ORPHAN}"
        gone = {*names} - {name for (name,) in _rows(memory, kind, said)}
        if entities := tuple(FoundEntity(name, "", kind, (), 0) for name in sorted(gone)):
            purge.purge_exactly(memory, Found(erased.text, entities=entities), others.BY)
        mine = {own.tombstone_of(head.key) for head in stated if head.is_own}
        new = [list(row) for row in _rows(memory, kind, tombstones) - before if row[0] not in mine]
        memory.write("tombstones", {"add": [], "remove": new}, others.BY, store=kind)


def _rows(
    memory: Memory, kind: str, query: str, values: Sequence[object] = ()
) -> set[tuple[Any, ...]]:
    database = memory.database(kind, create=False)
    return set(database.rows(query, tuple(values))) if database is not None else set()
