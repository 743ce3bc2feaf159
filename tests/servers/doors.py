"""Ways to the server for tests: in memory through the SDK's client, and as a real process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import anyio
from mcp.client.client import Client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from memory_fabric.config import Settings, read_settings
from memory_fabric.models import Provenance
from memory_fabric.servers.mcp.sdk_server import MemoryServer
from memory_fabric.servers.mcp.session import Session
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.memory import Memory

PLUGIN = Path(__file__).parents[2] / "plugin"
PROTOCOL = "2025-11-25"
SAID_BY = Provenance(source="mcp", trust="tool", session="s-1")


# As bin/memory-fabric starts it before anything is installed: no packages, no site folder.
BARE = [
    os.path.realpath(sys.executable),
    *("-I", "-S", "-c"),
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from memory_fabric.servers.mcp import stdio_server as mcp_stdio; mcp_stdio.main()",
    str(PLUGIN),
]


def environment(home: Path, **more: str) -> dict[str, str]:
    """The variables of a client that starts the server for a project beside its home."""
    project = home.parent / "project"
    project.mkdir(exist_ok=True)
    return {
        "HOME": str(home.parent / "user"),
        "MEMORY_FABRIC_HOME": str(home),
        "CLAUDE_PROJECT_DIR": str(project),
        "CLAUDE_CODE_SESSION_ID": "s-1",
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(PLUGIN),
        **more,
    }


def settings(home: Path, **more: str) -> Settings:
    """The settings of the same client."""
    return read_settings(environment(home, **more), {})


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run an asynchronous test to its end, on the loop that the server uses."""
    anyio.run(story, backend="asyncio")


@asynccontextmanager
async def connected(
    home: Path,
    *,
    mode: str = "legacy",
    message_handler: Any = None,
    door: str = "stdio",
    **more: str,
) -> AsyncIterator[Client]:
    """The SDK's client in memory, on a server over the memory in `home`: on the one that serves
    standard input and output, or, with the door "http", on the one of the SDK that serves HTTP.
    """
    store = StoreThread(lambda: Memory.open(settings(home, **more)))
    server: Any = MemoryServer(store, SAID_BY).server if door == "http" else _lines_to(store)
    try:
        async with Client(server, mode=mode, message_handler=message_handler) as client:
            yield client
    finally:
        assert store.close(20)


@asynccontextmanager
async def _lines_to(store: StoreThread) -> AsyncIterator[Any]:
    """A session as a transport of the SDK: each message is a line on its way."""
    loop = asyncio.get_running_loop()
    say, said = anyio.create_memory_object_stream[SessionMessage | Exception](1000)

    def send(line: bytes) -> None:
        message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        loop.call_soon_threadsafe(say.send_nowait, message)

    session = Session(store, SAID_BY, "", send)
    async with say, said:
        yield said, _Lines(session)
        session.end(20)
        await anyio.sleep(0)


class _Lines:
    """What the client's end of the transport writes to."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def send(self, item: SessionMessage) -> None:
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._session.take(line.encode())

    async def aclose(self) -> None:
        """Nothing is let go of."""

    async def __aenter__(self) -> _Lines:
        return self

    async def __aexit__(self, *_error: object) -> None:
        return None


def texts(result: Any) -> list[str]:
    """The texts of an answer."""
    return [block.text for block in result.content]


class Process:
    """The server as the client starts it, spoken to line by line."""

    def __init__(self, home: Path, *, cwd: str = ".", without: str = "", **more: str) -> None:
        variables = environment(home, **more)
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from memory_fabric.servers.mcp.stdio_server import main; main()",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={name: value for name, value in variables.items() if name != without},
        )
        self._last_id = 0

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    @property
    def input(self) -> IO[bytes]:
        """Where the client writes."""
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def output(self) -> IO[bytes]:
        """Where the client reads."""
        assert self.process.stdout is not None
        return self.process.stdout

    def write(self, line: bytes) -> None:
        """Send one line as it is."""
        self.input.write(line + b"\n")
        self.input.flush()

    def read(self) -> dict[str, Any]:
        """The next line, which must be a JSON-RPC message."""
        message: dict[str, Any] = json.loads(self.output.readline())
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its answer."""
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params or {}}
        self.write(json.dumps(request).encode())
        answer = self.read()
        assert answer["id"] == self._last_id
        return answer

    def greet(self, client: str = "test") -> dict[str, Any]:
        """The handshake of the clients up to 2025-11-25; the result of `initialize`."""
        answer = self.ask(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": client, "version": "0"},
            },
        )
        self.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a tool call."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        result: dict[str, Any] = answer["result"]
        return result
