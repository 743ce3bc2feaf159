"""PreToolUse of this plugin's MCP tools: note the caller, which the server does not learn."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.events import Event
from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> None:
    """Fires before a tool of an MCP server that has the name of one of ours. Does not reply.

    Keeps the caller under the call's id until the server asks for it. Nothing is kept of a session
    that runs as no agent, unless config.toml isolates a domain or an agent: then the server refuses
    calls from unknown callers.
    """
    call = events.tool_use_id(event)
    if not call or not events.tool_name(event).startswith("mcp__"):
        return
    settings = context.memory.settings
    config = settings.domains
    if not (event.agent_type or config.isolated or config.isolated_agents):
        return
    from memory_fabric.store import callers  # late: most calls are the session's own

    caller = callers.Caller(event.session, event.agent_id, event.agent_type)
    callers.save(settings.home, call, caller)
