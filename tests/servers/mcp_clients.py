"""Clients of the MCP server: in memory through the SDK's client, and of a real process."""

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
from memory_fabric.models import Provenance, Record
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
    """The variables of a client that starts the server for a project."""
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
    """The settings that the server reads from these variables."""
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
    **more: str,
) -> AsyncIterator[Client]:
    """Connect the SDK's client in memory to the server over standard input and output."""
    store = StoreThread(lambda: Memory.open(settings(home, **more)))
    try:
        async with Client(_lines_to(store), mode=mode, message_handler=message_handler) as client:
            yield client
    finally:
        assert store.close(60)


@asynccontextmanager
async def _lines_to(store: StoreThread) -> AsyncIterator[Any]:
    """Make a session the transport of the SDK's client: each message becomes a line."""
    loop = asyncio.get_running_loop()
    say, said = anyio.create_memory_object_stream[SessionMessage | Exception](1000)

    def send(line: bytes) -> None:
        message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        loop.call_soon_threadsafe(say.send_nowait, message)

    session = Session(store, SAID_BY, "", send)
    async with say, said:
        yield said, _Lines(session)
        session.end(60)
        await anyio.sleep(0)


class _Lines:
    """The stream to which the SDK's client writes."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def send(self, item: SessionMessage) -> None:
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._session.take(line.encode())

    async def aclose(self) -> None:
        """Do nothing: the session is closed by its owner."""

    async def __aenter__(self) -> _Lines:
        return self

    async def __aexit__(self, *_error: object) -> None:
        return None


def texts(result: Any) -> list[str]:
    """The texts of a tool result."""
    return [block.text for block in result.content]


class Process:
    """The server as a client starts it, with lines written to and read from it."""

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
        """The server's standard input."""
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def output(self) -> IO[bytes]:
        """The server's standard output."""
        assert self.process.stdout is not None
        return self.process.stdout

    def write(self, line: bytes) -> None:
        """Write one line."""
        self.input.write(line + b"\n")
        self.input.flush()

    def read(self) -> dict[str, Any]:
        """Read the next line, which must be a JSON-RPC message."""
        message: dict[str, Any] = json.loads(self.output.readline())
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its response."""
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params or {}}
        self.write(json.dumps(request).encode())
        answer = self.read()
        assert answer["id"] == self._last_id
        return answer

    def greet(self, client: str = "test") -> dict[str, Any]:
        """Make the handshake of clients up to 2025-11-25; return the result of `initialize`."""
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
        """Call a tool and return its result."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        result: dict[str, Any] = answer["result"]
        return result


async def ask(client: Client, tool: str, **arguments: Any) -> str:
    """Return the one text of an answer that has no structure."""
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is None
    assert not result.is_error, texts(result)
    (text,) = texts(result)
    return text


def records(home: Path, where: str = "1") -> list[Record]:
    """Return the records of the memory in a home."""
    memory = Memory.open(settings(home))
    found = memory.find_records(where)
    memory.close()
    return found
