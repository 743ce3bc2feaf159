"""Stop: save the turn's notes, then update tiers 2 and 3."""

from __future__ import annotations

from memory_fabric import deadline, events
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.handlers import follow_instructions
from memory_fabric.reply import Reply
from memory_fabric.session import notice_texts
from memory_fabric.session.follow_transcript import TRANSCRIPT, follow
from memory_fabric.session.turn_notes import end_turn, last_said, take
from memory_fabric.store import notices
from memory_fabric.store.health import alerts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.notes.keep import Kept
    from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires when a turn ends.

    Reads the transcript's new part and the last message; stores notes, solved problems and
    episodes. Replies with a notice of what was kept or is wrong, never with context, which would
    continue the turn.
    """
    memory = context.memory
    kept: list[Kept] = []
    try:
        before = last_said(memory, event.session)
        # The transcript may lag behind or be missing: the event's message is more reliable.
        take(context, event.session, [events.last_message(event)], into=kept)
        kept += follow(context, event.session, event.transcript_path)
        end_turn(context, event.session, noted=bool(kept), before=before)
    except StoreUnavailable as error:  # the next Stop reads the transcript again
        memory.fail(f"graph: {error}")
    except DeadlinePassed:  # the next Stop reads the rest
        deadline.current().postpone(TRANSCRIPT)
    if alerts.take_lost_prompt((memory.settings.home, memory.settings.data_dir)):
        memory.fail("prompt: the disk or the memory could not be written")
    follow_instructions.at_stop(memory.whole)
    memory.flush()
    # A turn that continues is not interrupted: waiting notices follow at its end.
    waiting = [] if events.stop_active(event) else _waiting(context)
    told = [notice_texts.problem(text, memory.settings) for text in waiting]
    parts = [notice_texts.kept(kept, memory.settings), *told]
    notice = " · ".join(part for part in parts if part)
    return Reply(notice=notice, receipts=(lambda: _embed(context),))


def _embed(context: RequestContext) -> None:
    from memory_fabric.setup import embedding_worker  # late: after the reply

    memory = context.memory
    embedding_worker.start_when_due(memory.settings, memory.databases())


def _waiting(context: RequestContext) -> list[str]:
    memory = context.memory
    try:
        return [*memory.messages, *notices.take(memory.settings.home)]
    except (OSError, TimeoutError) as error:
        memory.fail(f"notices: {error}")
        return list(memory.messages)
