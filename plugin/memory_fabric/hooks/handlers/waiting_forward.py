"""SessionStart, SessionEnd: send waiting items again, and report new receivers."""

from __future__ import annotations

from memory_fabric.events import Event
from memory_fabric.forwarding import trigger
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session import notice_texts
from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires when a session starts or ends, if there is a forward target.

    After the reply was written, starts the sender if a waiting item is due. At a start, replies
    with a notice if the receiver is new.
    """
    settings = context.memory.settings
    news = trigger.news(settings) if event.name == "SessionStart" else ""
    notice = notice_texts.problem(news, settings)
    return Reply(notice=notice, receipts=trigger.receipts(settings))
