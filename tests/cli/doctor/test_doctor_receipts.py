"""doctor --prove: what the client's transcripts show, beside what the hooks believe."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import time
from typing import Any

import pytest

from cli.shell import Shell
from memory_fabric.cli.commands import status
from memory_fabric.health import checks
from memory_fabric.health.delivery import MAX_BYTES_OF_FILE
from memory_fabric.ids import timestamp

DECISION = "Use PostgreSQL for the analytics DB"
ASKED = "Which database should the analytics service talk to?"
NAMES = ("receipts", "hooks ran", "given and arrived")


class Conversation:
    """A session of the client: its hooks really run, its transcript is written in its form."""

    def __init__(self, shell: Shell, session: str, *, hooked: bool = True) -> None:
        self.shell, self.session, self.hooked = shell, session, hooked
        self.path = shell.notes.parents[1] / f"{session}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._numbers = itertools.count()

    def asks(self, prompt: str, answer: str, *, delivered: bool = True) -> None:
        """A prompt with what the hook adds to it, and the answer."""
        self._note({"type": "user", "message": {"role": "user", "content": prompt}})
        self._hook("UserPromptSubmit", delivered=delivered, prompt=prompt)
        content = [{"type": "text", "text": answer}]
        self._note({"type": "assistant", "message": {"role": "assistant", "content": content}})

    def _hook(self, event: str, *, delivered: bool = True, **fields: str) -> None:
        if not self.hooked:
            return
        sent = {
            "hook_event_name": event,
            "session_id": self.session,
            "transcript_path": str(self.path),
            "cwd": str(self.shell.project),
            **fields,
        }
        place = {"CLAUDE_PROJECT_DIR": str(self.shell.project)}
        reply = self.shell.run("hook", stdin=json.dumps(sent), **place).out
        added = json.loads(reply or "{}").get("hookSpecificOutput", {}).get("additionalContext")
        if added and delivered:
            told = {"type": "hook_additional_context", "content": [added]}
            attachment = {**told, "hookName": event, "toolUseID": event, "hookEvent": event}
            self._note({"type": "attachment", "attachment": attachment})

    def _note(self, entry: dict[str, Any]) -> None:
        whole = {
            "parentUuid": None,
            "isSidechain": False,
            **entry,
            "uuid": f"{self.session}-{next(self._numbers)}",
            "timestamp": timestamp(),
            "cwd": str(self.shell.project),
            "sessionId": self.session,
            "version": "2.1.329",
        }
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(whole) + "\n")


def prove(shell: Shell) -> dict[str, dict[str, Any]]:
    """Return what the transcripts show, by check, without the other checks of `doctor --prove`."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in shell.environ.items():
            patch.setenv(name, value)
        patch.chdir(shell.project)
        with status.sight() as seen:
            return {
                finding.name: finding.as_json()
                for finding in checks.findings(checks.DELIVERY, seen)
            }


def prove_by_command(shell: Shell) -> dict[str, dict[str, Any]]:
    """Return what `doctor --prove` says of the transcripts, by check."""
    found = shell.run("doctor", "--prove", "--json").json
    return {check["name"]: check for check in found if check["name"] in NAMES}


@pytest.fixture
def decided(shell: Shell) -> Shell:
    """A shell whose project has a decision that MEMORY.md does not show."""
    shell.remember(DECISION, "--why", "it handles our query load")
    shell.notes.unlink()
    connection = sqlite3.connect(shell.database)
    connection.execute("UPDATE records SET promoted_at = ''")
    connection.execute("DELETE FROM promoted")
    connection.commit()
    connection.close()
    return shell


def short_id(shell: Shell) -> str:
    """Return the short id of the decision."""
    (found,) = shell.run("recall", "analytics", "--json").json["results"][:1]
    return str(found["id"])[-8:]


def test_doctor_accepts_a_project_without_transcripts(decided: Shell) -> None:
    checks = prove(decided)

    assert list(checks) == ["receipts"]
    assert checks["receipts"]["state"] == "ok" and "no transcript" in checks["receipts"]["told"]


def test_doctor_lists_the_id_of_each_memory_found_in_a_transcript(decided: Shell) -> None:
    session = Conversation(decided, "11111111-2222-4333-8444-555555555555")
    session.asks(ASKED, "It talks to PostgreSQL.")
    session.asks("Rename the button.", "Done.")

    checks = prove_by_command(decided)

    assert checks == prove(decided)
    assert {check["state"] for check in checks.values()} == {"ok"}
    assert checks["receipts"]["told"].startswith("1 of 2 prompts were given memories")
    (receipt,) = checks["receipts"]["details"]
    assert "session 11111111, with a prompt" in receipt
    assert receipt.endswith(f": {short_id(decided)}")
    assert "in each of 1 session" in checks["hooks ran"]["told"]
    assert checks["given and arrived"]["told"].endswith(": 1 time")


def test_an_injected_memory_missing_from_the_transcript_is_a_fault(decided: Shell) -> None:
    session = Conversation(decided, "session-1")
    session.asks(ASKED, "I do not know.", delivered=False)

    check = prove(decided)["given and arrived"]

    assert check["state"] == "fault"
    assert check["told"] == "given but never arrived: 1 of 1 time"
    assert short_id(decided) in check["details"][0] and "timeout" in check["remedy"]


def test_one_missing_delivery_among_several_is_only_a_warning(decided: Shell) -> None:
    for number in range(3):
        session = Conversation(decided, f"session-{number}")
        session.asks(ASKED, "PostgreSQL.", delivered=number > 0)

    check = prove(decided)["given and arrived"]

    assert check["state"] == "warning" and "1 of 3 times" in check["told"]
    assert "Esc" in check["remedy"]


def test_doctor_counts_sessions_in_which_no_hook_ran(decided: Shell) -> None:
    Conversation(decided, "session-1").asks(ASKED, "PostgreSQL.")
    Conversation(decided, "session-2", hooked=False).asks(ASKED, "I do not know.")

    check = prove(decided)["hooks ran"]

    assert check["state"] == "fault"
    assert "did not run in 1 of 2 sessions: session-" in check["told"]
    assert "again" in check["remedy"]


def test_missing_hooks_are_only_a_warning_if_they_ran_in_a_later_session(
    decided: Shell,
) -> None:
    Conversation(decided, "session-1").asks(ASKED, "PostgreSQL.")
    Conversation(decided, "session-2", hooked=False).asks(ASKED, "I do not know.")
    Conversation(decided, "session-3").asks(ASKED, "PostgreSQL.")

    assert prove(decided)["hooks ran"]["state"] == "warning"


def test_sessions_before_the_installation_are_not_checked_for_hooks(decided: Shell) -> None:
    Conversation(decided, "session-1", hooked=False).asks(ASKED, "I do not know.")
    Conversation(decided, "session-2").asks(ASKED, "PostgreSQL.")

    check = prove(decided)["hooks ran"]

    assert check["state"] == "ok" and "1 session" in check["told"]


def test_sessions_since_installation_are_checked_even_if_no_hook_ever_ran(decided: Shell) -> None:
    plugins = decided.user_home / ".claude/plugins"
    plugins.mkdir(parents=True)
    entry = {"scope": "user", "installedAt": timestamp(time.time() - 60)}
    known = {"version": 2, "plugins": {"memory-fabric@memory-fabric": [entry]}}
    (plugins / "installed_plugins.json").write_text(json.dumps(known), "utf-8")
    Conversation(decided, "session-1", hooked=False).asks(ASKED, "I do not know.")

    check = prove(decided)["hooks ran"]

    assert check["state"] == "fault" and "1 of 1 session" in check["told"]


def test_sessions_without_hooks_are_accepted_while_memory_is_switched_off(decided: Shell) -> None:
    Conversation(decided, "session-1").asks(ASKED, "PostgreSQL.")
    Conversation(decided, "session-2", hooked=False).asks(ASKED, "I do not know.")
    decided.run("off", "--here")

    assert prove(decided)["hooks ran"]["state"] == "ok"


def test_doctor_finds_a_transcript_at_the_path_reported_by_the_client(
    decided: Shell,
) -> None:
    session = Conversation(decided, "session-1")
    session.path = decided.notes.parents[2] / "elsewhere-below" / "session-1.jsonl"
    session.path.parent.mkdir()
    session.asks(ASKED, "PostgreSQL.")

    assert prove(decided)["receipts"]["told"].startswith("1 of 1 prompt ")


def test_doctor_checks_the_end_of_a_transcript_that_is_too_large_to_be_read(
    decided: Shell,
) -> None:
    session = Conversation(decided, "session-1")
    blob = json.dumps({"type": "api-request-blob", "message": {"content": "x" * 900_000}})
    session.path.write_text(f"{blob}\n" * 12, "utf-8")
    session.asks(ASKED, "PostgreSQL.")
    assert os.path.getsize(session.path) > MAX_BYTES_OF_FILE

    checks = prove(decided)

    assert checks["receipts"]["told"].startswith("1 of 1 prompt ")


def test_a_session_of_another_project_in_the_same_transcript_folder_is_ignored(
    decided: Shell,
) -> None:
    Conversation(decided, "session-1").asks(ASKED, "PostgreSQL.")
    foreign = Conversation(decided, "session-2", hooked=False)
    foreign.asks(ASKED, "I do not know.")
    text = foreign.path.read_text("utf-8").replace(str(decided.project), "/elsewhere/sh_op")
    foreign.path.write_text(text, "utf-8")

    checks = prove(decided)

    assert {check["state"] for check in checks.values()} == {"ok"}
    assert "1 session in" in checks["receipts"]["told"]
