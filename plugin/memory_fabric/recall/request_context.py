"""The request context, which every handler is given: memory, time and agent."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.config import Settings
    from memory_fabric.recall.agent_domains import Room
    from memory_fabric.store.memory import Memory


class RequestContext:
    """One memory at one time; `now` is ISO 8601 in UTC. `pipeline.Fabric` adds recall to it.

    `agent_type` is that of the agent that speaks and reads here; empty for a session without one.
    If config.toml isolates it, `memory` is limited to what it may see (`visible_to`). `launched`
    are the settings with which its session was started, if in another folder.
    """

    def __init__(
        self, memory: Memory, now: str, agent_type: str = "", launched: Settings | None = None
    ) -> None:
        self.memory, self.now, self.agent_type = memory, now, agent_type
        self._launched = launched

    @property
    def room(self) -> Room:
        """The domain of the agent, and its isolation."""
        # late: not needed to recall for a prompt
        from memory_fabric.recall.agent_domains import room_for

        return room_for(self._launched or self.memory.settings, self.agent_type)

    def of(self, agent_type: str, launched: Settings | None = None) -> RequestContext:
        """Return the context of another agent type, or session `launched` in another folder."""
        seen = visible_to(self.memory.whole, agent_type, launched)
        return RequestContext(seen, self.now, agent_type, launched)


def visible_to(memory: Memory, agent_type: str, launched: Settings | None = None) -> Memory:
    """Return the memory that hooks may show to an agent of this type; '' is a session without one.

    It depends on the folder in which the session was launched. An agent outside the isolated
    domains sees nothing of them.
    """
    rooms = memory.settings.rooms
    if not (rooms.isolated or rooms.isolated_agents):
        return memory
    from memory_fabric.recall.agent_domains import room_for, seen_from  # late: isolation is rare

    room = room_for(launched or memory.settings, agent_type)
    if room.isolated or not rooms.isolated:
        return seen_from(memory, room)
    from memory_fabric.store.domains.scoped_memory import (
        without,
    )  # most memories are never confined

    return without(memory, sorted(rooms.isolated - {room.domain}))
