"""Sandbox in which hooks run as the client runs them, with all files below one folder."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from memory_fabric import file_lock
from memory_fabric.config import Settings, read_settings
from memory_fabric.ids import timestamp
from memory_fabric.store import files

# Timeout that only a hanging hook exceeds.
GIVE_UP_S = 60
# Variables that the sandbox inherits: to find programs, and to switch memory off.
PASSED_ON = "PATH LANG LC_ALL TMPDIR PYENV_ROOT MEMORY_FABRIC MEMORY_FABRIC_PATIENCE".split()
GIT_CONFIG = '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@example.com:acme/{name}.git\n'


class HookResult(NamedTuple):
    """The result of one hook process."""

    status: int
    output: str
    errors: str
    took_s: float

    @property
    def reply(self) -> dict[str, Any]:
        """The JSON object on the hook's standard output; {} if there is none."""
        return files.parsed(self.output) or {}

    @property
    def context(self) -> str:
        """The text that the hook gives to the model."""
        specific = self.reply.get("hookSpecificOutput")
        return str(specific.get("additionalContext", "")) if isinstance(specific, dict) else ""

    @property
    def plain(self) -> str:
        """Output that is not JSON: instructions of PreCompact for the summariser."""
        return "" if self.reply else self.output.strip()

    @property
    def notice(self) -> str:
        """The message that the client shows to the user."""
        return str(self.reply.get("systemMessage", ""))


class Sandbox:
    """A sandbox for the hooks of the plugin at `root`, with all files below `folder`."""

    def __init__(self, root: str, folder: str, project_name: str) -> None:
        self.root, self.folder = root.rstrip("/"), folder
        self.home = os.path.join(folder, "home")
        self.project = os.path.join(folder, project_name)
        self.data = os.path.join(folder, "runtime")
        for path in (self.home, self.data, os.path.join(self.project, ".git")):
            os.makedirs(path)
        with open(os.path.join(self.project, ".git", "config"), "w", encoding="utf-8") as config:
            config.write(GIT_CONFIG.format(name=project_name))
        # With another HOME, a version manager's shim may not find its Pythons.
        python = getattr(sys, "_base_executable", "") or sys.executable
        self.environ = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.environ |= {"HOME": self.home, "USER": "you", "MEMORY_FABRIC_PYTHON": python}
        self.environ |= {"CLAUDE_PROJECT_DIR": self.project, "CLAUDE_PLUGIN_ROOT": self.root}
        self.environ |= {"CLAUDE_PLUGIN_DATA": self.data}

    def hook(self, name: str, session: str, **fields: Any) -> HookResult:
        """Run the hook of an event with these fields, as the client does. Raises OSError."""
        with open(os.path.join(self.root, "hooks.json"), encoding="utf-8") as file:
            hook = json.load(file)["hooks"][name][0]["hooks"][0]
        words = (hook["command"], *hook.get("args", ()))
        command = [word.replace("${CLAUDE_PLUGIN_ROOT}", self.root) for word in words]
        event = {"session_id": session, "transcript_path": self.transcript(session)}
        event |= {"cwd": self.project, "hook_event_name": name, **fields}
        # As in the client, a message is written to the transcript before its hook, a prompt after.
        if message := fields.get("last_assistant_message"):
            self.write(session, "assistant", [{"type": "text", "text": message}])
        started = time.monotonic()
        process = self.run(command, json.dumps(event))
        took_s = time.monotonic() - started
        if prompt := fields.get("prompt"):
            self.write(session, "user", prompt, promptSource="typed", turnOrigin="human")
        return HookResult(process.returncode, process.stdout, process.stderr, took_s)

    def run(self, command: Sequence[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in the project. Raises OSError, subprocess.TimeoutExpired."""
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=self.environ,
            cwd=self.project,
            timeout=GIVE_UP_S,
            check=False,
        )

    def bare_start_s(self) -> float:
        """Measure how many seconds Python takes at present to start and end."""
        started = time.monotonic()
        python = self.environ["MEMORY_FABRIC_PYTHON"]
        subprocess.run([python, "-I", "-S", "-c", "pass"], timeout=GIVE_UP_S, check=False)
        return time.monotonic() - started

    def transcript(self, session: str) -> str:
        """Return the path of a session's transcript."""
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.project)
        return os.path.join(self.home, ".claude", "projects", slug, f"{session}.jsonl")

    def write(self, session: str, role: str, content: Any, **marks: str) -> None:
        """Append an entry to a session's transcript, as the client does."""
        entry = {"type": role, "uuid": str(uuid.uuid4()), "isSidechain": False}
        entry |= {"cwd": self.project, "sessionId": session, "timestamp": timestamp()}
        entry |= {"message": {"role": role, "content": content}, **marks}
        path = self.transcript(session)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def settings(self) -> Settings:
        """Return the settings that hooks have in this sandbox."""
        return read_settings(self.environ, {})

    def log(self) -> list[str]:
        """Return the lines of the hooks' log."""
        path = os.path.join(self.settings().home, "logs", "memory-fabric.log")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as lines:
            return lines.read().splitlines()

    @contextmanager
    def without_installing(self) -> Iterator[None]:
        """Hold the installer's lock, so that no packages are installed into the sandbox."""
        with open(os.path.join(self.data, "install.lock"), "w", encoding="utf-8") as lock:
            file_lock.take(lock.fileno())
            yield
