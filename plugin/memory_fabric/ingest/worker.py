"""The process that works off what other programs bring in: `memory-fabric queue work`.

Several may run at once; each text is one worker's until its lease runs out. What the store cannot
take now is tried again, and said in the log.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.errors import DeadlinePassed, FabricError, StoreRefuses, StoreUnavailable
from memory_fabric.ingest.process import try_once
from memory_fabric.store import ingest_queue, log
from memory_fabric.store.database import Database
from memory_fabric.store.ingest_queue import Claimed
from memory_fabric.store.memory import Memory
from memory_fabric.store.sqlite import sqlite3
from memory_fabric.timeout import again, time_limit

# Longer than any text should take; a worker that hangs beyond all limits loses the text.
LIMIT_S, LEASE_S = 30.0, 120.0
# Between two looks for something new, which cost microseconds; where there is no database yet.
POLL_S, POLL_NOTHING_S = 0.1, 0.5
# The other tiers follow once nothing waits, and at the latest so long after a change.
LATEST_S = 5.0
# After a store that failed.
RETRY_S = 2.0
# A time limit that falls into a transaction waits for its end.
GRACE_S = 0.02
FAILURES = (FabricError, OSError, sqlite3.Error)


class TooLong(Exception):
    """A text took longer than one may."""


@dataclass(slots=True)
class Tally:
    """How many texts one run of a worker has done, and how often one failed."""

    done: int = 0
    failed: int = 0


class Worker:
    """Works off texts until it is stopped; `run` may be called once. `now` is the clock."""

    def __init__(
        self,
        settings: Settings,
        name: str = "",
        *,
        now: Callable[[], float] = time.time,
        limit_s: float = LIMIT_S,
        lease_s: float = LEASE_S,
    ) -> None:
        # Each text names its own session.
        self._settings = settings._replace(session="")
        self.name = name or f"{os.getpid()}-{ids.new_id()[-6:]}"
        self.tally = Tally()
        self._now, self._limit_s, self._lease_s = now, limit_s, lease_s
        self._stopping = threading.Event()
        self._memory: Memory | None = None
        self._changed_at: float | None = None
        self._trouble = ""

    def stop(self, *_: object) -> None:
        """End after the text in hand; a handler of signals, too."""
        self._stopping.set()

    def run(self, *, once: bool = False, parent: int = 0) -> Tally:
        """Work off what is due, and then what comes, until stopped or until `parent` is gone.

        With `once` it ends when nothing more is due, and raises what stopped it.
        """
        alive = _alive(parent)
        try:
            while not self._stopping.is_set() and alive():
                if self._worked_one(once):
                    continue
                if once:
                    break
                self._wait(alive)
        finally:
            self._leave()
        return self.tally

    def _worked_one(self, once: bool) -> bool:
        """Whether there was a text to work on."""
        try:
            memory = self._opened()
            claimed = None
            if memory.settings.writes:
                claimed = ingest_queue.claim(memory, self.name, self._now(), self._lease_s)
            if claimed is not None:
                self._work(memory, claimed)
            self._follow_up(idle=claimed is None)
            self._trouble = ""
            return claimed is not None
        except FAILURES as error:
            if once:
                raise
            self._complain(str(error))
            self._close()
            self._stopping.wait(RETRY_S)
            return False

    def _work(self, memory: Memory, claimed: Claimed) -> None:
        try:
            with limited(memory, self._limit_s):
                done = try_once(memory, claimed, self.name, self._now, self._lease_s)
            self.tally.done += done
        except (StoreRefuses, sqlite3.IntegrityError, sqlite3.DataError) as error:
            self._failed(memory, claimed, str(error))
        except (StoreUnavailable, DeadlinePassed, sqlite3.Error, OSError) as error:
            ingest_queue.give_back(memory, claimed.id, self.name, str(error), self._now())
            raise
        except TooLong:
            self._failed(memory, claimed, f"it took longer than {self._limit_s:g} s")
        except Exception as error:  # noqa: BLE001 - one text must not stop the others
            log.keep_traceback(self._settings.home, _trace(error))
            self._failed(memory, claimed, f"{type(error).__name__}: {error}")
        if self._changed_at is None:
            self._changed_at = time.monotonic()

    def _failed(self, memory: Memory, claimed: Claimed, why: str) -> None:
        if not ingest_queue.fail(memory, claimed.id, self.name, why, self._now()):
            return  # it was done, or is another's
        self.tally.failed += 1
        self._note(f"attempt {claimed.attempts} at {claimed.id}: {why}")

    def _follow_up(self, *, idle: bool) -> None:
        """Journals and MEMORY.md, once nothing waits or it has waited for long enough."""
        since = self._changed_at
        if self._memory is None or since is None:
            return
        if idle or time.monotonic() - since > LATEST_S:
            self._memory.flush()
            self._changed_at = None
        for failure in self._memory.failures:
            self._note(failure)
        self._memory.failures.clear()
        self._memory.told.clear()

    def _wait(self, alive: Callable[[], bool]) -> None:
        """Return when something was written, or is due, or it is time to end."""
        try:
            seen, due_s = self._version(), self._due_s()
        except FAILURES:
            return  # the next look says what is wrong
        due_at = None if due_s is None else time.monotonic() + due_s
        pause_s = POLL_S if seen is not None else POLL_NOTHING_S
        while not self._stopping.wait(pause_s) and alive():
            if due_at is not None and time.monotonic() >= due_at:
                return
            try:
                if self._opened_anew() or self._version() != seen:
                    return
            except FAILURES:
                return

    def _version(self) -> tuple[Database, int] | None:
        """What differs once another process has written, or replaced the file; None without any."""
        database = self._opened().database("project", create=False)
        return (database, database.data_version()) if database else None

    def _due_s(self) -> float | None:
        memory = self._opened()
        return ingest_queue.next_due_s(memory, self._now()) if memory.settings.writes else None

    def _opened(self) -> Memory:
        if self._memory is None:
            self._memory = Memory.open(self._settings, repair=True)
        self._memory.follow_settings()
        return self._memory

    def _opened_anew(self) -> bool:
        """Whether the folder is another project's now, or a switch was turned."""
        memory = self._memory
        if memory is None:
            return True
        before = memory.settings.writes
        memory.follow_settings()
        if memory.has_moved():
            self._close()
            return True
        return memory.settings.writes != before

    def _leave(self) -> None:
        try:
            self._follow_up(idle=True)
        except FAILURES as error:
            self._complain(str(error))
        self._close()

    def _close(self) -> None:
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()

    def _complain(self, what: str) -> None:
        """Say it once, however often it is tried."""
        if what != self._trouble:
            self._note(what)
        self._trouble = what

    def _note(self, what: str) -> None:
        log.note(self._settings.home, self._settings.data_dir, f"queue: {what}")


def serve(settings: Settings, name: str = "", *, once: bool = False, parent: int = 0) -> Tally:
    """Work until the end, which SIGTERM and SIGINT bring after the text in hand."""
    worker = Worker(settings, name)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, worker.stop)
    return worker.run(once=once, parent=parent)


def limited(memory: Memory, limit_s: float) -> AbstractContextManager[None]:
    """A block that ends with TooLong after this time, though never inside a transaction.

    Where nothing can ring (`alarm`), the lease is the limit.
    """

    def ring() -> None:
        if any(database.connection.in_transaction for database in memory.open_databases()):
            again(GRACE_S)
        else:
            raise TooLong

    return time_limit(limit_s, ring)


def _alive(parent: int) -> Callable[[], bool]:
    """Whether the parent still is there; without one there is nobody to wait for."""
    if not parent:
        return lambda: True
    if os.getppid() == parent:
        return lambda: os.getppid() == parent
    return lambda: _runs(parent)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _has_ended(process)


def _has_ended(process: int) -> bool:
    """Whether it only waits for somebody to ask how it ended; Linux tells."""
    try:
        with open(f"/proc/{process}/stat", "rb") as stream:
            return stream.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return False


def _trace(error: BaseException) -> str:
    import traceback  # only for a fault of ours

    return "".join(traceback.format_exception(error))
