"""SessionEnd: store the remainder of the session, and update the other memory files."""

from memory_fabric import deadline
from memory_fabric.config import environment
from memory_fabric.errors import DeadlinePassed
from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session.follow_transcript import TRANSCRIPT, follow, is_behind, read_to
from memory_fabric.hooks.session.turn_notes import end_turn, last_said
from memory_fabric.models import Provenance
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.conversations import sessions
from memory_fabric.store.upkeep import maintenance

# These limits are small because the client gives all SessionEnd hooks together about 1.5 s.
MAX_NEW_BYTES, MAX_NEW_CHARS = 1 << 20, 32 << 10


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Store the rest of a session, delete its session-only records, and start due maintenance."""
    memory, session, path = context.memory, event.session, event.transcript_path
    limit = deadline.current()
    before = read_to(memory, session)
    try:
        last_message = last_said(memory, session)
        results = follow(context, session, path, MAX_NEW_BYTES, MAX_NEW_CHARS)
        end_turn(context, session, results, last_message)
    except DeadlinePassed:
        limit.postpone(TRANSCRIPT)
    if local_records := memory.find_records("scope = 'local' AND session = ?", (session,)):
        memory.forget([r.id for r in local_records], Provenance("cli", session=session))
    memory.flush()
    if TRANSCRIPT not in limit.postponed and not is_behind(memory, session, path, before):
        # Sessions without an end time count as interrupted: later sessions read their remainder.
        sessions.set_fields(memory.session_database(), session, ended_at=context.now)
    if not maintenance.is_due(memory):
        return None
    folder = memory.settings.project_dir

    def maintain() -> None:
        maintenance.start(environment(), folder)

    return Reply(receipts=(maintain,))
