"""The MCP servers in the client's configuration, and the test for memory-fabric's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from memory_fabric.config import Settings
from memory_fabric.store import files

# Found in the command or an argument of memory-fabric's server, however it is started.
OUR_MARKS = ("memory-fabric", "memory_fabric")
# The client's state file grows with its history; a larger one is not read.
MAX_CONFIG_BYTES = 16 << 20


def is_our_server(name: str, settings: Settings) -> bool:
    """True if the server with this name is configured here with memory-fabric's command.

    `name` is as in the client's tool names: `_` may replace anything but a letter, digit, `_` or
    `-`.
    """
    return any(
        _slug(known) == _slug(name) and is_ours(server)
        for path in config_files(settings)
        for known, server in _servers(path, settings.project_dir)
    )


def config_files(settings: Settings) -> list[str]:
    """Return the project's .mcp.json, and the client's state files in or next to its config
    folder.
    """
    return [
        os.path.join(settings.project_dir, ".mcp.json"),
        os.path.join(settings.config_dir, ".claude.json"),
        os.path.join(os.path.dirname(settings.config_dir), ".claude.json"),
        os.path.join(settings.config_dir, "settings.json"),
    ]


def _servers(path: str, project_dir: str) -> Iterator[tuple[str, Any]]:
    config = files.read_json(path, MAX_CONFIG_BYTES)
    projects = config.get("projects")
    own = projects.get(project_dir) if isinstance(projects, dict) else None
    for table in (config, own):
        servers = table.get("mcpServers") if isinstance(table, dict) else None
        if isinstance(servers, dict):
            yield from servers.items()


def is_ours(server: Any) -> bool:
    """True if a configured server is started by memory-fabric's command."""
    if not isinstance(server, dict):
        return False
    arguments = server.get("args")
    words = [server.get("command"), *(arguments if isinstance(arguments, list) else ())]
    return any(mark in word for word in words if isinstance(word, str) for mark in OUR_MARKS)


def _slug(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)
