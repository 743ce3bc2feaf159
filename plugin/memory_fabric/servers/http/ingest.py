"""The ingest queue of the server: it commits texts in batches, and a child process processes them.

Requests that arrive during a commit share the next commit (group commit). This raised the rate of
sixteen senders from 444 to 893 answers a second (docs/decisions/0032). Ingest has its own thread
and database connection, so that it need not wait for slow reads. The worker process (`memory-fabric
queue work`) is started with the first text, or with the server if texts are waiting.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import memory_fabric
from memory_fabric import ingest_protocol, models, processes
from memory_fabric.errors import BadInput, FabricError, StoreUnavailable
from memory_fabric.servers import store_thread
from memory_fabric.servers.http.responses import without_path
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.setup.packages import ENTRY
from memory_fabric.store import files
from memory_fabric.store.home import switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import ingest_queue

Outcome = ingest_queue.Accepted | ingest_queue.IdempotencyConflict
# A text to commit, the size of its long fields in bytes, and the future that gets the outcome.
Waiting = tuple[ingest_protocol.Ingest, int, asyncio.Future[Outcome]]
SAID_BY = models.Provenance(source="ingest", trust="tool")
# The maximum number of texts per commit: enough to hide the disk's latency, but quick to commit.
MAX_TOGETHER = 128
MAX_WAITING, MAX_WAITING_BYTES = 1024, 64 << 20
# Minimum seconds between two checks of the number of waiting texts.
LOOK_EVERY_S = 2.0
# The size of a test write: about that of a long text with its index entries.
PROOF_BYTES = 64 << 10
# The worker imports this package from here; `-I` prevents imports from the project's folder.
SOURCE = os.path.dirname(os.path.dirname(memory_fabric.__file__))
COMMAND = (sys.executable, "-I", *processes.cache_options(), "-c", ENTRY, SOURCE, "queue", "work")
# The worker gets a lower priority than the server, because senders wait only for the server.
NICE = 10
# The first and the longest pause in seconds before a worker's restart; each pause doubles the last.
FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 60.0
# A worker that ran for at least this many seconds resets the pause to its first value.
LONG_S = 30.0
# Seconds that a worker has at shutdown to finish its text; an unfinished text is retried later.
END_GRACE_S = 2.0


class BatchedWriter:
    """A writer that commits ingested texts in batches, and calls `accepted` after each commit."""

    def __init__(
        self, own: StoreThread, store: StoreThread, max_backlog: int, accepted: Callable[[], None]
    ) -> None:
        # The thread `own` stores and finds texts; the thread `store` counts them for `is_full`.
        self._thread, self._store = own, store
        self._max_backlog, self._on_accepted = max_backlog, accepted
        self._waiting: list[Waiting] = []
        self._bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._looked_at = -LOOK_EVERY_S
        self.is_full = False  # True if too many accepted texts wait to be processed
        self._is_proven = False  # True if the last write succeeded: no test write is needed
        self._printed = ""  # the last unexpected error, so that it is printed only once

    async def accept(self, ingest: ingest_protocol.Ingest) -> Outcome:
        """Store a text durably and return its outcome. Raises StoreUnavailable and BadInput."""
        size = sum(map(sys.getsizeof, (ingest.session_summary, *ingest.key_decisions)))
        if len(self._waiting) >= MAX_WAITING or self._bytes + size > MAX_WAITING_BYTES:
            raise StoreUnavailable("", "Too many texts wait to be stored.", remedy="Send it later.")
        if self.is_full:
            self._look()
            message = f"More than {self._max_backlog:,} texts wait to be processed."
            remedy = "Send it later; memory-fabric queue shows them."
            raise StoreUnavailable("", message, remedy=remedy)
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((ingest, size, answer))
        self._bytes += size
        if self._task is None:
            self._task = asyncio.create_task(self._commit_all())
        return await answer

    async def find(self, id_: str) -> ingest_queue.QueuedText | None:
        return await self._thread.ask(lambda memory: ingest_queue.find(memory, id_), at_once=False)

    async def backlog(self) -> ingest_queue.Backlog:
        return await self._thread.ask(ingest_queue.backlog, at_once=False)

    async def complaint(self) -> str:
        """Return why the memory is not writable, or ''; test it unless the last write succeeded."""
        if self.is_full:
            self._look()  # updates `is_full` even if no client sends texts
        job = partial(_complaint, proof_bytes=0 if self._is_proven else PROOF_BYTES)
        try:
            why, is_proven = await self._thread.ask(job, at_once=False)
            # If a commit has failed meanwhile, this stays False, unless the test write succeeded.
            self._is_proven = self._is_proven or is_proven
        except Exception as error:  # noqa: BLE001 - reported to monitoring
            self._is_proven = False
            if isinstance(error, FabricError):
                return without_path(error, error.message)
            why, unforeseen = "The memory cannot be written.", f"{type(error).__name__}: {error}"
            if unforeseen != self._printed:
                print(f"memory-fabric: {unforeseen}", file=sys.stderr)  # noqa: T201
                self._printed = unforeseen
        return why

    def close(self, timeout_s: float) -> None:
        """Finish the current commit and close the database connection."""
        self._thread.close(timeout_s)

    async def _commit_all(self) -> None:
        try:
            while self._waiting:
                together = self._waiting[:MAX_TOGETHER]
                del self._waiting[:MAX_TOGETHER]
                texts = [ingest for ingest, _, _ in together]
                try:
                    store = partial(_accepted, texts=texts)
                    outcomes = await self._thread.ask(store, at_once=False)
                except Exception as error:  # noqa: BLE001 - reported to the waiting requests
                    outcomes = [error] * len(texts)
                else:
                    self._is_proven = True
                    self._on_accepted()
                    self._look()
                errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
                self._is_proven &= all(isinstance(error, BadInput) for error in errors)
                for (_, size, answer), outcome in zip(together, outcomes, strict=True):
                    self._bytes -= size
                    if answer.done():
                        continue  # the client has disconnected and no longer waits
                    if isinstance(outcome, Exception):
                        answer.set_exception(outcome)
                    else:
                        answer.set_result(outcome)
        finally:
            self._task = None

    def _look(self) -> None:
        """Update `is_full` in the background, unless an update runs or began in the last 2 s."""
        now = time.monotonic()
        if self._looking is not None or now - self._looked_at < LOOK_EVERY_S:
            return

        async def see() -> None:
            try:
                backlog = await self._store.ask(ingest_queue.backlog, at_once=False)
                self.is_full = backlog.waiting + backlog.working >= self._max_backlog
            except Exception as error:  # noqa: BLE001 - the last known state is kept
                print(f"memory-fabric: backlog: {error}", file=sys.stderr)  # noqa: T201
            finally:
                self._looking = None

        self._looked_at = now
        self._looking = asyncio.create_task(see())


def _accepted(memory: Memory, texts: list[ingest_protocol.Ingest]) -> list[Any]:
    """Store the texts; return for each text its outcome, or the error that prevented storing it."""
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
    # Store the texts one by one, so that an invalid text does not undo the others.
    outcomes: list[Any] = []
    for text in texts:
        try:
            outcomes += ingest_queue.accept(memory, [text], SAID_BY)
        except BadInput as error:
            outcomes.append(error)
        except Exception as error:  # noqa: BLE001 - the other texts keep their outcomes
            return outcomes + [error] * (len(texts) - len(outcomes))
    return outcomes


def _complaint(memory: Memory, proof_bytes: int) -> tuple[str, bool]:
    """Return (why memory is not writable or '', True if a test write of `proof_bytes` was made)."""
    store_thread.renew(memory)
    if not memory.settings.writes:
        return str(switches.off_error(memory.settings)), False
    database = memory.database("project", create=False)
    if database is not None:
        database.prove(proof_bytes)
        return "", proof_bytes > 0
    if files.can_make(memory.path_of("project")):
        return "", False
    return "The memory cannot be created: its folder cannot be written.", False


class WorkerChild:
    """The worker process, kept running from `start` to `end`; call both within the event loop."""

    def __init__(
        self, folder: str, command: Sequence[str] = COMMAND, first_pause_s: float = FIRST_PAUSE_S
    ) -> None:
        self._folder, self._first_pause_s = folder, first_pause_s
        # With `--parent`, the child ends together with this process, even if this one is killed.
        self._command = (*command, "--parent", str(os.getpid()))
        self._process: subprocess.Popen[bytes] | None = None
        self._could_not_start = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start a worker process and restart it whenever it ends; further calls do nothing."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep())

    def complaint(self) -> str:
        """Return why no worker is running; '' if one is running or none is needed."""
        has_ended = self._process is not None and self._process.poll() is not None
        is_given_up = self._task is not None and self._task.done()
        if has_ended or is_given_up or self._could_not_start:
            return "No worker processes ingested texts; they are kept."
        return ""

    async def end(self) -> None:
        """Terminate the worker process; kill it if it does not end soon."""
        if self._task is None:
            return
        self._task.cancel()
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            await asyncio.to_thread(process.wait, END_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    async def _keep(self) -> None:
        pause_s, loop = self._first_pause_s, asyncio.get_running_loop()
        quiet = subprocess.DEVNULL
        while True:
            began = loop.time()
            try:
                self._process = subprocess.Popen(
                    self._command, stdin=quiet, stdout=quiet, cwd=self._folder
                )
            except OSError as error:
                self._could_not_start, end = True, str(error)
            else:
                self._could_not_start = False
                with suppress(OSError):  # if this fails, the worker keeps the normal priority
                    os.setpriority(os.PRIO_PROCESS, self._process.pid, NICE)
                end = f"exit code {await asyncio.to_thread(self._process.wait)}"
            if loop.time() - began >= LONG_S:
                pause_s = self._first_pause_s
            message = f"memory-fabric: the worker ended ({end}); again in {pause_s:g} s."
            print(message, file=sys.stderr)  # noqa: T201
            await asyncio.sleep(pause_s)
            pause_s = min(MOST_PAUSE_S, 2 * pause_s)
