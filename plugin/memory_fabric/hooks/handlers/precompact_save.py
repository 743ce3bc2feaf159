"""PreCompact: save the part of the conversation that the compaction will remove."""

import os

from memory_fabric import ids
from memory_fabric.capture.notes import protocol
from memory_fabric.clients.transcript import MAX_BYTES
from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session import checkpoint
from memory_fabric.hooks.session.follow_transcript import context_of, follow, keeper, reader_of
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.conversations import sessions


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Store the unread part of the transcript. Except for subagents, also save a checkpoint of the
    transcript's end, and reply with a sentence that asks the summariser for notes.
    """
    if event.agent_id:
        follow(context_of(context, event.session), event.session, event.transcript_path)
        return None
    path = event.transcript_path
    follow(context, event.session, path)
    start, read_on = sessions.end_of(path), reader_of(context.memory.settings.client)
    reading = read_on(path, start, "", MAX_BYTES, max_said=MAX_BYTES)
    turns = list(filter(None, map(keeper(context.memory), reading.turns)))
    database = context.memory.session_database()
    inside = context.memory.settings.project_dir.rstrip(os.sep) + os.sep
    tools = (checkpoint.CHANGING_TOOLS, checkpoint.READING_TOOLS)
    touched = (checkpoint.touched_files(turns, fields) for fields in tools)
    changed, read = ([path.removeprefix(inside) for path in paths] for paths in touched)
    saved = checkpoint.checkpoint(
        [t.text for t in turns if t.role == "user" and t.text],
        [t.text for t in turns if t.role == "assistant" and t.text],
        now=ids.timestamp(),  # the time now, as `follow` may have stored records after the event
        changed=changed,
        read=read,
        items=checkpoint.open_items(turns),
        before=sessions.load_checkpoint(database, event.session),
    )
    sessions.save_checkpoint(database, event.session, saved)
    is_told = protocol.is_told(context.memory.settings)
    return Reply(plain=protocol.SUMMARY_REQUEST) if is_told else None
