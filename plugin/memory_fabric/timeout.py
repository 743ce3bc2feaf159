"""A time limit for a block of code, by a signal that the process sends itself."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def time_limit(after_s: float, on_timeout: Callable[[], None]) -> Iterator[None]:
    """Call `on_timeout` after `after_s` seconds; an error that it raises ends the block.

    With `again` it is called once more. Only the main thread of a POSIX system can be interrupted;
    elsewhere there is no limit.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda *_: on_timeout())
    signal.setitimer(signal.ITIMER_REAL, after_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def again(after_s: float) -> None:
    """Set the timer once more, `after_s` seconds from now."""
    signal.setitimer(signal.ITIMER_REAL, after_s)
