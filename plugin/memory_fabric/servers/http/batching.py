"""Group commit: requests that arrive during a commit share the next one.

Ingest has its own thread and connection, so that it does not wait for slow reads, such as the
picture of a large memory.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Any

from memory_fabric.errors import BadInput, FabricError, StoreUnavailable
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Provenance
from memory_fabric.servers import store_thread
from memory_fabric.servers.http import responses
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store import files, switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import (
    Accepted,
    Backlog,
    IdempotencyConflict,
    QueuedText,
)

Outcome = Accepted | IdempotencyConflict
Waiting = tuple[Ingest, asyncio.Future[Outcome]]


SAID_BY = Provenance(source="ingest", trust="tool")
# The most texts in one commit: enough to hide the disk's latency, and soon finished.
MAX_TOGETHER = 128
# The most texts and bytes that may wait, which they do only if the disk is slower than senders.
MAX_WAITING, MAX_WAITING_BYTES = 1024, 64 << 20
# The interval of checks of the backlog while texts arrive.
LOOK_EVERY_S = 2.0
# The size of a test write: about that of a long text with its index entries.
PROOF_BYTES = 64 << 10


class BatchedWriter:
    """Writes ingested texts in batches; `store` is the thread of all other requests.

    `on_accepted` is called after each commit, to start a worker. An error raised by `check` is the
    response to a text.
    """

    def __init__(
        self,
        open_memory: Callable[[], Memory],
        store: StoreThread,
        max_backlog: int,
        on_accepted: Callable[[], None],
        *,
        check: Callable[[], None] | None = None,
    ) -> None:
        # It only commits; the worker that processes the texts writes the other tiers.
        self._thread = StoreThread(open_memory, check=check)
        self._store, self._max_backlog, self._on_accepted = store, max_backlog, on_accepted
        self._waiting: list[Waiting] = []
        self._bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._looked_at = -LOOK_EVERY_S
        self._is_full = False
        # True if the last write succeeded; unknown, so False, before the first.
        self._is_proven = False
        self._told = ""

    async def accept(self, ingest: Ingest) -> Outcome:
        """Store a text durably and return the outcome. Raises StoreUnavailable, BadInput."""
        size = _bytes_of(ingest)
        if len(self._waiting) >= MAX_WAITING or self._bytes + size > MAX_WAITING_BYTES:
            raise StoreUnavailable(
                "", "Too many texts wait to be written.", remedy="Send it later."
            )
        if self._is_full:
            self._look()
            raise StoreUnavailable(
                "",
                f"More than {self._max_backlog:,} texts wait to be processed.",
                remedy="Send it later; memory-fabric queue shows them.",
            )
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((ingest, answer))
        self._bytes += size
        if self._task is None:
            self._task = asyncio.create_task(self._commit_all())
        return await answer

    async def passage(self, id_: str) -> QueuedText | None:
        """Return the state of a text, or None for an unknown id. Raises FabricError."""
        return await self._thread.ask(lambda memory: ingest_queue.find(memory, id_), at_once=False)

    async def backlog(self) -> Backlog:
        """Return the backlog of unprocessed texts. Raises FabricError."""
        return await self._thread.ask(ingest_queue.backlog, at_once=False)

    async def complaint(self) -> str:
        """Return why memory cannot be written now, without file names; empty if it can.

        After a text that could not be stored, a test write is made.
        """
        if self._is_full:
            self._look()  # clients that are refused send no text that would trigger this check
        proof_bytes = 0 if self._is_proven else PROOF_BYTES
        try:
            why, is_proven = await self._thread.ask(
                lambda memory: _complaint(memory, proof_bytes), at_once=False
            )
            # Without a test write, a text may have failed meanwhile.
            self._is_proven = self._is_proven or is_proven
        except Exception as error:  # noqa: BLE001 - reported to monitoring
            self._is_proven = False
            why = responses.without_names(error)
            self._tell(error)
        return why

    def _tell(self, error: Exception) -> None:
        """Print an unexpected error on the server's terminal, once."""
        what = f"{type(error).__name__}: {error}"
        if not isinstance(error, FabricError) and what != self._told:
            print(f"memory-fabric: {what}", file=sys.stderr)  # noqa: T201
            self._told = what

    @property
    def is_full(self) -> bool:
        """Return True if too many texts wait to be processed."""
        return self._is_full

    def close(self, timeout_s: float) -> None:
        """Finish the current commit and close the connection."""
        self._thread.close(timeout_s)

    async def _commit_all(self) -> None:
        try:
            while self._waiting:
                together = self._waiting[:MAX_TOGETHER]
                del self._waiting[:MAX_TOGETHER]
                await self._commit(together)
        finally:
            self._task = None

    async def _commit(self, together: list[Waiting]) -> None:
        texts = [ingest for ingest, _ in together]
        try:
            outcomes = await self._thread.ask(
                lambda memory: _accepted(memory, texts), at_once=False
            )
        except Exception as error:  # noqa: BLE001 - reported to the waiting requests
            self._is_proven = self._is_proven and not _is_trouble(error)
            outcomes = [error] * len(texts)
        else:
            self._is_proven = not any(_is_trouble(outcome) for outcome in outcomes)
            self._on_accepted()
            self._look()
        for (ingest, answer), outcome in zip(together, outcomes, strict=True):
            self._bytes -= _bytes_of(ingest)
            if answer.done():
                continue  # the client has disconnected
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    def _look(self) -> None:
        """Check the size of the backlog in the background, at most every two seconds."""
        now = time.monotonic()
        if self._looking is None and now - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = now
            self._looking = asyncio.create_task(self._see())

    async def _see(self) -> None:
        try:
            found = await self._store.ask(ingest_queue.backlog, at_once=False)
            self._is_full = found.waiting + found.working >= self._max_backlog
        except Exception as error:  # noqa: BLE001 - the last known state is kept
            print(f"memory-fabric: backlog: {error}", file=sys.stderr)  # noqa: T201
        finally:
            self._looking = None


def _accepted(memory: Memory, texts: list[Ingest]) -> list[Any]:
    """Store the texts; return each outcome, or the error of a text that cannot be stored."""
    store_thread.renew(memory)
    if not memory.settings.writes:
        raise switches.off_error(memory.settings)
    if memory.settings.domain in memory.settings.domains.isolated:
        texts = [text._replace(domain=memory.settings.domain) for text in texts]
    database = memory.database("project", create=True)
    if database is not None:
        database.prioritize_writes()
    try:
        return list(ingest_queue.accept(memory, texts, SAID_BY))
    except BadInput:
        if len(texts) == 1:
            raise
    return _one_by_one(memory, texts)


def _one_by_one(memory: Memory, texts: list[Ingest]) -> list[Any]:
    """Store one text after the other, so that a later failure does not undo earlier texts."""
    outcomes: list[Any] = []
    for text in texts:
        try:
            outcomes += ingest_queue.accept(memory, [text], SAID_BY)
        except BadInput as error:
            outcomes.append(error)
        except Exception as error:  # noqa: BLE001 - the other texts keep their outcomes
            return outcomes + [error] * (len(texts) - len(outcomes))
    return outcomes


def _is_trouble(outcome: object) -> bool:
    """Return True if the memory caused the error, and not the text."""
    return isinstance(outcome, Exception) and not isinstance(outcome, BadInput)


def _bytes_of(ingest: Ingest) -> int:
    """Return the size of the texts in bytes, without the other, small fields."""
    return sum(map(sys.getsizeof, (ingest.session_summary, *ingest.key_decisions)))


def _complaint(memory: Memory, proof_bytes: int) -> tuple[str, bool]:
    """Return the problem, and True if a test write was made. Raises FabricError."""
    store_thread.renew(memory)
    if not memory.settings.writes:
        return str(switches.off_error(memory.settings)), False
    database = memory.database("project", create=False)
    if database is not None:
        database.prove(proof_bytes)
        return "", proof_bytes > 0
    can_be_made = files.can_make(memory.path_of("project"))
    return (
        "" if can_be_made else "The memory cannot be created: its folder cannot be written.",
        False,
    )
