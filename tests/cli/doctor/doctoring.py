"""Helpers for tests of the doctor: its findings, and settings files as the client has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli.shell import ROOT, Shell

DECISION = "Use cursor-based pagination for all list endpoints"
PLUGIN = "memory-fabric@memory-fabric"
USER, PROJECT, LOCAL = "user", "project", "local"
LAUNCH = str(ROOT / "hooks/launch")
OTHER_SERVER = {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}
OUR_SERVER = {"command": str(ROOT / "bin/memory-fabric"), "args": ["mcp"]}


def look(shell: Shell, *options: str, **variables: str) -> dict[str, dict[str, Any]]:
    """Return the doctor's findings by name."""
    done = shell.run("doctor", *options, "--json", **variables)
    checks = {check["name"]: check for check in done.json}
    assert done.status == int(any(check["state"] == "fault" for check in checks.values()))
    assert len(checks) == len(done.json)
    return checks


def settings_file(shell: Shell, scope: str) -> Path:
    """A settings file of the client."""
    name = "settings.local.json" if scope == LOCAL else "settings.json"
    folder = shell.user_home if scope == USER else shell.project
    path = folder / ".claude" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def configure(shell: Shell, scope: str, **values: Any) -> None:
    """Write a settings file of the client."""
    settings_file(shell, scope).write_text(json.dumps(values), "utf-8")


def hooks_for(*events: str, command: str = LAUNCH) -> dict[str, Any]:
    """Our hooks as a person writes them into settings.json."""
    hook = {"type": "command", "command": command, "args": [], "timeout": 5}
    return {event: [{"hooks": [hook]}] for event in events}
