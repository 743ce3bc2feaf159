"""Hooks run as the client runs them: the command of hooks.json, as a process, in its own home."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import run_here
from memory_fabric.capture.notes.protocol import SUMMARY_REQUEST
from memory_fabric.hooks import dispatcher
from memory_fabric.hooks.table import PATIENCE
from memory_fabric.setup import packages

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
# Longer than any hook may run; reached only when something hangs.
GIVE_UP_S = 60
ATTEMPTS = 5
OUT_OF_TIME = "out of time"


@dataclass(frozen=True, slots=True)
class HookResult:
    """The exit status and output of one hook process."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def reply(self) -> dict[str, Any] | None:
        """The JSON object on stdout; None when nothing was printed.

        Before a compaction it is the plain text that the client hands to the summariser.
        """
        if not self.stdout:
            return None
        if self.stdout == SUMMARY_REQUEST.encode():
            return {"plain": SUMMARY_REQUEST}
        value = json.loads(self.stdout)
        assert isinstance(value, dict)
        return value

    @property
    def context(self) -> str:
        """The text for the model."""
        specific = (self.reply or {}).get("hookSpecificOutput", {})
        return str(specific.get("additionalContext", ""))


class HookRunner:
    """The hooks of this repository, with home, project and plugin data under one folder."""

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self.folder, self.root = folder, root
        self.user_home, self.memory = folder / "home", folder / "memory"
        self.project, self.data = folder / "project", folder / "data"
        for path in (self.user_home, self.project, self.data):
            path.mkdir(parents=True, exist_ok=True)
        # The client's own search for Python is another test's subject, and slow.
        (self.data / "interpreter").write_text(packages.base_interpreter() + "\n", "utf-8")
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user_home),
            "MEMORY_FABRIC_HOME": str(self.memory),
            "CLAUDE_PROJECT_DIR": str(self.project),
            "CLAUDE_PLUGIN_ROOT": str(root),
            "CLAUDE_PLUGIN_DATA": str(self.data),
            PATIENCE: "20",  # other tests run beside it
        }
        self._look_installed()

    def run(
        self,
        event: Mapping[str, Any] | bytes,
        environ: Mapping[str, str] | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> HookResult:
        """Run the event's hook and return its result; bytes go to the hook of prompts unchanged.

        A hook that misses its own deadline on a busy machine is run again: it may then be
        silent, which says nothing about its reply.
        """
        for _ in range(ATTEMPTS):
            earlier = len(self.log)
            result = self._run(event, environ or {}, prepare)
            if not any(OUT_OF_TIME in line for line in self.log[earlier:]):
                break
        return result

    def _run(
        self,
        event: Mapping[str, Any] | bytes,
        environ: Mapping[str, str],
        prepare: Callable[[], None] | None,
    ) -> HookResult:
        name = "UserPromptSubmit" if isinstance(event, bytes) else event["hook_event_name"]
        data = event if isinstance(event, bytes) else json.dumps(event).encode()
        tool = "" if isinstance(event, bytes) else str(event.get("tool_name", ""))
        done = subprocess.run(
            command(name, self.root, tool),
            input=data,
            capture_output=True,
            env={**self.environ, **environ},
            cwd=self.project,
            preexec_fn=prepare,
            timeout=GIVE_UP_S,
            check=False,
        )
        return HookResult(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    def say(self, prompt: str, session: str = "s1") -> HookResult:
        """Run the hook of a typed prompt."""
        return self.run(
            {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt}
        )

    def settle(self, *prompts: str, session: str = "earlier") -> None:
        """Say these, and have their entries seen before a compaction, which writes no other file
        of the person. All is answered in this process: it is what a test begins with.
        """
        path = self.transcript(session)
        said = {"hook_event_name": "UserPromptSubmit", "session_id": session}
        for prompt in prompts:
            self._answer({**said, "prompt": prompt})
        message = [{"role": "user", "content": prompt} for prompt in prompts]
        lines = (json.dumps({"type": "user", "message": one}) + "\n" for one in message)
        path.write_text("".join(lines), "utf-8")
        event = {"hook_event_name": "PreCompact", "session_id": session, "trigger": "auto"}
        self._answer({**event, "transcript_path": str(path)})

    def _answer(self, event: Mapping[str, Any]) -> None:
        dispatcher.run(json.dumps(event).encode(), self.environ)

    def transcript(self, session: str) -> Path:
        """Return the path of a session's transcript, in the folder of the client's."""
        path = self.user_home / ".claude" / "projects" / "-project" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def recorded(self, path: Path) -> dict[str, Any]:
        """Return a recorded event with the paths of this folder, and copy its transcripts."""
        text = path.read_text("utf-8")
        text = text.replace("/home/user/.claude", str(self.user_home / ".claude"))
        text = text.replace("/home/user/project", str(self.project))
        event: dict[str, Any] = json.loads(text)
        self._transcript(event.get("transcript_path"), "transcript.jsonl")
        if event.get("agent_type"):
            self._transcript(event.get("agent_transcript_path"), "transcript.subagent.jsonl")
        return event

    @property
    def log(self) -> list[str]:
        """The lines of the log, from each of the folders that may hold it."""
        places = [self.memory / "logs", self.data]
        found = [p / "memory-fabric.log" for p in places if (p / "memory-fabric.log").is_file()]
        return [line for path in found for line in path.read_text("utf-8").splitlines()]

    def _look_installed(self) -> None:
        """Fake the environment of the server, so that no SessionStart installs one."""
        environment = packages.folder_of("env", str(self.data), str(self.root))
        if environment:
            python = Path(environment) / "bin" / "python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.symlink_to(packages.base_interpreter())
            (Path(environment) / packages.MARKER).touch()

    def _transcript(self, path: str | None, recording: str) -> None:
        if path:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(TESTS / "events" / recording, path)


class HereRunner(HookRunner):
    """Hooks whose events are answered in this process, ten times as fast; a prepared one is not.

    All but the start of the process, its deadline and its end is the same code.
    """

    def run(
        self,
        event: Mapping[str, Any] | bytes,
        environ: Mapping[str, str] | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> HookResult:
        """Answer the event and return the result."""
        if prepare:
            return super().run(event, environ, prepare)
        text = event.decode() if isinstance(event, bytes) else json.dumps(event)
        done = run_here(("hook",), {**self.environ, **(environ or {})}, self.project, text)
        return HookResult(done.status, done.out.encode(), done.err)


def content(path: Path) -> bytes:
    """Return the bytes of a file; none of a folder, or if it, or its process, has just gone."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, ProcessLookupError):
        return b""


def command(event_name: str, root: Path, tool: str = "") -> list[str]:
    """Return the command that hooks.json gives for an event, its variable filled in.

    An event that hooks.json does not name goes to the hook of prompts, one of a tool that no
    matcher names to the event's first hook: both must survive it.
    """
    hooks = json.loads((root / "hooks.json").read_text("utf-8"))["hooks"]
    groups = hooks.get(event_name) or hooks["UserPromptSubmit"]
    meant = [g for g in groups if tool and re.search(g.get("matcher", ""), tool)]
    (hook,) = (meant or groups)[0]["hooks"]
    words = [hook["command"], *hook["args"]]
    return [word.replace("${CLAUDE_PLUGIN_ROOT}", str(root)) for word in words]


def recordings() -> list[Path]:
    """Every recorded event and variant."""
    return sorted((TESTS / "events").rglob("*.json"))
