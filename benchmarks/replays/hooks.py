"""The hooks of a plugin, called as the client calls them: hooks.json, hooks/launch, a transcript.

Each project has its own home, memory and git repository. The clock is the history's own where
libfaketime is installed (Debian: faketime), else the machine's.
"""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric.setup import packages  # noqa: E402

CLOCKS = "/usr/lib/*/faketime/libfaketime.so.1"
# Histories have outputs of commands but not their exit status.
FAILED = re.compile(
    r"^(?:Exit code [1-9]|npm (?:ERR!|error)|Traceback \(most recent|error(?:\[\w+\])?:|Error:"
    r"|fatal: |\*\* \(\w+Error\)|.*error TS\d+|FAILED|.*: command not found"
    r"|.*[1-9]\d* (?:failed|failures?)\b|==.* Compilation error)",
    re.MULTILINE,
)
OUT_OF_TIME = "out of time"
GIVE_UP_S = 60

Block = Mapping[str, Any]


class Told(NamedTuple):
    """The answer of a hook: context for the model, a notice for the user, and its time."""

    context: str
    notice: str
    ms: int
    error: str


def installed_clock() -> str:
    """Return the path of libfaketime, or '' if it is not installed."""
    return next(iter(sorted(glob.glob(CLOCKS))), "")


class Hooks:
    """The hooks of one project, and the transcripts that they read."""

    def __init__(self, folder: str, name: str, plugin: str = ROOT, clock: str = "") -> None:
        self._plugin, self._clock = plugin, clock
        self.now_s = time.time()
        self.home = os.path.join(folder, "home")
        self.memory = os.path.join(self.home, "fabric")
        self.project = os.path.join(folder, "project", name.rpartition("/")[2])
        for made in (self.home, self.project):
            os.makedirs(made)
        self._make_repository(name)
        with open(os.path.join(plugin, "hooks.json"), encoding="utf-8") as file:
            events = json.load(file)["hooks"]
        self._commands = {
            event: groups[0]["hooks"][0]["command"].replace("${CLAUDE_PLUGIN_ROOT}", plugin)
            for event, groups in events.items()
        }
        self.environ = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": self.home,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "MEMORY_FABRIC_HOME": self.memory,
            "MEMORY_FABRIC_NOTES": "on",
            # What is told must not depend on the machine's load.
            "MEMORY_FABRIC_PATIENCE": "20",
            "CLAUDE_PLUGIN_ROOT": plugin,
            "CLAUDE_PLUGIN_DATA": self._look_installed(os.path.join(folder, "plugin")),
            "CLAUDE_PROJECT_DIR": self.project,
            "CLAUDE_CODE_SESSION_ATTENDED": "1",
            "CLAUDE_CODE_ENTRYPOINT": "cli",
        }

    def start(self, session: str) -> None:
        """Begin a session with an empty transcript; no hook is called yet."""
        self.session = session
        folder = re.sub(r"[^A-Za-z0-9]", "-", self.project)
        name = os.path.join(self.home, ".claude", "projects", folder, f"{session}.jsonl")
        os.makedirs(os.path.dirname(name), exist_ok=True)
        self._transcript, self._made = name, 0
        with open(name, "a", encoding="utf-8"):
            pass

    def fire(self, event: str, **fields: object) -> Told:
        """Run the hook of an event, with the recorded event's other fields."""
        with open(os.path.join(ROOT, "tests", "events", f"{event}.json"), encoding="utf-8") as file:
            given = json.load(file)
        own = {"session_id": self.session, "transcript_path": self._transcript}
        given |= {**own, "cwd": self.project, **fields}
        began = time.monotonic()
        printed, error = self.answered(event, json.dumps(given).encode())
        took_ms = round((time.monotonic() - began) * 1000)
        # What PreCompact prints is text for the summariser.
        is_object = printed.strip() and event != "PreCompact"
        reply = json.loads(printed) if is_object else {}
        context = reply.get("hookSpecificOutput", {}).get("additionalContext", "")
        return Told(context, reply.get("systemMessage", ""), took_ms, error)

    def answered(self, event: str, data: bytes) -> tuple[bytes, str]:
        """Return what the hook of an event prints, and its errors."""
        done = subprocess.run(
            self._commands[event],
            input=data,
            capture_output=True,
            cwd=self.project,
            env=self.environ | self._time(),
            timeout=GIVE_UP_S,
            check=False,
        )
        return done.stdout, done.stderr.decode("utf-8", "replace")

    def command(self, *words: str) -> str:
        """Return what `memory-fabric` with these words prints, whatever its exit status."""
        done = subprocess.run(
            [sys.executable, "-m", "memory_fabric.cli", *words],
            capture_output=True,
            cwd=self.project,
            env=self.environ | {"PYTHONPATH": os.path.join(self._plugin, "plugin")},
            check=False,
            text=True,
        )
        return done.stdout

    def write(self, role: str, content: object, **extra: object) -> None:
        """Append an entry to the transcript, one second after the one before."""
        self.now_s += 1
        message: dict[str, object] = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"msg_{self._new_id()[:12]}", "type": "message", "model": "model"}
        entry = {
            "parentUuid": None,
            "isSidechain": False,
            "type": role,
            "message": message,
            "uuid": self._new_id(),
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.now_s)),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.project,
            "sessionId": self.session,
            "version": "2.1.329",
            "gitBranch": "main",
            **extra,
        }
        with open(self._transcript, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def answer(self, blocks: Sequence[Block]) -> str:
        """Append the assistant's texts and tool calls; return the last text."""
        last = ""
        for block in blocks:
            if block["type"] == "text":
                last = block["text"]
                self.write("assistant", [block])
                continue
            call = f"toolu_{self._new_id()[:12]}"
            use = {"type": "tool_use", "id": call, "name": block["name"], "input": block["input"]}
            self.write("assistant", [use])
            output = block["output"]
            failed = block["name"] == "Bash" and bool(FAILED.search(output))
            result = {"type": "tool_result", "tool_use_id": call, "content": output}
            self.write(
                "user",
                [{**result, "is_error": failed}],
                toolUseResult={"stdout": output, "interrupted": False},
            )
        return last

    def databases(self) -> list[str]:
        """Return the databases of the project and of the user, as far as they exist."""
        names = ("graph.db", "user.db")
        return [
            p for n in names for p in glob.glob(os.path.join(self.memory, "**", n), recursive=True)
        ]

    def memory_files(self) -> list[str]:
        """Return the paths of MEMORY.md."""
        places = os.path.join(self.home, ".claude", "**", "MEMORY.md")
        return sorted(glob.glob(places, recursive=True))

    def times_out(self) -> int:
        """Return how often a hook ran out of time."""
        names = glob.glob(os.path.join(self.memory, "**", "*.log"), recursive=True)
        found = 0
        for name in names:
            with open(name, encoding="utf-8", errors="replace") as file:
                found += sum(OUT_OF_TIME in line for line in file)
        return found

    def _new_id(self) -> str:
        """Return an id that is the same in every replay of the session."""
        self._made += 1
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.session} {self._made}"))

    def _time(self) -> dict[str, str]:
        if not self._clock:
            return {}
        now = time.strftime("@%Y-%m-%d %H:%M:%S", time.gmtime(self.now_s))
        only_wall = {"DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
        return {"LD_PRELOAD": self._clock, "FAKETIME": now, **only_wall}

    def _make_repository(self, name: str) -> None:
        remote = f"git@example.invalid:{name}.git"
        for words in (("init", "-q"), ("remote", "add", "origin", remote)):
            subprocess.run(["git", "-C", self.project, *words], check=True, capture_output=True)

    def _look_installed(self, data: str) -> str:
        """Make a data folder whose packages look installed: else a session would install them."""
        os.makedirs(data)
        python = packages.base_interpreter()
        with open(os.path.join(data, "interpreter"), "w", encoding="utf-8") as file:
            file.write(python + "\n")
        folder = packages.folder_of("env", data, self._plugin)
        if folder:
            os.makedirs(os.path.join(folder, "bin"))
            os.symlink(python, os.path.join(folder, "bin", "python"))
            with open(os.path.join(folder, packages.MARKER), "w", encoding="utf-8"):
                pass
        return data
