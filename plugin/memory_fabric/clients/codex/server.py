"""The MCP server in Codex's config.toml: a table of its own at the end, between two comments."""

from __future__ import annotations

import json
import os
import tomllib
from typing import Any

from memory_fabric.clients.claude_code import manifest, set_up
from memory_fabric.clients.claude_code.hooks_json import SERVER, Edited
from memory_fabric.clients.claude_code.json_text import Edit
from memory_fabric.clients.claude_code.manifest import Mark
from memory_fabric.clients.claude_code.set_up import Change
from memory_fabric.errors import BadInput

NAME, TABLES = "config.toml", "mcp_servers"
BEGIN, END = "# memory-fabric: begin\n", "# memory-fabric: end\n"
# Codex hands its servers few variables; hooks and server must find the same memory.
VARIABLES = ("MEMORY_FABRIC_HOME", "CLAUDE_CONFIG_DIR", "MEMORY_FABRIC", "MEMORY_FABRIC_PYTHON")


def path_of(hooks_path: str) -> str:
    """Return the path of config.toml beside a file of hooks."""
    return os.path.join(os.path.dirname(hooks_path), NAME)


def with_server(home: str, path: str, root: str) -> Change:
    """Return the change that adds the server. Raises BadInput if another has its name, OSError."""
    taken = without_server(home, path, root)
    text = set_up.text_of(taken.after, path) if taken.after is not None else ""
    if SERVER in _servers(text, path):
        raise BadInput(
            "--client",
            f"{path} has a server named {SERVER} already; nothing was changed.",
            remedy="Remove or rename it, or add --no-mcp.",
        )
    server = set_up.server_of(root)
    block = (
        f"{BEGIN}[{TABLES}.{SERVER}]\ncommand = {_toml(server['command'])}\n"
        f"args = {_toml(server['args'])}\nenv_vars = {_toml(list(VARIABLES))}\n{END}"
    )
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return set_up.added(
        taken,
        lambda found: Edited(found).then(Edit(len(found), "", gap + block)),
        Mark(path, manifest.CODEX, server["command"]),
        empty="",
    )


def without_server(home: str, path: str, root: str) -> Change:
    """Return the change that removes what `with_server` added. Raises BadInput, OSError."""

    def take(text: str) -> Edited:
        start, end = text.find(BEGIN), text.find(END)
        if start < 0 or end < start:
            return Edited(text)
        start -= text[:start].endswith("\n\n")  # the line that parted it from what is above
        return Edited(text).then(Edit(start, text[start : end + len(END)], ""))

    return set_up.taken(home, path, take)


def _servers(text: str, path: str) -> dict[str, Any]:
    try:
        found = tomllib.loads(text).get(TABLES, {})
    except tomllib.TOMLDecodeError as error:
        raise BadInput(
            path, f"{path}: {error}; it was left as it is.", remedy="Correct it, and try again."
        ) from error
    return found if isinstance(found, dict) else {}


def _toml(value: Any) -> str:
    """Return texts as TOML writes them, which JSON does, too."""
    return json.dumps(value, ensure_ascii=False)
