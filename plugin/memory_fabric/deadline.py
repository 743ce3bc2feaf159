"""The deadline of a hook event, and the time left until then. A thread answers one event at a time,
and `current()` returns the deadline of this event. A server's commands and tools have no deadline.
Long work checks the deadline between its steps, and waits for other processes only until then.
"""

from __future__ import annotations

import os
import time
from _thread import _local
from collections.abc import Callable

from memory_fabric.errors import DeadlinePassed, EventRevoked

NEVER_S = float("inf")


class Deadline:
    """The deadline of an event. It passes after `wall_s` seconds, or earlier if the thread has used
    `work_s` seconds of CPU time, which does not depend on the machine's load. `lock_s` limits the
    total wait for database locks, and separately the total wait for file locks. `hurried` means
    that a person is waiting, so no maintenance is done. `postponed` lists the work left for a later
    event. A hook can pass its event to a server. If the hook later takes the event back to answer
    it itself, the function `is_revoked` returns True.
    """

    is_revoked: Callable[[], bool] | None = None

    def __init__(
        self,
        wall_s: float = NEVER_S,
        *,
        work_s: float = NEVER_S,
        lock_s: float = NEVER_S,
        hurried: bool = False,
    ) -> None:
        self.ends_s = time.monotonic() + wall_s
        self.work_ends_s = time.thread_time() + work_s
        self.lock_s, self.file_lock_s, self.hurried = lock_s, lock_s, hurried
        self.is_limited = min(wall_s, work_s, lock_s) < NEVER_S
        self.postponed: list[str] = []

    def is_over(self) -> bool:
        return time.monotonic() >= self.ends_s or time.thread_time() >= self.work_ends_s

    def check(self, what: str) -> None:
        """Raise DeadlinePassed or EventRevoked if the work described by `what` must stop now."""
        self.need_event()
        if self.is_limited and self.is_over():
            raise DeadlinePassed(f"The time for this event was over before {what}.")

    def need_event(self) -> None:
        """Raise EventRevoked if the hook now answers the event itself."""
        if self.is_revoked is not None and self.is_revoked():
            raise EventRevoked

    def wait_s(self, most_s: float, *, for_file: bool = False) -> float:
        """Return the seconds to wait for a database lock or, if `for_file`, a file lock: at most
        `most_s`, what is left of the limit for these locks, and the time before the deadline.
        """
        lock_s = self.file_lock_s if for_file else self.lock_s
        return max(0.0, min(most_s, lock_s, self.ends_s - time.monotonic()))

    def postpone(self, what: str) -> None:
        """Add work for a later event to `postponed`, unless it is in the list already."""
        if what not in self.postponed:
            self.postponed.append(what)

    def part(self, share: float) -> _Part:
        """Return a context manager whose block may use the fraction `share` of the time left."""
        return _Part(self, share)


class _Part:
    def __init__(self, whole: Deadline, share: float) -> None:
        self._whole, self._share = whole, share
        self._ends_s = whole.ends_s

    def __enter__(self) -> Deadline:
        now_s = time.monotonic()
        if self._whole.is_limited:
            self._whole.ends_s = now_s + (self._ends_s - now_s) * self._share
        return self._whole

    def __exit__(self, *_error: object) -> None:
        self._whole.ends_s = self._ends_s


class running:
    """A context manager that makes a deadline the current one in this thread."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def __enter__(self) -> Deadline:
        self._before, _of_thread.deadline = current(), self._deadline
        return self._deadline

    def __exit__(self, *_error: object) -> None:
        _of_thread.deadline = self._before


def current() -> Deadline:
    """Return the deadline of the event that this thread answers; unlimited if there is no event."""
    current_deadline: Deadline = getattr(_of_thread, "deadline", _NONE)
    return current_deadline


def is_over() -> bool:
    """Return True if the deadline of the event that this thread answers has passed."""
    limit = current()
    return limit.is_limited and limit.is_over()


_of_thread = _local()
_NONE = Deadline()


class time_limit:
    """A context manager that calls `on_timeout` if its block runs for more than `after_s` seconds.
    If `on_timeout` raises an error, the block ends with this error, even if SQLite raises its own
    error for the interrupted query. Instead, `on_timeout` may restart the timer (`call_again`) or
    just return. The limit needs a signal, so it works only in the main thread on a POSIX system.
    """

    def __init__(self, after_s: float, on_timeout: Callable[[], None]) -> None:
        self._after_s, self._on_timeout = after_s, on_timeout
        self._raised: BaseException | None = None

    def __enter__(self) -> None:
        import signal  # imported late: hooks need no timer
        import threading

        can_interrupt = threading.current_thread() is threading.main_thread()
        self._is_set = can_interrupt and hasattr(signal, "setitimer")
        if self._is_set:
            self._before = signal.signal(signal.SIGALRM, self._end)
            call_again(self._after_s)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        import signal

        if self._is_set:
            call_again(0)
            signal.signal(signal.SIGALRM, self._before)
        if error is not None and self._raised is not None and error is not self._raised:
            raise self._raised from error

    def _end(self, *_: object) -> None:
        try:
            self._on_timeout()
        except BaseException as error:
            self._raised = error
            raise


def call_again(after_s: float) -> None:
    """Set the timer of a `time_limit` to `after_s` seconds from now; 0 stops it."""
    import signal

    signal.setitimer(signal.ITIMER_REAL, after_s)


def process_age_s(process: int | str = "self") -> float:
    """Return the seconds since a process, by default this one, was started; 0 if it has ended.
    Without /proc (macOS, Windows), return this process's CPU time, or 0 for another process: the
    age would require the module ctypes, whose import takes longer than the time to be measured.
    """
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            started_ticks = int(file.read().rpartition(b")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started_ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time() if process == "self" else 0.0
