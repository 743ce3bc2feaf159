"""`memory-fabric serve` as a process, and questions to it over real HTTP."""

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

from cli.shell import Shell

GIVE_UP_S = 60
INGEST = "/v1/memory/ingest"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The word of an error."""
        return str(self.json["error"]["code"])


class Serving:
    """A server that runs, and the address it printed."""

    def __init__(
        self,
        shell: Shell,
        *words: str,
        prepare: Callable[[], None] | None = None,
        **variables: str,
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memory_fabric.cli", "serve", "--port", "0", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**shell.environ, **variables},
            cwd=shell.project,
            preexec_fn=prepare,
        )
        assert self.process.stdout is not None
        self.told = self.process.stdout.readline()
        self.address = self.told.split()[-1]
        parts = urlsplit(self.address)
        self.host, self.port = str(parts.hostname), int(parts.port or 0)
        self.key = parts.query.removeprefix("key=")

    def get(self, path: str, *, method: str = "GET", key: str = "", **headers: str) -> Reply:
        """The answer to a request with the key, or with another one, or with "none"."""
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
        """The answer to a request with a body, which is JSON unless the headers say else."""
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
        """The answer to an ingest of this text with these fields."""
        return self.post(INGEST, json.dumps({"session_summary": text, **fields}), key=key)

    def ask(self, path: str, **asked: str) -> Any:
        """The JSON that answers a question; it must be answered."""
        reply = self.get(f"{path}?{urlencode(asked, quote_via=quote)}")
        assert reply.status == 200, reply.body
        return reply.json

    def raw(self, request: bytes) -> bytes:
        """All bytes that come back for these bytes."""
        with socket.create_connection((self.host, self.port), timeout=GIVE_UP_S) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            parts = iter(lambda: connection.recv(65536), b"")
            return b"".join(parts)

    def end(self, number: int) -> tuple[int, str]:
        """Its exit code and what it complained about, after this signal."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=GIVE_UP_S)
        return self.process.returncode, errors


@contextmanager
def serving(
    shell: Shell, *words: str, prepare: Callable[[], None] | None = None, **variables: str
) -> Iterator[Serving]:
    """A server of the memory of this shell's project, on a free port; `prepare` runs in the new
    process before it begins.
    """
    server = Serving(shell, *words, prepare=prepare, **variables)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()
