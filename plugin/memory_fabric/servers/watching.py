"""Changes of the graph by other processes (hooks, commands, other servers), seen while one asks."""

from __future__ import annotations

import asyncio
import sys

from memory_fabric.errors import FabricError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from memory_fabric.servers.store_thread import StoreThread
    from memory_fabric.store.memory import Memory

    Mark = tuple[tuple[str, int], ...]

# A person who looks at a graph is content with this; one question costs two index look-ups.
EVERY_S = 0.5


class Watch:
    """Calls `tell` after each change that it was not told of itself; runs while it is wanted."""

    def __init__(
        self, store: StoreThread, tell: Callable[[], Awaitable[None]], every_s: float = EVERY_S
    ) -> None:
        self._store, self._tell, self._every_s = store, tell, every_s
        self._wanted = 0
        self._told: Mark | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """One more wants to know; what was before is not told."""
        self._wanted += 1
        if self._task is None:
            self._told = await self._mark()
            self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """One wants to know no longer."""
        self._wanted -= 1
        if not self._wanted and self._task is not None:
            self._task.cancel()
            self._task = None

    def is_told(self, mark: Mark) -> None:
        """Whoever listens has just been told of all changes up to this mark."""
        self._told = mark

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            mark = await self._mark()
            if mark not in (None, self._told):
                self._told = mark
                await self._tell()

    async def _mark(self) -> Mark | None:
        try:
            return await self._store.ask(mark_of)
        except FabricError as error:
            print(f"memory-fabric: watching: {error}", file=sys.stderr)  # noqa: T201
            return None


def mark_of(memory: Memory) -> Mark:
    """What differs after every logged change: each database's file, and its last operation."""
    return tuple(
        (db.path, int((db.row("SELECT max(seq) FROM operations") or (0,))[0] or 0))
        for db in memory.databases()
    )
