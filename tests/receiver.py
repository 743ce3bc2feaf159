"""A plain receiver on loopback: it writes down what it is sent, and answers what a test says."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

GIVE_UP_S = 60


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object that was sent."""
        value = json.loads(self.raw)
        assert isinstance(value, dict)
        return value

    @property
    def key(self) -> str:
        """Its idempotency key."""
        return str(self.body["idempotency_key"])


@dataclass(frozen=True, slots=True)
class Says:
    """The answer to give: a status, headers, a body; `before` runs first."""

    status: int = 202
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b'{"status": "queued"}'
    before: Callable[[], object] = lambda: None


class Receiver:
    """Serves while its `with` block lasts; `answers` are used up in order, then 202 is said."""

    def __init__(self, *answers: Says) -> None:
        self.requests: list[Request] = []
        self.answers = list(answers)
        self._changed = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                said = receiver.take(Request(self.path, headers, raw))
                said.before()
                try:
                    self.send_response(said.status)
                    for name, value in said.headers:
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(said.body)))
                    self.end_headers()
                    self.wfile.write(said.body)
                except OSError:
                    return  # the sender was killed, or has waited long enough

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def speak_tls(self, context: ssl.SSLContext) -> None:
        """From now on by TLS."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def take(self, request: Request) -> Says:
        """Note a request; what to answer."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            return self.answers.pop(0) if self.answers else Says()

    def until(self, count: int) -> list[Request]:
        """The requests, as soon as there are so many."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, GIVE_UP_S)
            return list(self.requests)

    @property
    def origin(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """The address to send to."""
        return f"{self.origin}/v1/memory/ingest"
