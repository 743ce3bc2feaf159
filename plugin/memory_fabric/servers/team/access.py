"""Work in the name of a key's member: threads with a connection each, and a transaction a request.

Nothing but connections and what was looked up lately is kept, so several processes serve one
database. A connection that broke is opened anew with the next request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import orjson
import psycopg
from psycopg.types.json import set_json_loads

from memory_fabric.config import Settings
from memory_fabric.servers.team import keys
from memory_fabric.servers.team.errors import Unauthorized, of_database, of_log
from memory_fabric.servers.team.memory import TeamMemory
from memory_fabric.servers.team.vocabulary import Vocabulary
from memory_fabric.sharing.server import connect
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.team.errors import TeamError

Job = Callable[[TeamMemory], "T"]


T = TypeVar("T")

# Threads, each with a connection: most of a request is waiting for the database.
THREADS = 4
STATEMENT_LIMIT_MS = 15_000
# Requests that wait for a thread; a client is better told to come again.
MAX_WAITING = 200
APPLICATION = "memory-fabric serve"
ENTER = (
    "SELECT set_config('role', %s, true), set_config('memory_fabric.domain', %s, true), "
    f"set_config('statement_timeout', '{STATEMENT_LIMIT_MS}', true)"
)


class Busy(Exception):
    """More requests wait than are worth waiting for."""


class Access:
    """The database of a team: `dsn` is a connection string of libpq, `space` what is served."""

    def __init__(
        self,
        settings: Settings,
        dsn: str,
        space: str,
        *,
        threads: int = THREADS,
        insecure: bool = False,
    ) -> None:
        self.settings, self.space = settings, space
        self._dsn, self._insecure = dsn, insecure
        self._vocabulary = Vocabulary()
        self._own = threading.local()
        self._lock, self._waiting = threading.Lock(), 0
        self._open: list[Connection] = []
        self._threads = ThreadPoolExecutor(threads, "team")

    async def ask(self, given: bytes, job: Job[T]) -> T:
        """Run `job(memory)` in the name of the key with this digest, and return its value.

        All that it writes is kept, or nothing. Raises Unauthorized, NoMember, StoreUnavailable,
        DeadlinePassed, Busy, and what the job raises.
        """
        with self._lock:
            if self._waiting >= MAX_WAITING:
                raise Busy
            self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, self.run, given, job
            )
        finally:
            with self._lock:
                self._waiting -= 1

    async def check(self) -> None:
        """Raise StoreUnavailable if the database does not answer."""
        await asyncio.get_running_loop().run_in_executor(
            self._threads, self.with_connection, lambda c: c.execute("SELECT 1")
        )

    def run(self, given: bytes, job: Job[T]) -> T:
        """Do what `ask` does, in the calling thread."""
        return self.with_connection(lambda connection: self._in_name_of(connection, given, job))

    def with_connection(self, job: Callable[[Connection], T]) -> T:
        """Run `job(connection)` with the thread's connection; errors as in `ask`."""
        is_new = self._connection is None
        try:
            return self._tried(job)
        except psycopg.Error as error:
            broken = self._drop_broken()
            if is_new or not broken:
                raise of_database(error) from error
        # The server was restarted since the last request, as a rule: once more, anew.
        try:
            return self._tried(job)
        except psycopg.Error as error:
            self._drop_broken()
            raise of_database(error) from error

    def close(self) -> None:
        """Finish what is under way and close the connections."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for connection in self._open:
            connection.close()

    def memory_of(self, connection: Connection, holder: keys.Holder) -> TeamMemory:
        """Return the memory of a key's holder, within the transaction that is under way."""
        connection.execute(ENTER, (holder.member, holder.domain))
        domains = (holder.domain,) if holder.domain else None
        return TeamMemory(
            self.settings, connection, holder.space, holder.member, self._vocabulary, domains
        )

    @property
    def _connection(self) -> Connection | None:
        return getattr(self._own, "connection", None)

    def _tried(self, job: Callable[[Connection], T]) -> T:
        connection = self._connection
        if connection is None:
            try:
                connection = connect.connect(
                    self._dsn, insecure=self._insecure, application=APPLICATION
                )
            except TeamError as error:
                raise of_log(error) from error
            set_json_loads(orjson.loads, connection)
            self._own.connection = connection
            with self._lock:
                self._open.append(connection)
        try:
            return job(connection)
        except TeamError as error:
            self._drop_broken()
            raise of_log(error) from error

    def _drop_broken(self) -> bool:
        """Forget the thread's connection if it is of no use any more."""
        connection = self._connection
        if connection is None or not (connection.closed or connection.broken):
            return False
        with self._lock:
            self._open.remove(connection)
        self._own.connection = None
        connection.close()
        return True

    def _in_name_of(self, connection: Connection, given: bytes, job: Job[T]) -> T:
        with connection.transaction():
            holder = keys.holder_of(connection, given)
            if holder is None or holder.space != self.space:
                raise Unauthorized(
                    "The key is missing or not valid.",
                    remedy="Ask an owner of the space: memory-fabric serve --team DSN --new-key.",
                )
            memory = self.memory_of(connection, holder)
            value = job(memory)
            if memory.failed is not None:
                raise memory.failed
            return value
