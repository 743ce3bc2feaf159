"""The work table: what every handler has before it, whether it recalls or not."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.config import Settings
    from memory_fabric.recall.agent_domains import Room
    from memory_fabric.store.memory import Memory


class RequestContext:
    """One memory at one moment; `now` is ISO 8601 in UTC. `core.Fabric` adds recall to it.

    `agent_type` is that of who speaks and reads here; empty for a session without one. Where
    config.toml isolates him, `memory` shows what he may see (`visible_to`). `launched` are settings
    with which his session was started, where that was elsewhere.
    """

    def __init__(
        self, memory: Memory, now: str, agent_type: str = "", launched: Settings | None = None
    ) -> None:
        self.memory, self.now, self.agent_type = memory, now, agent_type
        self._launched = launched

    @property
    def room(self) -> Room:
        """Where he stands."""
        from memory_fabric.recall.agent_domains import room_for  # what recalls a prompt never asks

        return room_for(self._launched or self.memory.settings, self.agent_type)

    def of(self, agent_type: str, launched: Settings | None = None) -> RequestContext:
        """The same for somebody else: the session around an agent, or another session, which may
        have been `launched` in another folder.
        """
        seen = visible_to(self.memory.whole, agent_type, launched)
        return RequestContext(seen, self.now, agent_type, launched)


def visible_to(memory: Memory, agent_type: str, launched: Settings | None = None) -> Memory:
    """What hooks may give an agent of this type, by where it was launched; '' is a session without
    one. Who is not in an isolated domain is given nothing of it.
    """
    rooms = memory.settings.rooms
    if not (rooms.isolated or rooms.isolated_agents):
        return memory
    from memory_fabric.recall.agent_domains import room_for, seen_from  # most people isolate nobody

    room = room_for(launched or memory.settings, agent_type)
    if room.isolated or not rooms.isolated:
        return seen_from(memory, room)
    from memory_fabric.store.domains.scoped_memory import (
        without,
    )  # most memories are never confined

    return without(memory, sorted(rooms.isolated - {room.domain}))
