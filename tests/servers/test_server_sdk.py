"""The light way to the SDK, and the whole way where the light one does not work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from servers.doors import environment, run

BREAK = """
import sys
class RefusesOnce:
    refused = False
    def find_spec(self, name, path=None, target=None):
        if name == "mcp.server.lowlevel.server" and not self.refused:
            self.refused = True
            raise ImportError("not without the package files")
sys.meta_path.insert(0, RefusesOnce())
"""
LOAD = """
import sys
from memory_fabric.servers.sdk import load
load(); load()
import memory_fabric.servers.mcp_server
print("mcp.client" in sys.modules)
"""


@pytest.mark.parametrize(("before", "client_loaded"), [("", "False"), (BREAK, "True")])
def test_the_server_loads_lightly_or_wholly(
    tmp_path: Path, before: str, client_loaded: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", before + LOAD],
        capture_output=True,
        env=environment(tmp_path / "home"),
        timeout=60,
        check=True,
    )

    assert done.stdout.decode().strip() == client_loaded


def test_a_session_of_the_sdk_has_its_connection_as__connection() -> None:
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
