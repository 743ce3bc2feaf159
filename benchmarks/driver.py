"""Servers as processes, spoken to in JSON lines: what every benchmark of a server is made of.

Ours and the reference server take the same words. `Server` is one process; `Ours` and `Theirs` are
the places in which servers of one kind share a memory.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLUGIN = os.path.join(ROOT, "plugin")
VENV = os.path.join(ROOT, ".venv", "bin")
REFERENCE = os.path.join(
    ROOT, "tests/e2e/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
)
SERVE = "from memory_fabric.servers.mcp.stdio_server import main; main()"
PROTOCOL = "2025-11-25"
GRAPH_URI = "memory://knowledge-graph"
STOP_S = 30.0
# Longer than any answer may take, a held lock included; who waits so long has met a fault.
PATIENCE_S = 120.0

# Names of entities and what is said of each.
Known = dict[str, list[str]]


class Gone(Exception):
    """The server has ended, or was ended because it gave no answer in time."""


class Answer(NamedTuple):
    """The answer of a tool: all of its texts, the structure beside them, whether it failed."""

    text: str
    structure: Mapping[str, Any]
    failed: bool

    @property
    def note(self) -> str:
        """Return what a model reads beside the data: the error, or the note in the structure."""
        return self.text if self.failed else str(self.structure.get("note", ""))


class Server:
    """A server process. With `patience_s` it is ended when an answer takes longer.

    `said` is the file that takes its standard error; `prepare` runs in the child before it.
    """

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        *,
        patience_s: float | None = None,
        said: str = os.devnull,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        began = time.perf_counter()
        with open(said, "ab") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environ,
                bufsize=1 << 20,
                preexec_fn=prepare,
            )
        self._patience_s, self._number = patience_s, 0
        client = {"name": "benchmark", "version": "0"}
        greeting = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        try:
            self.ask("initialize", greeting)
        except BaseException:
            self.kill()
            self._close()
            raise
        self.start_s = time.perf_counter() - began
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """A request with a number of its own, not sent yet."""
        self._number += 1
        return {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}

    def send(self, message: Mapping[str, Any]) -> None:
        """Write a message. Raises Gone."""
        self.write(json.dumps(message).encode())

    def write(self, line: bytes) -> None:
        """Write a line as it is. Raises Gone."""
        stdin = _stream(self.process.stdin)
        try:
            stdin.write(line + b"\n")
            stdin.flush()
        except OSError as error:
            raise Gone(str(error)) from error

    def receive(self) -> dict[str, Any]:
        """The next message. Raises Gone."""
        line = _stream(self.process.stdout).readline()
        if not line.endswith(b"\n"):
            raise Gone("the server has closed its output")
        message: dict[str, Any] = json.loads(line)
        return message

    def respond(self, method: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        """The answer to a request, error or result, and the seconds until its last byte."""
        request = self.request(method, params)
        with self.hurried():
            began = time.perf_counter()
            self.send(request)
            answer = self.receive()
            seconds = time.perf_counter() - began
            while answer.get("id") != request["id"]:  # a notification
                answer = self.receive()
        return answer, seconds

    def ask(self, method: str, params: Mapping[str, Any]) -> tuple[Any, float]:
        """The result of a request, and the seconds; an error of the protocol ends us."""
        answer, seconds = self.respond(method, params)
        if "result" not in answer:
            raise SystemExit(f"{method} was answered with {json.dumps(answer)[:300]}")
        return answer["result"], seconds

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[Any, float]:
        """The structure that a tool answers, and the seconds; a tool that fails ends us."""
        result, seconds = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise SystemExit(f"{tool} failed: {result['content'][0]['text'][:300]}")
        return result["structuredContent"], seconds

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Return what a tool answers, failure or not. Raises Gone."""
        return answer_of(self.respond("tools/call", {"name": tool, "arguments": arguments})[0])

    def graph(self) -> Known:
        """Everything the server can read. Raises Gone, ValueError with the server's words."""
        message, _ = self.respond("resources/read", {"uri": GRAPH_URI})
        if "error" in message:
            raise ValueError(message["error"]["message"])
        held = json.loads(message["result"]["contents"][0]["text"])
        return {entity["name"]: entity["observations"] for entity in held["entities"]}

    def memory_mb(self) -> float:
        """The most memory that the process ever had resident; 0 where there is no /proc."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
                said = dict(line.split(":", 1) for line in file)
        except OSError:
            return 0.0
        return int(said["VmHWM"].split()[0]) / 1024

    def shared_memory_mb(self) -> float:
        """Its proportional set size: what it alone has in memory, and its share of common pages.

        0 where /proc does not tell.
        """
        try:
            with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="utf-8") as file:
                said = dict(line.split(":", 1) for line in file if line.startswith("Pss:"))
        except OSError:
            return 0.0
        return int(said["Pss"].split()[0]) / 1024 if said else 0.0

    def cpu_s(self) -> float:
        """The processor time of all of its threads in seconds; 0 where there is no /proc."""
        tasks = f"/proc/{self.process.pid}/task"
        spent = 0
        try:
            for task in os.listdir(tasks):
                with open(os.path.join(tasks, task, "schedstat"), encoding="utf-8") as file:
                    spent += int(file.read().split()[0])
        except OSError:
            return 0.0
        return spent / 1e9

    def stop(self) -> None:
        """End the process as a client does: close its input."""
        self._close_input()
        try:
            self.process.wait(STOP_S)
        finally:
            self.kill()
            self._close()

    def kill(self) -> None:
        """End the process at once, as `kill -9` does; who is waiting for an answer meets Gone."""
        self.process.kill()
        self.process.wait()

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """A block in which the server has to answer within its time."""
        if self._patience_s is None:
            yield
            return
        timer = threading.Timer(self._patience_s, self.process.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _close(self) -> None:
        self._close_input()
        _stream(self.process.stdout).close()

    def _close_input(self) -> None:
        try:
            _stream(self.process.stdin).close()
        except OSError:
            return  # it has gone before


class Ours:
    """A person's home and a project, in which our servers share a memory.

    With `file` they serve that file instead (MEMORY_FILE_PATH).
    """

    name = "ours"

    def __init__(self, folder: str, file: str = "") -> None:
        self.folder, self.file = folder, file
        self.home, self.project = os.path.join(folder, "home"), os.path.join(folder, "project")
        self.user, self.said = os.path.join(folder, "user"), os.path.join(folder, "stderr.txt")
        for path in (self.user, self.home, self.project):
            os.makedirs(path, exist_ok=True)

    @property
    def environ(self) -> dict[str, str]:
        """The variables of a client that starts the server."""
        stated = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": self.user,
            "MEMORY_FABRIC_HOME": self.home,
            "CLAUDE_PROJECT_DIR": self.project,
            "CLAUDE_CODE_SESSION_ID": "s1",
            "PYTHONPATH": PLUGIN,
        }
        return stated | ({"MEMORY_FILE_PATH": self.file} if self.file else {})

    def start(
        self,
        *,
        prepare: Callable[[], None] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Server:
        """A server that has greeted."""
        return Server(
            [sys.executable, "-c", SERVE],
            self.environ | dict(environ or {}),
            patience_s=PATIENCE_S,
            said=self.said,
            prepare=prepare,
        )

    def command(
        self, *words: str, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """The outcome of a command of ours, run in the project."""
        return subprocess.run(
            [sys.executable, "-m", "memory_fabric.cli", *words],
            cwd=self.project,
            env=self.environ | dict(environ or {}),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def settle(self) -> None:
        """Let what was queued be applied, as a Stop hook does; a served file's server does it."""
        if not self.file and self.queues():
            self.command("sync")

    def queues(self) -> list[str]:
        """The files in which changes wait."""
        found = []
        for folder, _, names in os.walk(self.folder):
            late = os.path.basename(folder) == "late"
            waits = [n for n in names if n.endswith(".jsonl") and (late or "graph-queue" in n)]
            found += [os.path.join(folder, name) for name in waits]
        return found

    def databases(self) -> list[str]:
        """The files of the graph, the project's or the mirrored one."""
        found = []
        for folder, folders, names in os.walk(self.home):
            folders[:] = [name for name in folders if name != "live"]  # of rehearsals
            wanted = ("graph.db", "user.db") if self.file else ("graph.db",)
            found += [os.path.join(folder, name) for name in names if name in wanted]
        return found

    @property
    def database(self) -> str:
        """The one database of the graph."""
        [path] = self.databases()
        return path


class Theirs:
    """A file that reference servers share."""

    name = "the reference server"

    def __init__(self, folder: str, file: str = "") -> None:
        self.folder = folder
        self.file = file or os.path.join(folder, "memory.jsonl")
        self.said = os.path.join(folder, "stderr.txt")
        os.makedirs(folder, exist_ok=True)

    def start(
        self,
        *,
        prepare: Callable[[], None] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Server:
        """A server that has greeted."""
        path = os.pathsep.join((VENV, os.environ.get("PATH", os.defpath)))
        return Server(
            reference_command(),
            {"PATH": path, "MEMORY_FILE_PATH": self.file} | dict(environ or {}),
            patience_s=PATIENCE_S,
            said=self.said,
            prepare=prepare,
        )

    def settle(self) -> None:
        """Nothing is queued there."""


Side = Ours | Theirs


def answer_of(message: Mapping[str, Any]) -> Answer:
    """A JSON-RPC answer to a tool call in short."""
    if "error" in message:
        return Answer(str(message["error"].get("message", "")), {}, True)
    result = message["result"]
    text = "\n".join(block.get("text", "") for block in result.get("content", ()))
    return Answer(text, result.get("structuredContent") or {}, bool(result.get("isError")))


def reference_command() -> list[str]:
    """Return the command of the reference server; SystemExit names how to install it."""
    path = os.pathsep.join((VENV, os.environ.get("PATH", os.defpath)))
    node = shutil.which("node", path=path)
    if not node or not os.path.exists(REFERENCE):
        raise SystemExit("the reference server is not installed: run scripts/prepare client")
    return [_executable(node), REFERENCE]


@cache
def _executable(node: str) -> str:
    """Return the program that a `node` of a Python package starts, so that it is what is timed."""
    told = subprocess.run([node, "-p", "process.execPath"], capture_output=True, text=True)
    return told.stdout.strip() or node


def with_packages() -> None:
    """Go on in the project's own environment when this Python lacks the server's packages."""
    if importlib.util.find_spec("mcp") is not None:
        return
    python = os.path.join(VENV, "python")
    if not os.path.exists(python) or os.path.realpath(sys.prefix) == os.path.dirname(VENV):
        raise SystemExit("the server's packages are not installed: run scripts/prepare venv")
    os.execv(python, [python, *sys.argv])


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
