"""Both servers as real processes behind one way of speaking: ours, and the reference from npm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers.mcp_clients import Process

MODULES = Path(__file__).parents[1] / "e2e" / "node_modules"
SERVER = MODULES / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool: its texts, the structure beside them, and whether it failed."""

    texts: tuple[str, ...]
    structure: Any
    failed: bool


class Reference(Process):
    """The reference server on a file, spoken to as `Process` speaks to ours."""

    def __init__(self, file: Path) -> None:
        self.process = subprocess.Popen(
            [node(), str(installed(SERVER))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "MEMORY_FILE_PATH": str(file)},
        )
        self._last_id = 0


def node() -> str:
    """The Node that scripts/prepare found or installed."""
    beside = Path(sys.executable).parent
    found = shutil.which("node", path=f"{beside}{os.pathsep}{os.environ['PATH']}")
    if not found:
        raise FileNotFoundError("there is no Node: run scripts/prepare client")
    return found


def installed(program: Path) -> Path:
    """A program from node_modules; a missing one says how to get it."""
    if not program.exists():
        raise FileNotFoundError(f"{program.name} is not installed: run scripts/prepare client")
    return program


def answer(side: Process, tool: str, arguments: dict[str, Any]) -> Answer:
    """Call a tool of a side and return the answer."""
    result = side.call(tool, arguments)
    return Answer(
        tuple(block["text"] for block in result["content"]),
        result.get("structuredContent"),
        bool(result.get("isError")),
    )


def clear(side: Process) -> None:
    """Empty the graph, page by page where a read is cut."""
    while True:
        graph = answer(side, "read_graph", {}).structure
        if not graph["entities"] and not graph["relations"]:
            return
        # The reference keeps relations to entities that never were.
        side.call("delete_relations", {"relations": graph["relations"]})
        side.call("delete_entities", {"entityNames": [e["name"] for e in graph["entities"]]})


def flood(side: Process, count: int, prefix: str = "e") -> None:
    """Ask for so many entities, each named as its request, without waiting for answers."""
    lines = []
    for number in range(count):
        item = {"name": f"{prefix}{number}", "entityType": "t", "observations": []}
        call = {"name": "create_entities", "arguments": {"entities": [item]}}
        message = {"jsonrpc": "2.0", "id": item["name"], "method": "tools/call", "params": call}
        lines.append(json.dumps(message).encode())
    side.write(b"\n".join(lines))
