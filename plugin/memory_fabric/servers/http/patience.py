"""How long a connection may take to ask: whoever asks nothing must not keep others out.

The number of connections is limited, and everybody on this machine can open some without a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

# As long as a connection may stay open after an answer.
ASKING_S = 5


class PatientProtocol(H11Protocol):
    """HTTP/1.1 on one connection, which ends when no whole request came in time."""

    _ending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait_or_not()

    def data_received(self, data: bytes) -> None:
        """Part of a request, or several."""
        super().data_received(data)
        self._wait_or_not()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait_or_not()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait_or_not(self) -> None:
        # A byte now and then is no request: the time runs on.
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._ending is None and not self.transport.is_closing():
            self._ending = self.loop.call_later(ASKING_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
