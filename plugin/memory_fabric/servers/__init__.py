"""Doors for programs: the MCP server."""
