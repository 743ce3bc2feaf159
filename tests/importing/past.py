"""Past sessions of a client, written as it writes them, and what a memory made of them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory_fabric.config import Settings, read_settings, transcript_roots
from memory_fabric.importing import past_sessions, runs
from memory_fabric.importing.learn import Reading

DAY_S = 24 * 3600
# What is compared between two memories: everything that was learned, without generated ids.
LEARNED = {
    "episodes": "uuid, session, role, text, place, agent, domain, created_at",
    "records": "type, what, status, trust, source, domain, session, sightings, created_at",
    "sessions": "id, offset, ended_at <> ''",
}


class Machine:
    """A user's machine: a home, projects, clients' folders, and the command's own view of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.memory = self.home / ".claude" / "memory-fabric"
        self.home.mkdir(parents=True, exist_ok=True)
        self.environ = {"HOME": str(self.home), "USER": "ann"}
        self.now = datetime.now(UTC)
        self._count = 0

    @property
    def settings(self) -> Settings:
        """The settings of a shell in the user's home."""
        return read_settings(self.environ, {})

    def project(self, name: str) -> Path:
        """A project with a repository of its own."""
        place = self.folder / "work" / name
        (place / ".git").mkdir(parents=True, exist_ok=True)
        return place

    def session(
        self, place: Path, *said: Any, days_ago: float = 3, session: str = "", **fields: Any
    ) -> Path:
        """Write a session of Claude Code; texts are by the user and the assistant in turn.

        An entry that is a list holds blocks of the assistant's or, for results, the user's message.
        """
        self._count += 1
        session = session or f"0000000{self._count}-0000-4000-8000-000000000000"
        at = self.now - timedelta(days=days_ago)
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(place))
        path = self.home / ".claude" / "projects" / slug / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        role = "assistant"
        with path.open("a", encoding="utf-8") as file:
            for number, one in enumerate(said):
                at += timedelta(seconds=20)
                is_result = isinstance(one, list) and one[0]["type"] == "tool_result"
                role = "user" if is_result or role == "assistant" else "assistant"
                entry = {
                    "type": role,
                    "uuid": f"{session}-{number:04d}",
                    "sessionId": session,
                    "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                    "cwd": str(place),
                    "entrypoint": "cli",
                    "isSidechain": False,
                    "message": {"role": role, "content": one},
                    **fields,
                }
                file.write(json.dumps(entry) + "\n")
        os.utime(path, (at.timestamp(), at.timestamp()))
        return path

    def found(self, settings: Settings | None = None) -> list[past_sessions.Session]:
        """The sessions that the command finds."""
        roots = transcript_roots(self.environ)
        return past_sessions.make(settings or self.settings, roots, self.now.timestamp())

    def learn(self, settings: Settings | None = None) -> Reading:
        """Read what is not read, as the command does."""
        settings = settings or self.settings
        chosen = [one for one in self.found(settings) if one.state in past_sessions.TO_READ]
        run = runs.begin(settings.home)
        reading = Reading(settings, run, lambda done, of: None)
        reading.read(chosen)
        return reading

    def rows(self, query: str, project: str = "*") -> list[tuple[Any, ...]]:
        """The rows of a query in all projects' databases."""
        found: list[tuple[Any, ...]] = []
        for path in sorted(self.memory.glob(f"projects/{project}/graph.db")):
            connection = sqlite3.connect(path)
            try:
                found += connection.execute(query).fetchall()
            finally:
                connection.close()
        return found

    def learned(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that was learned, sorted."""
        return {
            table: sorted(self.rows(f"SELECT {columns} FROM {table}"))
            for table, columns in LEARNED.items()
        }


def rest(path: Path) -> None:
    """Date a transcript's last change a day back: its session is not running."""
    at = datetime.now(UTC).timestamp() - DAY_S
    os.utime(path, (at, at))


def call(id_: str, name: str, **given: Any) -> list[dict[str, Any]]:
    """The assistant's message that calls a tool."""
    return [{"type": "tool_use", "id": id_, "name": name, "input": given}]


def result(id_: str, text: str, *, failed: bool = False) -> list[dict[str, Any]]:
    """The message with a tool's result."""
    return [{"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}]


def fixed(command: str, error: str, file: str) -> list[Any]:
    """A session's part in which a command fails, a file is changed, and the command passes."""
    return [
        call("t1", "Bash", command=command),
        result("t1", error, failed=True),
        call("t2", "Edit", file_path=file, old_string="a", new_string="b"),
        result("t2", "ok"),
        call("t3", "Bash", command=command),
        result("t3", "4 passed"),
    ]
