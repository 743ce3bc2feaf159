"""SessionStart, Stop, SessionEnd: start the exchange with the shared log of a team."""

from __future__ import annotations

from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.sharing.team import ties


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires when a session starts or ends and when a turn ends, if this home is tied to a log.

    After the reply was written, starts the detached exchange if it is due. Does not reply.
    """
    memory = context.memory.whole  # what is exchanged is not limited to the session's domain
    receipts = ties.receipts(memory, event.name)
    return Reply(receipts=receipts) if receipts else None
