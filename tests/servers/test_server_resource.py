"""MEM-16: the graph as a resource, read and watched in both protocol eras."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import INVALID_PARAMS, ResourceUpdatedNotification

from memory_fabric.config import Settings
from memory_fabric.models import Provenance
from memory_fabric.servers.mcp.protocol import GRAPH_URI
from memory_fabric.servers.store_thread import EVERY_S, mark_of
from memory_fabric.store.memory import Memory
from servers.mcp_clients import Process, connected, run

API = {"entities": [{"name": "api", "entityType": "component", "observations": ["in Go"]}]}
MODERN = "auto"


@pytest.mark.behaviour("MEM-16a", "MEM-16b")
@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_the_graph_resource_contains_the_whole_graph(tmp_path: Path, mode: str) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home", mode=mode) as client:
            await client.call_tool("create_entities", API)

            (listed,) = (await client.list_resources()).resources
            (content,) = (await client.read_resource(GRAPH_URI)).contents

            assert (listed.uri, listed.name) == (GRAPH_URI, "knowledge-graph")
            assert listed.mime_type == content.mime_type == "application/json"
            assert json.loads(getattr(content, "text", "")) == {**API, "relations": []}

    run(story)


@pytest.mark.behaviour("MEM-16b")
def test_an_unknown_resource_is_not_found(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            with pytest.raises(MCPError) as caught:
                await client.read_resource("memory://else")

            assert caught.value.code == INVALID_PARAMS
            assert str(caught.value) == "MCP error -32602: Resource memory://else not found"

    run(story)


@pytest.mark.behaviour("MEM-16c")
@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_a_subscriber_is_notified_of_each_change_but_not_of_reads(tmp_path: Path) -> None:
    async def story() -> None:
        hear, heard = anyio.create_memory_object_stream[str](100)

        async def listen(message: Any) -> None:
            if isinstance(message, ResourceUpdatedNotification):
                await hear.send(message.params.uri)

        async with connected(tmp_path / "home", message_handler=listen) as client:
            await client.call_tool("create_entities", API)
            await client.subscribe_resource(GRAPH_URI)
            await client.call_tool("create_entities", API)
            await client.call_tool("read_graph", {})
            await client.call_tool("delete_entities", {"entityNames": ["api"]})
            await client.unsubscribe_resource(GRAPH_URI)
            await client.call_tool("create_entities", API)
            with anyio.fail_after(60):
                told = [await heard.receive(), await heard.receive()]

        hear.close()
        assert told == [GRAPH_URI, GRAPH_URI]
        assert [uri async for uri in heard] == []
        heard.close()

    run(story)


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_a_change_by_another_process_notifies_a_subscriber_once(tmp_path: Path) -> None:
    async def story() -> None:
        hear, heard = anyio.create_memory_object_stream[str](100)

        async def listen(message: Any) -> None:
            if isinstance(message, ResourceUpdatedNotification):
                await hear.send(message.params.uri)

        home = tmp_path / "home"
        async with connected(home, message_handler=listen) as client:
            await client.call_tool("read_graph", {})
            await client.subscribe_resource(GRAPH_URI)
            await anyio.to_thread.run_sync(change_elsewhere, home)
            with anyio.fail_after(60):
                assert await heard.receive() == GRAPH_URI
            (content,) = (await client.read_resource(GRAPH_URI)).contents
            assert json.loads(getattr(content, "text", ""))["entities"] == API["entities"]
            # Its own change is told once: the next look must not tell it again.
            await client.call_tool("delete_entities", {"entityNames": ["api"]})
            with anyio.fail_after(60):
                assert await heard.receive() == GRAPH_URI
            await anyio.sleep(3 * EVERY_S)
            assert heard.statistics().current_buffer_used == 0
        hear.close()
        heard.close()

    run(story)


def change_elsewhere(home: Path) -> None:
    with Process(home) as other:
        other.greet()
        other.call("create_entities", API)


def test_a_subscriber_of_protocol_2026_is_notified_of_a_change_by_another_process(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        home = tmp_path / "home"
        async with connected(home, mode=MODERN) as client:
            async with client.listen(resource_subscriptions=[GRAPH_URI]) as heard:
                await anyio.to_thread.run_sync(change_elsewhere, home)
                with anyio.fail_after(60):
                    event = await anext(aiter(heard))

            assert event == ResourceUpdated(uri=GRAPH_URI)

    run(story)


@pytest.mark.behaviour("MEM-16d")
def test_a_subscriber_of_protocol_2026_is_notified_of_a_change_by_a_tool_call(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home", mode=MODERN) as client:
            async with client.listen(resource_subscriptions=[GRAPH_URI]) as heard:
                await client.call_tool("create_entities", API)

                with anyio.fail_after(60):
                    event = await anext(aiter(heard))

            assert event == ResourceUpdated(uri=GRAPH_URI)

    run(story)


def test_the_version_identifier_of_a_memory_changes_only_with_a_write(tmp_path: Path) -> None:
    memory = Memory.open(Settings(home=str(tmp_path / "home"), config_dir=str(tmp_path)))
    marks = [mark_of(memory)]
    for number in range(2):
        entity = {"name": f"api {number}", "entityType": "component", "observations": []}
        memory.write("create_entities", {"entities": [entity]}, Provenance(source="test"))
        marks.append(mark_of(memory))

    again = mark_of(memory)
    memory.close()

    assert len(set(marks)) == 3 and again == marks[-1]
