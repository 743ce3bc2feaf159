"""The MCP server of a session as its client starts it, for hooks that are handed over to it.

    hooks = HookRunner(tmp_path)
    with LiveServer(hooks.environ) as server:       # returns once it answers hooks of this process
        hooks.say("…")
        assert server.ways() == "W"

Server and hooks belong together if one process starts both: here the test's.
"""

from __future__ import annotations

import _socket
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import waiting
from memory_fabric import __version__, live_client
from memory_fabric.setup import packages
from replay.hook_runner import content

ROOT = Path(__file__).parents[2]
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


# The same server where hooks may be slow to say what they have to, as beside other tests.
PATIENT = """
import sys
sys.path.insert(0, sys.argv[1])
from memory_fabric.servers import live
live.TURN_S, live.SAY_S = float(sys.argv[2]), 60.0
from memory_fabric.servers.mcp import stdio_server
stdio_server.main()
"""


def patient(turn_s: float) -> list[str]:
    """The command of a server in which an event waits so long for its turn."""
    python = packages.base_interpreter()
    return [python, "-I", "-S", "-c", PATIENT, str(ROOT / "plugin"), str(turn_s)]


class LiveServer:
    """A server in a process; ends with its `with` block. `pid` is its process."""

    def __init__(
        self,
        environ: Mapping[str, str],
        root: Path = ROOT,
        *,
        warm: bool = True,
        command: Sequence[str] = (),
    ) -> None:
        self.environ, self.root = dict(environ), root
        self.folder = Path(environ["MEMORY_FABRIC_HOME"]) / "live"
        self._process = subprocess.Popen(
            list(command) or [str(root / "bin" / "memory-fabric"), "mcp"],
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.pid = self._process.pid
        self.errors = ""
        self.ask(1, "initialize", GREETING)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if warm:
            self.ask(2, "tools/list", {})
            waiting.until(self.is_warm, "a server that answers hooks")

    def ask(self, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request of the client."""
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        answer: dict[str, Any] = json.loads(_of(self._process.stdout).readline())
        return answer

    def is_warm(self) -> bool:
        """True once the server takes events; it answers a start of a session by APART then."""
        try:
            return self.said(b'{"hook_event_name": "SessionStart"}') == live_client.APART
        except OSError:
            return False

    def said(self, event: bytes, **more: str) -> bytes:
        """The server's first byte for an event that is handed to it, which is then taken back."""
        with_server, said = self.begun(event, **more)
        with_server.close()
        return said

    def begun(
        self, event: bytes, *, version: str = __version__, root: str = "", **environ: str
    ) -> tuple[_socket.socket, bytes]:
        """A connection over which an event was handed to the server, and its first byte."""
        name = live_client.client_name(os.getpid())
        connection = live_client.connected(os.fsencode(self.folder), name)
        connection.settimeout(30.0)
        pairs = {**self.environ, **environ}.items()
        head = b"\0".join(
            (
                live_client.identity(root or str(self.root), version),
                b"0" * 32,
                *(os.fsencode(f"{key}={value}") for key, value in pairs),
            )
        )
        sizes = b"".join(
            len(part).to_bytes(live_client.LENGTH_BYTES, "big") for part in (head, event)
        )
        connection.sendall(live_client.REQUEST + sizes + head + event)
        return connection, connection.recv(1)

    def answered(self, event: bytes) -> bytes:
        """The reply to an event that this process hands over as a hook does, which takes longer."""
        connection, first = self.begun(event)
        try:
            assert first == live_client.ACCEPTED, first
            live_client.received(connection, 1)
            connection.sendall(live_client.GO)
            length = live_client.received(connection, live_client.LENGTH_BYTES)
            reply = live_client.received(connection, int.from_bytes(length, "big"))
            connection.sendall(live_client.PRINTED)
            assert live_client.received(connection, 1) == live_client.DONE
        finally:
            connection.close()
        return reply

    def ways(self) -> str:
        """How the hooks were answered so far, a letter each."""
        path = self.folder / "ways"
        return path.read_text() if path.exists() else ""

    def stop(self) -> None:
        """End it as a client does that has closed its input."""
        _of(self._process.stdin).close()
        self._end()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._end()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; one that stops it has done so on return."""
        self._process.send_signal(number)
        if number == signal.SIGSTOP:
            waiting.until(lambda: is_still(self.pid), "it has stopped")

    def __enter__(self) -> LiveServer:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self.stop()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            _of(stream).close()

    def _end(self) -> None:
        self._process.wait(60)
        self.errors += _of(self._process.stderr).read().decode()

    def _send(self, message: dict[str, Any]) -> None:
        stream = _of(self._process.stdin)
        stream.write(json.dumps(message).encode() + b"\n")
        stream.flush()


def is_still(process: int) -> bool:
    """True if a process has ended, or every thread of it is stopped."""
    stats = [content(path) for path in Path(f"/proc/{process}/task").glob("*/stat")]
    return all(stat.rpartition(b") ")[2][:1] in (b"T", b"Z", b"X", b"") for stat in stats)


def _of(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
