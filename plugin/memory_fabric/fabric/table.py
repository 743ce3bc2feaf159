"""The work table: what every handler has before it, whether it recalls or not."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.store.memory import Memory


class WorkTable:
    """One memory at one moment; `now` is ISO 8601 in UTC. `core.Fabric` adds recall to it."""

    def __init__(self, memory: Memory, now: str) -> None:
        self.memory, self.now = memory, now
