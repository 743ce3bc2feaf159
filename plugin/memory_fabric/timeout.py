"""A time limit for a block of code, by the signal that a process can send itself."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def ringing(after_s: float, ring: Callable[[], None]) -> Iterator[None]:
    """A block in which `ring` is called after so long: what it raises ends the block, and with
    `again` it is called once more.

    Only the main thread of a POSIX system can be interrupted; elsewhere nothing rings.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda *_: ring())
    signal.setitimer(signal.ITIMER_REAL, after_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def again(after_s: float) -> None:
    """Let it ring once more, so much later."""
    signal.setitimer(signal.ITIMER_REAL, after_s)
