"""PostCompact: save records from the client's summary of the session."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.capture import remember
from memory_fabric.models import Provenance
from memory_fabric.recall.agent_domains import SESSION
from memory_fabric.session.compaction_summary import summary_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> None:
    """Fires after a compaction.

    Reads the summary without its analysis and stores its records in the domain of sessions. Prints
    nothing, since the output of this event reaches the model as raw text.
    """
    memory = context.memory
    trust = remember.trust_for(memory.settings, "assistant")
    if not trust:
        return
    domain = context.domain
    by = Provenance(
        "compaction",
        trust=trust,
        session=event.session,
        agent=context.agent_type,
        domain=domain.name if domain.isolated else SESSION,
    )
    said = summary_text(events.compact_summary(event))
    remember.remember_text(memory, said, "summary", by, known_in=domain.name)
