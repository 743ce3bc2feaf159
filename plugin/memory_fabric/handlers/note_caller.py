"""PreToolUse on the tools of our server: note whose call it is, since the server is not told."""

from __future__ import annotations

from memory_fabric import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> None:
    """Fires before a tool of an MCP server that is named like one of ours. Reads who calls, keeps
    it under the call's id until the server asks; no reply.

    Nothing is kept of a session that runs as no agent, unless config.toml isolates somebody: then
    a call of which nothing is known is answered to nobody.
    """
    call = events.tool_use_id(event)
    if not call or not events.tool_name(event).startswith("mcp__"):
        return
    settings = context.memory.settings
    rooms = settings.rooms
    if not (event.agent_type or rooms.isolated or rooms.isolated_agents):
        return
    from memory_fabric.store.domains import callers  # most calls are the session's own

    caller = callers.Caller(event.session, event.agent_id, event.agent_type)
    callers.note(settings.home, call, caller)
