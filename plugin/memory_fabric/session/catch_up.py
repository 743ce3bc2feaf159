"""Sessions that ended without a word, caught up by the next one that starts, a little at a time."""

from __future__ import annotations

import os
import time

from memory_fabric import ids
from memory_fabric.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext
    from memory_fabric.store.database import Database

# Somebody waits for the start of a session: more is read at the next one.
MAX_SESSIONS, MAX_BYTES, MAX_CHARS = 2, 1 << 20, 16 << 10
# More may be open in other windows; they must not keep those from their turn that broke off.
MAX_LOOKED_AT = 12
UNSEEN_FOR_S = 600
# One that was taken for dead and came back is idle in some window: it gets the time of a night out.
REVIVED_UNSEEN_FOR_S = 24 * 3600


def catch_up(context: RequestContext, event: Event) -> None:
    """Read what unfinished sessions have left; those that are read to their end have ended.

    A session whose transcript grows is alive. One that ended this way and goes on later is alive
    again, and its transcript is read on from where it was left.
    """
    database = context.memory.session_database()
    unseen_since = ids.timestamp(time.time() - UNSEEN_FOR_S)
    found = sessions.unfinished(database, event.session, unseen_since, MAX_LOOKED_AT)
    done = 0
    for session, noted_path, seen_at in found:
        path = _found(noted_path, event.transcript_path)
        if done == MAX_SESSIONS:
            break
        if not _may_be_running(database, session, path, seen_at):
            done += _catch_up(context, session, path)


def _catch_up(context: RequestContext, session: str, path: str) -> bool:
    """Read on in it; False where this session may not remember what it said."""
    # A bare start, and most of what is unfinished goes on in another window.
    from memory_fabric.capture.remember import trust_for
    from memory_fabric.session.follow_transcript import (
        context_of,
        follow,
        is_behind,
        is_placed,
        read_to,
    )
    from memory_fabric.session.session_record import conclude

    if not trust_for(context.memory.settings, "assistant"):
        return False  # it waits for one that may
    if context.room.isolated and not is_placed(context.memory, session):
        return False  # nobody knows whether what it said may be known here
    context = context_of(context, session)
    memory = context.memory
    if is_behind(memory, session, path):
        before = read_to(memory, session)
        follow(context, session, path, MAX_BYTES, MAX_CHARS, is_here=False)
        if is_behind(memory, session, path, before):
            return True
    conclude(context, session)
    database = memory.session_database()
    notes = sessions.load_notes(database, session) | {"presumed": True}
    sessions.save_notes(database, session, notes, ended_at=context.now)
    return True


def _found(path: str, beside: str) -> str:
    """Where the transcript is now: the client's folder for a project moves with the project."""
    if os.path.exists(path) or not beside:
        return path
    moved = os.path.join(os.path.dirname(beside), os.path.basename(path))
    return moved if os.path.exists(moved) else path


def _may_be_running(db: Database, session: str, path: str, seen_at: str) -> bool:
    now_s = time.time()
    try:
        if now_s - os.stat(path).st_mtime < UNSEEN_FOR_S:
            return True
    except (OSError, ValueError):
        return False
    revived = sessions.load_notes(db, session).get("revived")
    return bool(revived) and seen_at > ids.timestamp(now_s - REVIVED_UNSEEN_FOR_S)
