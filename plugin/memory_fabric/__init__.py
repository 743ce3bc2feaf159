"""Persistent memory for Claude Code: hooks, a knowledge graph, and the doors beside them."""

__version__ = "0.1.0"
