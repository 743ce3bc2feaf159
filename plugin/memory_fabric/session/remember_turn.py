"""One text of a session's main dialogue, remembered."""

from __future__ import annotations

from memory_fabric.capture import remember
from memory_fabric.models import Provenance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Record
    from memory_fabric.recall.request_context import RequestContext


def speak(
    context: RequestContext,
    session: str,
    role: str,
    text: str,
    *,
    said_at: str = "",
    trust: str = "",
) -> list[Record]:
    """Remember one text of the session's main dialogue; returns the records that are new.

    `trust` is what it deserves at most, if that is not the speaker's.
    """
    trust = remember.trust_for(context.memory.settings, trust or role)
    if not trust or not text.strip():
        return []
    by = Provenance(
        "prompt" if role == "user" else "assistant",
        trust=trust,
        session=session,
        agent=context.agent_type,
        domain=context.room.domain,
    )
    return remember.remember_text(context.memory, text, role, by, said_at)
