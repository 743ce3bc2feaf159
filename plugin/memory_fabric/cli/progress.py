"""A transient progress bar on standard error, in terminals only."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Shorter work shows no bar, which would only flash.
DELAY_S = 0.5


@contextmanager
def bar(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function to call with (done, total); None if `quiet` or outside a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    began_s = time.monotonic()
    drawn: list[tuple[Any, Any]] = []  # the bar and its task, once the delay is over

    def update(done: int, of: int) -> None:
        if not drawn and time.monotonic() - began_s < DELAY_S:
            return
        if not drawn:
            from rich.console import Console  # not needed without a bar
            from rich.progress import Progress

            progress = Progress(console=Console(stderr=True), transient=True)
            drawn.append((progress, progress.add_task(what)))
            progress.start()
        progress, task = drawn[0]
        progress.update(task, completed=done, total=of)

    try:
        yield update
    finally:
        for progress, _ in drawn:
            progress.stop()
