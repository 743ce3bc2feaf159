"""A transient progress bar on standard error, in terminals only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# Shorter work shows no bar, which would only flash.
DELAY_S = 0.5


@contextmanager
def bar(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function to call with (done, total); None if `quiet` or outside a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    delayed = _DelayedBar(what)
    try:
        yield delayed.update
    finally:
        delayed.close()


class _DelayedBar:
    """A bar that appears only after DELAY_S."""

    def __init__(self, what: str) -> None:
        self._what, self._began = what, time.monotonic()
        self._shown: tuple[Progress, TaskID] | None = None

    def update(self, done: int, of: int) -> None:
        """Update the bar, or show it once the delay is over."""
        if self._shown is None:
            if time.monotonic() - self._began < DELAY_S:
                return
            self._shown = self._appear()
        progress, task = self._shown
        progress.update(task, completed=done, total=of)

    def close(self) -> None:
        """Remove the bar from the screen."""
        if self._shown is not None:
            self._shown[0].stop()

    def _appear(self) -> tuple[Progress, TaskID]:
        from rich.console import Console  # not needed without a bar
        from rich.progress import Progress

        progress = Progress(console=Console(stderr=True), transient=True)
        task = progress.add_task(self._what)
        progress.start()
        return progress, task
