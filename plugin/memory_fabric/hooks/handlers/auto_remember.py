"""Stop: save the turn's notes, then update tiers 2 and 3."""

from __future__ import annotations

from memory_fabric import deadline, events
from memory_fabric.capture.notes.keep import Kept
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.events import Event
from memory_fabric.hooks.handlers import instruction_updates
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session import notice_texts
from memory_fabric.hooks.session.follow_transcript import TRANSCRIPT, follow
from memory_fabric.hooks.session.turn_notes import end_turn, last_said
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store import notices
from memory_fabric.store.conversations import sessions
from memory_fabric.store.health import alerts


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires when a turn ends.

    Reads the transcript's new part and the last message; stores notes, solved problems and
    episodes. Replies with a notice of what was kept or is wrong, never with context, which would
    continue the turn.
    """
    memory = context.memory
    kept: list[Kept] = []
    again = False
    try:
        before = last_said(memory, event.session)
        said = events.last_message(event)
        follow(context, event.session, event.transcript_path, last=said, into=kept)
        scheduled = events.scheduled_prompts(event)
        sessions.note_scheduled(memory.session_database(), event.session, scheduled)
        end_turn(context, event.session, kept, before)
    except StoreUnavailable as error:
        again = True
        memory.fail(f"graph: {error}")
    except DeadlinePassed:
        again = True
        deadline.current().postpone(TRANSCRIPT)
    if alerts.take_lost_prompt((memory.settings.home, memory.settings.data_dir)):
        memory.fail("prompt: the disk or the memory could not be written")
    instruction_updates.at_stop(memory.whole)
    memory.flush()
    # A turn that continues is not interrupted: waiting notices follow at its end.
    waiting = [] if events.stop_active(event) else _waiting(context)
    told = [notice_texts.problem(text, memory.settings) for text in waiting]
    parts = [notice_texts.kept(kept, memory.settings), *told]
    notice = " · ".join(part for part in parts if part)
    return Reply(notice=notice, receipts=(lambda: _embed(context),), again=again)


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
