"""Persistent memory for Claude Code: hooks, a knowledge graph, an MCP server and a command line."""

__version__ = "0.1.0"
