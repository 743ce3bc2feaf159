"""`memory-fabric serve` as a process, with requests to it over real HTTP."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import forked
from cli.shell import Shell

GIVE_UP_S = 60
INGEST = "/v1/memory/ingest"


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error."""
        return str(self.json["error"]["code"])


class Serving:
    """A running server, and the address that it printed."""

    def __init__(
        self,
        shell: Shell,
        *words: str,
        starts_python: bool = False,
        prepare: Callable[[], None] | None = None,
        **variables: str,
    ) -> None:
        arguments = ["serve", "--port", "0", *words]
        environ = {**shell.environ, **variables}
        self.process: forked.Process | subprocess.Popen[str]
        if starts_python or prepare:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "memory_fabric.cli", *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environ,
                cwd=shell.project,
                preexec_fn=prepare,
            )
        else:
            self.process = forked.Process(arguments, environ, shell.project)
        assert self.process.stdout is not None
        self.told = self.process.stdout.readline()
        self.address = self.told.split()[-1]
        parts = urlsplit(self.address)
        self.host, self.port = str(parts.hostname), int(parts.port or 0)
        self.key = parts.query.removeprefix("key=")

    def get(self, path: str, *, method: str = "GET", key: str = "", **headers: str) -> Reply:
        """Send a request with the server's key, another key, or "none"; return the response."""
        given = {"Authorization": f"Bearer {key or self.key}"} if key != "none" else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=GIVE_UP_S)
        try:
            connection.request(method, path, headers=given)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def post(
        self,
        path: str,
        body: bytes | str,
        *,
        key: str = "none",
        method: str = "POST",
        **headers: str,
    ) -> Reply:
        """Send a request with a body, JSON by default; return the response."""
        given = {"Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        given |= {"Authorization": f"Bearer {key}"} if key != "none" else {}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=GIVE_UP_S)
        try:
            content = body.encode() if isinstance(body, str) else body
            connection.request(method, path, content, given)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def send(self, text: str, *, key: str = "none", **fields: Any) -> Reply:
        """Ingest a text with these fields; return the response."""
        return self.post(INGEST, json.dumps({"session_summary": text, **fields}), key=key)

    def ask(self, path: str, **asked: str) -> Any:
        """Send a query, which must succeed; return the JSON of the response."""
        reply = self.get(f"{path}?{urlencode(asked, quote_via=quote)}")
        assert reply.status == 200, reply.body
        return reply.json

    def raw(self, request: bytes) -> bytes:
        """Send bytes over a new connection; return all bytes of the reply."""
        with socket.create_connection((self.host, self.port), timeout=GIVE_UP_S) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            parts = iter(lambda: connection.recv(65536), b"")
            return b"".join(parts)

    def end(self, number: int) -> tuple[int, str]:
        """End the server with a signal; return its exit code and standard error."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=GIVE_UP_S)
        return self.process.wait(), errors


@contextmanager
def serving(
    shell: Shell,
    *words: str,
    starts_python: bool = False,
    prepare: Callable[[], None] | None = None,
    **variables: str,
) -> Iterator[Serving]:
    """Run a server of this shell's project on a free port.

    It is a fork that has its packages already, unless the test is about a Python that starts.
    `prepare` runs in the new process before the server starts.
    """
    server = Serving(shell, *words, starts_python=starts_python, prepare=prepare, **variables)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()
