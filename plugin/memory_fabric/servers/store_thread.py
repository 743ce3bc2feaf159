"""The thread that owns the memory, so that the thread that reads requests never waits for a disk.
Jobs run one by one, in order of arrival: no update is lost, and a read sees all earlier writes.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from memory_fabric.errors import FabricError

TYPE_CHECKING = False
if TYPE_CHECKING:  # not imported at run time: MCP servers load it after the handshake
    from memory_fabric.store.memory import Memory

T = TypeVar("T")
JobOf = Callable[["Memory"], T]
Job = JobOf[Any]
# A function that is called with the value of a job, or with the error that it raised.
Done = Callable[[Any, BaseException | None], object]
# Seconds without a job after which changes are also written to files such as MEMORY.md.
IDLE_S = 1.0
# Even if jobs keep coming, changes are written after LATEST_S seconds, or MIRROR_S for a graph file
# that other programs read. If the last write took longer, the limit is its duration.
LATEST_S, MIRROR_S = 5.0, 0.5
# Seconds until another attempt to write a file that could not be written.
RETRY_S = 5.0
# `Wanted` returns True while a job is needed. An `Item` is (job, whether it writes, done, wanted).
Wanted = Callable[[], bool] | None
Item = tuple[Job, bool, Done, Wanted]


class StoreThread:
    """A thread that owns the memory and runs queued jobs. It opens the memory for the first job, or
    in `begin`. `check` is called before each job; if it raises an error, the job fails. If
    `moved(memory)` returns True (its project changed), the memory is reopened. With `answers_one`,
    for a process that handles one request at a time, reads run in the calling thread.
    """

    def __init__(
        self,
        open_memory: Callable[[], Memory],
        *,
        check: Callable[[], None] | None = None,
        moved: Callable[[Memory], bool] | None = None,
        answers_one: bool = False,
    ) -> None:
        self._open, self._check, self._moved = open_memory, check, moved
        self._answers_one = answers_one
        self._memory: Memory | None = None
        self._changed = False
        # Monotonic times: when to write files like MEMORY.md; when to check a mirrored graph file.
        self._due_at: float | None = None
        self._look_at: float | None = None
        self._flush_took_s = 0.0
        # The lock of the memory, and the number of `ask` calls that wait for their result.
        self._free, self._asked = threading.Lock(), 0
        # Only a SimpleQueue may be used in a signal handler, because its `put` is re-entrant.
        self._items: SimpleQueue[Item | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """Open the memory before the first job; if opening fails, that job reports the error."""
        self.submit(lambda _: None, lambda *_: None)

    def submit(self, job: Job, done: Done, *, changes: bool = False, wanted: Wanted = None) -> None:
        """Queue `job(memory)` and then `done(value, error)`; skip both if no longer `wanted()`."""
        self._items.put((job, changes, done, wanted))

    async def ask(self, job: JobOf[T], *, changes: bool = False, at_once: bool = True) -> T:
        """Run `job(memory)` in the thread and return its value; set `changes` if the job writes. A
        read runs in the calling thread if no other job waits or runs, because two switches between
        threads cost more than most reads. Pass `at_once=False` for a read that takes long.
        """
        import asyncio  # already imported by the caller's event loop
        from concurrent.futures import Future

        memory, at_once = self._memory, at_once or self._answers_one
        # A mirrored graph file is read under a file lock: this may wait, so use the store's thread.
        is_idle = not self._asked and memory is not None and memory.mirror is None
        if at_once and not changes and is_idle and self._free.acquire(blocking=False):
            try:
                value, error = self._done(job, changes)
            finally:
                self._free.release()
            if error is not None:
                raise error
            return value  # type: ignore[no-any-return]
        answer: Future[T] = Future()

        def done(value: Any, error: BaseException | None) -> None:
            if not answer.set_running_or_notify_cancel():
                return  # the caller no longer waits for the result
            if error is None:
                answer.set_result(value)
            else:
                answer.set_exception(error)

        self._asked += 1
        self.submit(job, done, changes=changes)
        try:
            return await asyncio.wrap_future(answer)
        finally:
            self._asked -= 1

    def close(self, timeout_s: float) -> bool:
        """Finish all jobs and close the memory; return False if that exceeds the timeout."""
        self._items.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (item := self._next()) is not None:
            job, changes, done, wanted = item
            if wanted is not None and not wanted():
                continue
            with self._free:
                value, error = self._done(job, changes)
            try:
                done(value, error)
            except Exception as caught:  # noqa: BLE001 - the thread must live
                print(f"memory-fabric: {type(caught).__name__}: {caught}", file=sys.stderr)  # noqa: T201
        self._flush()
        if self._memory is not None:
            self._memory.close()

    def _next(self) -> Item | None:
        """Write files like MEMORY.md when due, then return the next job, or None after `close`."""
        while (wait_s := self._wait_s()) is not None:
            if wait_s > 0:
                try:
                    return self._items.get(timeout=wait_s)
                except Empty:
                    wait_s = 0.0  # no job arrived, so write now
            with self._free:
                self._flush()
        return self._items.get()

    def _wait_s(self) -> float | None:
        """Return the seconds until MEMORY.md and other files must be written; None if never."""
        now_s = time.monotonic()
        waits = [max(0.0, at - now_s) for at in (self._due_at, self._look_at) if at is not None]
        return min([*waits, *([IDLE_S] if self._changed else [])], default=None)

    def _done(self, job: Job, changes: bool) -> tuple[Any, BaseException | None]:
        try:
            if self._check is not None:
                self._check()
            memory = self._memory
            # If the folder belongs to another project now, open that project's memory.
            if (memory is not None and memory.mirror is None) and (
                memory.has_moved() or (self._moved is not None and self._moved(memory))
            ):
                self._flush()
                memory.close()
                self._memory = None
            # If opening the memory fails, the next job tries again.
            if self._memory is None:
                self._memory = self._open()
                self._follow(self._memory, time.monotonic())
            if changes:
                self._changed = True
                self._note_due(self._memory)
            try:
                self._memory.refresh()
                if self._memory.mirror is not None and self._memory.mirror.behind:
                    self._note_due(self._memory)
            except FabricError:
                if not changes:  # if refreshing fails, changes are queued, but reads would be stale
                    raise
            return job(self._memory), None
        except BaseException as error:  # noqa: BLE001 - it is raised where the job was asked
            return None, error

    def _note_due(self, memory: Memory) -> None:
        if self._due_at is None:
            pause_s = LATEST_S if memory.mirror is None else MIRROR_S
            self._due_at = time.monotonic() + max(pause_s, self._flush_took_s)

    def _flush(self) -> None:
        if self._memory is None or self._wait_s() is None:
            return
        self._changed, self._due_at, self._look_at = False, None, None
        began = time.monotonic()
        try:
            self._memory.flush()
        except Exception as error:  # noqa: BLE001 - the thread must live; the next flush does it
            print(f"memory-fabric: flush: {error}", file=sys.stderr)  # noqa: T201
        ended = time.monotonic()
        self._flush_took_s = ended - began
        self._follow(self._memory, ended)

    def _follow(self, memory: Memory, written_at: float) -> None:
        if memory.mirror is not None and memory.mirror.behind:
            self._due_at = written_at + RETRY_S
        elif memory.mirror is not None and memory.mirror.look_in_s:
            self._look_at = written_at + memory.mirror.look_in_s


def settle() -> None:
    """Exempt the existing objects from garbage collection, and run the collector less often."""
    gc.freeze()
    gc.set_threshold(20_000)  # default 700: too low, as a call creates several thousand objects
    gc.enable()


def renew(memory: Memory) -> None:
    """Clear the failures recorded by earlier calls, and reload the settings if they changed."""
    memory.failures.clear()
    memory.follow_settings()


def told(memory: Memory) -> list[str]:
    """Print, return and clear messages from opening the memory, for example about a rebuild."""
    sentences = list(memory.messages)
    memory.messages.clear()
    for sentence in sentences:
        print(f"memory-fabric: {sentence}", file=sys.stderr)  # noqa: T201
    return sentences


Mark = tuple[tuple[str, int], ...]
# Seconds between checks: short enough for a person who watches a graph. A check costs two look-ups.
EVERY_S = 0.5


class Watch:
    """A thread that regularly checks for changes by other processes, and calls `tell` after one."""

    def __init__(self, store: StoreThread, tell: Callable[[], None]) -> None:
        self._store, self._tell = store, tell
        self._lock = threading.Lock()
        self._wanted = 0
        self.told: Mark | None = None  # the last state that subscribers were notified of
        self._ended = threading.Event()

    def start(self, mark: Mark | None) -> None:
        """Add a subscriber; the first one starts the thread, which reports changes after `mark`."""
        with self._lock:
            self._wanted += 1
            if self._wanted > 1:
                return
            self.told, self._ended = mark, threading.Event()
        threading.Thread(target=self._run, args=(self._ended,), name="watch", daemon=True).start()

    def stop(self) -> None:
        """Remove a subscriber; the thread ends with the last one."""
        with self._lock:
            self._wanted -= 1
            if not self._wanted:
                self._ended.set()

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(EVERY_S):
            self._store.submit(mark_of, self._look, wanted=lambda: not ended.is_set())

    def _look(self, mark: Mark | None, error: BaseException | None) -> None:
        if error is not None:
            print(f"memory-fabric: watching: {error}", file=sys.stderr)  # noqa: T201
        elif mark != self.told:
            self.told = mark
            self._tell()


def mark_of(memory: Memory) -> Mark:
    """Return a value that changes with every operation: each database's path and last operation."""
    rows = ((db.path, db.row("SELECT max(seq) FROM operations")) for db in memory.databases())
    return tuple((path, int((row or (0,))[0] or 0)) for path, row in rows)
