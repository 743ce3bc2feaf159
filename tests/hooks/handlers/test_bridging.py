"""C5: what other memory servers are told is known here, once, redacted, and never our own echo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from drawn import token
from simulated_client import SimulatedClient

ENTITY = {"name": "Billing", "entityType": "service", "observations": ["written in Go"]}
LINK = {"from": "Billing", "to": "Ledger", "relationType": "writes"}
MORE = {"entityName": "Billing", "contents": ["has two owners"]}


@pytest.fixture
def client(tmp_path: Path) -> SimulatedClient:
    return SimulatedClient(tmp_path)


def call(
    client: SimulatedClient, tool: str, asked: dict[str, Any], server: str = "notes"
) -> dict[str, Any]:
    slug = server.replace(":", "_")
    return client.fire(
        "PostToolUse",
        tool_name=f"mcp__{slug}__{tool}",
        tool_input=asked,
        mcp_server={"name": server, "source": "user"},
        tool_response="{}",
    )


def all_three(client: SimulatedClient, server: str = "notes") -> None:
    call(client, "create_entities", {"entities": [ENTITY]}, server)
    call(client, "create_relations", {"relations": [LINK]}, server)
    call(client, "add_observations", {"observations": [MORE]}, server)


def rows(client: SimulatedClient, query: str) -> list[tuple[Any, ...]]:
    memory = client.memory()
    try:
        return [row for db in memory.databases() for row in db.rows(query)]
    finally:
        memory.close()


OBSERVED = (
    "SELECT e.name, o.text, o.trust FROM observations AS o JOIN entities AS e ON e.id = o.entity"
)
LINKED = (
    "SELECT s.name, r.type, t.name FROM relations AS r JOIN entities AS s ON s.id = r.source "
    "JOIN entities AS t ON t.id = r.target"
)


def test_data_sent_to_another_memory_server_is_copied_and_marked_as_from_a_tool(
    client: SimulatedClient,
) -> None:
    all_three(client)

    assert rows(client, OBSERVED) == [
        ("Billing", "written in Go", "tool"),
        ("Billing", "has two owners", "tool"),
    ]
    assert rows(client, LINKED) == [("Billing", "writes", "Ledger")]


def test_mirroring_the_same_data_again_changes_nothing(client: SimulatedClient) -> None:
    all_three(client)
    changes = "SELECT count(*) FROM operations"
    before = rows(client, OBSERVED), rows(client, LINKED), rows(client, changes)

    for _ in range(3):
        all_three(client)

    assert (rows(client, OBSERVED), rows(client, LINKED), rows(client, changes)) == before


def test_a_new_entity_is_copied_even_if_its_call_repeats_a_known_entity(
    client: SimulatedClient,
) -> None:
    all_three(client)

    more = {**ENTITY, "observations": ["written in Go", "runs in Frankfurt"]}
    call(client, "create_entities", {"entities": [more, {**ENTITY, "name": "Cart"}]})

    assert {row[:2] for row in rows(client, OBSERVED)} >= {("Cart", "written in Go")}


def test_deletions_in_another_memory_server_delete_nothing_in_our_memory(
    client: SimulatedClient,
) -> None:
    all_three(client)

    call(client, "delete_entities", {"entityNames": ["Billing"]})
    gone = {"entityName": "Billing", "observations": ["written in Go"]}
    call(client, "delete_observations", {"deletions": [gone]})
    call(client, "delete_relations", {"relations": [LINK]})

    assert len(rows(client, OBSERVED)) == 2 and len(rows(client, LINKED)) == 1


def test_a_secret_in_mirrored_data_is_redacted(client: SimulatedClient) -> None:
    secret = token()
    entity = {"name": "api", "entityType": "x", "observations": [f"uses {secret}"]}

    call(client, "create_entities", {"entities": [entity]})

    assert rows(client, OBSERVED) == [("api", "uses [redacted: token]", "tool")]


OURS = [
    {"command": "memory-fabric", "args": ["mcp"]},
    {"command": "/usr/bin/python3", "args": ["-m", "memory_fabric.cli", "mcp"]},
    {"command": "uvx", "args": ["--from", "./memory-fabric", "memory-fabric", "mcp"]},
]


@pytest.mark.parametrize("server", OURS, ids=["command", "module", "uvx"])
@pytest.mark.parametrize("name", ["memory", "my graph"])
@pytest.mark.parametrize("place", ["project", "user", "user and project"])
def test_calls_to_our_own_server_are_not_mirrored_whatever_its_configured_name(
    client: SimulatedClient, server: dict[str, Any], name: str, place: str
) -> None:
    servers = {"mcpServers": {"other": {"command": "x"}, name: server}}
    path = client.project / ".mcp.json" if place == "project" else client.home / ".claude.json"
    nested = (
        {"projects": {str(client.project): servers}} if place == "user and project" else servers
    )
    path.write_text(json.dumps(nested))

    all_three(client, name)

    assert rows(client, OBSERVED) == []


@pytest.mark.parametrize(
    "config",
    [
        "{",
        "[]",
        '{"mcpServers": 3}',
        '{"mcpServers": {"memory": 3}}',
        '{"mcpServers": {"memory": {"command": 3, "args": {"a": 1}}}}',
        '{"mcpServers": {"memory": {"command": "npx", "args": ["server-memory"]}}}',
        '{"mcpServers": {"other": {"command": "memory-fabric"}}}',
    ],
)
def test_calls_to_a_foreign_server_named_memory_are_mirrored(
    client: SimulatedClient, config: str
) -> None:
    (client.project / ".mcp.json").write_text(config)

    all_three(client, "memory")

    assert len(rows(client, OBSERVED)) == 2
    assert client.log == ""
