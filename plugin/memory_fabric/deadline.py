"""The deadline of an event, and the time that is left until it.

A process answers one event, whose deadline is `current()`; commands and servers have none. Long
work checks it between two steps, and waiting for other processes asks it for the limit.
"""

from __future__ import annotations

import os
import time

from memory_fabric.errors import DeadlinePassed

NEVER_S = float("inf")


class Deadline:
    """The end of an event: seconds from now by the clock (`wall_s`) and of CPU time (`work_s`).

    CPU time is the same on a loaded machine. `lock_s` limits all waiting for other processes'
    database transactions together, and again all waiting for file locks. `hurried` means that a
    person is waiting, so no maintenance is done. `postponed` lists the work left for a later event.
    """

    def __init__(
        self,
        wall_s: float = NEVER_S,
        *,
        work_s: float = NEVER_S,
        lock_s: float = NEVER_S,
        hurried: bool = False,
    ) -> None:
        self.ends_s = time.monotonic() + wall_s
        self.work_ends_s = time.process_time() + work_s
        self.lock_s, self.file_lock_s, self.hurried = lock_s, lock_s, hurried
        self.is_limited = min(wall_s, work_s, lock_s) < NEVER_S
        self.postponed: list[str] = []

    def is_over(self) -> bool:
        """Return True once the time, or the CPU time, is up."""
        return time.monotonic() >= self.ends_s or time.process_time() >= self.work_ends_s

    def check(self, what: str) -> None:
        """Raise DeadlinePassed if no time is left; `what` names the work."""
        if self.is_limited and self.is_over():
            raise DeadlinePassed(f"The time for this event was over before {what}.")

    def wait_s(self, most_s: float) -> float:
        """Return how long to wait for a database now, in seconds from 0 to `most_s`."""
        return max(0.0, min(most_s, self.lock_s, self.ends_s - time.monotonic()))

    def file_wait_s(self, most_s: float) -> float:
        """Return how long to wait for the lock of a file now, in seconds from 0 to `most_s`."""
        return max(0.0, min(most_s, self.file_lock_s, self.ends_s - time.monotonic()))

    def postpone(self, what: str) -> None:
        """Note, once, the work that a later event has to do."""
        if what not in self.postponed:
            self.postponed.append(what)

    def part(self, share: float) -> _Part:
        """Return a `with` block that may take this share of the time that is left."""
        return _Part(self, share)


class _Part:
    def __init__(self, whole: Deadline, share: float) -> None:
        self._whole, self._share = whole, share
        self._ends_s = whole.ends_s

    def __enter__(self) -> Deadline:
        now_s = time.monotonic()
        if self._whole.is_limited:
            self._whole.ends_s = now_s + max(0.0, self._ends_s - now_s) * self._share
        return self._whole

    def __exit__(self, *_error: object) -> None:
        self._whole.ends_s = self._ends_s


class running:
    """A `with` block in which this deadline is the current one."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def __enter__(self) -> Deadline:
        global _current
        self._before, _current = _current, self._deadline
        return self._deadline

    def __exit__(self, *_error: object) -> None:
        global _current
        _current = self._before


def current() -> Deadline:
    """Return the deadline of the event that this process answers, else one that never ends."""
    return _current


_current = Deadline()


def process_age_s() -> float:
    """Return the seconds since this process started.

    Without /proc, on macOS and Windows, it is the CPU time so far: asking those systems needs
    ctypes, whose import takes longer than the time that it would tell of.
    """
    try:
        with open("/proc/self/stat", "rb") as file:
            started_ticks = int(file.read().rpartition(b")")[2].split()[19])
        boot_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        return boot_s - started_ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time()
