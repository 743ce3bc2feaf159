"""The messages of both servers besides tools' answers: greeting, resource, refusals, their end."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from contract.sides import Reference, answer, flood
from contract.story_steps import API, OWNS, create, relate
from servers.mcp_clients import Process

GRAPH = {"uri": "memory://knowledge-graph"}
UPDATED = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": GRAPH}
FLOOD = 300
# The client sends the second signal so long after the first.
BETWEEN_SIGNALS_S = 0.1
# What a shared machine may take.
PATIENCE_S = 60


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Process]:
    with Process(tmp_path / "home") as side:
        yield side


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Process]:
    with Reference(tmp_path / "memory.jsonl") as side:
        yield side


def exchanged(side: Process, method: str, params: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that a request brings: notifications, and last the answer without its id."""
    heard: list[dict[str, Any]] = []
    # What still follows the answer has come when a ping after it is answered.
    for number, (asked, given) in (("asked", (method, params)), ("over", ("ping", {}))):
        message = {"jsonrpc": "2.0", "id": number, "method": asked, "params": given}
        side.write(json.dumps(message).encode())
        while (message := side.read()).get("id") != number:
            heard.append(message)
        heard.append(message)
    answers = [message for message in heard[:-1] if message.pop("id", "") == "asked"]
    return [message for message in heard[:-1] if "method" in message] + answers


def called(side: Process, tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """The notifications that a tool call brings."""
    *notifications, result = exchanged(side, "tools/call", {"name": tool, "arguments": arguments})
    assert "result" in result
    return notifications


@pytest.mark.behaviour("MEM-16a", "MEM-16f", "MEM-15e")
def test_our_server_declares_the_capabilities_of_the_reference_server(
    ours: Process, theirs: Process
) -> None:
    own, other = ours.greet(), theirs.greet()

    assert own["protocolVersion"] == other["protocolVersion"]
    assert own["capabilities"].keys() >= other["capabilities"].keys()
    promised = [side["capabilities"]["tools"]["listChanged"] for side in (own, other)]
    assert promised == [False, True]
    assert own["capabilities"]["resources"]["subscribe"]
    assert other["capabilities"]["resources"]["subscribe"]
    assert (own["serverInfo"]["name"], other["serverInfo"]["name"]) == ("memory", "memory-server")
    assert "instructions" in own
    assert "instructions" not in other


@pytest.mark.behaviour("MEM-16a", "MEM-16b", "MEM-19a")
def test_the_graph_resource_and_errors_equal_those_of_the_reference_server(
    ours: Process, theirs: Process
) -> None:
    for side in (ours, theirs):
        side.greet()
        for step in (create(API), relate({**OWNS, "from": "api"})):
            answer(side, step.tool, dict(step.arguments))

    differing = {}
    for method, params in (
        ("resources/list", {}),
        ("resources/read", GRAPH),
        ("resources/read", {"uri": "memory://else"}),
        ("memory/dream", {}),
        ("prompts/list", {}),
        ("ping", {}),
        ("resources/templates/list", {}),
    ):
        own, other = (plain(exchanged(side, method, params)) for side in (ours, theirs))
        if own != other:
            differing[f"{method} {params}"] = (own, other)

    assert differing == {}


def plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages without what newer protocols add and older clients overlook."""
    for message in messages:
        for part, added in (("result", "resultType"), ("error", "data")):
            message.get(part, {}).pop(added, None)
    return messages


@pytest.mark.behaviour("MEM-16c", "MEM-16e")
def test_both_servers_notify_subscribers_of_the_same_calls(ours: Process, theirs: Process) -> None:
    heard: list[list[Any]] = []
    for side in (ours, theirs):
        side.greet()
        before = called(side, "create_entities", {"entities": [API]})
        subscribed = exchanged(side, "resources/subscribe", GRAPH)
        told = [
            called(side, "create_entities", {"entities": [API]}),
            called(side, "create_relations", {"relations": [{**OWNS, "from": "api"}]}),
            called(side, "add_observations", {"observations": []}),
            called(
                side, "add_observations", {"observations": [{"entityName": "?", "contents": []}]}
            ),
            called(side, "add_observations", {"observations": "x"}),
            called(side, "delete_observations", {"deletions": []}),
            called(side, "delete_relations", {"relations": [OWNS]}),
            called(side, "delete_entities", {"entityNames": ["api"]}),
            called(side, "read_graph", {}),
            called(side, "search_nodes", {"query": ""}),
            called(side, "open_nodes", {"names": []}),
        ]
        unsubscribed = exchanged(side, "resources/unsubscribe", GRAPH)
        after = called(side, "create_entities", {"entities": [API]})
        heard.append([before, plain(subscribed), told, plain(unsubscribed), after])

    own, other = heard
    assert own == other
    assert [len(told) for told in own[2]] == [1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0]
    assert own[2][0] == [UPDATED]


@pytest.mark.behaviour("MEM-19b")
def test_our_server_answers_discovery_and_the_reference_returns_an_error(
    ours: Process, theirs: Process
) -> None:
    about = "io.modelcontextprotocol/"
    envelope = {
        f"{about}protocolVersion": "2026-07-28",
        f"{about}clientInfo": {"name": "test", "version": "0"},
        f"{about}clientCapabilities": {},
    }
    (own,), (other,) = (
        exchanged(side, "server/discover", {"_meta": envelope}) for side in (ours, theirs)
    )

    assert "2026-07-28" in own["result"]["supportedVersions"]
    assert other["error"]["code"] == -32601


@pytest.mark.behaviour("MEM-12d")
def test_invalid_parameters_are_refused_by_both_servers(ours: Process, theirs: Process) -> None:
    codes = []
    for side in (ours, theirs):
        side.greet()
        answers = [
            side.ask(method, params)
            for method, params in (
                ("tools/call", {"name": "read_graph", "arguments": None}),
                ("tools/call", {"name": "read_graph", "arguments": []}),
                ("tools/call", {"name": 3}),
                ("resources/read", {"uri": None}),
                ("resources/subscribe", {}),
            )
        ]
        codes.append([answer["error"]["code"] for answer in answers])

    assert codes == [[-32602] * 5, [-32603] * 5]


@pytest.mark.behaviour("MEM-19e")
def test_our_server_answers_invalid_messages_that_the_reference_ignores(
    ours: Process, theirs: Process
) -> None:
    rubbish = (b"{", b"null", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b"[]")
    for line in rubbish:
        for side in (ours, theirs):
            side.write(line)

    assert [ours.read()["error"]["code"] for _ in rubbish] == [-32700, -32600, -32600, -32600]
    assert ours.ask("ping")["result"] == theirs.ask("ping")["result"] == {}


@pytest.mark.behaviour("MEM-19f")
def test_our_server_refuses_to_list_tools_before_initialisation(
    ours: Process, theirs: Process
) -> None:
    for side in (ours, theirs):
        assert side.ask("ping")["result"] == {}
        assert side.ask("memory/dream")["error"]["code"] == -32601

    assert ours.ask("tools/list")["error"]["code"] == -32602
    assert "tools" in theirs.ask("tools/list")["result"]


@pytest.mark.behaviour("MEM-19c", "MEM-20")
def test_both_servers_exit_when_their_input_ends(ours: Process, theirs: Process) -> None:
    for side in (ours, theirs):
        side.greet()
        side.call("create_entities", {"entities": [API]})

        side.input.close()

        assert side.process.wait(PATIENCE_S) == 0
        assert side.output.read() == b""


@pytest.mark.behaviour("MEM-19d")
def test_sigint_and_sigterm_end_our_server_without_losing_acknowledged_writes(
    tmp_path: Path,
) -> None:
    with Process(tmp_path / "home") as side:
        side.greet()
        flood(side, FLOOD)
        acknowledged = [side.read()["id"] for _ in range(FLOOD // 4)]

        side.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            side.process.wait(BETWEEN_SIGNALS_S)
        side.process.send_signal(signal.SIGTERM)
        rest = side.output.read().splitlines(keepends=True)

        assert side.process.wait(PATIENCE_S) == 0
    acknowledged += [json.loads(line)["id"] for line in rest if line.endswith(b"\n")]
    assert set(acknowledged) <= names_in(tmp_path / "home")


@pytest.mark.behaviour("MEM-18d")
def test_our_server_killed_while_writing_loses_no_acknowledged_write(tmp_path: Path) -> None:
    with Process(tmp_path / "home") as side:
        side.greet()
        flood(side, FLOOD)
        acknowledged = {side.read()["id"] for _ in range(FLOOD // 2)}

        side.process.kill()
        side.process.wait()

    assert acknowledged <= names_in(tmp_path / "home")
    strays = [path.name for path in (tmp_path / "home").rglob("*.tmp*")]
    assert strays == []


@pytest.mark.behaviour("MEM-18b", "MEM-20")
def test_parallel_calls_lose_data_on_the_reference_server_but_not_on_ours(
    ours: Process, theirs: Process
) -> None:
    kept = []
    for side in (ours, theirs):
        side.greet()
        flood(side, FLOOD)
        acknowledged = {side.read()["id"] for _ in range(FLOOD)}
        assert len(acknowledged) == FLOOD
        view = answer(side, "read_graph", {}).structure
        kept.append(len({e["name"] for e in view["entities"]} & acknowledged))

    assert kept[0] == FLOOD
    assert kept[1] < FLOOD


def names_in(home: Path) -> set[str]:
    """Return what a new server over the same memory knows."""
    with Process(home) as side:
        side.greet()
        return {e["name"] for e in answer(side, "read_graph", {}).structure["entities"]}
