"""Timeouts of connections, and a limit to their number.

Any program of this machine can open connections without a key. Idle connections do not block
others: at the limit, the one that has waited longest without a whole request is closed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# As long as a connection may stay open after an answer.
ASKING_S = 5.0
# A client that takes no more of the answer has this long to read it.
READING_S = 30.0
# At most this much of an unread body is received, so that its sender sees the answer.
MAX_UNREAD_BYTES = 4 << 20
MAX_CONNECTIONS = 512


class ConnectionPool:
    """The connections of a server, of which no more than `most` are open."""

    def __init__(self, most: int = MAX_CONNECTIONS) -> None:
        self._most = most
        self._open: set[PatientProtocol] = set()
        # Connections without a whole request, the longest wait first.
        self._waiting: dict[PatientProtocol, None] = {}

    def protocol(self, **given: Any) -> PatientProtocol:
        """Return the protocol of a new connection, for uvicorn."""
        return PatientProtocol(self, **given)

    def entered(self, one: PatientProtocol) -> bool:
        """Add a connection, closing one that waits if needed; return False if there is no room."""
        if len(self._open) >= self._most:
            longest = next(iter(self._waiting), None)
            if longest is None:
                return False
            self.left(longest)
            longest.transport.abort()
        self._open.add(one)
        self._waiting[one] = None
        return True

    def left(self, one: PatientProtocol) -> None:
        """Remove a closed connection."""
        self._open.discard(one)
        self._waiting.pop(one, None)

    def asked(self, one: PatientProtocol) -> None:
        """Mark the connection as busy: its whole request has arrived."""
        self._waiting.pop(one, None)

    def waits(self, one: PatientProtocol) -> None:
        """Mark the connection as idle after its answer."""
        if one in self._open:
            self._waiting.setdefault(one)


class PatientProtocol(H11Protocol):
    """HTTP/1.1 on a connection that ends if no whole request comes in time, or nobody reads the
    answer.
    """

    def __init__(self, pool: ConnectionPool, **given: Any) -> None:
        super().__init__(**given)
        self._pool = pool
        self._ending: asyncio.TimerHandle | None = None
        self._unread_ending: asyncio.TimerHandle | None = None
        self._unread_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, where there is room."""
        super().connection_made(transport)
        if not self._pool.entered(self):
            transport.write(_NO_ROOM)
            transport.close()
            return
        self._wait_or_not()

    def data_received(self, data: bytes) -> None:
        """Take part of a request, or several requests."""
        super().data_received(data)
        self._wait_or_not()
        answered = self.cycle is not None and self.cycle.response_complete
        if answered and self.conn.their_state is h11.SEND_BODY:  # before the request was complete
            self._unread_bytes += len(data)
            if self._unread_bytes > MAX_UNREAD_BYTES:
                self.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._pool.waits(self)
        super().on_response_complete()
        self._wait_or_not()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._pool.left(self)
        super().connection_lost(exc)
        self._stop_waiting()
        self._stop_reading()

    def pause_writing(self) -> None:
        """Start the timer: the client reads more slowly than the server answers."""
        super().pause_writing()
        if self._unread_ending is None:
            self._unread_ending = self.loop.call_later(READING_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer: the client has read its answer."""
        super().resume_writing()
        self._stop_reading()

    def send_400_response(self, msg: str) -> None:
        """Answer input that is not HTTP with an error of the usual form."""
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        status, code = HTTPStatus.BAD_REQUEST, "bad_request"
        error = sys.exception()
        hint = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 0
        if hint == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
            status, code = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_large"
            msg = "The head of the request is longer than 16 KB."
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            parts = (
                h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
                h11.Data(data=_error(code, msg)),
                h11.EndOfMessage(),
            )
            for part in parts:
                self.transport.write(self.conn.send(part) or b"")
        self.transport.close()

    def _wait_or_not(self) -> None:
        # A byte now and then is no request: the time runs on.
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
            if not self.cycle.more_body:
                self._pool.asked(self)
        elif self._ending is None and not self.transport.is_closing():
            self._ending = self.loop.call_later(ASKING_S, self._end)

    def _end(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # closing would wait until the client reads
        else:
            self.transport.close()

    def _stop_waiting(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None

    def _stop_reading(self) -> None:
        if self._unread_ending is not None:
            self._unread_ending.cancel()
            self._unread_ending = None


def _error(code: str, message: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "remedy": ""}}).encode()


_FULL = _error("unavailable", "Too many requests are in progress.")
_NO_ROOM = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\n"
    b"Connection: close\r\nContent-Length: " + str(len(_FULL)).encode() + b"\r\n\r\n" + _FULL
)
