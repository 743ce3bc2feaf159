"""Signs at an event that a command to memory was not typed by the person."""

from __future__ import annotations

import os
import time

from memory_fabric import events
from memory_fabric.client import CLAUDE_CODE
from memory_fabric.clients.transcript import before_prompt
from memory_fabric.store.conversations import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.config import Settings
    from memory_fabric.events import Event
    from memory_fabric.store.memory import Memory

# Sessions in whose transcripts a running tool is looked for, if they changed in so many seconds.
MAX_OTHERS, OTHERS_CHANGED_S = 8, 3600
# Why a command is not done, as the user is told.
WHY = {
    events.RUNNING: "while the assistant runs a tool; type it again when the tool has finished",
    "elsewhere": "while a tool runs in another session of this project; type it again after this "
    "session's first answer",
    "foreign": "in a shell that another assistant started; run `memory-fabric` in a terminal",
    "moved": "since this event names another transcript than this session has; run "
    "`memory-fabric` in a terminal",
    "outside": "since this event names no transcript in the client's folder; run "
    "`memory-fabric` in a terminal",
}


def doubt(event: Event, memory: Memory, prompt: str) -> str:
    """Return SCHEDULED if the assistant scheduled this prompt, else the key in WHY of what speaks
    against a command in it; '' if nothing does.
    """
    database = memory.session_database()
    scheduled = sessions.load_notes(database, event.session).get(sessions.SCHEDULED, ())
    # The client joins several that fire at once.
    if any(f"\n{task.strip()}\n" in f"\n{prompt}\n" for task in scheduled):
        return events.SCHEDULED
    if memory.settings.foreign:
        return "foreign"
    path = event.transcript_path
    if event.client.transcripts != CLAUDE_CODE.transcripts:
        return ""
    origin = before_prompt(path, prompt)
    if origin == events.SCHEDULED:
        return origin
    row = database.row("SELECT transcript, loaded_at FROM sessions WHERE id = ?", (event.session,))
    known_path, is_announced = row or ("", "")
    # The client moves a transcript with its folder.
    if known_path and known_path != path and os.path.exists(known_path):
        return "moved"
    if not is_clients_own(memory.settings, path):
        return "outside"
    if origin or (is_announced and os.path.exists(path)):
        return origin
    since_s = time.time() - OTHERS_CHANGED_S
    other_sessions = sessions.unfinished(database, event.session, "9999", MAX_OTHERS)
    is_running = any(
        before_prompt(other_path, prompt) == events.RUNNING
        for _, other_path, _ in other_sessions
        if os.path.exists(other_path) and os.stat(other_path).st_mtime > since_s
    )
    return "elsewhere" if is_running else ""


def is_clients_own(settings: Settings, path: str) -> bool:
    """Return True for a transcript in the folder in which Claude Code keeps them, and for any path
    of another client.
    """
    if settings.client != CLAUDE_CODE:
        return True
    root = os.path.join(settings.config_dir, "projects")
    return "\0" not in path and any(
        norm(path).startswith(norm(root) + os.sep) for norm in (os.path.normpath, os.path.realpath)
    )
