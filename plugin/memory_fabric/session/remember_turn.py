"""Capture from one message of a session's main dialogue."""

from __future__ import annotations

from memory_fabric.capture import remember
from memory_fabric.models import Provenance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Record
    from memory_fabric.recall.request_context import RequestContext


def remember_message(
    context: RequestContext,
    session: str,
    role: str,
    text: str,
    *,
    said_at: str = "",
    trust: str = "",
) -> list[Record]:
    """Save one message of the session's main dialogue; return the records that are new.

    `trust` is the upper limit of the records' trust, if it differs from the speaker's.
    """
    trust = remember.trust_for(context.memory.settings, trust or role)
    if not trust or not text.strip():
        return []
    by = Provenance(
        "prompt" if role == "user" else "assistant",
        trust=trust,
        session=session,
        agent=context.agent_type,
        domain=context.domain.name,
    )
    return remember.remember_text(context.memory, text, role, by, said_at)
