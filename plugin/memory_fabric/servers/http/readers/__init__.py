"""Processes that answer questions beside the server (docs/decisions/0058)."""
