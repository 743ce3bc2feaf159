"""Reading of sessions that ended without a SessionEnd event, in small steps at later starts."""

import os
import time

from memory_fabric import ids
from memory_fabric.config import trust_for
from memory_fabric.events import Event
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.conversations import sessions
from memory_fabric.store.database import Database

# The user waits for the session's start, so text beyond these limits is read at a later start.
MAX_SESSIONS, MAX_BYTES, MAX_CHARS = 2, 1 << 20, 16 << 10
# Other windows may have more open sessions; they must not displace the interrupted sessions.
MAX_LOOKED_AT = 12
UNSEEN_FOR_S = 600
# A session that went on after it was marked as ended may be idle in a window: wait a day for it.
REVIVED_UNSEEN_FOR_S = 24 * 3600


def catch_up(context: RequestContext, event: Event) -> None:
    """Read unfinished sessions to their end; mark a session that is read completely as ended."""
    database = context.memory.session_database()
    unseen_since = ids.timestamp(time.time() - UNSEEN_FOR_S)
    unfinished = sessions.unfinished(database, event.session, unseen_since, MAX_LOOKED_AT)
    finished = 0
    for session, path, seen_at in unfinished:
        if event.transcript_path and not os.path.exists(path):
            # If the project's folder moves, the client moves the transcripts too.
            moved = os.path.join(os.path.dirname(event.transcript_path), os.path.basename(path))
            path = moved if os.path.exists(moved) else path
        if finished == MAX_SESSIONS:
            break
        if not _may_be_running(database, session, path, seen_at):
            finished += _catch_up(context, session, path)


def _catch_up(context: RequestContext, session: str, path: str) -> bool:
    """Read more of another session; return False if this session may not store its messages."""
    # Imported late: the import is slow, and most unfinished sessions are still running.
    from memory_fabric.hooks.session import follow_transcript as transcript

    if not trust_for(context.memory.settings, "assistant"):
        return False  # a session that may store these messages reads them later
    database = context.memory.session_database()
    if context.domain.isolated and transcript.PLACE not in sessions.load_notes(database, session):
        return False  # the domain of the other session is unknown
    context = transcript.context_of(context, session)
    memory = context.memory
    if transcript.is_behind(memory, session, path):
        before = transcript.read_to(memory, session)
        transcript.follow(context, session, path, MAX_BYTES, MAX_CHARS, is_here=False)
        if transcript.is_behind(memory, session, path, before):
            return True
    database = memory.session_database()
    notes = sessions.load_notes(database, session) | {"presumed": True}
    sessions.save_notes(database, session, notes, ended_at=context.now)
    return True


def _may_be_running(db: Database, session: str, path: str, seen_at: str) -> bool:
    now_s = time.time()
    try:
        if now_s - os.stat(path).st_mtime < UNSEEN_FOR_S:
            return True
    except (OSError, ValueError):
        return False
    revived = sessions.load_notes(db, session).get("revived")
    return bool(revived) and seen_at > ids.timestamp(now_s - REVIVED_UNSEEN_FOR_S)
