"""A stand-in for another client: fires its recorded events in this process, with its variables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memory_fabric.clients.table import CLIENTS
from memory_fabric.config import read_settings
from memory_fabric.hooks import dispatcher
from memory_fabric.models import Record
from memory_fabric.store.memory import Memory

EVENTS = Path(__file__).parent / "events"
# Variables that a client sets for its hooks beside its `project_variable`.
ALSO = {
    "qwen": ("GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    "cursor": ("CLAUDE_PROJECT_DIR",),
    "factory": ("CLAUDE_PROJECT_DIR",),
    "codebuddy": ("CLAUDE_PROJECT_DIR",),
}


def recorded(client: str) -> list[str]:
    """The names of a client's recorded events."""
    return sorted(path.stem for path in (EVENTS / client).glob("*.json"))


class OtherClient:
    """A client in one project of one user, who may use Claude Code there, too."""

    def __init__(self, client: str, folder: Path) -> None:
        self.client = client
        self.home, self.project = folder / "user", folder / "shop"
        (self.project / ".git").mkdir(parents=True, exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.person = {"HOME": str(self.home), "USER": "ann"}
        own = CLIENTS[client].project_variable
        names = (*((own,) if own else ()), *ALSO.get(client, ()))
        self.environ = self.person | dict.fromkeys(names, str(self.project))

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """A recorded event with the paths of this folder, and further fields."""
        text = (EVENTS / self.client / f"{name}.json").read_text("utf-8")
        return {**json.loads(self._placed(text)), **fields}

    def fire(self, name: str, **fields: Any) -> dict[str, Any]:
        """Run a recorded event; the reply, empty if nothing was printed."""
        output = dispatcher.run(json.dumps(self.event(name, **fields)).encode(), self.environ)
        reply: dict[str, Any] = json.loads(output) if output else {}
        return reply

    def context(self, name: str, **fields: Any) -> str:
        """The text for the model in the reply to a recorded event, in Claude Code's form."""
        reply = self.fire(name, **fields)
        return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def converse(self, *changes: tuple[str, str]) -> Path:
        """Write the recorded transcript to the place that events name, with texts replaced."""
        [recorded] = (EVENTS / self.client).glob("*.jsonl")
        text = self._placed(recorded.read_text("utf-8"))
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = Path(self.event("Stop")["transcript_path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def converse_with(self, prompt: str) -> None:
        """Append the entry of a typed prompt to the recorded transcript, in the client's form."""
        has_transcript = any((EVENTS / self.client).glob("*.jsonl"))
        path = Path(self.event("Stop")["transcript_path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path = self.converse() if has_transcript else path
        at = "2026-11-23T09:02:15.218Z"
        message: dict[str, Any] = {"message": {"role": "user", "content": prompt}}
        if self.client == "codex":
            message = {"payload": {"type": "user_message", "message": prompt}}
        elif self.client == "qwen":
            message = {"message": {"role": "user", "parts": [{"text": prompt}]}}
        kind = "event_msg" if self.client == "codex" else "user"
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"type": kind, "timestamp": at, "uuid": "u-1", **message}) + "\n")

    def _placed(self, text: str) -> str:
        text = text.replace("/home/user/project", str(self.project))
        return text.replace("/home/user", str(self.home))

    def memory(self) -> Memory:
        """The memory of the project; the caller closes it."""
        environ = {**self.person, "CLAUDE_PROJECT_DIR": str(self.project)}
        return Memory.open(read_settings(environ, {}))

    def records(self, where: str = "status = 'active'") -> list[Record]:
        """The stored records that match an SQL condition."""
        memory = self.memory()
        try:
            return list(memory.find_records(where))
        finally:
            memory.close()

    @property
    def log(self) -> str:
        """The text of the hooks' log; empty if nothing failed."""
        path = self.home / ".claude/memory-fabric/logs/memory-fabric.log"
        return path.read_text() if path.exists() else ""
