"""A project on a machine of a person, worked on by several clients while a fixed clock is moved.

The hooks are answered by the dispatcher in this process, as the session's server does it, or, while
`launched`, by the command of hooks.json under the same clock (tests/replay/fixed_clock.py).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from replays.hooks import ROOT, Hooks, Told

sys.path.insert(0, os.path.join(ROOT, "tests"))

from memory_fabric.config import read_settings
from memory_fabric.hooks import dispatcher
from memory_fabric.store import files
from memory_fabric.store.memory import Memory
from memory_fabric.store.upkeep import backup, maintenance
from replay.fixed_clock import Clock

CLOCK = os.path.join(ROOT, "tests", "replay", "fixed_clock.py")
UNDER_CLOCK = '#!/bin/sh\nshift 2\nexec "{python}" -I -S "{program}" "{clock}" "$@"\n'
CLIENT_EVENTS = os.path.join(ROOT, "tests", "clients", "events")
CLAUDE, OLDER_CLAUDE, CODEX, GEMINI = "claude-code", "older claude-code", "codex", "gemini"
OTHERS = (CODEX, GEMINI)
# Gemini CLI's names of events.
GEMINI_EVENTS = {"UserPromptSubmit": "BeforeAgent", "Stop": "AfterAgent"}


class Place(Hooks):
    """A project on a machine: several of them share the person's home there."""

    def __init__(self, folder: str, project: str, machine: str, clock: Clock, clock_file: str):
        super().__init__(folder, project)
        self.home, self.memory = machine, os.path.join(machine, "fabric")
        os.makedirs(self.home, exist_ok=True)
        self.environ |= {"HOME": self.home, "MEMORY_FABRIC_HOME": self.memory, "USER": "ann"}
        self.environ["MEMORY_FABRIC_AHEAD"] = "1"  # nothing is compiled beside it
        self.data = self.environ["CLAUDE_PLUGIN_DATA"]
        self.clock, self.client, self.launched = clock, CLAUDE, False
        self.started = self.events = 0
        self._clocked = self._data_under_clock(folder, clock_file)

    def start(self, session: str) -> None:
        """Begin a session; Codex has a transcript of another form, Gemini CLI none that is read."""
        super().start(session)
        if self.client == CODEX:
            day = time.strftime("%Y/%m/%d", time.gmtime(self.now_s))
            name = f"rollout-{session}.jsonl"
            self._transcript = os.path.join(self.home, ".codex", "sessions", day, name)
            os.makedirs(os.path.dirname(self._transcript), exist_ok=True)
            with open(os.path.join(CLIENT_EVENTS, "codex", "rollout.jsonl"), encoding="utf-8") as f:
                head = f.readline().replace("/home/user/project", self.project)
            self._append(head)

    def fire(self, event: str, **fields: object) -> Told:
        """Run the hook of an event in the form of the session's client."""
        self.events += 1
        if self.client not in OTHERS:
            return super().fire(event, **fields)
        name = GEMINI_EVENTS.get(event, event) if self.client == GEMINI else event
        path = os.path.join(CLIENT_EVENTS, self.client, f"{name}.json")
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
        if self.client == GEMINI and "last_assistant_message" in fields:
            fields = {"prompt_response": fields["last_assistant_message"]}
        own = {"session_id": self.session, "transcript_path": self._transcript}
        given |= {**own, "cwd": self.project, **fields}
        printed, error = self.answered(event, json.dumps(given).encode())
        reply = json.loads(printed) if printed.strip() else {}
        context = reply.get("hookSpecificOutput", {}).get("additionalContext", "")
        return Told(context, reply.get("systemMessage", ""), 0, error)

    def answered(self, event: str, data: bytes) -> tuple[bytes, str]:
        """Answer an event at the time of this place."""
        self.advance()
        if self.launched:
            self.environ["CLAUDE_PLUGIN_DATA"] = self._clocked
            try:
                return super().answered(event, data)
            finally:
                self.environ["CLAUDE_PLUGIN_DATA"] = self.data
        environ = self.environ_of_client()
        os.environ.clear()
        os.environ.update(environ)
        os.chdir(self.project)
        return dispatcher.run(data, environ), ""

    def environ_of_client(self) -> dict[str, str]:
        """Return the variables that the session's client sets."""
        if self.client not in OTHERS:
            return self.environ
        own = {
            k: v for k, v in self.environ.items() if not k.startswith(("CLAUDE_CODE", "CLAUDE_P"))
        }
        own |= {"MEMORY_FABRIC_CLIENT": self.client, "CLAUDE_PLUGIN_DATA": self.data}
        return own

    def advance(self) -> None:
        """Begin the next event at the time of this place."""
        self.clock.advance(self.now_s - self.clock.now_s())

    def typed(self, prompt: str) -> None:
        """Append the entry of a prompt as the session's client writes it."""
        if self.client == CODEX:
            at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.now_s))
            said = {"type": "user_message", "message": prompt}
            self._append(json.dumps({"timestamp": at, "type": "event_msg", "payload": said}) + "\n")
        elif self.client == OLDER_CLAUDE:
            self.write("user", prompt, version="2.1.206")
        elif self.client == CLAUDE:
            self.write("user", prompt, promptSource="typed", turnOrigin="human")

    def answer(self, blocks: Sequence[Mapping[str, Any]]) -> str:
        """Append the assistant's work where the transcript has it; return the last text."""
        if self.client in OTHERS:
            return "".join(b["text"] for b in blocks if b["type"] == "text")
        last = super().answer(blocks)
        os.utime(self._transcript, (self.now_s, self.now_s))
        return last

    def memory_files(self) -> list[str]:
        """Return the path of this project's MEMORY.md, if there is one."""
        folder = re.sub(r"[^A-Za-z0-9]", "-", self.project)
        path = os.path.join(self.home, ".claude", "projects", folder, "memory", "MEMORY.md")
        return [path] if os.path.exists(path) else []

    def opened(self) -> Memory:
        """Open the memory of this project; the caller closes it."""
        return Memory.open(read_settings(self.environ, {}))

    def maintain(self) -> None:
        """Do what a session's end starts as a process of its own, once a day."""
        self.advance()
        os.environ.clear()
        os.environ.update(self.environ)
        memory = self.opened()
        paths = [database.path for database in memory.databases()]
        if not maintenance.is_due(memory):
            memory.close()
            return
        maintenance.run(memory, memory.settings.episodes_keep_days)
        for path in paths:  # files have the machine's times
            for made in (*backup.list_backups(path)[:1], files.backups_of(path)):
                os.utime(made, (self.now_s, self.now_s))

    def git(self, *words: str) -> None:
        who = {
            f"GIT_{role}_{part}": "ann@example.org"
            for role in ("AUTHOR", "COMMITTER")
            for part in ("NAME", "EMAIL")
        }
        environ = {"PATH": os.environ.get("PATH", ""), "HOME": self.home, **who}
        subprocess.run(
            ["git", "-C", self.project, *words], env=environ, check=True, capture_output=True
        )

    def _append(self, line: str) -> None:
        with open(self._transcript, "a", encoding="utf-8") as file:
            file.write(line)
        os.utime(self._transcript, (self.now_s, self.now_s))

    def _data_under_clock(self, folder: str, clock_file: str) -> str:
        """Make a data folder of which the remembered Python lives by the clock."""
        data = os.path.join(folder, "plugin under clock")
        shutil.copytree(self.data, data, symlinks=True)
        given, program = os.path.join(data, "interpreter"), os.path.join(folder, "python")
        with open(given, encoding="utf-8") as file:
            text = UNDER_CLOCK.format(python=file.read().strip(), program=CLOCK, clock=clock_file)
        for path, content in ((program, text), (given, f"{program}\n")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        os.chmod(program, 0o700)
        return data
