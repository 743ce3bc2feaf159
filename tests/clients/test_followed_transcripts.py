"""Stop reads the transcripts of Codex and Qwen Code on, as it does Claude Code's."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from clients.other_client import OtherClient
from memory_fabric.config import read_settings, transcript_roots
from memory_fabric.hooks import dispatcher
from memory_fabric.importing import past_sessions, runs
from memory_fabric.importing.learn import Reading
from memory_fabric.store.conversations import sessions

SESSION = "00000000-0000-4000-8000-000000000001"
PROMPT = {"codex": "Write the app", "qwen": "Which database?"}
ANSWER = "We decided to use PostgreSQL because of JSONB."
CHANGED = {"codex": {"src/app2.py", "src/b.py"}, "qwen": {"src/q.py"}}
BOTH = pytest.mark.parametrize("client", ["codex", "qwen"])


def turns(other: OtherClient) -> list[tuple[str, str]]:
    """The turns that are kept: role and text."""
    memory = other.memory()
    rows = memory.session_database().rows(
        "SELECT role, text FROM episodes WHERE session = ? ORDER BY created_at, rowid", (SESSION,)
    )
    memory.close()
    return [(str(role), str(text)) for role, text in rows]


def notes(other: OtherClient) -> dict[str, object]:
    memory = other.memory()
    found = dict(sessions.load_notes(memory.session_database(), SESSION))
    memory.close()
    return found


@BOTH
def test_a_stop_event_stores_new_turns_and_changed_files(tmp_path: Path, client: str) -> None:
    other = OtherClient(client, tmp_path)
    other.converse()

    other.fire("Stop")
    other.fire("Stop")

    assert turns(other) == [("user", PROMPT[client]), ("assistant", ANSWER)]
    assert CHANGED[client] <= {str(path) for path in notes(other)["files"]}  # type: ignore[attr-defined]
    assert notes(other)["client"] == client
    assert other.log == ""


@BOTH
def test_a_note_in_both_transcript_and_stop_event_is_stored_once(
    tmp_path: Path, client: str
) -> None:
    other = OtherClient(client, tmp_path)
    note = "Noted decision: The reports run on PostgreSQL."
    other.converse((ANSWER, f"Done.\\n\\n{note}"))

    other.fire("Stop", last_assistant_message=f"Done.\n\n{note}")
    other.fire("Stop", last_assistant_message=f"Done.\n\n{note}")

    (record,) = other.records("type = 'decision'")
    assert (record.session, record.evidence["client"]) == (SESSION, client)


def test_records_of_a_codex_exec_session_do_not_get_the_users_trust(tmp_path: Path) -> None:
    codex = OtherClient("codex", tmp_path)
    codex.converse(('"source": "cli"', '"source": "exec"'))
    said = "The workers use Redis because pagination was slow"
    codex.fire("UserPromptSubmit", prompt=f"{said}.")

    codex.fire("Stop", last_assistant_message=f'Noted decision: {said}. From: "{said}"')

    (record,) = codex.records("type = 'decision'")
    assert record.trust == "assistant"
    assert "Noted <rule|" not in codex.context("SessionStart")


@BOTH
def test_a_claude_code_session_start_reads_transcripts_of_other_clients(
    tmp_path: Path, client: str
) -> None:
    other = OtherClient(client, tmp_path)
    other.fire("SessionStart")
    other.fire("UserPromptSubmit", prompt=PROMPT[client])
    other.fire("Stop", last_assistant_message="")
    path = other.converse((ANSWER, f"{ANSWER}\\n\\nNoted decision: The reports run on PostgreSQL."))
    memory = other.memory()
    before = "2026-01-01T00:00:00.000Z"
    with memory.session_database().transaction() as c:
        c.execute("UPDATE sessions SET seen_at = ?", (before,))
    memory.close()
    os.utime(path, (time.time() - 7200,) * 2)

    start = {"hook_event_name": "SessionStart", "session_id": "claude-1", "source": "startup"}
    claude = {**other.person, "CLAUDE_PROJECT_DIR": str(other.project)}
    dispatcher.run(json.dumps(start).encode(), claude)

    assert turns(other)[0] == ("user", PROMPT[client])
    (record,) = other.records("type = 'decision'")
    assert (record.session, record.evidence["client"]) == (SESSION, client)


@BOTH
def test_a_record_learned_from_a_past_session_shows_its_client(tmp_path: Path, client: str) -> None:
    other = OtherClient(client, tmp_path)
    path = other.converse((PROMPT[client], "Write the first page of the shop, and its styles."))
    os.utime(path, (time.time() - 86400,) * 2)
    settings = read_settings(other.person, {})

    found = past_sessions.make(settings, transcript_roots(other.person), time.time())
    Reading(settings, runs.begin(settings.home), lambda done, of: None).read(found)

    assert turns(other)[0] == ("user", "Write the first page of the shop, and its styles.")
    assert notes(other)["client"] == client


def test_a_checkpoint_of_a_codex_session_lists_the_patched_files(tmp_path: Path) -> None:
    codex = OtherClient("codex", tmp_path)
    codex.converse()

    printed = codex.fire("Stop", hook_event_name="PreCompact", trigger="auto")
    restored = codex.context("SessionStart", source="compact")

    assert printed == {}
    assert "src/b.py" in restored and PROMPT["codex"] in restored
