"""PreCompact: save the part of the conversation that the compaction removes."""

import os

from memory_fabric import ids
from memory_fabric.capture.notes import protocol
from memory_fabric.clients.transcript import MAX_BYTES
from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session.checkpoint import (
    CHANGING_TOOLS,
    READING_TOOLS,
    checkpoint,
    open_items,
    touched_files,
)
from memory_fabric.hooks.session.follow_transcript import context_of, follow, reader_of
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store import files
from memory_fabric.store.conversations import sessions

# The size of the transcript's end that is searched for the open task and the files in work.
TAIL_BYTES = 2 << 20


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Save the conversation before a compaction: the transcript's new part, as at Stop, and a
    checkpoint made from the transcript's end. Replies with one sentence that asks the summariser
    for notes, if the session is asked for notes. A compaction of a subagent's context has no
    checkpoint.
    """
    if event.agent_id:
        follow(context_of(context, event.session), event.session, event.transcript_path)
        return None
    follow(context, event.session, event.transcript_path)
    path = event.transcript_path
    read_on = reader_of(context.memory.settings.client)
    start = max(0, files.size_of(path) - TAIL_BYTES)
    turns = read_on(path, start, "", MAX_BYTES, max_said=MAX_BYTES).turns
    database = context.memory.session_database()
    inside = context.memory.settings.project_dir.rstrip(os.sep) + os.sep
    saved = checkpoint(
        [t.text for t in turns if t.role == "user" and t.text],
        [t.text for t in turns if t.role == "assistant" and t.text],
        now=ids.timestamp(),  # after the transcript's new part was stored
        changed=[path.removeprefix(inside) for path in touched_files(turns, CHANGING_TOOLS)],
        read=[path.removeprefix(inside) for path in touched_files(turns, READING_TOOLS)],
        items=open_items(turns),
        before=sessions.load_checkpoint(database, event.session),
    )
    sessions.save_checkpoint(database, event.session, saved)
    is_told = protocol.is_told(context.memory.settings)
    return Reply(plain=protocol.SUMMARY_REQUEST) if is_told else None
