"""docs/desktop.md: its configuration, started by a plain MCP client, remembers a person."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from servers.mcp_clients import run, texts

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/desktop.md").read_text("utf-8")
KINDS = ("Basic identity", "Behaviours", "Preferences", "Goals", "Relationships")


def configured() -> dict[str, Any]:
    """The server's entry in the page's configuration, with the clone's own place."""
    block = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    entry: dict[str, Any] = json.loads(block[1])["mcpServers"]["memory"]
    entry["command"] = entry["command"].replace("/path/to/memory-fabric", str(ROOT))
    return entry


@asynccontextmanager
async def desktop(user: Path, **more: str) -> AsyncIterator[ClientSession]:
    """A client that knows nothing of Claude Code, and starts what is configured."""
    user.mkdir(exist_ok=True)
    # The packages are at hand, as after a first start: no test waits for PyPI.
    environ = {
        "HOME": str(user),
        "PATH": os.environ["PATH"],
        "MEMORY_FABRIC_PYTHON": sys.executable,
        **more,
    }
    entry = configured()
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], env=environ, cwd=str(user)
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


FACTS = {
    "user": ("person", ["is called Ann", "gets up at six", "wants to run a marathon in May"]),
    "Acme": ("organisation", ["makes bicycles"]),
    "Ada": ("person", ["leads the paint shop"]),
    "Berlin": ("place", ["is where the plant stands"]),
}
DEGREES = [("user", "works_at", "Acme"), ("Ada", "manages", "Acme"), ("Ada", "lives_in", "Berlin")]


async def tell(session: ClientSession) -> None:
    entities = [
        {"name": name, "entityType": kind, "observations": said}
        for name, (kind, said) in FACTS.items()
    ]
    relations = [{"from": a, "relationType": kind, "to": b} for a, kind, b in DEGREES]
    await session.call_tool("create_entities", {"entities": entities})
    await session.call_tool("create_relations", {"relations": relations})
    preference = {"text": "I prefer short answers", "type": "preference", "scope": "user"}
    assert not (await session.call_tool("remember", preference)).is_error


def test_facts_stored_by_a_desktop_client_are_found_in_its_next_session(tmp_path: Path) -> None:
    async def story() -> None:
        async with desktop(tmp_path / "ann") as session:
            await tell(session)
        async with desktop(tmp_path / "ann") as session:
            opened = await session.call_tool("open_nodes", {"names": ["user"]})
            found = await session.call_tool("recall", {"query": "user", "depth": 3})
            preference = await session.call_tool("recall", {"query": "short answers"})

        assert opened.structured_content["entities"][0]["observations"] == FACTS["user"][1]
        path = "user works_at Acme; Ada manages Acme; Ada lives_in Berlin"
        assert f"Path: {path}" in texts(found)[0]
        assert "I prefer short answers" in texts(preference)[0]

    run(story)


def test_facts_from_a_desktop_client_are_stored_only_in_the_user_database(tmp_path: Path) -> None:
    async def story() -> None:
        async with desktop(tmp_path / "ann") as session:
            await tell(session)

    run(story)

    home = tmp_path / "ann/.claude/memory-fabric"
    assert (home / "user.db").exists()
    assert list(home.glob("projects/*/graph.db")) == []


def test_the_documented_desktop_prompt_names_five_kinds_of_facts_and_only_existing_tools() -> None:
    from memory_fabric.servers.mcp.schema import TOOLS

    block = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    prompt = block[1]

    for number, kind in enumerate(KINDS, start=1):
        assert f"{number}. {kind}:" in prompt
    named = set(re.findall(r"\b[a-z]+_[a-z]+\b", prompt)) - {"works_at"}
    assert named <= {tool.name for tool in TOOLS}
    assert {"recall", "remember", "forget"} <= set(prompt.replace(":", " ").split())
