"""Transcripts as hooks meet them: no files, forbidden ones, ones that grow."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.hooks.table import HANDLERS
from replay.hook_runner import HereRunner, HookResult, HookRunner
from replay.test_fails_open import assert_open, obey_permissions

FOUND = "Noted fix: Requests hang when the connection pool is never closed."
TURNS = 60


def forbidden(path: Path) -> None:
    path.write_bytes(line(1, FOUND))
    path.chmod(0)


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "forbidden": forbidden,
}


@pytest.fixture
def hooks(tmp_path: Path) -> HookRunner:
    return HereRunner(tmp_path)


def line(number: int, text: str) -> bytes:
    entry = {
        "type": "assistant",
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "sessionId": "s",
        "timestamp": f"2026-03-01T10:{number // 60:02d}:{number % 60:02d}.000Z",
        "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
    }
    return json.dumps(entry).encode() + b"\n"


def run_hook(hooks: HookRunner, name: str, path: Path, **fields: Any) -> HookResult:
    """The result of an event: of a process of its own where modes of files have to hold for it."""
    event = {"hook_event_name": name, "session_id": "s", "transcript_path": str(path), **fields}
    is_closed = path.stat().st_mode & 0o777 == 0
    return hooks.run(event, prepare=obey_permissions if is_closed else None)


def rows(hooks: HookRunner, query: str) -> list[Any]:
    (path,) = hooks.memory.glob("projects/*/graph.db")
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("kind", KINDS)
def test_an_unreadable_transcript_is_reported_once_and_no_hook_fails(
    hooks: HookRunner, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "s.jsonl"
    KINDS[kind](path)
    for name in HANDLERS:
        if name not in ("Stop", "PreCompact", "SessionEnd"):
            assert_open(run_hook(hooks, name, path, source="fork", agent_type="x", prompt="Hello"))
    first = run_hook(hooks, "Stop", path, last_assistant_message=FOUND)
    assert_open(first)
    again = run_hook(hooks, "Stop", path, last_assistant_message=FOUND)
    assert_open(run_hook(hooks, "PreCompact", path, trigger="auto"))
    assert_open(run_hook(hooks, "SessionEnd", path, reason="other"))

    assert "cannot be read" in (first.reply or {}).get("systemMessage", "")
    assert again.reply is None
    assert rows(hooks, "SELECT type FROM records") == [("solution",)]
    assert sum("cannot be read" in entry for entry in hooks.log) == 1


def test_each_turn_of_a_growing_transcript_is_stored_exactly_once(
    hooks: HookRunner, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"")
    stopped = threading.Event()

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            for number in range(TURNS):
                whole = line(number, f"We looked at part {number}.")
                file.write(whole[:50])  # torn, as a reader may find it
                stopped.wait(0.005)
                file.write(whole[50:])

    client = threading.Thread(target=write)
    client.start()
    while client.is_alive():
        assert_open(run_hook(hooks, "Stop", path, last_assistant_message=""))
    client.join()
    assert_open(run_hook(hooks, "Stop", path, last_assistant_message=""))

    said = [text for (text,) in rows(hooks, "SELECT text FROM episodes ORDER BY id")]
    assert said == [f"We looked at part {number}." for number in range(TURNS)]
    assert not any("transcript" in entry for entry in hooks.log)
