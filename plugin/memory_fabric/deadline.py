"""The time that one event may take, and how much of it is left.

A process answers one event, whose deadline is `current()`; commands and servers have none. Whatever
may take long asks it between two pieces of work, and what waits for others asks how long it may.
"""

from __future__ import annotations

import time

from memory_fabric.errors import DeadlinePassed

NEVER_S = float("inf")


class Deadline:
    """The end of an event, in seconds from now: `wall_s` by the clock, and `work_s` of what this
    process itself has used, which counts the same on a loaded machine.

    `lock_s` is what all waiting for other processes' changes of databases may take together, and
    again for files. `hurried`: a person waits, and nothing is put in order. `postponed` lists what
    was left for a later event.
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
        """True once the time, or what the process may use of it, is up."""
        return time.monotonic() >= self.ends_s or time.process_time() >= self.work_ends_s

    def check(self, what: str) -> None:
        """Raise DeadlinePassed where no time is left for this."""
        if self.is_limited and self.is_over():
            raise DeadlinePassed(f"The time for this event was over before {what}.")

    def wait_s(self, most_s: float) -> float:
        """Seconds that a database may be waited for now: at most so many, at least 0."""
        return max(0.0, min(most_s, self.lock_s, self.ends_s - time.monotonic()))

    def file_wait_s(self, most_s: float) -> float:
        """The same for the lock of a file."""
        return max(0.0, min(most_s, self.file_lock_s, self.ends_s - time.monotonic()))

    def postpone(self, what: str) -> None:
        """Note, once, what a later event has to do."""
        if what not in self.postponed:
            self.postponed.append(what)

    def part(self, share: float) -> _Part:
        """A `with` block that may take this share of the time that is left."""
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
    """The deadline of the event that this process answers; else one without an end."""
    return _current


_current = Deadline()
