"""PreCompact: save what the conversation is about to lose."""

from __future__ import annotations

import os

from memory_fabric.fabric.checkpoint import checkpoint
from memory_fabric.handlers.follow_transcript import changed_files, follow
from memory_fabric.store import sessions
from memory_fabric.store.write import cleaned
from memory_fabric.transcript import read_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.fabric.core import Fabric

# The end of the transcript in which the open task and the files in work are looked for.
TAIL_BYTES = 2 << 20


def handle(event: Event, fabric: Fabric) -> None:
    """Fires before a compaction. Reads the transcript's new part (remembered as at Stop) and its
    end (the checkpoint). Never blocks and prints nothing: that would reach the summariser.
    """
    follow(fabric, event.session, event.transcript_path)
    turns, _, _ = read_turns(event.transcript_path, _tail_start(event.transcript_path))
    saved = checkpoint(
        [t.text for t in turns if t.role == "user" and t.text],
        [t.text for t in turns if t.role == "assistant" and t.text],
        changed_files(turns),
        fabric.now,
    )
    sessions.save_checkpoint(fabric.memory.session_database(), event.session, cleaned(saved))


def _tail_start(path: str) -> int:
    try:
        return max(0, os.path.getsize(path) - TAIL_BYTES)
    except OSError:
        return 0
