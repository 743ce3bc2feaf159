"""The ingest queue of the shared server: a table whose rows a worker locks while it processes them.

Any number of workers take texts side by side (FOR UPDATE SKIP LOCKED). A text is processed in one
transaction in the name of its member: a worker that dies leaves it waiting. Turns never travel, so
only the records of a text are kept.
"""

import threading
from collections.abc import Callable
from typing import Any

import orjson
import psycopg

from memory_fabric import ids
from memory_fabric.capture.remember import state
from memory_fabric.errors import FabricError
from memory_fabric.ingest import parts
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Provenance
from memory_fabric.servers.team import keys
from memory_fabric.servers.team.access import Access
from memory_fabric.servers.team.errors import of_database
from memory_fabric.servers.team.memory import TeamMemory
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.store import write
from memory_fabric.store.operations.ingest import digest
from memory_fabric.store.queues.ingest_queue import (
    FIRST_RETRY_S,
    MAX_ATTEMPTS,
    MAX_ERROR_CHARS,
    MOST_RETRY_S,
    Accepted,
    Claimed,
    IdempotencyConflict,
    QueuedText,
)
from memory_fabric.text import cut, one_line

POLL_S = 1.0
ACCEPT = (
    "INSERT INTO memory_fabric.ingested (id, space, domain, idempotency_key, digest, body, length) "
    "VALUES (%s, %s, %s, %s, %s, %s::jsonb, %s) ON CONFLICT DO NOTHING RETURNING id"
)
KNOWN = (
    "SELECT id, digest, length, domain FROM memory_fabric.ingested "
    "WHERE space = %s AND idempotency_key = %s"
)
STATE = (
    "SELECT id, state, domain, length, attempts, error, "
    "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), "
    "coalesce(to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), ''), "
    "records FROM memory_fabric.ingested WHERE space = %s AND id = %s"
)
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


def accept(memory: TeamMemory, ingest: Ingest) -> Accepted | IdempotencyConflict:
    """Store a text in the queue; it is durable once the transaction has ended."""
    body = write.cleaned(ingest._asdict() | {"key_decisions": list(ingest.key_decisions)})
    by = memory.domain_of(str(body["domain"]))
    body |= {"domain": by}
    summed, length = digest(body), len(body["session_summary"])
    text = orjson.dumps(body).decode()
    given = (ids.new_id(), memory.space, by, ingest.idempotency_key, summed, text, length)
    new = memory.query(ACCEPT, given)
    if new:
        return Accepted(str(new[0][0]), length, by)
    [(id_, known, length, domain)] = memory.query(KNOWN, (memory.space, ingest.idempotency_key))
    if known != summed:
        return IdempotencyConflict(str(id_))
    return Accepted(str(id_), length, domain, repeated=True)


def find(memory: TeamMemory, id_: str) -> QueuedText | None:
    """Return the state of one of the caller's texts; None if there is none with this id."""
    found = memory.query(STATE, (memory.space, id_))
    if not found:
        return None
    id_, state_, domain, length, attempts, error, created_at, ended_at, records = found[0]
    return QueuedText(
        str(id_),
        state_,
        domain,
        length,
        attempts,
        error,
        created_at,
        ended_at,
        records=tuple(records),
    )


class Worker:
    """A thread that processes texts as they become due, until it is closed."""

    def __init__(self, access: Access, say: Callable[[str], object]) -> None:
        self._access, self._say = access, say
        self._due, self._ending = threading.Event(), threading.Event()
        self._last_error = ""
        self._thread = threading.Thread(target=self._run, name="ingest", daemon=True)

    def start(self) -> None:
        """Begin to process texts."""
        self._thread.start()

    def wake(self) -> None:
        """Look for texts now."""
        self._due.set()

    def close(self, timeout_s: float) -> None:
        """End after the text under way; a longer one is left to another worker."""
        self._ending.set()
        self._due.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def process_due(self) -> int:
        """Process the texts that are due now and return how many there were."""
        count = 0
        members = self._access.with_connection(self._members)
        for member in members:
            while not self._ending.is_set() and self._processed_one(member):
                count += 1
        return count

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self.process_due()
                self._last_error = ""
            except Exception as error:  # noqa: BLE001 - the texts of others are processed all the same
                if str(error) != self._last_error:  # once, not with every attempt
                    self._say(f"ingest: {error}")
                self._last_error = str(error)
            self._due.wait(POLL_S)
            self._due.clear()

    def _members(self, connection: Connection) -> list[str]:
        rows = connection.execute(
            "SELECT memory_fabric.members_with_texts(%s)", (self._access.space,)
        ).fetchall()
        return [str(member) for (member,) in rows]

    def _processed_one(self, member: str) -> bool:
        """Process a text of a member; return False if none is due."""
        claimed: list[str] = []

        def job(connection: Connection) -> bool:
            with connection.transaction():
                return self._process(connection, member, claimed)

        try:
            return self._access.with_connection(job)
        except Exception as error:  # noqa: BLE001 - a member may insert any body
            failed = error
        if not claimed:
            raise failed
        self._access.with_connection(lambda c: self._note_failure(c, member, claimed[0], failed))
        return True

    def _process(self, connection: Connection, member: str, claimed: list[str]) -> bool:
        memory = self._memory(connection, member, "")
        rows = connection.execute(CLAIM, (memory.space,)).fetchall()
        if not rows:
            return False
        id_, body, attempts, domain, at = rows[0]
        claimed.append(str(id_))
        # What is made of a text lies in its domain, whatever its lines say.
        memory = self._memory(connection, member, "" if domain in ("", "general") else domain)
        try:
            made = _records(memory, Claimed(str(id_), _ingest(body), attempts, at))
            connection.execute(DONE, (made, id_))
        except psycopg.Error as error:
            raise of_database(error) from error
        return True

    def _memory(self, connection: Connection, member: str, domain: str) -> TeamMemory:
        holder = keys.Holder(self._access.space, member, "ingest", domain)
        return self._access.memory_of(connection, holder)

    def _note_failure(
        self, connection: Connection, member: str, id_: str, error: Exception
    ) -> None:
        said = str(error) if isinstance(error, FabricError) else type(error).__name__
        reason = cut(one_line(said), MAX_ERROR_CHARS)
        with connection.transaction():
            self._memory(connection, member, "")
            connection.execute(FAILED, (reason, MAX_ATTEMPTS, FIRST_RETRY_S, MOST_RETRY_S, id_))


def _records(memory: TeamMemory, claimed: Claimed) -> list[str]:
    """Store the records of a text and return their ids."""
    by: Provenance = parts.provenance(claimed)
    found = []
    for record in parts.records(claimed, {}):
        stored, _ = state(memory, record._replace(scope="team"), by)
        if stored is not None:
            found.append(stored.id)
    return list(dict.fromkeys(found))


def _ingest(body: dict[str, Any]) -> Ingest:
    known = {name: value for name, value in body.items() if name in Ingest._fields}
    return Ingest(**known | {"key_decisions": tuple(known.get("key_decisions", ()))})
