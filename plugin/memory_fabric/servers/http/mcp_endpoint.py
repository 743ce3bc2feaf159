"""The MCP server over streamable HTTP, for clients that reach this server by an address.

The SDK is loaded with the first request, so that the page alone does not wait for it.
"""

import asyncio
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from memory_fabric.config import Settings
from memory_fabric.models import Provenance
from memory_fabric.servers.http.responses import of_error, refusal
from memory_fabric.servers.store_thread import StoreThread

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")
# As much as the SDK takes by itself; a graph comes in larger pieces than a text.
MAX_BYTES = 4 << 20
MAX_SESSIONS = 256
JSON_TYPE = "application/json"


class McpEndpoint:
    """The endpoint `/mcp`: a session for each client, one memory for all of them."""

    def __init__(self, store: StoreThread, settings: Settings) -> None:
        self._store = store
        self._said_by = Provenance(
            source="mcp", trust="tool", author=settings.author, origin=settings.origin
        )
        self._opening: asyncio.Task[Any] | None = None
        self._end = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of a client."""
        kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and kind != JSON_TYPE:
            message = f"An MCP message must be {JSON_TYPE}."
            answer = refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "wrong_content_type", message)
            await answer(scope, receive, send)
            return
        try:
            if self._opening is None:
                self._opening = asyncio.create_task(self._open())
            manager = await asyncio.shield(self._opening)
        except Exception as error:  # noqa: BLE001 - the other endpoints must keep working
            self._opening = None
            await of_error(error)(scope, receive, send)
            return
        if self._end.is_set():
            answer = refusal(
                HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "The server is shutting down."
            )
            await answer(scope, receive, send)
            return
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End all sessions."""
        self._end.set()
        if self._running is not None:
            await self._running

    async def _open(self) -> Any:
        manager = await asyncio.to_thread(self._manager)
        begun = asyncio.Event()
        self._running = asyncio.create_task(self._run(manager, begun))
        await begun.wait()
        return manager

    def _manager(self) -> Any:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from memory_fabric.servers.mcp.sdk_server import MemoryServer

        # auth has checked the caller.
        return StreamableHTTPSessionManager(
            MemoryServer(self._store, self._said_by).server,
            max_request_body_size=MAX_BYTES,
            max_sessions=MAX_SESSIONS,
        )

    async def _run(self, manager: Any, begun: asyncio.Event) -> None:
        # The sessions run in a task group, which must be left by the task that entered it.
        async with manager.run():
            begun.set()
            await self._end.wait()
