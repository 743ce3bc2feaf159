"""Codex CLI and Qwen Code, headless, against scripted loopback APIs of the form each speaks."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from command_line import run_here
from e2e.harness.home import ATTENDED, REPOSITORY, passed_on, path_without_our_own_venv
from e2e.harness.loopback import Handler, Loopback
from memory_fabric.clients.hook_files import BEGIN
from memory_fabric.hooks.table import PATIENCE

PACKAGES = REPOSITORY / "tests/e2e/other-clients/node_modules"
CODEX = PACKAGES / "@openai/codex/bin/codex.js"
QWEN = PACKAGES / "@qwen-code/qwen-code/cli-entry.js"
PATIENCE_S = 180
# A rule that is said and noted in one session, a question about it, and a rule about files.
RULE = "The analytics service must use PostgreSQL because it handles our query load"
NOTE = f'Done.\n\nNoted rule: {RULE}. From: "{RULE}"'
QUESTION = "Which database should the analytics service talk to?"
STYLE = "Handlers in src/api return problem+json"
_NUMBERS = itertools.count(1)
# A model of the client's own list: only these are offered its tool for patches.
CODEX_MODEL = "gpt-5.5"
CODEX_CONFIG = """\
model = "{model}"
model_provider = "stub"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
wire_api = "responses"
"""
# Nothing but loopback can be reached.
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
NO_NETWORK = {
    **dict.fromkeys(PROXIES, "http://127.0.0.1:9"),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1"),
}

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that the model makes: its name, and its arguments or its free text."""

    tool: str
    given: Json | str


Turn: TypeAlias = str | Call


@dataclass(frozen=True, slots=True)
class Session:
    """A finished session: what each request told the model, and what the client printed."""

    requests: Sequence[Json]
    printed: str

    @property
    def told(self) -> str:
        """All texts of the last request."""
        return json.dumps(self.requests[-1], ensure_ascii=False)


class Machine:
    """An empty home and a project; sessions in it share what memory-fabric remembers."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "project"
        for folder in (self.home, self.project):
            folder.mkdir(parents=True, exist_ok=True)
        self.memory = self.home / ".claude/memory-fabric"
        runtime = self.memory / "runtime"
        runtime.mkdir(parents=True, exist_ok=True)
        (self.memory / "config.toml").write_text(ATTENDED, encoding="utf-8")
        # An installation is single-flight: a held lock keeps the hooks from starting one.
        self._lock = (runtime / "install.lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    @property
    def environ(self) -> dict[str, str]:
        """The environment of the client: an allow-list, and no way to another machine."""
        kept = {k: v for k, v in os.environ.items() if passed_on(k)}
        own = {
            "HOME": str(self.home),
            "PATH": path_without_our_own_venv(),
            "MEMORY_FABRIC_PYTHON": sys.executable,
            "MEMORY_FABRIC_NOTES": "on",
            PATIENCE: "20",
        }
        return {**kept, **own, **NO_NETWORK}

    @property
    def log(self) -> str:
        """The hooks' own log."""
        path = self.memory / "logs/memory-fabric.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def ways(self) -> str:
        """How its hooks were answered so far, a letter each."""
        path = self.memory / "live" / "ways"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def fabric(self, *words: str) -> str:
        """Run a command of this checkout in the project, in this process; its output."""
        done = run_here(words, self.environ, self.project)
        assert done.status == 0, done.out + done.err
        return done.out

    def codex(self, prompt: str, *turns: Turn, trusted: bool = True) -> Session:
        """Run one prompt in Codex; the model says these turns, then "OK."."""
        with Stub(_responses_events, turns) as stub:
            folder = self.home / ".codex"
            folder.mkdir(exist_ok=True)
            path = folder / "config.toml"
            known = path.read_text(encoding="utf-8") if path.exists() else ""
            config = CODEX_CONFIG.format(model=CODEX_MODEL, url=stub.url)
            # What setup has added to it stays at its end.
            added = known[known.index(BEGIN) :] if BEGIN in known else ""
            path.write_text(config + added, encoding="utf-8")
            command = [
                *(_node(), str(CODEX), "exec", "--skip-git-repo-check"),
                "--dangerously-bypass-approvals-and-sandbox",
                *(("--dangerously-bypass-hook-trust",) if trusted else ()),
                prompt,
            ]
            printed = self._run(command, self.environ)
            return Session(tuple(stub.requests), printed)

    def qwen(self, prompt: str, *turns: Turn) -> Session:
        """Run one prompt in Qwen Code; the model says these turns, then "OK."."""
        with Stub(_completion_chunks, turns) as stub:
            api = {
                "OPENAI_API_KEY": "none-for-a-loopback-stub",
                "OPENAI_BASE_URL": f"{stub.url}/v1",
                "OPENAI_MODEL": "stub",
                "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
                # It would start itself again, with more memory.
                "QWEN_CODE_NO_RELAUNCH": "true",
            }
            command = [_node(), str(QWEN), "--yolo", "-p", prompt]
            printed = self._run(command, {**self.environ, **api})
            return Session(tuple(stub.requests), printed)

    def close(self) -> None:
        """Let go of the lock."""
        self._lock.close()

    def _run(self, command: Sequence[str], environ: dict[str, str]) -> str:
        done = subprocess.run(
            command,
            env=environ,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


def _node() -> str:
    """Return the Node that scripts/prepare chose: .venv's, where the machine's was too old."""
    beside = os.path.dirname(sys.executable)
    found = shutil.which("node", path=f"{beside}{os.pathsep}{os.environ['PATH']}")
    if not found or not CODEX.exists() or not QWEN.exists():
        raise FileNotFoundError("the other clients are not installed: run scripts/prepare others")
    return found


def _new_id() -> str:
    """Return an id that no other call of the process has: clients ignore a call made twice."""
    return f"call_{next(_NUMBERS)}"


def _responses_events(turn: Turn) -> bytes:
    """Encode a turn as a stream of OpenAI's Responses API."""
    if isinstance(turn, str):
        content = [{"type": "output_text", "text": turn}]
        item: Json = {"type": "message", "role": "assistant", "id": "m", "content": content}
    elif isinstance(turn.given, str):
        item = {"type": "custom_tool_call", "name": turn.tool, "input": turn.given}
    else:
        item = {"type": "function_call", "name": turn.tool, "arguments": json.dumps(turn.given)}
    if not isinstance(turn, str):
        item["call_id"] = _new_id()
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    details = {"input_tokens_details": None, "output_tokens_details": None}
    events: list[Json] = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": {**usage, **details}}},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


def _completion_chunks(turn: Turn) -> bytes:
    """Encode a turn as a stream of OpenAI's chat completions."""
    delta: Json = {"role": "assistant", "content": turn if isinstance(turn, str) else None}
    if isinstance(turn, Call):
        function = {"name": turn.tool, "arguments": json.dumps(turn.given)}
        delta["tool_calls"] = [
            {"index": 0, "id": _new_id(), "type": "function", "function": function}
        ]
    why = "stop" if isinstance(turn, str) else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub"}
    chunks: list[Json] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": why}], "usage": usage},
    ]
    return "".join(f"data: {json.dumps(c)}\n\n" for c in chunks).encode() + b"data: [DONE]\n\n"


class Stub(Loopback):
    """Answers each request that offers tools with the next turn, as a stream; a context manager."""

    def __init__(self, encode: Callable[[Turn], bytes], turns: Sequence[Turn]) -> None:
        super().__init__(_Handler)
        self.requests: list[Json] = []
        self._encode, self._turns = encode, list(turns)

    def take(self, body: Json) -> bytes:
        """Record a request, and return the stream that answers it."""
        with self._lock:
            if not body.get("tools"):
                return self._encode("OK.")
            self.requests.append(body)
            return self._encode(self._turns.pop(0) if self._turns else "OK.")


class _Handler(Handler):
    def do_GET(self) -> None:
        self.reply(b'{"data": [], "models": []}')

    def do_POST(self) -> None:
        body: Json = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        self.reply(self.stub.take(body), "text/event-stream")
