"""Work in the name of a key's member: threads with a connection each, and a transaction a request.

Nothing but connections and what was looked up lately is kept, so several processes serve one
database. A connection that broke is opened anew with the next request. The key is checked by the
database in the request's own transaction, so a deleted key or a removed member counts at once.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import orjson
import psycopg
from psycopg.types.json import set_json_loads

from memory_fabric.config import Settings
from memory_fabric.errors import StoreUnavailable
from memory_fabric.servers.http import team_keys
from memory_fabric.servers.http.responses import Unauthorized
from memory_fabric.servers.http.team_memory import TeamMemory
from memory_fabric.servers.http.team_queries import of_database, of_log
from memory_fabric.servers.http.team_words import Vocabulary
from memory_fabric.sharing.server import connect
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.team.errors import TeamError

T = TypeVar("T")
TeamJob = Callable[[TeamMemory], T]

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


class Access:
    """The database of a team: `dsn` is a connection string of libpq, `space` what is served."""

    def __init__(self, settings: Settings, dsn: str, space: str, *, insecure: bool = False) -> None:
        self.settings, self.space = settings, space
        self._dsn, self._insecure = dsn, insecure
        self._vocabulary = Vocabulary()
        self._idle: list[Connection] = []
        self._threads, self._waiting = ThreadPoolExecutor(THREADS, "team"), 0

    async def ask(self, holder: str, job: TeamJob[T]) -> T:
        """Run `job(memory)` in the name of the key with this digest, and return its value.

        All that it writes is kept, or nothing. Raises Unauthorized, Forbidden, StoreUnavailable,
        DeadlinePassed, and what the job raises.
        """

        def in_name_of_holder(connection: Connection) -> T:
            with connection.transaction():
                member = team_keys.holder_of(connection, bytes.fromhex(holder))
                if member is None or member.space != self.space:
                    raise Unauthorized(
                        "The key is missing or not valid.",
                        remedy="Ask an owner of the space: "
                        "memory-fabric serve --team DSN --new-key.",
                    )
                memory = self.memory_of(connection, member)
                value = job(memory)
                if memory.failed is not None:
                    raise memory.failed
                return value

        return await self.in_thread(in_name_of_holder)

    async def in_thread(self, job: Callable[[Connection], T]) -> T:
        """Run `job(connection)` in a thread; errors as in `ask`."""
        if self._waiting >= MAX_WAITING:
            raise StoreUnavailable("", "Too many requests wait for the database.")
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self.with_connection, job)
        finally:
            self._waiting -= 1

    def with_connection(self, job: Callable[[Connection], T]) -> T:
        """Run `job(connection)` in this thread; errors as in `ask`."""
        try:
            connection, was_idle = self._idle.pop(), True
        except IndexError:
            connection, was_idle = self._connected(), False
        try:
            return job(connection)
        except TeamError as error:
            raise of_log(error) from error
        except psycopg.Error as error:
            # The server was restarted since the last request, as a rule: once more, anew.
            if not (was_idle and connection.closed):
                raise of_database(error) from error
        finally:
            if connection.closed:
                connection.close()
            else:
                self._idle.append(connection)
        return self.with_connection(job)

    def close(self) -> None:
        """Finish what is under way and close the connections."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for connection in self._idle:
            connection.close()

    def memory_of(self, connection: Connection, holder: team_keys.Holder) -> TeamMemory:
        """Return the memory of a key's holder, within the transaction that is under way."""
        connection.execute(ENTER, (holder.member, holder.domain))
        domains = (holder.domain,) if holder.domain else None
        return TeamMemory(
            self.settings, connection, holder.space, holder.member, self._vocabulary, domains
        )

    def _connected(self) -> Connection:
        try:
            connection = connect.connect(
                self._dsn, insecure=self._insecure, application=APPLICATION
            )
        except TeamError as error:
            raise of_log(error) from error
        set_json_loads(orjson.loads, connection)
        return connection
