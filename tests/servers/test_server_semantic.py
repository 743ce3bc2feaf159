"""The extra through the server's `recall`: ranked by meaning, and nothing loaded before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy

from memory_fabric.semantic import measure
from memory_fabric.setup import extras, packages
from servers.mcp_clients import BARE, PROTOCOL, connected, environment, run, texts

CLIENT = {"name": "pipe", "version": "0"}

NEAR = "Ann saw a dentist who gave her a filling"
FAR = ("Ann did a marathon", "Ann did the dishes", "Ann did her taxes", "Ann did a course")
QUESTION = "What did Ann do about her tooth pain?"


def test_the_recall_tool_ranks_results_by_meaning(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            entity = {"name": "Ann", "entityType": "person", "observations": [*FAR, NEAR]}
            await client.call_tool("create_entities", {"entities": [entity]})

            (answer,) = texts(await client.call_tool("recall", {"query": QUESTION}))

        assert NEAR in answer.splitlines()[0]

    run(story)


def test_the_server_ranks_by_meaning_if_only_the_semantic_extra_is_installed(
    tmp_path: Path,
) -> None:
    data, root = tmp_path / "data", Path(__file__).parents[2]
    extra = Path(extras.folder_of(extras.SEMANTIC, str(data), str(root)))
    extra.mkdir(parents=True)
    (extra / packages.MARKER).touch()
    site = Path(numpy.__file__).parents[1]
    for package in (
        *site.glob("numpy*"),
        *site.glob("tokenizers*"),
        *site.glob(f"{measure.MODEL_PACKAGE}*"),
    ):
        (extra / package.name).symlink_to(package)
    entity = {"name": "Ann", "entityType": "person", "observations": [*FAR, NEAR]}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": CLIENT}),
        ("tools/call", {"name": "create_entities", "arguments": {"entities": [entity]}}),
        ("tools/call", {"name": "recall", "arguments": {"query": QUESTION}}),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(asked)
    ]

    variables = {"CLAUDE_PLUGIN_DATA": str(data), "CLAUDE_PLUGIN_ROOT": str(root)}
    done = subprocess.run(
        BARE,
        input="\n".join(lines).encode(),
        capture_output=True,
        env=environment(tmp_path / "home", **variables),
        check=True,
    )

    answer = json.loads(done.stdout.splitlines()[-1])
    assert done.stderr == b""
    assert NEAR in answer["result"]["content"][0]["text"].splitlines()[0]


def test_starting_the_server_does_not_import_numpy(tmp_path: Path) -> None:
    script = "import sys; from memory_fabric.servers.mcp import memory_tools, stdio_server; "
    script += "sys.exit(bool({'numpy', 'tokenizers'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", script], env=environment(tmp_path / "home"))

    assert done.returncode == 0
