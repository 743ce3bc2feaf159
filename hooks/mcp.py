"""The MCP server's entry point: import the package and serve, with the standard library only."""

import os
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
data = os.environ.get("CLAUDE_PLUGIN_DATA", "")
if data and not os.access(os.path.join(root, "plugin", "memory_fabric"), os.W_OK):
    sys.pycache_prefix = os.path.join(data, "pycache")
sys.path.append(os.path.join(root, "plugin"))
from memory_fabric.servers.mcp.stdio_server import main  # noqa: E402 - found only now

main()
