"""SessionStart, SessionEnd: what waits to be forwarded is tried again; new receivers are named."""

from __future__ import annotations

from memory_fabric.forwarding import trigger
from memory_fabric.reply import Reply
from memory_fabric.session import notice_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires when a session starts or ends and a receiver is named. Once the reply is out, the
    sender is started if something waits and is due. At a start it tells of a new receiver.
    """
    settings = context.memory.settings
    told = trigger.news(settings) if event.name == "SessionStart" else ""
    notice = notice_texts.problem(told, settings)
    return Reply(notice=notice, receipts=trigger.receipts(settings))
