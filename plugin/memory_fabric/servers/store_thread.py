"""The thread that owns the memory, so that the thread that reads requests never waits for a disk.

Calls run one after another, in order: parallel calls of one client do not lose updates, and a read
sees every earlier write.
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
if TYPE_CHECKING:  # an MCP server imports asyncio after the greeting
    from memory_fabric.store.memory import Memory

T = TypeVar("T")
JobOf = Callable[["Memory"], T]
Job = JobOf[Any]
# Callback for the result of a job, with its value and the error raised.
Done = Callable[[Any, BaseException | None], object]
# Seconds without a call after a change, until journals and MEMORY.md are brought up to date.
IDLE_S = 1.0
# Other tiers are written at most this many seconds after a change; a mirrored file sooner, because
# other programs read it. If writing takes longer, calls get as much time in between.
LATEST_S, MIRROR_S = 5.0, 0.5
# Seconds until a file that could not be written is retried without a call.
RETRY_S = 5.0
# A job, True if it writes, a callback for its result, and a test that the job is still wanted.
Item = tuple[Job, bool, Done, Callable[[], bool] | None]


class StoreThread:
    """The thread and its queue; the memory is opened with the first call, or by `begin`.

    An error raised by `check` answers the call. The memory is reopened if `moved` returns True for
    it. With `answers_one`, the process handles one request at a time, and each read runs at once.
    """

    def __init__(
        self,
        open_memory: Callable[[], Memory],
        idle_s: float = IDLE_S,
        latest_s: float = LATEST_S,
        *,
        check: Callable[[], None] | None = None,
        moved: Callable[[Memory], bool] | None = None,
        answers_one: bool = False,
    ) -> None:
        self._open, self._idle_s, self._latest_s = open_memory, idle_s, latest_s
        self._check, self._moved, self._answers_one = check, moved, answers_one
        self._memory: Memory | None = None
        self._changed = False
        # The times of `time.monotonic()` at which the other tiers are written, with or without
        # calls, and at which a mirrored file is checked again.
        self._due_at: float | None = None
        self._look_at: float | None = None
        self._flush_took_s = 0.0
        # The lock of the memory, and the number of calls in progress or waiting.
        self._free, self._asked = threading.Lock(), 0
        # The only queue that a signal handler may use (its put is re-entrant).
        self._items: SimpleQueue[Item | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """Open the memory before the first call; that call reports a failure."""
        self.submit(lambda _: None, lambda *_: None)

    def submit(
        self,
        job: Job,
        done: Done,
        *,
        changes: bool = False,
        wanted: Callable[[], bool] | None = None,
    ) -> None:
        """Run `job(memory)` in the thread if still `wanted`, then call `done(value, error)`."""
        self._items.put((job, changes, done, wanted))

    async def ask(self, job: JobOf[T], *, changes: bool = False, at_once: bool = True) -> T:
        """Run `job(memory)` in the thread and return its value; with `changes`, the job writes.

        A read runs in the calling thread if no other call waits or runs, because two switches
        between threads cost more than most reads. Pass `at_once=False` for a read that takes long.
        """
        import asyncio  # both are cheap: already imported if an event loop runs
        from concurrent.futures import Future

        memory, at_once = self._memory, at_once or self._answers_one
        # Reading a mirrored file needs the file's lock.
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
                return  # nobody waits for this finished job
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
        """Finish all jobs and close the memory; return False on a timeout."""
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
        """Return the next call, None at the end; meanwhile write the other tiers when due."""
        while (wait_s := self._wait_s()) is not None:
            if wait_s > 0:
                try:
                    return self._items.get(timeout=wait_s)
                except Empty:
                    wait_s = 0.0  # no call arrived in the meantime
            with self._free:
                self._flush()
        return self._items.get()

    def _wait_s(self) -> float | None:
        """Return the seconds until the other tiers must be written; None if nothing is due."""
        now_s = time.monotonic()
        waits = [max(0.0, at - now_s) for at in (self._due_at, self._look_at) if at is not None]
        return min([*waits, *([self._idle_s] if self._changed else [])], default=None)

    def _done(self, job: Job, changes: bool) -> tuple[Any, BaseException | None]:
        try:
            if self._check is not None:
                self._check()
            memory = self._memory
            # If the folder now belongs to another project, that project's memory is opened.
            if (memory is not None and memory.mirror is None) and (
                memory.has_moved() or (self._moved is not None and self._moved(memory))
            ):
                self._flush()
                memory.close()
                self._memory = None
            # Opening a memory that cannot be opened now is retried with the next call.
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
                if not changes:  # a change can wait in the queue, but a read would be stale
                    raise
            return job(self._memory), None
        except BaseException as error:  # noqa: BLE001 - it is raised where the job was asked
            return None, error

    def _note_due(self, memory: Memory) -> None:
        if self._due_at is None:
            pause_s = self._latest_s if memory.mirror is None else MIRROR_S
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
    """Exclude existing objects from garbage collection, and run the collector less often."""
    gc.freeze()
    gc.set_threshold(20_000)  # a call creates some thousand; the default is 700
    gc.enable()


def renew(memory: Memory) -> None:
    """Clear failures of earlier calls, and read the current switches and domains."""
    memory.failures.clear()
    memory.follow_settings()


def told(memory: Memory) -> list[str]:
    """Return and print messages about opening the memory, such as a rebuild, each only once."""
    sentences = list(memory.messages)
    memory.messages.clear()
    for sentence in sentences:
        print(f"memory-fabric: {sentence}", file=sys.stderr)  # noqa: T201
    return sentences


Mark = tuple[tuple[str, int], ...]
# Soon enough for a person who watches a graph; each poll costs two index look-ups.
EVERY_S = 0.5


class Watch:
    """Polls for changes by other processes, and calls `tell` for them in the store's thread."""

    def __init__(self, store: StoreThread, tell: Callable[[], None]) -> None:
        self._store, self._tell = store, tell
        self._lock = threading.Lock()
        self._wanted = 0
        self.told: Mark | None = None  # subscribers know all changes up to this mark
        self._ended = threading.Event()

    def start(self, mark: Mark | None) -> None:
        """Add a subscriber to changes after this mark."""
        with self._lock:
            self._wanted += 1
            if self._wanted > 1:
                return
            self.told, self._ended = mark, threading.Event()
        threading.Thread(target=self._run, args=(self._ended,), name="watch", daemon=True).start()

    def stop(self) -> None:
        """Remove a subscriber."""
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
    """Return a value that changes with every logged operation (files and last operations)."""
    rows = ((db.path, db.row("SELECT max(seq) FROM operations")) for db in memory.databases())
    return tuple((path, int((row or (0,))[0] or 0)) for path, row in rows)
