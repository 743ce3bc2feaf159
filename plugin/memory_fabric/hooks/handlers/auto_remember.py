"""Stop: store the notes of the finished turn, then update the journal and MEMORY.md."""

from memory_fabric import deadline, events
from memory_fabric.capture.notes.protocol import Kept
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.hooks.handlers import instruction_updates
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session import notice_texts
from memory_fabric.hooks.session.follow_transcript import TRANSCRIPT, follow
from memory_fabric.hooks.session.turn_notes import end_turn, last_said
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.conversations import sessions
from memory_fabric.store.home import log


def handle(event: events.Event, context: RequestContext) -> Reply | None:
    """Store a finished turn's notes. Reply only with a notice: context would continue the turn."""
    memory = context.memory
    results: list[Kept] = []
    is_unfinished = False
    try:
        before = last_said(memory, event.session)
        last_message = event.text("last_assistant_message")
        follow(context, event.session, event.transcript_path, last=last_message, into=results)
        scheduled = events.scheduled_prompts(event)
        asks = any(mark in last_message for mark in "?？؟")
        sessions.note_turn(memory.session_database(), event.session, scheduled, asks=asks)
        end_turn(context, event.session, results, before)
    except StoreUnavailable as error:
        is_unfinished = True
        memory.fail(f"graph: {error}")
    except DeadlinePassed:
        is_unfinished = True
        deadline.current().postpone(TRANSCRIPT)
    if log.take_mark(log.LOST_PROMPT, (memory.settings.home, memory.settings.data_dir)):
        memory.fail("prompt: the disk or the memory could not be written")
    instruction_updates.at_stop(memory.whole)
    memory.flush()

    def embed() -> None:
        from memory_fabric.setup import extras  # imported late: needed only after the reply

        extras.start_embedding_when_due(memory.settings, memory.databases())

    # If the turn continues, show the notices only when it ends, so that they do not interrupt it.
    waiting: list[str] = []
    if not events.stop_active(event):
        waiting += memory.messages
        try:
            waiting += log.take(memory.settings.home)
        except (OSError, TimeoutError) as error:
            memory.fail(f"notices: {error}")
    notices = [notice_texts.problem(text, memory.settings) for text in waiting]
    parts = [notice_texts.kept(results, memory.settings), *notices]
    notice = " · ".join(part for part in parts if part)
    return Reply(notice=notice, receipts=(embed,), again=is_unfinished)
