"""The properties of the SDK that `mcp_server` relies on."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from servers.mcp_clients import run


def test_the_sdk_gives_each_client_its_own_connection_object() -> None:
    """`mcp_server` keeps subscriptions by it: nothing public of the SDK tells clients apart. Where
    this fails after an update, look there first.
    """
    seen: list[Any] = []
    ended: list[str] = []

    async def listed(context: ServerRequestContext[Any], _: Any) -> types.ListToolsResult:
        connection = context.session._connection
        if connection not in seen:
            connection.exit_stack.callback(ended.append, "ended")
        seen.append(connection)
        return types.ListToolsResult(tools=[])

    server: Server[Any] = Server("pinned", on_list_tools=listed)

    async def story() -> None:
        async with Client(server, mode="legacy") as one, Client(server, mode="legacy") as other:
            for client in (one, one, other):
                await client.list_tools()

    run(story)

    assert all(isinstance(one, Connection) for one in seen)
    assert [seen.index(one) for one in seen] == [0, 0, 2]
    assert ended == ["ended", "ended"]
    assert callable(Connection.send_resource_updated)
