"""A stand-in for the client: fires events in this process and writes the transcript."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from unittest import mock

from command_line import run_here
from memory_fabric.capture.notes.protocol import HEADINGS, PROTOCOL
from memory_fabric.config import read_settings
from memory_fabric.hooks import dispatcher
from memory_fabric.models import Record
from memory_fabric.store.memory import Memory
from memory_fabric.store.upkeep import maintenance


class SimulatedClient:
    """The client's part in one project of one user: its events, its transcript, its MEMORY.md."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "user"
        self.project = tmp_path / "shop"
        (self.project / ".git").mkdir(parents=True)
        self.home.mkdir()
        # Where the client keeps them.
        self.transcript = self.home / ".claude" / "projects" / "-shop" / "transcript.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.environ = {
            "HOME": str(self.home),
            "USER": "ann",
            "CLAUDE_PROJECT_DIR": str(self.project),
            "CLAUDE_PLUGIN_DATA": str(tmp_path / "data"),
            "CLAUDE_CODE_SESSION_ATTENDED": "1",
        }
        self.lines = 0
        # True if the transcript has the entry of each prompt, as the client's has.
        self.writes_entries = True

    def fire(self, name: str, session: str = "session-1", **fields: Any) -> dict[str, Any]:
        """Run an event's handlers and return the reply; empty if nothing was printed."""
        event = {
            "hook_event_name": name,
            "session_id": session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            **fields,
        }
        # What a session's end starts would expire old turns beside the test.
        with mock.patch.object(maintenance, "start", lambda *_: 0):
            output = dispatcher.run(json.dumps(event).encode(), self.environ)
        if name == "UserPromptSubmit" and self.writes_entries:
            self.entry(str(fields.get("prompt", "")), session)
        if name == "PreCompact":  # the client hands its output to the summariser as it is
            return {"plain": output.decode()} if output else {}
        reply: dict[str, Any] = json.loads(output) if output else {}
        return reply

    def entry(self, prompt: str, session: str = "session-1", **marks: Any) -> None:
        """Append the entry of a prompt to the transcript, with the client's marks of its author.

        It has the form of a prompt that was sent while the assistant worked: no test's turns are
        counted with it.
        """
        sent = {"type": "queued_command", "commandMode": "prompt", "origin": {"kind": "human"}}
        with self.transcript.open("a", encoding="utf-8") as stream:
            attachment = {**sent, "prompt": prompt, **marks}
            entry = {"type": "attachment", "sessionId": session, "attachment": attachment}
            stream.write(json.dumps(entry) + "\n")

    def whole_context(self, name: str, session: str = "session-1", **fields: Any) -> str:
        """The text that an event's reply gives to the model."""
        reply = self.fire(name, session, **fields)
        return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def context(self, name: str, session: str = "session-1", **fields: Any) -> str:
        """The memories that an event's reply gives to the model: without the request for notes."""
        return self.whole_context(name, session, **fields).replace(PROTOCOL, "").strip()

    def prompt(self, text: str, session: str = "session-1") -> str:
        """The memories that the model receives along with a prompt."""
        given = self.context("UserPromptSubmit", session, prompt=text).splitlines()
        return "\n".join(line for line in given if line.partition(":")[0] not in HEADINGS)

    def feedback(self, session: str = "session-1", text: str = "Go on, please.") -> str:
        """The line on its notes that the model receives along with a prompt."""
        given = self.context("UserPromptSubmit", session, prompt=text).splitlines()
        return "".join(line for line in given if line.partition(":")[0] in HEADINGS)

    def stop(self, said: str = "All right.", session: str = "session-1") -> str:
        """Return the notice at the end of a turn in which the assistant said this."""
        return str(self.fire("Stop", session, last_assistant_message=said).get("systemMessage", ""))

    def starts(self, session: str) -> tuple[str, str]:
        """Return the notice and the block of a session's start."""
        reply = self.fire("SessionStart", session, source="startup")
        block = reply.get("hookSpecificOutput", {}).get("additionalContext", "")
        return str(reply.get("systemMessage", "")), str(block)

    def types(self, prompt: str, session: str = "session-1") -> str:
        """Return the notice for a prompt that is a command; '' if it went to the assistant."""
        reply = self.fire("UserPromptSubmit", session, prompt=prompt)
        return str(reply.get("reason", "")) if reply.get("decision") == "block" else ""

    def note(
        self,
        kind: str,
        sentence: str,
        quotation: str | None = None,
        session: str = "session-1",
        *,
        prompt: str = "",
        **fields: str,
    ) -> str:
        """Let the assistant end a turn with a note; return the user's notice.

        The note quotes the user, who typed its sentence or `quotation`; with an empty quotation it
        is the assistant's own. Further fields: `why`, `instead_of`, `when`, `For`, `also`.
        """
        quotation = sentence if quotation is None else quotation
        line = f"Noted {kind}: {sentence.rstrip('.')}."
        line += "".join(
            f" {name.capitalize().replace('_', ' ')}: {value}." for name, value in fields.items()
        )
        line += f' From: "{quotation}"' if quotation else ""
        self.fire("UserPromptSubmit", session, prompt=prompt or quotation or "Go on, please.")
        return self.stop(f"Done.\n\n{line}", session)

    def say(
        self, role: str, *blocks: dict[str, Any] | str, session: str = "session-1", **more: str
    ) -> None:
        """Append a turn to the transcript, as the client does."""
        self.lines += 1
        content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        entry = {
            "type": role,
            "uuid": f"00000000-0000-4000-8000-{self.lines:012d}",
            "sessionId": session,
            "timestamp": "2026-03-01T10:00:00.000Z",
            "cwd": str(self.project),
            "message": {"role": role, "content": content},
            **more,
        }
        with self.transcript.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")

    def memory(self) -> Memory:
        """Open the memory with the hooks' settings; the caller closes it."""
        return Memory.open(read_settings(self.environ, {}))

    def records(self, where: str = "status = 'active'") -> list[Record]:
        """The stored records that match an SQL condition, newest first."""
        memory = self.memory()
        try:
            return list(memory.find_records(where))
        finally:
            memory.close()

    def record_of(self, words: str) -> Record:
        """Return the only record of these words, also one that was closed."""
        (record,) = [record for record in self.records("1") if words in record.what]
        return record

    def id_of(self, words: str) -> str:
        """Return the id of the record of these words, as people type it."""
        return self.record_of(words).id[-8:]

    def is_open(self, words: str) -> bool:
        """Return True if nothing has closed the record of these words."""
        record = self.record_of(words)
        return not (record.valid_to or record.superseded_by)

    @property
    def fabric_home(self) -> Path:
        """The folder of memory-fabric's files."""
        return self.home / ".claude" / "memory-fabric"

    @property
    def log(self) -> str:
        """The text of the hooks' log; empty if nothing failed."""
        path = self.fabric_home / "logs" / "memory-fabric.log"
        return path.read_text() if path.exists() else ""

    def memory_md_file(self) -> Path:
        """The path of the client's MEMORY.md for this project."""
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(self.project))
        return self.home / ".claude" / "projects" / slug / "memory" / "MEMORY.md"

    def command(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run `memory-fabric` with these arguments in this process."""
        environ = {**self.environ, "PATH": os.environ["PATH"]}
        done = run_here(arguments, environ, self.project, stdin)
        return subprocess.CompletedProcess(arguments, done.status, done.out, done.err)

    def recall(self, query: str) -> dict[str, Any]:
        """The JSON that `memory-fabric recall --json` prints for a query."""
        done = self.command("recall", "--json", query)
        assert done.returncode in (0, 3), done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
