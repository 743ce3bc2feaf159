"""Sessions, turns and transcripts of a simulated client, read and made older."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from memory_fabric import ids
from simulated_client import SimulatedClient

DECISION = "PostgreSQL holds the analytics DB, since the team knows it"
FOUND = "Noted fix: The importer ran out of connections, since it never closed its pool."


def episodes(client: SimulatedClient) -> list[tuple[str, str]]:
    memory = client.memory()
    rows = [
        (row[0], row[1])
        for db in memory.databases()
        for row in db.rows("SELECT session, text FROM episodes ORDER BY id")
    ]
    memory.close()
    return rows


def stop(client: SimulatedClient, session: str = "session-1", said: str = "Done.") -> str:
    """The notice with which a turn ends."""
    reply = client.fire("Stop", session, last_assistant_message=said, stop_hook_active=False)
    return str(reply.get("systemMessage", ""))


def age(client: SimulatedClient, path: Path, seconds: int = 7200) -> None:
    """Let a transcript and all sessions be so much older."""
    then = time.time() - seconds
    if path.exists():
        os.utime(path, (then, then))
    memory = client.memory()
    with memory.session_database().transaction() as c:
        c.execute("UPDATE sessions SET seen_at = ?", (ids.timestamp(then),))
    memory.close()


def row(client: SimulatedClient, session: str) -> tuple[Any, ...]:
    memory = client.memory()
    found = memory.session_database().row(
        "SELECT offset, ended_at, seen_at FROM sessions WHERE id = ?", (session,)
    )
    memory.close()
    assert found is not None
    return found


def forget_sessions(client: SimulatedClient) -> None:
    memory = client.memory()
    with memory.session_database().transaction() as c:
        c.execute("DELETE FROM sessions")
    memory.close()
