"""Start what sends: waiting items to the receiver, and changes to the shared log of a team."""

from __future__ import annotations

from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session import notice_texts
from memory_fabric.recall.request_context import RequestContext


def waiting_forward(event: Event, context: RequestContext) -> Reply | None:
    """Start the sender after the reply was written, if a waiting item is due.

    Fires when a session starts or ends, if there is a forward target. At a start, replies with a
    notice if the receiver is new.
    """
    from memory_fabric.forwarding import trigger  # late: not for a home with a tie alone

    settings = context.memory.settings
    news = trigger.news(settings) if event.name == "SessionStart" else ""
    notice = notice_texts.problem(news, settings)
    return Reply(notice=notice, receipts=trigger.receipts(settings))


def team_exchange(event: Event, context: RequestContext) -> Reply | None:
    """Start the detached exchange after the reply was written, if it is due. Fires when a session
    starts or ends and when a turn ends, if this home is tied to a log. Does not reply.
    """
    from memory_fabric.sharing.team import ties  # late: not for a home without a tie

    memory = context.memory.whole  # the exchange is not limited to the session's domain
    receipts = ties.receipts(memory, event.name)
    return Reply(receipts=receipts) if receipts else None
