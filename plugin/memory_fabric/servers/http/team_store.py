"""The HTTP application's store for a team's shared log, with its queue of texts to ingest.

The queue is a table. A worker locks a row while it processes the text (FOR UPDATE SKIP LOCKED), in
one transaction as the text's member; if a worker dies, the text stays in the queue. Only the
records made from a text are stored, since turns are never sent to the shared log.
"""

import asyncio
import sys
import threading
from functools import partial
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memory_fabric import ids
from memory_fabric.capture.remember import state
from memory_fabric.config import Settings
from memory_fabric.errors import FabricError
from memory_fabric.ingest import parts
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.servers.http import team_keys, team_page
from memory_fabric.servers.http.guard import HOLDER
from memory_fabric.servers.http.ingest import Outcome
from memory_fabric.servers.http.keys import NOBODY
from memory_fabric.servers.http.requests import JSON_TYPE
from memory_fabric.servers.http.responses import Job, PageJobs, answered
from memory_fabric.servers.http.routes import Store
from memory_fabric.servers.http.team_access import Access
from memory_fabric.servers.http.team_memory import TeamMemory, undo_last
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.store import write
from memory_fabric.store.operations.ingest import digest
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import Accepted, Claimed, QueuedText
from memory_fabric.text import cut, one_line

UNDO_PATH = "/v1/memory/undo"
# Seconds that a running request or text has to finish at shutdown.
CLOSE_GRACE_S = 2.0
POLL_S = 1.0
CHECK_REPLICA = "Look at the server of --read; it is asked again by itself."
ACCEPT = (
    "INSERT INTO memory_fabric.ingested (id, space, domain, idempotency_key, digest, body, length) "
    "VALUES (%s, %s, %s, %s, %s, %s::jsonb, %s) ON CONFLICT DO NOTHING RETURNING id"
)
KNOWN = (
    "SELECT id, digest, length, domain FROM memory_fabric.ingested "
    "WHERE space = %s AND idempotency_key = %s"
)
STATE = (
    "SELECT id::text, state, domain, length, attempts, error, "
    "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), "
    "coalesce(to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), ''), "
    "records FROM memory_fabric.ingested WHERE space = %s AND id = %s"
)
MEMBERS = "SELECT memory_fabric.members_with_texts(%s)"
CLAIM = (
    "SELECT id, body, attempts, domain, "
    "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') "
    "FROM memory_fabric.ingested WHERE space = %s AND state = 'waiting' AND due_at <= now() "
    "ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED"
)
DONE = (
    "UPDATE memory_fabric.ingested SET state = 'done', body = NULL, error = '', records = %s, "
    "attempts = attempts + 1, ended_at = now() WHERE id = %s"
)
FAILED = (
    "UPDATE memory_fabric.ingested SET attempts = attempts + 1, error = %s, "
    "state = CASE WHEN attempts + 1 >= %s THEN 'dead' ELSE state END, "
    "due_at = now() + make_interval(secs => least(%s * 2 ^ attempts, %s)) WHERE id = %s"
)


class MemberKeys:
    """Keys that the database validates; the holder of a key is its digest."""

    are_needed = True

    def holder(self, key: str) -> str:
        """Return the digest of a key or cookie in hexadecimal; NOBODY if it cannot be a key."""
        may_be_key = 0 < len(key) <= team_keys.MAX_KEY_CHARS
        return team_keys.digest(key).hex() if may_be_key else NOBODY

    holder_by_cookie = holder

    def cookie_for(self, key: str) -> str:
        return team_keys.cookie_of(key) if self.holder(key) else ""

    def is_good(self, holder: str) -> bool:
        """Return True, because responses are too short for a key to be checked again meanwhile."""
        return True


class TeamStore(Store):
    """The application's store for one space; `holder` is a key's digest in hexadecimal."""

    def __init__(
        self, settings: Settings, dsn: str, space: str, read: str = "", *, insecure: bool = False
    ) -> None:
        self._access = Access(settings, dsn, space, read, insecure=insecure)
        self._worker = Worker(self._access)
        jobs = (team_page.picture, team_page.explained, team_page.history, self._status)
        self.page = PageJobs(*jobs, team_page.projects)
        self.more_routes = [Route(UNDO_PATH, self._undo, methods=["POST"])]

    async def begin(self) -> None:
        self._worker.start()

    async def end(self) -> None:
        """Wait for running jobs and close all connections."""
        await asyncio.to_thread(self._worker.close, CLOSE_GRACE_S)
        await asyncio.to_thread(self._access.close)

    async def admit(self, holder: str) -> None:
        await self._access.read(holder, lambda _: None)

    async def answer(self, holder: str, job: Job, project: str = "") -> Response:
        """Respond with a reading job's result, cached by its parameters except `now`."""
        question = None
        if isinstance(job, partial) and job.func != self._status:
            asked = (item for item in job.keywords.items() if item[0] != "now")
            question = (job.func, *asked)
        body = await self._access.read(holder, lambda memory: answered(memory, job).body, question)
        return Response(body, media_type=JSON_TYPE)

    async def accept(self, holder: str, ingest: Ingest) -> Outcome:
        outcome = await self._access.ask(holder, partial(accept, ingest=ingest))
        if isinstance(outcome, Accepted):
            self._worker.due.set()
        return outcome

    async def ingested(self, holder: str, id_: str) -> QueuedText | None:
        return await self._access.ask(holder, partial(find, id_=id_))

    async def reasons(self) -> list[str]:
        """Return the reason why the database cannot be used; empty if it answers."""
        try:
            access = self._access
            await access.in_thread(lambda: access.with_connection(lambda c: c.execute("SELECT 1")))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not ready
            return [str(error)]
        return []

    def mcp_manager(self, max_bytes: int) -> Any:
        """Return the handler of MCP requests, which are independent of each other."""
        from memory_fabric.servers.http import team_tools  # imported with the first message

        return team_tools.manager(self._access, max_bytes)

    def _status(self, memory: Any) -> dict[str, Any]:
        status = team_page.status(memory)
        reason = self._access.without_replica
        if reason:
            text = f"The replica is not asked, the primary answers: {reason}"
            status["tiers"][0]["findings"].append({"reason": text, "remedy": CHECK_REPLICA})
        return status

    async def _undo(self, request: Request) -> Response:

        def undo(memory: TeamMemory) -> Response:
            return answered(memory, lambda _: {"undone": undo_last(memory)})

        return await self._access.ask(request.scope[HOLDER], undo)


def accept(memory: TeamMemory, ingest: Ingest) -> Outcome:
    """Add a text to the queue; it is durable once the transaction is committed."""
    body = write.cleaned(ingest._asdict() | {"key_decisions": list(ingest.key_decisions)})
    domain = body["domain"] = memory.domain_of(str(body["domain"]))
    hashed, length = digest(body), len(body["session_summary"])
    text, key = orjson.dumps(body).decode(), ingest.idempotency_key
    new = memory.reader.query(
        ACCEPT, (ids.new_id(), memory.space, domain, key, hashed, text, length)
    )
    if new:
        return Accepted(str(new[0][0]), length, domain)
    [(id_, stored_hash, length, domain)] = memory.reader.query(KNOWN, (memory.space, key))
    if stored_hash != hashed:
        return ingest_queue.IdempotencyConflict(str(id_))
    return Accepted(str(id_), length, domain, repeated=True)


def find(memory: TeamMemory, id_: str) -> QueuedText | None:
    """Return the state of one of the caller's texts; None if the id is unknown."""
    rows = memory.reader.query(STATE, (memory.space, id_))
    return QueuedText(*rows[0]) if rows else None


class Worker(threading.Thread):
    """A thread that processes queued texts when due, or at once if `due` is set, until closed."""

    def __init__(self, access: Access) -> None:
        super().__init__(name="ingest", daemon=True)
        self._access = access
        self.due, self._ending = threading.Event(), threading.Event()

    def close(self, timeout_s: float) -> None:
        """Stop after the current text; if that takes too long, another worker processes it."""
        self._ending.set()
        self.due.set()
        if self.is_alive():
            self.join(timeout_s)

    def run(self) -> None:
        """Process texts until `close` is called."""
        last_error = ""
        while not self._ending.is_set():
            try:
                rows = self._access.with_connection(
                    lambda c: c.execute(MEMBERS, (self._access.space,)).fetchall()
                )
                for (member,) in rows:
                    while not self._ending.is_set() and self._process_next(str(member)):
                        pass
                last_error = ""
            except Exception as error:  # noqa: BLE001 - the texts of others are processed all the same
                if str(error) != last_error:  # printed once, not at each attempt
                    print(f"memory-fabric: ingest: {error}", file=sys.stderr)  # noqa: T201
                last_error = str(error)
            self.due.wait(POLL_S)
            self.due.clear()

    def _process_next(self, member: str) -> bool:
        """Process one due text of a member; return False if there is none."""
        claimed: list[str] = []

        def process(connection: Connection) -> bool:
            with connection.transaction():
                memory = self._memory(connection, member)
                rows = connection.execute(CLAIM, (memory.space,)).fetchall()
                if not rows:
                    return False
                id_, body, attempts, domain, at = rows[0]
                claimed.append(str(id_))
                # Records of a text belong to the text's domain, even if a line states another one.
                memory = self._memory(connection, member, "" if domain == "general" else domain)
                fields = {name: value for name, value in body.items() if name in Ingest._fields}
                fields["key_decisions"] = tuple(fields.get("key_decisions", ()))
                text = Claimed(str(id_), Ingest(**fields), attempts, at)
                connection.execute(DONE, (_stored_records(memory, text), id_))
                return True

        def note_failure(connection: Connection) -> None:
            with connection.transaction():
                self._memory(connection, member)
                limits = (
                    ingest_queue.MAX_ATTEMPTS,
                    ingest_queue.FIRST_RETRY_S,
                    ingest_queue.MOST_RETRY_S,
                )
                connection.execute(FAILED, (reason, *limits, claimed[0]))

        try:
            return self._access.with_connection(process)
        except Exception as error:
            if not claimed:
                raise
            # A member may insert any content, so any error is possible.
            message = str(error) if isinstance(error, FabricError) else type(error).__name__
            reason = cut(one_line(message), ingest_queue.MAX_ERROR_CHARS)
        self._access.with_connection(note_failure)
        return True

    def _memory(self, connection: Connection, member: str, domain: str = "") -> TeamMemory:
        holder = team_keys.Holder(self._access.space, member, "ingest", domain)
        return self._access.memory_of(connection, holder)


def _stored_records(memory: TeamMemory, text: Claimed) -> list[str]:
    by = parts.provenance(text)
    stored = (
        state(memory, record._replace(scope="team"), by)[0] for record in parts.records(text, {})
    )
    return list(dict.fromkeys(record.id for record in stored if record is not None))
