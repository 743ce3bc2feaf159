"""Start two background senders: one to the receiver, and one to a team's shared log."""

from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session import notice_texts
from memory_fabric.recall.request_context import RequestContext


def waiting_forward(event: Event, context: RequestContext) -> Reply | None:
    """After the reply, start the sender if an item is due. At SessionStart, announce a receiver."""
    from memory_fabric.forwarding import trigger  # imported late: needed only with a receiver

    settings = context.memory.settings
    news = trigger.news(settings) if event.name == "SessionStart" else ""
    return Reply(notice=notice_texts.problem(news, settings), receipts=trigger.receipts(settings))


def team_exchange(event: Event, context: RequestContext) -> Reply | None:
    """After the reply, start a process that exchanges changes with linked team logs, if due."""
    from memory_fabric.sharing.team import ties  # imported late: needed only with a shared log

    receipts = ties.receipts(context.memory.whole, event.name)  # `whole`: changes of all domains
    return Reply(receipts=receipts) if receipts else None
