"""The MCP server `memory`."""
