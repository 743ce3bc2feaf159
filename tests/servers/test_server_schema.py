"""The tools as listed: the nine against the recorded list of the reference server, ours beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.servers.mcp_server import INSTRUCTIONS
from memory_fabric.servers.schema import NINE, TOOLS, listed
from servers.doors import connected, run

RECORDED = json.loads(
    (Path(__file__).parents[1] / "contract" / "memory-server.tools.json").read_text("utf-8")
)["tools"]


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda tool: str(tool["name"]))
def test_mem_15_a_tool_is_listed_as_by_the_reference_server(recorded: dict[str, Any]) -> None:
    ours = {tool.name: listed(tool) for tool in NINE}[recorded["name"]]

    assert {key: value for key, value in ours.items() if key != "description"} == recorded
    assert ours["description"]


def test_mem_14_annotations_follow_what_a_tool_does() -> None:
    hints = {tool.name: listed(tool)["annotations"] for tool in TOOLS}

    reads = {name for name, hint in hints.items() if hint["readOnlyHint"]}
    deletes = {name for name, hint in hints.items() if hint["destructiveHint"]}
    assert reads == {"read_graph", "search_nodes", "open_nodes", "recall"}
    assert deletes == {"delete_entities", "delete_observations", "delete_relations"}
    assert {name for name, hint in hints.items() if hint["idempotentHint"]} == reads | deletes
    assert not any(hint["openWorldHint"] for hint in hints.values())


def test_the_schemas_of_our_own_tools_answer_text_only() -> None:
    own = [listed(tool) for tool in TOOLS if tool not in NINE]

    assert [tool["name"] for tool in own] == ["recall", "remember"]
    assert all("outputSchema" not in tool for tool in own)


def test_all_schemas_together_are_small() -> None:
    shown = [{k: v for k, v in listed(tool).items() if k != "outputSchema"} for tool in TOOLS]

    # Four characters a token, roughly; the promise is 1,500 tokens for what the model is shown.
    model_sees = [{k: tool[k] for k in ("name", "description", "inputSchema")} for tool in shown]
    assert len(json.dumps(model_sees, separators=(",", ":"))) < 6000


def test_the_instructions_are_three_lines_on_when_to_search_and_remember() -> None:
    lines = INSTRUCTIONS.splitlines()

    assert len(lines) == 3
    assert "Search" in lines[0]
    assert "Remember" in lines[1]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_of_either_era_lists_the_tools_and_reads_the_instructions(
    tmp_path: Path, mode: str
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home", mode=mode) as client:
            assert client.instructions == INSTRUCTIONS
            assert client.server_info is not None
            assert client.server_info.name == "memory"
            found = await client.list_tools()

            assert [tool.name for tool in found.tools] == [tool.name for tool in TOOLS]
            for tool, recorded in zip(found.tools, RECORDED, strict=False):
                assert tool.title == recorded["title"]
                assert tool.input_schema == recorded["inputSchema"]
                assert tool.output_schema == recorded["outputSchema"]

    run(story)
