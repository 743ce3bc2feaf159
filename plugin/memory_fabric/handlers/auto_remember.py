"""Stop: save the turn's memories, then update tiers 2 and 3."""

from __future__ import annotations

from memory_fabric import deadline, events
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.reply import Reply
from memory_fabric.session import notice_texts
from memory_fabric.session.follow_transcript import TRANSCRIPT, follow
from memory_fabric.session.remember_turn import remember_message
from memory_fabric.store import notices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.models import Record
    from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires when a turn ends.

    Reads the transcript's new part and the last message; stores records, solved problems and
    episodes. Replies with a notice if something is new or wrong, never with context, which would
    continue the turn.
    """
    memory = context.memory
    new: list[Record] = []
    try:
        new += follow(context, event.session, event.transcript_path)
        # The transcript may lag behind or be missing: the event's message is more reliable.
        new += remember_message(context, event.session, "assistant", events.last_message(event))
    except StoreUnavailable as error:  # the next Stop reads the transcript again
        memory.fail(f"graph: {error}")
    except DeadlinePassed:  # the next Stop reads the rest
        deadline.current().postpone(TRANSCRIPT)
    memory.flush()
    # A turn that continues is not interrupted: waiting notices follow at its end.
    waiting = [] if events.stop_active(event) else _waiting(context)
    problems = [notice_texts.problem(text, memory.settings) for text in waiting]
    parts = [notice_texts.remembered(new, memory.settings), *problems]
    notice = " · ".join(part for part in parts if part)
    return Reply(notice=notice) if notice else None


def _waiting(context: RequestContext) -> list[str]:
    memory = context.memory
    try:
        return [*memory.messages, *notices.take(memory.settings.home)]
    except (OSError, TimeoutError) as error:
        memory.fail(f"notices: {error}")
        return list(memory.messages)
