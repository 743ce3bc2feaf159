"""The extra through the server's `recall`: ranked by meaning, and nothing loaded before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from servers.doors import connected, environment, run, texts

NEAR = "Ann saw a dentist who gave her a filling"
FAR = ("Ann did a marathon", "Ann did the dishes", "Ann did her taxes", "Ann did a course")
QUESTION = "What did Ann do about her tooth pain?"


def test_the_tool_ranks_by_meaning(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            entity = {"name": "Ann", "entityType": "person", "observations": [*FAR, NEAR]}
            await client.call_tool("create_entities", {"entities": [entity]})

            (answer,) = texts(await client.call_tool("recall", {"query": QUESTION}))

        assert NEAR in answer.splitlines()[0]

    run(story)


def test_the_server_starts_without_numpy(tmp_path: Path) -> None:
    script = "import sys, memory_fabric.servers.mcp_stdio, memory_fabric.servers.own_tools; "
    script += "sys.exit(bool({'numpy', 'tokenizers'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", script], env=environment(tmp_path / "home"))

    assert done.returncode == 0
