"""Streams around the SDK's that hold back the end of input until every request has its answer.

The SDK cancels what is in flight the moment standard input ends; a client that writes its requests
and closes (a shell pipe) would get none of them answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

# A listening request is answered when the connection ends, so nobody can wait for it.
ENDLESS = "subscriptions/listen"
CANCELLED = "notifications/cancelled"


class Unanswered:
    """The requests that have come and not been answered; `wrap` puts it between two streams."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._ids: set[str | int] = set()
        self._none_left = anyio.Event()

    def came(self, item: SessionMessage | Exception) -> None:
        """Note a request; forget one that the client cancelled."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCRequest) and message.method != ENDLESS:
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED:
            self._forget((message.params or {}).get("requestId"))

    def went(self, item: SessionMessage) -> None:
        """Forget the request that this message answers."""
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._forget(item.message.id)

    async def wait(self) -> None:
        """Return when all are answered, or when the time is over."""
        if self._ids:
            self._none_left = anyio.Event()
            with anyio.move_on_after(self._wait_s):
                await self._none_left.wait()

    def _forget(self, identifier: Any) -> None:
        self._ids.discard(identifier)
        if not self._ids:
            self._none_left.set()


class Incoming:
    """The client's messages, ending only after `Unanswered.wait`."""

    def __init__(
        self, inner: ReadStream[SessionMessage | Exception], unanswered: Unanswered
    ) -> None:
        self._inner, self._unanswered = inner, unanswered

    @property
    def last_context(self) -> Any:
        """The sender's context, which the SDK looks for on its own streams."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises EndOfStream."""
        try:
            item = await self._inner.receive()
        except anyio.EndOfStream:
            await self._unanswered.wait()
            raise
        self._unanswered.came(item)
        return item

    async def aclose(self) -> None:
        """Close the stream below."""
        await self._inner.aclose()

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Incoming:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()


class Outgoing:
    """The server's messages, noted as answers once the transport has taken them."""

    def __init__(self, inner: WriteStream[SessionMessage], unanswered: Unanswered) -> None:
        self._inner, self._unanswered = inner, unanswered

    async def send(self, item: SessionMessage, /) -> None:
        """Send through the stream below."""
        await self._inner.send(item)
        self._unanswered.went(item)

    async def aclose(self) -> None:
        """Close the stream below."""
        await self._inner.aclose()

    async def __aenter__(self) -> Outgoing:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()
