"""A shared log as a plain list, and homes of members that exchange through it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory_fabric.models import Provenance, Record
from memory_fabric.sharing.replica import heads, inbox, outbox, space, wire
from memory_fabric.sharing.replica.wire import Position, TeamOperation
from memory_fabric.store import records
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from store.support import TOOL, USER, World, database, decision, relation

SPACE = "space-1"


class Log:
    """The content of a server: operations in the order in which they became visible."""

    def __init__(self) -> None:
        self.operations: list[TeamOperation] = []

    def push(self, member: str, operations: list[TeamOperation]) -> list[str]:
        there = {one.op_id for one in self.operations}
        for one in operations:
            if one.op_id in there:
                continue
            if one.kind == wire.PURGE:
                self._purge(member, one)
            else:
                self.operations.append(one._replace(author=member))
        return [one.op_id for one in operations]

    def pull(self, after: Position, limit: int = 1000) -> tuple[list[TeamOperation], Position]:
        found = self.operations[after.seq : after.seq + limit]
        if not found:
            return [], after
        replaced = {(one.author, one.key, id_) for one in self.operations for id_ in one.base}
        live = [one for one in found if (one.author, one.key, one.op_id) not in replaced]
        return live, Position(0, 1, after.seq + len(found), found[-1].op_id)

    def _purge(self, member: str, demand: TeamOperation) -> None:
        for place, one in enumerate(self.operations):
            if (one.author, one.key) == (member, demand.key):
                self.operations[place] = one._replace(value=None, clock="", proof="")
        blank = demand._replace(author=member, clock="", base=(), value=None)
        self.operations.append(blank)


class Home:
    """A machine of a member: a memory that is tied to a log."""

    def __init__(
        self,
        root: Path,
        member: str,
        log: Log,
        *,
        kind: str = "project",
        machine: str = "",
        key: bool = False,
        **environ: str,
    ) -> None:
        self.member, self.log, self.kind, self.has_key = member, log, kind, key
        self.machine = machine or member
        self.world = World(root / self.machine)
        self.environ = {"USER": member, **environ}
        self.memory = self._opened()
        self.begin()

    def begin(self) -> bool:
        return space.begin(self.database, SPACE, self.member, self.machine)

    def _opened(self) -> Memory:
        return Memory.open(self.world.settings(**self.environ))

    @property
    def database(self) -> Database:
        return database(self.memory, self.kind)

    def reopen(self, **environ: str) -> None:
        self.memory.close()
        self.environ |= environ
        self.memory = self._opened()

    def say(self, what: str, by: Provenance = USER, **fields: Any) -> Record:
        stored = self.memory.remember(decision(what, **fields), by)
        assert stored is not None
        return stored

    def reword(self, said: Record, **fields: Any) -> None:
        """Change fields of a record, and prepare what is sent of it."""
        changed = {"record": records.as_object(said._replace(**fields)), "seen_in": []}
        self.memory.write("put_record", changed, USER, store="project")
        outbox.settle(self.memory, self.database)

    def relate(self, *edge: str) -> None:
        stated = {"relations": [relation(*edge)]}
        self.memory.write("create_relations", stated, TOOL, store="project")

    def push(self) -> int:
        made = outbox.settle(self.memory, self.database)
        while found := outbox.waiting(self.database, 10_000):
            sent = [self._proved(one) for one in found]
            outbox.acknowledge(self.database, self.log.push(self.member, sent))
        return made

    def pull(self) -> inbox.Merged:
        operations, to = self.log.pull(space.position(self.database))
        return self.merge(operations, to)

    def merge(self, operations: list[TeamOperation], to: Position | None = None) -> inbox.Merged:
        return inbox.merge(self.memory, self.database, operations, to, self.verified)

    def sync(self) -> None:
        self.push()
        self.pull()

    def verified(self, operation: TeamOperation) -> TeamOperation | None:
        """The proof of these tests is the member's name in the hands of who has the key."""
        return operation if self.has_key and operation.proof == f"by {self.member}" else None

    def _proved(self, operation: TeamOperation) -> TeamOperation:
        return operation._replace(proof=f"by {self.member}") if self.has_key else operation

    def records(self) -> dict[str, Record]:
        """All active records, by text."""
        return {record.what: record for record in self.memory.find_records("status = 'active'")}

    def heads(self) -> dict[str, heads.Head]:
        return {head.op_id: head for head in heads.where(self.database.connection, "1")}

    def counts(self) -> space.Counts:
        return space.counts(self.database)


def synced(*homes: Home) -> None:
    """Exchange until nothing is left to exchange."""
    for _ in range(2):
        for home in homes:
            home.sync()
