"""MCP over streamable HTTP for the shared server: each request stands alone, in any process.

There are no sessions and no subscriptions, which would be state of one process.
"""

import asyncio
from http import HTTPStatus
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from memory_fabric import __version__
from memory_fabric.errors import FabricError
from memory_fabric.models import Provenance
from memory_fabric.servers.http.mcp_endpoint import JSON_TYPE, MAX_BYTES
from memory_fabric.servers.http.responses import refusal
from memory_fabric.servers.mcp import protocol
from memory_fabric.servers.mcp import tools as local_tools
from memory_fabric.servers.mcp.jsonrpc import Outcome, failure, wire
from memory_fabric.servers.mcp.protocol import GRAPH_URI
from memory_fabric.servers.mcp.schema import TOOLS, listed
from memory_fabric.servers.team import tools
from memory_fabric.servers.team.access import Access
from memory_fabric.servers.team.guard import DIGEST
from memory_fabric.servers.team.memory import TeamMemory

Context = ServerRequestContext[Any]


SAID_BY = Provenance(source="mcp", trust="tool")


class McpServer:
    """The endpoint `/mcp`; `run` must surround its use."""

    def __init__(self, access: Access) -> None:
        self._access = access
        server: Server[Any] = Server(
            protocol.NAME,
            version=__version__,
            title=protocol.TITLE,
            instructions=protocol.INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=MAX_BYTES
        )
        self._end = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Answer requests from now on."""
        begun = asyncio.Event()
        self._running = asyncio.create_task(self._run(begun))
        await begun.wait()

    async def close(self) -> None:
        """Answer no more requests."""
        self._end.set()
        if self._running is not None:
            await self._running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of a client."""
        kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and kind != JSON_TYPE:
            message = f"An MCP message must be {JSON_TYPE}."
            status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
            await refusal(status, "wrong_content_type", message)(scope, receive, send)
            return
        await self._manager.handle_request(scope, receive, send)

    async def _run(self, begun: asyncio.Event) -> None:
        # The requests run in a task group, which must be left by the task that entered it.
        async with self._manager.run():
            begun.set()
            await self._end.wait()

    async def _list_tools(self, _context: Context, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": [listed(tool) for tool in TOOLS]})

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> dict[str, Any]:
        if params.arguments is None and "arguments" in params.model_fields_set:
            raise MCPError(types.INVALID_PARAMS, "Invalid request parameters", "")
        arguments = params.arguments or {}
        outcome = local_tools.complaint(params.name, arguments)
        if outcome is None:
            outcome = await self._answer(context, params.name, arguments)
        return {**wire(outcome), "resultType": "complete"}

    async def _answer(self, context: Context, name: str, arguments: dict[str, Any]) -> Outcome:
        def job(memory: TeamMemory) -> Outcome:
            outcome = tools.call(memory, name, arguments, SAID_BY)
            if memory.failed is not None:
                raise memory.failed
            if outcome.failed:
                raise _Failed(outcome)  # nothing of a failed call is kept
            return outcome

        try:
            return await self._access.ask(_digest(context), job)
        except _Failed as failed:
            return failed.outcome
        except FabricError as error:
            return failure(str(error))

    async def _list_resources(self, _context: Context, _params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult.model_validate({"resources": [protocol.GRAPH]})

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if str(params.uri) != GRAPH_URI:
            missing = protocol.not_found(str(params.uri))
            raise MCPError(missing.code, missing.message)
        try:
            whole = await self._access.ask(_digest(context), tools.whole_graph)
        except FabricError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error
        text = types.TextResourceContents(uri=GRAPH_URI, mime_type=protocol.JSON_TYPE, text=whole)
        return types.ReadResourceResult(contents=[text])


class _Failed(Exception):
    """A call that failed, so that its transaction ends without its changes."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def _digest(context: Context) -> bytes:
    """Return the digest of the key that came with a request."""
    found: bytes = context.request.scope[DIGEST]  # type: ignore[union-attr]
    return found
