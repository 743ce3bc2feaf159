"""A sandbox in which hooks run as in the client, but with all their files below one folder."""

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from memory_fabric import file_lock
from memory_fabric.config import Settings, read_settings
from memory_fabric.health.check import Finding, fault, fine
from memory_fabric.ids import timestamp
from memory_fabric.setup import packages
from memory_fabric.store import files
from memory_fabric.store.history.resolve import tiers_holding
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import counts
from memory_fabric.store.upkeep import filesystem

# Timeout in seconds, long enough for every hook that does not hang.
GIVE_UP_S = 60
# Variables that the sandbox inherits, so that it finds programs and respects MEMORY_FABRIC=off.
PASSED_ON = "PATH LANG LC_ALL TMPDIR PYENV_ROOT MEMORY_FABRIC MEMORY_FABRIC_PATIENCE".split()
GIT_CONFIG = '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@example.com:acme/{name}.git\n'

FIRST, SECOND, LAST = "prove-1", "prove-2", "prove-3"
AGENT = "general-purpose"
STATED = "Remember that the invoice archive must use {canary} because it never sleeps."
ASKED = "What must the invoice archive use?"
TIERS = ("graph", "decisions.jsonl", "MEMORY.md")
PROTOCOL = "2025-11-25"
REMEDY = "Run scripts/demo: it names the hook that fails."


class HookResult(NamedTuple):
    """The result of a hook's run: exit code, output, errors and duration."""

    status: int
    output: str
    errors: str
    took_s: float

    @property
    def reply(self) -> dict[str, Any]:
        """The JSON object that the hook printed; {} if it printed no object."""
        return files.parsed(self.output) or {}

    @property
    def context(self) -> str:
        """The text that the hook adds to the model's context."""
        specific = self.reply.get("hookSpecificOutput")
        return str(specific.get("additionalContext", "")) if isinstance(specific, dict) else ""

    @property
    def notice(self) -> str:
        """The hook's message for the user, which the client displays."""
        return str(self.reply.get("systemMessage", ""))


class Sandbox:
    """A project and a home below `folder`, in which the hooks of the plugin at `root` run."""

    def __init__(self, root: str, folder: str, project_name: str) -> None:
        self.root, self.folder = root.rstrip("/"), folder
        self.home = os.path.join(folder, "home")
        self.project = os.path.join(folder, project_name)
        self.data = os.path.join(folder, "runtime")
        for path in (self.home, self.data, os.path.join(self.project, ".git")):
            os.makedirs(path)
        with open(os.path.join(self.project, ".git", "config"), "w", encoding="utf-8") as config:
            config.write(GIT_CONFIG.format(name=project_name))
        # The real interpreter, because a version manager's shim might fail with another HOME.
        python = getattr(sys, "_base_executable", "") or sys.executable
        self.environ = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.environ |= {"HOME": self.home, "USER": "you", "MEMORY_FABRIC_PYTHON": python}
        self.environ |= {"CLAUDE_PROJECT_DIR": self.project, "CLAUDE_PLUGIN_ROOT": self.root}
        self.environ |= {"CLAUDE_PLUGIN_DATA": self.data}

    def hook(self, name: str, session: str, **fields: Any) -> HookResult:
        """Run the hook for the event `name` with these fields, like the client. Raises OSError."""
        with open(os.path.join(self.root, "hooks.json"), encoding="utf-8") as file:
            hook = json.load(file)["hooks"][name][0]["hooks"][0]
        words = (hook["command"], *hook.get("args", ()))
        command = [word.replace("${CLAUDE_PLUGIN_ROOT}", self.root) for word in words]
        event = {"session_id": session, "transcript_path": self.transcript(session)}
        event |= {"cwd": self.project, "hook_event_name": name, **fields}
        # Like the client, add an answer to the transcript before the hook, and a prompt after it.
        if message := fields.get("last_assistant_message"):
            self.write(session, "assistant", [{"type": "text", "text": message}])
        started = time.monotonic()
        process = self.run(command, json.dumps(event))
        took_s = time.monotonic() - started
        if prompt := fields.get("prompt"):
            self.write(session, "user", prompt, promptSource="typed", turnOrigin="human")
        return HookResult(process.returncode, process.stdout, process.stderr, took_s)

    def run(self, command: Sequence[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in the project's folder. Raises OSError, subprocess.TimeoutExpired."""
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

    def transcript(self, session: str) -> str:
        """Return the path of a session's transcript."""
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.project)
        return os.path.join(self.home, ".claude", "projects", slug, f"{session}.jsonl")

    def write(self, session: str, role: str, content: Any, **marks: str) -> None:
        """Append an entry to a session's transcript, like the client; `marks` are extra fields."""
        entry = {"type": role, "uuid": str(uuid.uuid4()), "isSidechain": False}
        entry |= {"cwd": self.project, "sessionId": session, "timestamp": timestamp()}
        entry |= {"message": {"role": role, "content": content}, **marks}
        path = self.transcript(session)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def settings(self) -> Settings:
        """Return the settings that hooks read in this sandbox."""
        return read_settings(self.environ, {})

    def log(self) -> list[str]:
        """Return the lines that hooks in this sandbox have written to their log."""
        path = os.path.join(self.settings().home, "logs", "memory-fabric.log")
        return (files.read_text(path) or "").splitlines()

    @contextmanager
    def without_installing(self) -> Iterator[None]:
        """Prevent hooks from installing packages into the sandbox while the block runs."""
        with open(os.path.join(self.data, "install.lock"), "w", encoding="utf-8") as lock:
            file_lock.take(lock.fileno())
            yield


def prove(root: str) -> list[Finding]:
    """Test storing, recall and purge in a temporary home. Raises OSError if no hook starts."""
    deleted = tempfile.TemporaryDirectory(prefix="memory-fabric-prove-", ignore_cleanup_errors=True)
    with deleted as folder:
        sandbox = Sandbox(root, folder, "canary-cage")
        with sandbox.without_installing():
            canary = f"heron{secrets.token_hex(4)}"
            stated = sandbox.hook("UserPromptSubmit", FIRST, prompt=STATED.format(canary=canary))
            answer = sandbox.hook("UserPromptSubmit", SECOND, prompt=ASKED)
            task = {"description": "look it up", "prompt": ASKED, "subagent_type": AGENT}
            call = {"tool_name": "Agent", "tool_input": task, "tool_use_id": "prove"}
            sandbox.hook("PreToolUse", SECOND, **call)
            briefed = sandbox.hook("SubagentStart", SECOND, agent_id="prove", agent_type=AGENT)
            sandbox.hook("Stop", FIRST, stop_hook_active=False, last_assistant_message="Done.")
            with closing(Memory.open(sandbox.settings())) as memory:
                ids = [record.id for record in memory.find_records("1") if canary in record.what]
                holding = tiers_holding(memory, ids[0]) if ids else []
                has_turn = counts.has_turn(memory, canary)
            trace = "; ".join([*sandbox.log()[-3:], stated.errors, answer.errors]).strip("; ")
            to_session = f"given to another session in {answer.took_s * 1000:.0f} ms"
            steps = (
                ("canary goes in", bool(ids), f"stored in {stated.took_s * 1000:.0f} ms"),
                ("canary comes out", canary in answer.context, to_session),
                ("canary at a subagent", canary in briefed.context, "given to it at its start"),
                ("canary by Stop", has_turn, "its turn is kept from the transcript"),
                *((f"canary in {tier}", tier in holding, "there after Stop") for tier in TIERS),
            )
            findings = [_finding(name, is_well, text, trace) for name, is_well, text in steps]
            findings.append(_served(sandbox, f"gull{canary[5:]}"))
            # After a purge, neither files nor new sessions may contain the record.
            process = _run(sandbox, "forget", ids[0] if ids else canary, "--purge", "--yes")
            answer = sandbox.hook("UserPromptSubmit", LAST, prompt=ASKED)
            with closing(Memory.open(sandbox.settings())) as memory:
                project = memory.project
                folders = [memory.settings.home, *([project.local] if project else [])]
            files_left = filesystem.files_with(canary, folders)
            is_gone = bool(ids) and process.returncode == 0 and not files_left
            is_gone = is_gone and canary not in answer.context
            trace = process.stderr.strip().rpartition("\n")[2] or ", ".join(files_left)
            text = "in no file and given to nobody any more"
            return [*findings, _finding("canary is forgotten", is_gone, text, trace)]


def _served(sandbox: Sandbox, canary: str) -> Finding:
    name = "canary by the server"
    entity = {"name": canary, "entityType": "canary", "observations": ["It never sleeps."]}
    client = {"name": "memory-fabric doctor", "version": "1"}
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}),
        ("tools/list", {}),
        ("tools/call", {"name": "create_entities", "arguments": {"entities": [entity]}}),
        ("tools/call", {"name": "search_nodes", "arguments": {"query": canary}}),
    )
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(calls)
    ]
    lines.insert(1, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    try:
        process = _run(sandbox, "mcp", stdin="\n".join(lines) + "\n")
    except subprocess.TimeoutExpired:
        return _finding(name, False, "", f"the server did not answer within {GIVE_UP_S} s")
    replies = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    answers = {reply.get("id"): json.dumps(reply.get("result")) for reply in replies}
    is_created = "create_entities" in answers.get(1, "") and canary in answers.get(2, "")
    is_found = is_created and canary in answers.get(3, "")
    last_line = process.stderr.strip().rpartition("\n")[2]
    return _finding(name, is_found, "created and found by its tools", last_line)


def _run(sandbox: Sandbox, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    source = os.path.join(sandbox.root, "plugin")
    return sandbox.run([sys.executable, "-I", "-c", packages.ENTRY, source, *words], stdin)


def _finding(name: str, is_well: bool, text: str, trace: str) -> Finding:
    finding = fine(text) if is_well else fault(trace or "it is not there", REMEDY)
    return finding._replace(name=name)
