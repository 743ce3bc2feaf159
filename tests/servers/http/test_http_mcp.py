"""The MCP server over streamable HTTP: by the SDK's own client, and by plain requests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ResourceUpdatedNotification

from cli.shell import Shell
from memory_fabric.servers.http.routes import MAX_MCP_BYTES as MAX_BYTES
from memory_fabric.servers.mcp.protocol import GRAPH_URI
from memory_fabric.servers.mcp.schema import TOOLS
from servers.http.http_server import Reply, Serving, serving
from servers.mcp_clients import run, texts

API = {"entities": [{"name": "api", "entityType": "component", "observations": ["in Go"]}]}
GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
BOTH = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell in an empty project."""
    return Shell(tmp_path_factory.mktemp("mcp"))


@pytest.fixture(scope="module")
def server(shell: Shell) -> Iterator[Serving]:
    """A server of its memory."""
    with serving(shell) as found:
        yield found


@asynccontextmanager
async def client_of(
    server: Serving, *, mode: str = "legacy", message_handler: Any = None
) -> AsyncIterator[Client]:
    """A client with the key of the start."""
    headers = {"Authorization": f"Bearer {server.key}"}
    url = f"http://127.0.0.1:{server.port}/mcp"
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        way = streamable_http_client(url, http_client=http)
        async with Client(way, mode=mode, message_handler=message_handler) as client:
            yield client


def greeted(server: Serving, *, key: str = "", **headers: str) -> Reply:
    """The answer to the first message of a client."""
    return server.post("/mcp", json.dumps(GREETING), key=key or server.key, Accept=BOTH, **headers)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_http_server_has_the_tools_of_the_stdio_server(server: Serving, mode: str) -> None:
    async def story() -> None:
        async with client_of(server, mode=mode) as client:
            listed = await client.list_tools()

        assert [tool.name for tool in listed.tools] == [tool.name for tool in TOOLS]

    run(story)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_memory_stored_over_http_is_found_by_other_clients_and_the_command_line(
    server: Serving, shell: Shell, mode: str
) -> None:
    async def story() -> None:
        async with client_of(server, mode=mode) as one, client_of(server, mode=mode) as other:
            await one.call_tool("create_entities", API)
            found = await other.call_tool("recall", {"query": "api"})

        assert "in Go" in "".join(texts(found))

    run(story)

    assert "in Go" in shell.run("recall", "api").out


def test_clients_can_call_tools_while_texts_are_ingested(server: Serving) -> None:
    async def story() -> None:
        async with client_of(server) as client:
            for number in range(5):
                await client.call_tool("create_entities", API)
                reply = await anyio.to_thread.run_sync(server.send, f"Text {number}")
                assert reply.status == 202

    run(story)


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_only_subscribed_and_connected_clients_are_notified_of_changes(server: Serving) -> None:
    told: dict[str, list[str]] = {"first": [], "second": [], "third": []}

    def hearing(name: str, event: anyio.Event) -> Any:
        async def listen(message: Any) -> None:
            if isinstance(message, ResourceUpdatedNotification):
                told[name].append(str(message.params.uri))
                event.set()

        return listen

    async def story() -> None:
        events = {name: anyio.Event() for name in told}
        async with client_of(server, message_handler=hearing("third", events["third"])) as third:
            await third.subscribe_resource(GRAPH_URI)
        async with (
            client_of(server, message_handler=hearing("first", events["first"])) as first,
            client_of(server, message_handler=hearing("second", events["second"])) as second,
        ):
            await first.subscribe_resource(GRAPH_URI)
            await second.call_tool("create_entities", API)
            with anyio.fail_after(60):
                await events["first"].wait()

    run(story)

    assert told == {"first": [GRAPH_URI], "second": [], "third": []}


@pytest.mark.parametrize("key", ["none", "wrong"])
def test_a_request_without_a_valid_key_gets_no_mcp_session(server: Serving, key: str) -> None:
    reply = greeted(server, key=key)

    assert (reply.status, reply.code) == (401, "unauthorized")
    assert reply.headers["www-authenticate"] == "Bearer"
    assert "mcp-session-id" not in reply.headers


@pytest.mark.parametrize(
    ("name", "value"),
    [("Host", "evil.example"), ("Origin", "http://evil.example"), ("Sec_Fetch_Site", "same-site")],
)
def test_a_request_from_another_site_gets_no_mcp_session(
    server: Serving, name: str, value: str
) -> None:
    reply = greeted(server, **{name: value})

    assert reply.status == 403
    assert "mcp-session-id" not in reply.headers


def test_a_session_can_be_opened_and_ended_by_plain_http_requests(server: Serving) -> None:
    opened = greeted(server)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    ended = [server.get("/mcp", method="DELETE", **session).status for _ in range(2)]

    assert opened.status == 200
    assert b'"serverInfo":{"name":"memory"' in opened.body
    assert ended == [200, 404]


def test_an_unknown_session_id_is_not_found(server: Serving) -> None:
    listing = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    session = {"Mcp_Session_Id": "0" * 32, "Accept": BOTH}

    assert server.post("/mcp", listing, key=server.key, **session).status == 404


def test_a_wrong_content_type_and_an_oversized_body_are_refused(server: Serving) -> None:
    for kind in ("text/plain", "", "application/json-rpc"):
        wrong = server.post("/mcp", "{}", key=server.key, Content_Type=kind, Accept=BOTH)
        assert (wrong.status, wrong.code) == (415, "wrong_content_type")

    large = server.post("/mcp", "a" * (MAX_BYTES + 1), key=server.key, Accept=BOTH)
    assert large.status == 413
    assert server.get("/mcp", method="PUT").status == 405


def test_the_server_can_be_stopped_while_clients_are_connected(tmp_path: Path) -> None:
    with serving(Shell(tmp_path)) as server:
        assert statuses_at_the_end(server) == [200, 0]


def statuses_at_the_end(server: Serving) -> list[int]:
    """The status of a stream, and the exit code after SIGTERM while it is open."""
    statuses: list[int] = []

    async def story() -> None:
        async with httpx2.AsyncClient(timeout=60) as http:
            opened = greeted(server)
            headers = {
                "Authorization": f"Bearer {server.key}",
                "Mcp-Session-Id": opened.headers["mcp-session-id"],
                "Accept": "text/event-stream",
            }
            url = f"http://127.0.0.1:{server.port}/mcp"
            async with http.stream("GET", url, headers=headers) as stream:
                statuses.append(stream.status_code)
                statuses.append((await anyio.to_thread.run_sync(server.end, 15))[0])

    run(story)
    return statuses
