"""SubagentStop: save the findings of a subagent in the domain of its type."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.capture import remember
from memory_fabric.models import Provenance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> None:
    """Fires when a subagent ends. Reads its last message, stores its records. Does not reply.

    A compaction runs as an agent without a type: its summary comes with PostCompact.
    """
    memory = context.memory
    trust = remember.trust_for(memory.settings, "assistant")
    if not event.agent_type or not trust:
        return
    by = Provenance(
        "subagent",
        trust=trust,
        session=event.session,
        agent=event.agent_type,
        domain=context.domain.name,
    )
    remember.remember_text(memory, events.last_message(event), "subagent", by)
