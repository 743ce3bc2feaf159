"""The MCP inspector's command line lists our tools and calls every one of them, without network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.sides import MODULES, installed, node
from memory_fabric.servers.mcp.schema import TOOLS
from memory_fabric.store.memory import Memory
from servers.mcp_clients import SAID_BY, environment, settings

INSPECTOR = MODULES / "@modelcontextprotocol" / "inspector-cli" / "build" / "cli.js"
API = [{"name": "api", "entityType": "service", "observations": ["written in Go"]}]
USES = [{"from": "api", "to": "api", "relationType": "calls"}]
OBSERVATION = "We decided to use Redis for the job queue because it is simple."

# A call of every tool that a memory of API answers well.
CALLS: dict[str, dict[str, Any]] = {
    "create_entities": {"entities": API},
    "create_relations": {"relations": USES},
    "add_observations": {"observations": []},
    "delete_entities": {"entityNames": ["api"]},
    "delete_observations": {"deletions": [{"entityName": "api", "observations": ["x"]}]},
    "delete_relations": {"relations": USES},
    "read_graph": {},
    "search_nodes": {"query": "api"},
    "open_nodes": {"names": ["api"]},
    "recall": {"query": "job queue"},
    "remember": {"text": OBSERVATION},
    "forget": {"what": "api"},
    "history": {"name": "api"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a home whose memory holds API."""
    memory = Memory.open(settings(tmp_path / "home"))
    memory.write("create_entities", {"entities": API}, SAID_BY)
    memory.close()
    return tmp_path


def inspected(folder: Path, *asked: str) -> dict[str, Any]:
    """Return what the inspector prints after asking our server, started as a client starts it."""
    # It looks for its own version in the folder above the current one.
    (folder / "package.json").write_text("{}", "utf-8")
    current = folder / "current"
    current.mkdir()
    variables = environment(folder / "home")
    serve = [sys.executable, "-m", "memory_fabric.cli", "mcp"]
    done = subprocess.run(
        [node(), str(installed(INSPECTOR)), "--cli", *serve, *asked],
        cwd=current,
        env={**variables, "PATH": f"{Path(node()).parent}:{variables['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def test_the_inspector_lists_our_tools_and_each_one_is_tested(folder: Path) -> None:
    tools = inspected(folder, "--method", "tools/list")["tools"]

    assert [tool["name"] for tool in tools] == [tool.name for tool in TOOLS]
    assert {tool["name"] for tool in tools} == set(CALLS)


@pytest.mark.parametrize("tool", CALLS)
def test_the_inspector_calls_a_tool_and_accepts_the_answer(folder: Path, tool: str) -> None:
    pairs = [f"{name}={json.dumps(value)}" for name, value in CALLS[tool].items()]
    arguments = [word for pair in pairs for word in ("--tool-arg", pair)]

    answer = inspected(folder, "--method", "tools/call", "--tool-name", tool, *arguments)

    assert not answer.get("isError"), answer
    assert answer["content"][0]["type"] == "text"
    # The client of the inspector refuses a structure that its output schema does not allow.
    with_structure = {each.name for each in TOOLS if each.output}
    assert ("structuredContent" in answer) == (tool in with_structure)


@pytest.mark.behaviour("MEM-16a")
def test_the_inspector_lists_the_graph_as_a_resource(folder: Path) -> None:
    (resource,) = inspected(folder, "--method", "resources/list")["resources"]

    assert resource["uri"] == "memory://knowledge-graph"
