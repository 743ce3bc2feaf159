"""Write docs/memory-server.md from the manifest.

PYTHONPATH=plugin:tests python -m contract.write_page
"""

from __future__ import annotations

from pathlib import Path

from contract.manifest import Behaviour, behaviours

PAGE = Path(__file__).parents[2] / "docs" / "memory-server.md"

HEAD = """\
# Replace the reference memory server

The MCP server `memory` offers the nine tools of `@modelcontextprotocol/server-memory` with the same
names, arguments and results.

## How to switch

1. Remove the reference server: `claude mcp remove memory`, or its entry in `.mcp.json`. With two
   servers the model might use either.
2. [Install the plugin](../README.md#install); it brings the server. The tools are now named
   `mcp__plugin_memory-fabric_memory__create_entities` and so on: change rules in `permissions`
   that name the old ones.
3. Run `memory-fabric import path/to/memory.jsonl`. Or keep working on the file itself: set
   `MEMORY_FILE_PATH` to it where `claude` starts
   ([details](configuration.md#one-file-as-the-graph)). You can go back at any time: the reference
   server can still read the file.

## Differences

{kept} behaviours are equal: names and schemas of the tools, results and their order, exact names,
error texts, the resource and its subscriptions, the lines of the file.
`tests/contract/behaviours.toml` lists them. Every behaviour has a test, and `scripts/test` compares
both servers call by call.
"""

TITLES = {
    "improved": "Improved, where the reference server has a fault",
    "diverges": "Different by choice",
}


def page() -> str:
    """Return the whole page."""
    listed = list(behaviours().values())
    parts = [HEAD.format(kept=sum(of.status == "kept" for of in listed))]
    for status, title in TITLES.items():
        rows = "\n".join(_row(of) for of in listed if of.status == status)
        parts.append(f"### {title}\n\n| number | behaviour | reason |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def _row(of: Behaviour) -> str:
    cells = (of.key, of.what, of.reason)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
