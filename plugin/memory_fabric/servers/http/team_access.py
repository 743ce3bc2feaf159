"""Requests to a team's database: each runs in a thread, in a transaction with the sender's role.

Several processes can serve one database, because a process stores only connections and recent
answers. The database checks the key at each request. A replica (a hot standby) answers reads once
it contains all that the primary contained when the request arrived, so clients read their own
writes and never see erased content; otherwise the primary answers. While the primary is down, the
replica answers even if it lags.

For some seconds, a repeated question by the same member with the same domain is answered from a
cache, unless the team's log has changed since (an operation was added, replaced or erased).
"""

import asyncio
import sys
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import orjson
import psycopg
from psycopg.types.json import set_json_loads

from memory_fabric.config import Settings
from memory_fabric.errors import DeadlinePassed, FabricError, StoreUnavailable
from memory_fabric.servers.http import responses, team_keys, team_memory, team_rows, team_words
from memory_fabric.servers.http.team_reader import TeamReader
from memory_fabric.sharing.server import connect, translate
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.team.errors import TeamError

T = TypeVar("T")
TeamJob = Callable[[team_memory.TeamMemory], T]
# The number of threads, each with its own connection; most of the time they wait for the database.
THREADS = 4
# Maximum number of requests that run or wait for a thread; others are refused and may be retried.
MAX_WAITING = 200
APPLICATION = "memory-fabric serve"
# How many seconds answers are cached, and the maximum number of cached answers.
KEPT_S, MAX_KEPT = 5.0, 500
# Longest wait for a lagging replica, pause between its checks, and pause after its failure.
REPLAY_S, LOOK_S, RETRY_S = 0.25, 0.01, 1.0
ENTER = (
    "SELECT set_config('role', %s, true), set_config('memory_fabric.domain', %s, true), "
    "set_config('statement_timeout', '15000', true)"
)


class Access:
    """Access to a team's log, by libpq connection strings: `dsn`, and `read` of a replica or ''."""

    def __init__(
        self, settings: Settings, dsn: str, space: str, read: str = "", *, insecure: bool = False
    ) -> None:
        self.settings, self.space = settings, space
        self.primary = Connections(dsn, insecure=insecure)
        self._replica = Connections(read, insecure=insecure) if read else None
        # Why the replica is not used ("" if it is used), and when it may be tried again.
        self.without_replica, self._retry_at = "", 0.0
        self._vocabulary = team_words.Vocabulary()
        self._answers: dict[Hashable, tuple[int, float, Any]] = {}
        self._threads, self._waiting = ThreadPoolExecutor(THREADS, "team"), 0

    async def ask(self, holder: str, job: TeamJob[T]) -> T:
        """Run a job as the member with key digest `holder`. Raises Unauthorized and FabricError."""
        return await self.in_thread(lambda: self.primary.run(self._asked(holder, job)))

    async def read(self, holder: str, job: TeamJob[T], question: Hashable = None) -> T:
        """Run a read-only job, if possible on the replica; cache its value by `question` if set."""
        return await self.in_thread(lambda: self._read(holder, job, question))

    def _read(self, holder: str, job: TeamJob[T], question: Hashable) -> T:
        if self._replica is None or time.monotonic() < self._retry_at:
            return self.primary.run(self._asked(holder, job, question))
        alone: FabricError | None = None
        state = 0
        try:
            state = self.primary.run(lambda c: self._admitted(c, holder).state)
        except StoreUnavailable as error:
            alone = error
        try:
            value = self._replica.run(self._asked(holder, job, question, state))
            self._tell("")
            return value
        except (StoreUnavailable, DeadlinePassed) as error:
            self._tell(error.message)
            if alone:
                raise alone from error
        return self.primary.run(self._asked(holder, job, question))

    def _tell(self, without_replica: str) -> None:
        """Set `without_replica`; print a message if the use of the replica ends or resumes."""
        if without_replica:
            self._retry_at = time.monotonic() + RETRY_S
        if bool(without_replica) != bool(self.without_replica):
            now = f"is not asked: {without_replica}" if without_replica else "is asked again"
            print(f"memory-fabric: the replica {now}", file=sys.stderr)  # noqa: T201
        self.without_replica = without_replica

    def _asked(
        self, holder: str, job: TeamJob[T], question: Hashable = None, state: int = 0
    ) -> Callable[[Connection], T]:
        """Return a function that waits for a replica to reach `state` (if not 0) and runs `job`."""

        def asked(connection: Connection) -> T:
            until = time.monotonic() + REPLAY_S
            # Wait for the replica. Each check is a new transaction, so it sees new changes.
            while state:
                seen = team_keys.holder_of(connection, holder)
                if seen is not None and seen.state >= state:
                    break
                if time.monotonic() > until:
                    raise StoreUnavailable("", "The replica lags behind.")
                time.sleep(LOOK_S)
            with connection.transaction():
                member = self._admitted(connection, holder)
                place = (member.member, member.domain, question)
                kept_state, kept_at, value = self._answers.get(place, (-1, 0.0, None))
                now = time.monotonic()
                if question and kept_state == member.state and now - kept_at < KEPT_S:
                    return value  # type: ignore[no-any-return]
                memory = self.memory_of(connection, member)
                value = job(memory)
                if memory.reader.failed is not None:
                    raise memory.reader.failed
                if question:
                    if len(self._answers) >= MAX_KEPT:
                        self._answers = {}
                    self._answers[place] = (member.state, now, value)
                return value

        return asked

    def _admitted(self, connection: Connection, holder: str) -> team_keys.Holder:
        member = team_keys.holder_of(connection, holder)
        if member is None or member.space != self.space:
            remedy = "Ask an owner of the space: memory-fabric serve --team DSN --new-key."
            raise responses.Unauthorized("The key is missing or not valid.", remedy=remedy)
        return member

    async def in_thread(self, job: Callable[[], T]) -> T:
        """Run a job in a worker thread. Raises StoreUnavailable if too many jobs are waiting."""
        if self._waiting >= MAX_WAITING:
            raise StoreUnavailable("", "Too many requests wait for the database.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, job)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        for connections in filter(None, (self.primary, self._replica)):
            connections.close()

    def memory_of(self, connection: Connection, holder: team_keys.Holder) -> team_memory.TeamMemory:
        """Return the team's memory as `holder` may see it; limit the transaction to its rights."""
        connection.execute(ENTER, (holder.member, holder.domain))
        domains = (holder.domain,) if holder.domain else None
        reader = TeamReader(connection, holder.space, holder.member, self._vocabulary, domains)
        return team_memory.TeamMemory(self.settings, reader)


class Connections:
    """A pool of connections to one database server; only one thread at a time uses a connection."""

    def __init__(self, dsn: str, *, insecure: bool = False) -> None:
        self._dsn, self._insecure = dsn, insecure
        self._idle: list[Connection] = []

    def run(self, job: Callable[[Connection], T]) -> T:
        """Run `job` with a connection from the pool. Raises the same errors as `Access.ask`."""
        try:
            connection, was_idle = self._idle.pop(), True
        except IndexError:
            connection, was_idle = self._connected(), False
        try:
            return job(connection)
        except TeamError as error:
            raise team_rows.of_log(error) from error
        except psycopg.Error as error:
            # The server has probably restarted since the last request: retry on a new connection.
            if not (was_idle and connection.closed):
                raise team_rows.of_log(translate.team_error(error, "Cannot answer")) from error
        finally:
            if connection.closed:
                connection.close()
            else:
                self._idle.append(connection)
        return self.run(job)

    def close(self) -> None:
        for connection in self._idle:
            connection.close()

    def _connected(self) -> Connection:
        try:
            new = connect.connect(self._dsn, insecure=self._insecure, application=APPLICATION)
        except TeamError as error:
            raise team_rows.of_log(error) from error
        set_json_loads(orjson.loads, new)
        return new
