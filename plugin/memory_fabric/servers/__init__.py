"""Servers for other programs: MCP and HTTP."""
