"""PostCompact: records from the summary that the client made of the session."""

from __future__ import annotations

import re

from memory_fabric import events
from memory_fabric.fabric import remember
from memory_fabric.fabric.domains import SESSION
from memory_fabric.models import Provenance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.fabric.table import WorkTable

ANALYSIS = r"<analysis>.*?(?:</analysis>|\Z)"


def handle(event: Event, fabric: WorkTable) -> None:
    """Fires after a compaction. Reads the summary without its analysis, stores its records in the
    domain of sessions; prints nothing, since what this event prints reaches the model as raw text.
    """
    memory = fabric.memory
    trust = remember.trust_for(memory.settings, "assistant")
    if not trust:
        return
    room = fabric.room
    by = Provenance(
        "compaction",
        trust=trust,
        session=event.session,
        agent=fabric.agent_type,
        domain=room.domain if room.isolated else SESSION,
    )
    remember.remember_text(memory, plain_summary(event), "summary", by, known_in=room.domain)


def plain_summary(event: Event) -> str:
    """The summary alone, without analysis and tags."""
    summary = re.sub(ANALYSIS, "", events.compact_summary(event), flags=re.DOTALL)
    return re.sub(r"</?summary>", "", summary)
