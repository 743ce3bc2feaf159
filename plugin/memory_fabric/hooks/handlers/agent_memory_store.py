"""SubagentStop: save the notes of a subagent in the domain of its type."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.config import trust_for
from memory_fabric.events import Event
from memory_fabric.hooks.session.turn_notes import may_hold
from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> None:
    """Fires when a subagent ends. Reads its last message, stores its notes. Does not reply.

    A compaction runs as an agent without a type: its summary comes with PostCompact. Nobody typed
    a subagent's task, so that no quotation is checked.
    """
    message = events.last_message(event)
    if not event.agent_type or not may_hold(message):
        return
    # late: most subagents note nothing
    from memory_fabric.capture.notes.keep import Said, keep
    from memory_fabric.models import Provenance

    settings = context.memory.settings
    if settings.notes == "off" or not trust_for(settings, "assistant"):
        return
    by = Provenance(
        "subagent",
        trust="assistant",
        session=event.session,
        agent=event.agent_type,
        domain=context.domain.name,
    )
    keep(context.memory, [message], Said(checked=False), by)
