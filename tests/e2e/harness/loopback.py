"""A server on a free loopback port that runs in a thread: what the stubs of all APIs share."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Loopback:
    """A server that hands its requests to a handler, which finds this object as `server.stub`; a
    context manager.
    """

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), handler)
        self._server.stub = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    stub: Any

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that hangs up half-way is none of a test's business."""


class Handler(BaseHTTPRequestHandler):
    """A handler that prints nothing and answers with a whole body."""

    protocol_version = "HTTP/1.1"

    @property
    def stub(self) -> Any:
        """The object that the server belongs to."""
        assert isinstance(self.server, _Server)
        return self.server.stub

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: requests are kept, not printed."""

    def reply(self, payload: bytes, kind: str = "application/json") -> None:
        """Send a body of this content type."""
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)
