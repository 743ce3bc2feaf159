"""The worker process of the ingest queue, run by `memory-fabric queue work`. Several workers may
run at once; each owns a text until its lease on it expires. If the store cannot accept a text now,
it is retried later. Before storing a text, a worker saves a plan in the queue: the text's records,
with fixed ids, and how many are stored. So another worker can continue, without storing any twice.
"""

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from memory_fabric import deadline, errors, ids, processes
from memory_fabric.capture import remember, unreadable
from memory_fabric.capture.mentions import KnownNames
from memory_fabric.config import Settings
from memory_fabric.ingest import parts
from memory_fabric.store import records
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import Claimed

# The maximum time for processing a text, and the time after which another worker may claim it.
LIMIT_S, LEASE_S = 30.0, 120.0
# Seconds between checks for due texts; a check takes microseconds.
POLL_S = 0.1
# While texts are waiting, journals and MEMORY.md are updated only once in this many seconds.
LATEST_S = 5.0
# Seconds to wait after a store error.
RETRY_S = 2.0
FAILURES = (errors.FabricError, OSError, sqlite3.Error)
Clock = Callable[[], float]


class TooLong(BaseException):
    """Raised if processing a text takes too long; not an Exception, so no handler swallows it."""


class Worker:
    """Stores queued texts; counts texts `done` and attempts that `failed`. Call `run` only once."""

    def __init__(self, settings: Settings, name: str = "", *, now: Clock = time.time) -> None:
        self._settings = settings._replace(session="")  # because each text has its own session
        self.name = name or f"{os.getpid()}-{ids.new_id()[-6:]}"
        self.done = self.failed = 0
        self._now, self.limit_s = now, LIMIT_S
        self._stopping = threading.Event()
        self._memory: Memory | None = None
        self._changed_at: float | None = None
        self._last_error = ""

    def stop(self, *_: object) -> None:
        """Stop after the current text; usable as a signal handler."""
        self._stopping.set()

    def run(self, *, once: bool = False, parent: int = 0) -> "Worker":
        """Process texts until stopped or process `parent` ends; with `once`, until none is due."""
        is_child = os.name == "posix" and os.getppid() == parent

        def alive() -> bool:
            if is_child or not parent:
                return not parent or os.getppid() == parent
            return processes.is_running(parent)

        try:
            while not self._stopping.is_set() and alive():
                if self._process_one(once):
                    continue
                if once:
                    break
                self._wait(alive)
        finally:
            try:
                self._follow_up(idle=True)
            except FAILURES as error:
                self._note(str(error), once=True)
            self._close()
        return self

    def _process_one(self, once: bool) -> bool:
        try:
            memory = self._opened()
            claimed = None
            if memory.settings.writes:
                claimed = ingest_queue.claim(memory, self.name, self._now(), LEASE_S)
            if claimed is not None:
                self._process(memory, claimed)
            self._follow_up(idle=claimed is None)
            self._last_error = ""
            return claimed is not None
        except FAILURES as error:
            if once:
                raise
            self._note(str(error), once=True)
            self._close()
            self._stopping.wait(RETRY_S)
            return False

    def _process(self, memory: Memory, claimed: Claimed) -> None:
        try:
            with limited(memory, self.limit_s):
                self.done += try_once(memory, claimed, self.name, self._now, LEASE_S)
        except (errors.StoreRefuses, sqlite3.IntegrityError, sqlite3.DataError) as error:
            self._failed(memory, claimed, str(error))
        except (errors.StoreUnavailable, errors.DeadlinePassed, sqlite3.Error, OSError) as error:
            ingest_queue.give_back(memory, claimed.id, self.name, str(error), self._now())
            raise
        except TooLong:
            self._failed(memory, claimed, f"it took longer than {self.limit_s:g} s")
        except Exception as error:  # noqa: BLE001 - one text must not stop the others
            import traceback  # imported late: rarely needed

            log.keep_traceback(self._settings.home, "".join(traceback.format_exception(error)))
            self._failed(memory, claimed, f"{type(error).__name__}: {error}")
        if self._changed_at is None:
            self._changed_at = time.monotonic()

    def _failed(self, memory: Memory, claimed: Claimed, why: str) -> None:
        if not ingest_queue.fail(memory, claimed.id, self.name, why, self._now()):
            return  # The text was finished, or another worker owns it.
        self.failed += 1
        self._note(f"attempt {claimed.attempts} at {claimed.id}: {why}")

    def _follow_up(self, *, idle: bool) -> None:
        """Update journals and MEMORY.md when the queue is empty (`idle`), else every LATEST_S."""
        since = self._changed_at
        if self._memory is None or since is None:
            return
        if idle or time.monotonic() - since > LATEST_S:
            self._memory.flush()
            self._changed_at = None
        for failure in self._memory.failures:
            self._note(failure)
        self._memory.failures.clear()
        self._memory.messages.clear()

    def _wait(self, alive: Callable[[], bool]) -> None:
        while not self._stopping.wait(POLL_S) and alive():
            try:
                memory = self._opened()
                if memory.has_moved():
                    self._close()
                    return
                due_s = ingest_queue.next_due_s(memory, self._now())
            except FAILURES:
                return  # The next call of `_process_one` will report the error.
            if memory.settings.writes and due_s == 0.0:
                return

    def _opened(self) -> Memory:
        if self._memory is None:
            self._memory = Memory.open(self._settings, repair=True)
        self._memory.follow_settings()
        return self._memory

    def _close(self) -> None:
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()

    def _note(self, what: str, *, once: bool = False) -> None:
        if not once or what != self._last_error:
            log.note(self._settings.home, self._settings.data_dir, f"queue: {what}")
        self._last_error = what if once else self._last_error


def serve(settings: Settings, name: str = "", *, once: bool = False, parent: int = 0) -> Worker:
    """Run a worker until SIGTERM or SIGINT; the worker then finishes its current text."""
    worker = Worker(settings, name)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, worker.stop)
    return worker.run(once=once, parent=parent)


def limited(memory: Memory, limit_s: float) -> AbstractContextManager[None]:
    """Return a context manager that raises TooLong after `limit_s`, once no transaction is open."""

    def on_timeout() -> None:
        if any(database.connection.in_transaction for database in memory.open_databases()):
            deadline.call_again(0.02)
        else:
            raise TooLong

    return deadline.time_limit(limit_s, on_timeout)


def process_text(
    memory: Memory, claimed: Claimed, note: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any] | None:
    """Process a text; return its record ids (`records`) and number of `turns`, or None if another
    worker owns the text: then `note`, which saves progress, returns False. Only the caller's last
    write is durable: steps lost in a power failure are repeated. Raises StoreUnavailable.
    """
    progress = dict(claimed.progress)
    database = memory.session_database()
    memory.batch, database.waits_for_last = claimed.id, True
    try:
        if "plan" not in progress:
            unread, ingest = unreadable.Unread(), claimed.ingest
            known = KnownNames(memory, "\n".join([*ingest.key_decisions, ingest.session_summary]))
            planned = parts.records(claimed, known, unread)
            unread.report(memory)
            plan = [records.as_object(record) for record in planned]
            progress = {"plan": plan, "step": 0, "records": []}
            if not note(progress):
                return None
        turns = []
        if memory.settings.episodes_keep_days:
            turns = parts.episodes(claimed)
        if turns:
            by = parts.provenance(claimed)
            memory.write_now("add_episodes", {"episodes": turns}, by, store="project")
        for number in range(int(progress["step"]), len(progress["plan"])):
            record = records.from_object(progress["plan"][number])
            stored, _ = remember.state(memory, record, parts.provenance(claimed))
            # A record that is too uncertain, or that the user made memory forget, is not stored.
            progress["records"] += [stored.id] if stored is not None and stored.id else []
            progress["step"] = number + 1
            if not note(progress):
                return None
    finally:
        memory.batch, database.waits_for_last = "", False
    return {"records": list(dict.fromkeys(progress["records"])), "turns": len(turns)}


def try_once(memory: Memory, claimed: Claimed, worker: str, now: Clock, lease_s: float) -> bool:
    """Process a text; return False if another worker owns it by the end. Catches no errors."""

    def note(progress: Mapping[str, Any]) -> bool:
        return ingest_queue.save_progress(memory, claimed.id, worker, progress, now() + lease_s)

    outcome = process_text(memory, claimed, note)
    return outcome is not None and ingest_queue.finish(memory, claimed.id, worker, outcome)
