"""Writes docs/memory-server.md anew from the manifest.

PYTHONPATH=plugin:tests python -m contract.write_page
"""

from __future__ import annotations

from pathlib import Path

from contract.manifest import Behaviour, behaviours

PAGE = Path(__file__).parents[2] / "docs" / "memory-server.md"

HEAD = """\
# In place of the reference memory server

The MCP server `memory` offers the nine tools of `@modelcontextprotocol/server-memory` with the same
names, arguments and results, so that prompts and programs made for it go on working. What it does
otherwise stands below, and is compared with the reference server itself on every run of
`scripts/test`.

## How to switch

1. Remove the reference server: `claude mcp remove memory`, or its entry in `.mcp.json`. Two servers
   with the same nine tools would leave it to chance which of them the model asks.
2. Install the plugin ([README](../README.md#install)). It brings the server; nothing is registered
   by hand. Its tools are named `mcp__plugin_memory-fabric_memory__create_entities` and so on: rules
   in `permissions` that named the old tools must name these.
3. To go on with the file you have, set `MEMORY_FILE_PATH` to it in the environment in which
   `claude` starts. Going back is possible at any time: the file stays what the reference reads.

## Behaviours

*kept*: equal, compared live. *improved*: the reference has a fault there, and ours does not.
*diverges*: a choice of ours.

"""


def page() -> str:
    """The whole page."""
    rows = ["| number | status | behaviour | reason |", "|---|---|---|---|"]
    rows += [_row(behaviour) for behaviour in behaviours().values()]
    return HEAD + "\n".join(rows) + "\n"


def _row(of: Behaviour) -> str:
    cells = (of.key, of.status, of.what, of.reason)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
