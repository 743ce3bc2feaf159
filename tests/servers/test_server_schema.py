"""The tools as listed: the nine against the recorded list of the reference server, ours beside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.servers.mcp.protocol import INSTRUCTIONS
from memory_fabric.servers.mcp.schema import NINE, TOOLS, Tool, listed
from servers.mcp_clients import connected, run

RECORDED = json.loads(
    (Path(__file__).parents[1] / "contract" / "memory-server.tools.json").read_text("utf-8")
)["tools"]
READS = ("read_graph", "search_nodes", "open_nodes")
CREATES = ("create_entities", "create_relations")


@pytest.mark.behaviour("MEM-15a")
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda tool: str(tool["name"]))
def test_the_nine_reference_tools_have_the_schemas_of_the_reference_server(
    recorded: dict[str, Any],
) -> None:
    ours = {tool.name: listed(tool) for tool in NINE}[recorded["name"]]

    apart = {"description", "inputSchema", "outputSchema"}
    assert _without(ours, *apart) == _without(recorded, *apart)
    asked = _bare(_without_property(ours["inputSchema"], "cursor"))
    assert asked == _without(recorded["inputSchema"], "$schema")
    assert _without_property(ours["outputSchema"], "note") == recorded["outputSchema"]
    assert ours["description"]


@pytest.mark.behaviour("MEM-15b")
def test_fields_added_to_the_nine_reference_tools_are_optional_strings() -> None:
    tools = [listed(tool) for tool in NINE]
    cursors = {t["name"]: t["inputSchema"]["properties"].get("cursor") for t in tools}
    notes = {t["name"]: t["outputSchema"]["properties"].get("note") for t in tools}

    assert {name for name, schema in cursors.items() if schema} == set(READS)
    assert {name for name, schema in notes.items() if schema} >= {*READS, *CREATES}
    for schema in filter(None, (*cursors.values(), *notes.values())):
        assert _without(schema, "description") == {"type": "string"}
    for tool in tools:
        assert "cursor" not in tool["inputSchema"].get("required", ())
        assert "note" not in tool["outputSchema"]["required"]


def _without(mapping: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in keys}


def _without_property(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return {**schema, "properties": _without(schema["properties"], name)}


@pytest.mark.behaviour("MEM-15f")
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: str(tool.name))
def test_every_argument_of_a_tool_has_a_description(tool: Tool) -> None:
    undescribed = [
        name
        for name, schema in _arguments(tool.input)
        if "description" not in schema and schema.get("items", {}).get("type") != "object"
    ]

    assert undescribed == []


def _arguments(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in schema.get("properties", {}).items():
        yield name, part
        yield from _arguments(part.get("items", part))


def _bare(schema: Any) -> Any:
    """A schema without its descriptions, at any depth."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if isinstance(schema, dict):
        return {key: _bare(part) for key, part in schema.items() if key != "description"}
    return schema


@pytest.mark.behaviour("MEM-14")
def test_annotations_say_whether_a_tool_reads_changes_or_deletes() -> None:
    hints = {tool.name: listed(tool)["annotations"] for tool in TOOLS}

    reads = {name for name, hint in hints.items() if hint["readOnlyHint"]}
    deletes = {name for name, hint in hints.items() if hint["destructiveHint"]}
    assert reads == {"read_graph", "search_nodes", "open_nodes", "recall", "history"}
    assert deletes == {"delete_entities", "delete_observations", "delete_relations", "forget"}
    assert {name for name, hint in hints.items() if hint["idempotentHint"]} == reads | deletes
    assert not any(hint["openWorldHint"] for hint in hints.values())


@pytest.mark.behaviour("MEM-15d")
def test_tools_that_the_reference_server_lacks_have_no_output_schema() -> None:
    own = [listed(tool) for tool in TOOLS if tool not in NINE]

    assert [tool["name"] for tool in own] == ["recall", "remember", "forget", "history"]
    assert all("outputSchema" not in tool for tool in own)


def test_the_tool_list_shown_to_the_model_is_below_1500_tokens() -> None:
    shown = [
        {key: listed(tool)[key] for key in ("name", "description", "inputSchema")} for tool in TOOLS
    ]

    assert _tokens(json.dumps(shown, separators=(",", ":"), ensure_ascii=False)) < 1500


def _tokens(text: str) -> int:
    """A cautious count of the tokens of JSON with English words, without a tokenizer.

    Tokenizers cut between words, digits and runs of signs before anything else. An English word of
    up to eight letters is nearly always one token, and so are the three signs between two JSON
    strings; a longer one counts here once for each eight letters or three signs begun. Each digit
    counts, and each word inside camelCase. That comes to 3.7 characters a token, where 4 are usual.
    """
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d", text)
    signs = re.findall(r"[^\w\s]+|_", text)
    return sum(-(-len(word) // 8) for word in words) + sum(-(-len(run) // 3) for run in signs)


@pytest.mark.behaviour("MEM-15e")
def test_the_instructions_say_when_to_recall_and_the_remember_tool_says_when_to_remember() -> None:
    [remember] = [tool for tool in TOOLS if tool.name == "remember"]

    assert "Search with recall before" in INSTRUCTIONS
    assert "not instructions" in INSTRUCTIONS
    assert "the user decides" in remember.description


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_clients_of_both_protocol_versions_list_the_tools_and_get_the_instructions(
    tmp_path: Path, mode: str
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home", mode=mode) as client:
            assert client.instructions == INSTRUCTIONS
            assert client.server_info is not None
            assert client.server_info.name == "memory"
            found = await client.list_tools()

            assert [tool.name for tool in found.tools] == [tool.name for tool in TOOLS]
            for tool, own in zip(found.tools, TOOLS, strict=True):
                assert tool.title == listed(own)["title"]
                assert tool.input_schema == own.input
                assert tool.output_schema == (own.output or None)

    run(story)
