"""The MCP inspector lists our tools and calls every one of them, without network."""

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
SERVER = [sys.executable, "-m", "memory_fabric.cli", "mcp"]
API = [{"name": "api", "entityType": "service", "observations": ["written in Go"]}]
USES = [{"from": "api", "to": "api", "relationType": "calls"}]
OBSERVATION = "We decided to use Redis for the job queue because it is simple."

# A call of every tool that a memory of API answers well, in an order in which it does.
CALLS: dict[str, dict[str, Any]] = {
    "create_entities": {"entities": API},
    "create_relations": {"relations": USES},
    "add_observations": {"observations": []},
    "read_graph": {},
    "search_nodes": {"query": "api"},
    "open_nodes": {"names": ["api"]},
    "recall": {"query": "job queue"},
    "remember": {"text": OBSERVATION},
    "history": {"name": "api"},
    "forget": {"what": "api"},
    "delete_observations": {"deletions": [{"entityName": "api", "observations": ["x"]}]},
    "delete_relations": {"relations": USES},
    "delete_entities": {"entityNames": ["api"]},
}
# The inspector's own modules, as its command line uses them, for several questions in a session.
SESSION = """
import { readFileSync } from "node:fs";
const { sdk, build, server, calls } = JSON.parse(readFileSync(0, "utf8"));
const { Client } = await import(`${sdk}/dist/esm/client/index.js`);
const { callTool, connect, disconnect, listResources, listTools } =
    await import(`${build}/client/index.js`);
const { createTransport } = await import(`${build}/transport.js`);
const [command, ...args] = server;
const transport = createTransport({ transportType: "stdio", command, args });
const client = new Client({ name: "inspector-cli", version: "1" });
await connect(client, transport);
const answers = { tools: await listTools(client), resources: await listResources(client) };
for (const [tool, given] of Object.entries(calls)) {
    answers[tool] = await callTool(client, tool, given);
}
await disconnect(transport);
console.log(JSON.stringify(answers));
process.exit(0);
"""


def run_node(folder: Path, *words: str, stdin: str = "") -> dict[str, Any]:
    """Return what Node prints, with a home below the folder whose memory holds API."""
    memory = Memory.open(settings(folder / "home"))
    memory.write("create_entities", {"entities": API}, SAID_BY)
    memory.close()
    # The inspector looks for its own version in the folder above the current one.
    (folder / "package.json").write_text("{}", "utf-8")
    current = folder / "current"
    current.mkdir()
    variables = environment(folder / "home")
    done = subprocess.run(
        [node(), *words],
        cwd=current,
        env={**variables, "PATH": f"{Path(node()).parent}:{variables['PATH']}"},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The inspector's lists of our tools and resources, and its calls of every tool."""
    asked = {
        "sdk": str(MODULES / "@modelcontextprotocol" / "sdk"),
        "build": str(installed(INSPECTOR).parent),
        "server": SERVER,
        "calls": CALLS,
    }
    folder = tmp_path_factory.mktemp("session")
    return run_node(folder, "--input-type=module", "-e", SESSION, stdin=json.dumps(asked))


def test_the_mcp_inspector_lists_exactly_the_tools_of_the_server(
    answers: dict[str, Any],
) -> None:
    tools = answers["tools"]["tools"]

    assert [tool["name"] for tool in tools] == [tool.name for tool in TOOLS]
    assert {tool["name"] for tool in tools} == set(CALLS)


@pytest.mark.parametrize("tool", CALLS)
def test_the_inspector_calls_a_tool_and_accepts_the_answer(
    answers: dict[str, Any], tool: str
) -> None:
    answer = answers[tool]

    assert not answer.get("isError"), answer
    assert answer["content"][0]["type"] == "text"
    # The client of the inspector refuses a structure that its output schema does not allow.
    with_structure = {each.name for each in TOOLS if each.output}
    assert ("structuredContent" in answer) == (tool in with_structure)


@pytest.mark.behaviour("MEM-16a")
def test_the_inspector_lists_the_graph_as_a_resource(answers: dict[str, Any]) -> None:
    (resource,) = answers["resources"]["resources"]

    assert resource["uri"] == "memory://knowledge-graph"


def test_the_inspector_command_line_prints_the_result_of_a_tool_call(tmp_path: Path) -> None:
    asked = ("--method", "tools/call", "--tool-name", "open_nodes", "--tool-arg", 'names=["api"]')

    answer = run_node(tmp_path, str(installed(INSPECTOR)), "--cli", *SERVER, *asked)

    assert not answer.get("isError"), answer
    assert answer["structuredContent"]["entities"] == API
