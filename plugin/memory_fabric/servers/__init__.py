"""Servers through which other programs use the memory: MCP and HTTP."""
