"""A project, a home, and the dispatcher's own door: events in as bytes, replies out as JSON."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from command_line import run_here
from memory_fabric import dispatcher
from memory_fabric.config import read_settings
from memory_fabric.models import Record
from memory_fabric.store.memory import Memory


class House:
    """One project of one user, with the front door in process."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "user"
        self.project = tmp_path / "shop"
        (self.project / ".git").mkdir(parents=True)
        self.home.mkdir()
        self.transcript = tmp_path / "transcript.jsonl"
        self.environ = {
            "HOME": str(self.home),
            "USER": "ann",
            "CLAUDE_PROJECT_DIR": str(self.project),
            "CLAUDE_PLUGIN_DATA": str(tmp_path / "data"),
            "CLAUDE_CODE_SESSION_ATTENDED": "1",
        }
        self.lines = 0

    def fire(self, name: str, session: str = "session-1", **fields: Any) -> dict[str, Any]:
        """The reply to an event, as the client would read it; empty when nothing was said."""
        event = {
            "hook_event_name": name,
            "session_id": session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            **fields,
        }
        output = dispatcher.run(json.dumps(event).encode(), self.environ)
        reply: dict[str, Any] = json.loads(output) if output else {}
        return reply

    def context(self, name: str, session: str = "session-1", **fields: Any) -> str:
        """What the model is given on this event."""
        reply = self.fire(name, session, **fields)
        return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def prompt(self, text: str, session: str = "session-1") -> str:
        """What the model is given with this prompt."""
        return self.context("UserPromptSubmit", session, prompt=text)

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
        """The memory as the hooks see it; the caller closes it."""
        return Memory.open(read_settings(self.environ, {}))

    def records(self, where: str = "status = 'active'") -> list[Record]:
        """Stored records, newest first."""
        memory = self.memory()
        try:
            return list(memory.find_records(where))
        finally:
            memory.close()

    @property
    def fabric_home(self) -> Path:
        """Where memory-fabric keeps its files."""
        return self.home / ".claude" / "memory-fabric"

    @property
    def log(self) -> str:
        """What the hooks noted; empty when all went well."""
        path = self.fabric_home / "logs" / "memory-fabric.log"
        return path.read_text() if path.exists() else ""

    def memory_md_file(self) -> Path:
        """The client's MEMORY.md for this project."""
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(self.project))
        return self.home / ".claude" / "projects" / slug / "memory" / "MEMORY.md"

    def command(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """The answer of `memory-fabric` to these arguments."""
        environ = {**self.environ, "PATH": os.environ["PATH"]}
        done = run_here(arguments, environ, self.project, stdin)
        return subprocess.CompletedProcess(arguments, done.status, done.out, done.err)

    def recall(self, query: str) -> dict[str, Any]:
        """The answer to a question, as the command line prints it for programs."""
        done = self.command("recall", "--json", query)
        assert done.returncode in (0, 3), done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
