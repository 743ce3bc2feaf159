"""A bar for work that takes a while: on standard error, only in a terminal, gone afterwards."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# What is done sooner needs no bar, which would only flash.
DELAY_S = 0.5


@contextmanager
def bar(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """What is to be told (done, of how much); None where nobody watches, or with `quiet`."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    late = _Late(what)
    try:
        yield late.tell
    finally:
        late.close()


class _Late:
    """A bar that appears when the work has taken some time."""

    def __init__(self, what: str) -> None:
        self._what, self._began = what, time.monotonic()
        self._shown: tuple[Progress, TaskID] | None = None

    def tell(self, done: int, of: int) -> None:
        """So much is done; the bar appears, or moves."""
        if self._shown is None:
            if time.monotonic() - self._began < DELAY_S:
                return
            self._shown = self._appear()
        progress, task = self._shown
        progress.update(task, completed=done, total=of)

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._shown is not None:
            self._shown[0].stop()

    def _appear(self) -> tuple[Progress, TaskID]:
        from rich.console import Console  # only where somebody waits
        from rich.progress import Progress

        progress = Progress(console=Console(stderr=True), transient=True)
        task = progress.add_task(self._what)
        progress.start()
        return progress, task
