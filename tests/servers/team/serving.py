"""A shared server as a process, and requests to it."""

from __future__ import annotations

import io
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import forked
from command_line import Done, shell, written
from memory_fabric.cli.main import main
from memory_fabric.servers.http import team_keys as keys
from memory_fabric.sharing.server.connect import connect
from waiting import GIVE_UP_S

ROOT = Path(__file__).resolve().parents[3]


class Answer(NamedTuple):
    """The status of a response, its JSON or text, and its headers."""

    status: int
    body: Any
    headers: Mapping[str, str] = {}


class Served:
    """A running server; `key` is sent with each request unless another is given."""

    def __init__(self, address: str, key: str, process: forked.Process) -> None:
        self.address, self.key, self.process = address, key, process

    def get(self, path: str, key: str | None = None, **headers: str) -> Answer:
        """Send a GET request."""
        return self._sent(urllib.request.Request(self.address + path.lstrip("/")), key, headers)

    def post(self, path: str, body: Any, key: str | None = None) -> Answer:
        """Send JSON."""
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.address + path.lstrip("/"), data)
        accepted = "application/json, text/event-stream"
        headers = {"Content-Type": "application/json", "Accept": accepted}
        return self._sent(request, key, headers)

    def call(self, tool: str, key: str | None = None, **arguments: Any) -> Answer:
        """Call a tool by MCP; the body is its result."""
        answer = self.ask("tools/call", key, name=tool, arguments=arguments)
        return answer if answer.status != 200 else answer._replace(body=answer.body["result"])

    def ask(self, method: str, key: str | None = None, **params: Any) -> Answer:
        """Send one MCP request."""
        return self.post("mcp", _message(method, **params), key)

    def text(self, tool: str, key: str | None = None, **arguments: Any) -> str:
        """Call a tool and return the text of its answer, which must be no failure."""
        result = self.call(tool, key, **arguments).body
        assert not result.get("isError"), result
        return str(result["content"][0]["text"])

    def _sent(
        self, request: urllib.request.Request, key: str | None, headers: Mapping[str, str]
    ) -> Answer:
        given = self.key if key is None else key
        for name, value in headers.items():
            request.add_header(name, value)
        if given:
            request.add_header("Authorization", f"Bearer {given}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=GIVE_UP_S) as response:
                return Answer(response.status, _parsed(response.read()), dict(response.headers))
        except urllib.error.HTTPError as error:
            return Answer(error.code, _parsed(error.read()), dict(error.headers))


def command(home: Path, *arguments: str) -> Done:
    """Run `memory-fabric serve` to its end, in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with shell(served_environ(home), home, io.TextIOWrapper(io.BytesIO()), out, err):
        status = main(["serve", *arguments])
    return Done(status, written(out), written(err))


def new_key(dsn: str, space: str, member: str, name: str = "", domain: str = "") -> str:
    """Make a key of a member and return it."""
    with closing(connect(dsn)) as connection:
        return keys.make(connection, space, member, name or member, domain)


@contextmanager
def serving(home: Path, dsn: str, key: str = "", *arguments: str) -> Iterator[Served]:
    """Run a shared server until the end of the block."""
    words = ["serve", "--port", "0", "--team", dsn, *arguments]
    process = forked.Process(words, served_environ(home), home)
    try:
        first = process.stdout.readline()
        assert "http://" in first, first + process.stderr.read()
        yield Served(first.split()[-1], key, process)
    finally:
        process.terminate()
        process.communicate(timeout=GIVE_UP_S)


def _message(method: str, **params: Any) -> dict[str, Any]:
    about = "io.modelcontextprotocol/"
    envelope = {
        f"{about}protocolVersion": "2026-07-28",
        f"{about}clientCapabilities": {},
        f"{about}clientInfo": {"name": "test", "version": "1"},
    }
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {**params, "_meta": envelope},
    }


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")


def served_environ(home: Path) -> dict[str, str]:
    """The environment of a shared server with its own home."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    path = os.pathsep.join([str(ROOT / "plugin"), *(p for p in sys.path if "site-packages" in p)])
    return kept | {"HOME": str(home), "PYTHONPATH": path, "MEMORY_FABRIC_HOME": str(home / "mf")}
