"""Detect changes of the graph by other processes (hooks, commands, other servers)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.memory import Memory

Mark = tuple[tuple[str, int], ...]

# A person who looks at a graph is content with this; one question costs two index look-ups.
EVERY_S = 0.5


class Watch:
    """A poll that calls `tell`, in the store's thread, after each change by another process.

    It looks while it is wanted; a look is a job of the store, between calls.
    """

    def __init__(
        self, store: StoreThread, tell: Callable[[], None], every_s: float = EVERY_S
    ) -> None:
        self._store, self._tell, self._every_s = store, tell, every_s
        self._lock = threading.Lock()
        self._wanted = 0
        self._told: Mark | None = None
        self._ended = threading.Event()

    def start(self, mark: Mark | None) -> None:
        """Add a subscriber to changes after this mark."""
        with self._lock:
            self._wanted += 1
            if self._wanted > 1:
                return
            self._told, self._ended = mark, threading.Event()
        run = threading.Thread(target=self._run, args=(self._ended,), name="watch", daemon=True)
        run.start()

    def stop(self) -> None:
        """Remove a subscriber."""
        with self._lock:
            self._wanted -= 1
            if not self._wanted:
                self._ended.set()

    def is_told(self, mark: Mark) -> None:
        """Note that subscribers have been told of all changes up to this mark."""
        self._told = mark

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(self._every_s):
            self._store.submit(mark_of, self._look, wanted=lambda: not ended.is_set())

    def _look(self, mark: Mark | None, error: BaseException | None) -> None:
        if error is not None:
            print(f"memory-fabric: watching: {error}", file=sys.stderr)  # noqa: T201
        elif mark != self._told:
            self._told = mark
            self._tell()


def mark_of(memory: Memory) -> Mark:
    """Return a value that differs after every logged change: the files and last operations."""
    return tuple(
        (db.path, int((db.row("SELECT max(seq) FROM operations") or (0,))[0] or 0))
        for db in memory.databases()
    )
