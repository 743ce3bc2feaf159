"""Machines of members: a home with a memory, and its exchange with the shared log, step by step.

`Interruptible` stands between a machine and the server: at a chosen step the exchange ends, before
the server got the request or after it carried it out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from memory_fabric.config import read_settings
from memory_fabric.models import OTHERS, Record
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.team import inbox, outbox, space
from memory_fabric.store.team.wire import Position, TeamOperation
from memory_fabric.team.errors import NoAnswer, TeamError
from memory_fabric.team.keys import Key
from memory_fabric.team.server.connect import Connection
from memory_fabric.team.server.log import SharedLog
from team_log.cluster import SPACE, Server

# Operations in one request: few, so that an exchange has many steps at which it can end.
AT_ONCE = 5
STEPS = 24
Event = Callable[[], object]


class Interrupted(Exception):
    """The exchange ended at the chosen step."""


class Interruptible(SharedLog):
    """A log whose use ends after some steps; each request has one before and one after it.

    With `at_step` that is called at the step instead, and the use goes on as far as it can.
    `held` are the ids that the server acknowledged, also where the answer did not arrive.
    """

    def __init__(
        self, connection: Connection, space_: str, steps: int = 0, at_step: Event | None = None
    ) -> None:
        super().__init__(connection, space_)
        self._left, self._at_step = steps, at_step
        self.held: list[str] = []
        self.pushed: list[TeamOperation] = []

    def push(
        self,
        operations: Sequence[TeamOperation],
        refused: Callable[[str, str], object] | None = None,
    ) -> list[str]:
        """Push in small batches, as a slow connection does."""
        held: list[str] = []
        for start in range(0, len(operations), AT_ONCE):
            some = operations[start : start + AT_ONCE]
            self.step()
            held += (there := super().push(some, refused))
            self.held += there
            self.step()
        return held

    def pull(
        self, position: Position, limit: int = AT_ONCE
    ) -> tuple[list[TeamOperation], Position]:
        """Pull few operations at once."""
        self.step()
        found = super().pull(position, min(limit, AT_ONCE))
        self.step()
        return found

    def has(self, op_ids: Collection[str]) -> set[str]:
        """Ask for operations."""
        self.step()
        return super().has(op_ids)

    def step(self) -> None:
        """Count a step. Raises Interrupted at the chosen one."""
        self._left -= 1
        if self._left != 0:
            return
        if self._at_step is None:
            raise Interrupted
        self._at_step()


class Machine:
    """A machine of a member; with a `key` it is one of several of this user."""

    def __init__(
        self, folder: str, name: str, member: str, key: Key | None, shift_s: float
    ) -> None:
        self.name, self.member, self.key, self.shift_s = name, member, key, shift_s
        project = os.path.join(folder, name, "shop")
        os.makedirs(os.path.join(project, ".git"))
        with open(os.path.join(project, ".git", "HEAD"), "w", encoding="utf-8") as file:
            file.write("ref: refs/heads/main\n")
        home = os.path.join(folder, name)
        self._environ = {
            "HOME": home,
            "CLAUDE_PROJECT_DIR": project,
            "USER": member,
            "MEMORY_FABRIC_HOME": os.path.join(home, "memory-fabric"),
        }
        self.connection: Connection | None = None
        self.memory = self._opened()
        with self.clock():
            space.begin(self.database, SPACE, member, name)

    @property
    def database(self) -> Database:
        """The database of the project."""
        found = self.memory.database("project", create=True)
        assert found is not None
        return found

    def restart(self) -> None:
        """End the process, as far as the memory shows: everything is opened again."""
        self.close()
        self.memory = self._opened()

    def close(self) -> None:
        """Close memory and connection."""
        self.disconnect()
        self.memory.close()

    def disconnect(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def log(self, server: Server, steps: int = 0, at_step: Event | None = None) -> Interruptible:
        """Return the log as this machine sees it; without `steps` its use never ends early."""
        if self.connection is None or self.connection.closed:
            self.connection = server.connect(self.member)
        return Interruptible(self.connection, SPACE, steps, at_step)

    def log_or_none(
        self, server: Server, steps: int = 0, at_step: Event | None = None
    ) -> Interruptible | None:
        """Return the log, or None if the server lets nobody in now."""
        try:
            return self.log(server, steps, at_step)
        except NoAnswer:
            return None

    def exchange(self, log: Interruptible) -> int:
        """Exchange once; return how many operations were sent or read."""
        self._begin_again_if_set_back(log)
        outbox.settle(self.memory, self.database)
        log.step()
        return self.push(log) + self.pull(log)

    def push(self, log: Interruptible) -> int:
        """Send what waits; return how many operations the server has of it."""
        sent = 0
        while waiting := outbox.waiting(self.database, 3 * AT_ONCE):
            held = log.push([self.outgoing(one) for one in waiting], self._refuse)
            outbox.acknowledge(self.database, held)
            log.step()
            sent += len(held)
            if not held:
                break
        return sent

    def pull(self, log: Interruptible) -> int:
        """Read and merge what came; return how many operations."""
        read = 0
        while True:
            position = space.position(self.database)
            operations, after = log.pull(position)
            if after == position and not operations:
                return read
            inbox.merge(self.memory, self.database, operations, after, self._verified)
            log.step()
            read += len(operations)

    def records(self) -> dict[str, Record]:
        """Return the active records of scope team, by id."""
        found = self.memory.find_records("status = 'active' AND scope = 'team'", (), 1_000_000)
        return {record.id: record for record in found}

    def own_ids(self) -> list[str]:
        """Return the ids of the active records that this user said, sorted."""
        return sorted(id_ for id_, record in self.records().items() if record.source != OTHERS)

    def heads(self) -> dict[str, str]:
        """Return the heads that were exchanged, as values by op_id."""
        states = "('waiting', 'sent', 'mine', 'theirs', 'unread')"
        rows = self.database.rows(
            f"SELECT op_id, value FROM team_heads WHERE kind <> 'purge' AND state IN {states}"
        )
        return {str(op_id): str(value) for op_id, value in rows}

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Set the clock of this machine for a block."""
        now, now_ns = time.time, time.time_ns
        shift_ns = int(self.shift_s * 1e9)
        time.time = lambda: now() + self.shift_s
        time.time_ns = lambda: now_ns() + shift_ns
        try:
            yield
        finally:
            time.time, time.time_ns = now, now_ns

    def _begin_again_if_set_back(self, log: Interruptible) -> None:
        epoch, position = log.state().epoch, space.position(self.database)
        newest = self.database.row(
            "SELECT op_id FROM team_heads WHERE state = 'sent' ORDER BY clock DESC LIMIT 1"
        )
        is_whole = log.holds(position) and (newest is None or bool(log.has([newest[0]])))
        if position.epoch not in (0, epoch) or not is_whole:
            space.forget_position(self.database, epoch)

    def _opened(self) -> Memory:
        return Memory.open(read_settings(self._environ, {}))

    def outgoing(self, operation: TeamOperation) -> TeamOperation:
        return self.key.prove(operation, SPACE) if self.key else operation

    def _verified(self, operation: TeamOperation) -> TeamOperation | None:
        return self.key.verified(operation, SPACE) if self.key else None

    def _refuse(self, op_id: str, reason: str) -> None:
        raise TeamError(f"the server refuses {op_id}: {reason}")
