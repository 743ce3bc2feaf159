"""The MCP server `memory`, built on the SDK's low-level API; `serve` offers it over HTTP."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from memory_fabric import __version__, errors, models
from memory_fabric.servers.mcp import protocol, tools
from memory_fabric.servers.mcp.jsonrpc import Outcome, wire
from memory_fabric.servers.mcp.protocol import GRAPH_URI
from memory_fabric.servers.mcp.schema import TOOLS, listed
from memory_fabric.servers.store_thread import Mark, StoreThread, Watch, mark_of

Context = ServerRequestContext[Any]
Done = types.EmptyResult


def server_of(call: Callable[..., Awaitable[dict[str, Any]]], **handlers: Any) -> Server[Any]:
    """Return a server that lists the tools and the graph resource; `call` handles tool calls."""

    async def list_tools(_context: Context, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": [listed(tool) for tool in TOOLS]})

    async def list_resources(_context: Context, _params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult.model_validate({"resources": [protocol.GRAPH]})

    async def list_templates(_context: Context, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[])

    about = {"title": protocol.TITLE, "instructions": protocol.INSTRUCTIONS}
    lists = {"on_list_tools": list_tools, "on_list_resources": list_resources}
    handlers |= {**about, **lists, "on_list_resource_templates": list_templates}
    server: Server[Any] = Server(protocol.NAME, version=__version__, **handlers)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call)
    return server


async def called(
    params: types.CallToolRequestParams, answer: Callable[[str, dict[str, Any]], Awaitable[Outcome]]
) -> dict[str, Any]:
    """Check a `tools/call` request; return the result of `answer(name, arguments)` or an error."""
    if params.arguments is None and "arguments" in params.model_fields_set:
        raise MCPError(types.INVALID_PARAMS, "Invalid request parameters", "")
    name, arguments = params.name, params.arguments or {}
    try:
        outcome = tools.complaint(name, arguments) or await answer(name, arguments)
    except errors.FabricError as error:
        outcome = Outcome((str(error),), failed=True)  # the memory cannot be opened
    return {**wire(outcome), "resultType": "complete"}


async def resource_read(
    params: types.ReadResourceRequestParams, whole_graph: Callable[[], Awaitable[str]]
) -> types.ReadResourceResult:
    """Return the graph as a resource. Raises MCPError if the URI is unknown or reading fails."""
    if str(params.uri) != GRAPH_URI:
        missing = protocol.not_found(str(params.uri))
        raise MCPError(missing.code, missing.message)
    try:
        whole = await whole_graph()
    except errors.FabricError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
    text = types.TextResourceContents(uri=GRAPH_URI, mime_type=protocol.JSON_TYPE, text=whole)
    return types.ReadResourceResult(contents=[text])


class MemoryServer:
    """Handlers of MCP requests from all clients to one memory; `server` is the SDK's server."""

    def __init__(self, store: StoreThread, said_by: models.Provenance) -> None:
        self._store = store
        self._subscribed: dict[Connection, set[str]] = {}
        self._bus = InMemorySubscriptionBus()
        self._listen_to_bus = ListenHandler(self._bus)
        self._watch = Watch(store, self._tell_soon)
        self._handler = tools.RequestHandler(said_by, "", self._watch)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.server = server_of(
            self._call,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen,
        )

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        greeting = context.session.client_params
        client = greeting.client_info.name if greeting else ""

        async def answer(name: str, arguments: dict[str, Any]) -> Outcome:
            outcome = await self._store.ask(
                lambda memory: self._handler.call(memory, name, arguments, params.meta, client),
                changes=name not in tools.READERS,
            )
            if outcome.changed:
                await self._tell()
            return outcome

        return await called(params, answer)

    async def _tell(self) -> None:
        """Notify subscribers of both protocol versions that the graph has changed (MEM-16)."""
        for connection, uris in list(self._subscribed.items()):
            if GRAPH_URI in uris:
                await connection.send_resource_updated(GRAPH_URI)
        await self._bus.publish(ResourceUpdated(uri=GRAPH_URI))

    def _tell_soon(self) -> None:
        assert self._loop is not None  # set by the first subscriber
        is_told = self._tell()
        try:
            asyncio.run_coroutine_threadsafe(is_told, self._loop)
        except RuntimeError:  # the event loop and all subscriptions have ended
            is_told.close()

    async def _read_resource(
        self, _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await resource_read(params, lambda: self._store.ask(self._handler.whole_graph))

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> Done:
        # Subscriptions are kept by connection, as the SDK makes a new session for each request.
        # `_connection` is private, so tests/servers/test_server_sdk.py checks that it exists.
        connection = context.session._connection
        if connection not in self._subscribed:
            self._subscribed[connection] = set()
            connection.exit_stack.callback(self._forget, connection)
        if str(params.uri) not in self._subscribed[connection]:
            self._subscribed[connection].add(str(params.uri))
            await self._begin_to_watch()
        return Done()

    async def _unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> Done:
        uris = self._subscribed.get(context.session._connection, set())
        if str(params.uri) in uris:
            uris.remove(str(params.uri))
            self._watch.stop()
        return Done()

    def _forget(self, connection: Connection) -> None:
        for _ in self._subscribed.pop(connection):
            self._watch.stop()

    async def _listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        await self._begin_to_watch()
        try:
            return await self._listen_to_bus(context, params)
        finally:
            self._watch.stop()

    async def _begin_to_watch(self) -> None:
        self._loop = asyncio.get_running_loop()
        mark: Mark | None = None
        try:
            mark = await self._store.ask(mark_of)
        except errors.FabricError as error:
            print(f"memory-fabric: watching: {error}", file=sys.stderr)  # noqa: T201
        self._watch.start(mark)
