"""A store that another process holds: every hook ends within its own time, and nothing is lost."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

from replay.hook_runner import HookRunner

DECIDED = "Remember that the shop uses PostgreSQL because SQLite locks."
SAID = {
    "type": "assistant",
    "uuid": "00000000-0000-4000-8000-000000000001",
    "sessionId": "s1",
    "timestamp": "2026-03-01T10:00:00.000Z",
    "message": {
        "role": "assistant",
        "content": [{"type": "text", "text": "Noted decision: The workers use Redis."}],
    },
}


def test_hooks_finish_in_time_while_another_process_locks_the_store(tmp_path: Path) -> None:
    hooks = HookRunner(tmp_path)
    transcript = tmp_path / "transcript.jsonl"
    hooks.say(DECIDED)
    transcript.write_text(json.dumps(SAID) + "\n", "utf-8")
    event = {"session_id": "s1", "transcript_path": str(transcript), "reason": "other"}
    held = [sqlite3.connect(path, isolation_level=None) for path in hooks.memory.rglob("*.db")]
    for connection in held:
        connection.execute("BEGIN EXCLUSIVE")
    began_s = time.monotonic()
    hooks.run({"hook_event_name": "Stop", **event})
    hooks.run({"hook_event_name": "SessionEnd", **event})
    assert time.monotonic() - began_s < 12  # it was 15; the limits of both are 5 s and 1.2 s
    for connection in held:
        connection.execute("ROLLBACK")
        connection.close()
    hooks.run({"hook_event_name": "Stop", **event})
    assert "Redis" in hooks.say("What do the workers use, Redis?", "s2").context


def test_a_note_delayed_by_a_locked_database_is_stored_and_announced_once(tmp_path: Path) -> None:
    hooks = HookRunner(tmp_path)
    hooks.say(DECIDED)
    said_last = "Noted decision: The workers use Redis."
    event = {"hook_event_name": "Stop", "session_id": "s1", "last_assistant_message": said_last}
    (path,) = hooks.memory.rglob("graph.db")
    held = sqlite3.connect(path, isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    waiting = [str(hooks.run(event).reply) for _ in range(3)]
    held.execute("ROLLBACK")
    held.close()
    said = [str(hooks.run(event).reply) for _ in range(2)]

    assert all("kept in a file" in notice for notice in waiting)
    assert ["remembered decision (" in notice for notice in waiting + said].count(True) == 1
    assert not list((hooks.memory / "late").glob("*.jsonl"))
    assert "Redis" in hooks.say("What do the workers use, Redis?", "s2").context
