"""docs/server-tools.md names every tool of the server with all its arguments, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memory_fabric.servers.mcp.schema import NINE, TOOLS, Tool

PAGE = (Path(__file__).parents[2] / "docs/server-tools.md").read_text("utf-8")
OURS, _, THE_NINE = PAGE.partition("## The nine")
SECTIONS = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", OURS, re.MULTILINE | re.DOTALL))
ROWS = dict(re.findall(r"^\| (\w+) \| (.*) \|$", THE_NINE, re.MULTILINE))
OWN = TOOLS[len(NINE) :]


def test_the_tools_page_lists_exactly_the_tools_of_the_server() -> None:
    assert list(SECTIONS) == [tool.name for tool in OWN]
    assert list(ROWS)[1:] == [tool.name for tool in NINE]


@pytest.mark.parametrize("tool", OWN, ids=lambda tool: tool.name)
def test_the_table_of_each_additional_tool_lists_exactly_its_arguments(tool: Tool) -> None:
    named = re.findall(r"^\| `(\w+)` \|", SECTIONS[tool.name], re.MULTILINE)

    assert named == list(tool.input["properties"])


@pytest.mark.parametrize("tool", NINE, ids=lambda tool: tool.name)
def test_the_row_of_each_reference_tool_lists_all_its_arguments(tool: Tool) -> None:
    named = re.findall(r"`(\w+)`", ROWS[tool.name])

    assert set(tool.input["properties"]) <= set(named)


def test_the_tools_page_lists_every_type_that_remember_accepts() -> None:
    (row,) = re.findall(r"^\| `type` \| (.*) \|$", SECTIONS["remember"], re.MULTILINE)

    stated = TOOLS[len(NINE) + 1].input["properties"]["type"]["enum"]
    assert [word for word in stated if word not in row] == []
