"""One thread that owns the memory: the event loop never waits for a disk, no two calls meet.

Calls run one after another in the order they came, so parallel calls of one client lose nothing
and a read sees every write that was asked before it.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from queue import Empty, SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from memory_fabric.store.memory import Memory

    T = TypeVar("T")
    Item = tuple[Callable[[Memory], Any], bool, asyncio.AbstractEventLoop, asyncio.Future[Any]]


# After a change and this long without a call, journals and MEMORY.md are brought up to date.
IDLE_S = 1.0


class StoreThread:
    """The thread and its queue. The memory is opened with the first call and closed at the end."""

    def __init__(self, open_memory: Callable[[], Memory], idle_s: float = IDLE_S) -> None:
        self._open, self._idle_s = open_memory, idle_s
        self._memory: Memory | None = None
        self._changed = False
        # The only queue that may be fed from a signal handler (its put is re-entrant).
        self._items: SimpleQueue[Item | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()

    async def ask(self, job: Callable[[Memory], T], *, changes: bool = False) -> T:
        """What `job(memory)` returns or raises, run in the thread; `changes` says it writes."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._items.put((job, changes, loop, answer))
        return await answer

    def close(self, timeout_s: float) -> bool:
        """Whether everything asked so far was done and the memory closed within the time."""
        self._items.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (item := self._next()) is not None:
            job, changes, loop, answer = item
            self._changed = self._changed or changes
            settle, value = self._done(job)
            try:
                loop.call_soon_threadsafe(settle, answer, value)
            except RuntimeError:
                # The loop is gone: nobody waits for this answer; the work is done all the same.
                continue
        self._flush()
        if self._memory is not None:
            self._memory.close()

    def _next(self) -> Item | None:
        """The next call; the other tiers are written where none comes for a while."""
        if self._changed:
            try:
                return self._items.get(timeout=self._idle_s)
            except Empty:
                self._flush()
        return self._items.get()

    def _done(self, job: Callable[[Memory], Any]) -> tuple[Callable[..., None], Any]:
        try:
            # A memory that cannot be opened now is tried again with the next call.
            self._memory = self._memory or self._open()
            return _result, job(self._memory)
        except BaseException as error:  # noqa: BLE001 - it is raised where the job was asked
            return _error, error

    def _flush(self) -> None:
        if self._changed and self._memory is not None:
            self._changed = False
            try:
                self._memory.flush()
            except Exception as error:  # noqa: BLE001 - the thread must live; the next flush does it
                print(f"memory-fabric: flush: {error}", file=sys.stderr)  # noqa: T201


def _result(answer: asyncio.Future[Any], value: Any) -> None:
    if not answer.done():
        answer.set_result(value)


def _error(answer: asyncio.Future[Any], error: Any) -> None:
    if not answer.done():
        answer.set_exception(error)
