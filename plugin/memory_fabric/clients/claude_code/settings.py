"""Hooks, plugins, servers and permissions in the client's settings files; read only.

Scopes, weakest first: user (`settings.json` of the client), project and local (the two files in the
project's `.claude`). For a plugin or server the strongest scope that names it decides.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from memory_fabric.clients.claude_code import mcp_servers
from memory_fabric.config import Settings
from memory_fabric.store import files

PLUGIN = "memory-fabric"
USER, PROJECT, LOCAL = "user", "project", "local"
# The end of the command that starts memory-fabric's hooks, however they were set up.
LAUNCHER = "hooks/launch"
RULE_KINDS = ("allow", "ask", "deny")


class Layer(NamedTuple):
    """A settings file: scope, path and values; `broken` if it exists and cannot be read."""

    scope: str
    path: str
    values: Mapping[str, Any] = {}
    broken: bool = False


class ByHand(NamedTuple):
    """A memory-fabric hook in a settings file: event, command, and path of the file."""

    event: str
    command: str
    path: str


class Server(NamedTuple):
    """An MCP server in the client's configuration; `ours` by its command."""

    name: str
    scope: str
    path: str
    ours: bool
    enabled: bool = True


class Rule(NamedTuple):
    """A permission rule: allow, ask or deny, its text, and the path of its file."""

    kind: str
    text: str
    path: str


def layers(settings: Settings) -> list[Layer]:
    """Return the client's settings files, weakest scope first; missing ones are empty."""
    own = os.path.join(settings.project_dir, ".claude")
    paths = (
        (USER, os.path.join(settings.config_dir, "settings.json")),
        (PROJECT, os.path.join(own, "settings.json")),
        (LOCAL, os.path.join(own, "settings.local.json")),
    )
    found: list[Layer] = []
    for scope, path in paths:
        if any(os.path.realpath(path) == os.path.realpath(known.path) for known in found):
            continue  # for a session in the user's home both scopes are one file
        values = _state(path)
        found.append(Layer(scope, path, values, not values and _has_content(path)))
    return found


def plugins(found: list[Layer]) -> dict[str, tuple[bool, str]]:
    """Return for each installed name of the plugin whether it is enabled, and the deciding file."""
    decided: dict[str, tuple[bool, str]] = {}
    for layer in found:
        for name, on in _table(layer.values, "enabledPlugins").items():
            if name.split("@")[0] == PLUGIN:
                decided[name] = (on is not False, layer.path)
    return decided


def hooks_by_hand(found: list[Layer]) -> list[ByHand]:
    """Return memory-fabric's hooks in settings files; the arguments by which the launcher leaves
    early are left out.
    """
    return [
        ByHand(event, command.removesuffix(" rules").removesuffix(" fixes"), layer.path)
        for layer in found
        for event, groups in _table(layer.values, "hooks").items()
        for command in _commands(groups)
        if _is_our_hook(command)
    ]


def events_of(hooks_file: str) -> dict[str, list[str]]:
    """Return the commands of a hooks.json by event; empty if it cannot be read."""
    table = _table(files.read_json(hooks_file), "hooks")
    return {event: list(_commands(groups)) for event, groups in table.items()}


def variables(found: list[Layer]) -> dict[str, tuple[str, str]]:
    """Return variables that settings files set for every session: value and file by name."""
    return {
        name: (value, layer.path)
        for layer in found
        for name, value in _table(layer.values, "env").items()
        if isinstance(value, str)
    }


def rules(found: list[Layer]) -> list[Rule]:
    """Return the permission rules of all scopes."""
    return [
        Rule(kind, text, layer.path)
        for layer in found
        for kind in RULE_KINDS
        for text in _texts(_table(layer.values, "permissions").get(kind))
    ]


def servers(settings: Settings, found: list[Layer]) -> list[Server]:
    """Return the MCP servers configured for this project, except those of plugins."""
    shared = os.path.join(settings.project_dir, ".mcp.json")
    states = {path: _state(path) for path in dict.fromkeys(mcp_servers.config_files(settings))}
    owns = [_table(_table(s, "projects"), settings.project_dir) for s in states.values()]
    off = {name for own in owns for name in _texts(own.get("disabledMcpServers"))}
    tables = [*(layer.values for layer in found), *owns]
    refused = {name for table in tables for name in _texts(table.get("disabledMcpjsonServers"))}
    result = []
    for (path, state), own in zip(states.items(), owns, strict=True):
        scope = PROJECT if path == shared else USER
        for where, table in ((scope, state), (LOCAL, own)):
            for name, server in _table(table, "mcpServers").items():
                on = name not in off and not (where == PROJECT and name in refused)
                result.append(Server(name, where, path, mcp_servers.is_ours(server), on))
    return result


def installed(config_dir: str) -> dict[str, list[Mapping[str, Any]]]:
    """Return the client's notes about installing the plugin, by the plugin's name with its
    source.
    """
    noted = _table(_state(os.path.join(config_dir, "plugins", "installed_plugins.json")), "plugins")
    return {
        name: [entry for entry in entries if isinstance(entry, dict)]
        for name, entries in noted.items()
        if name.split("@")[0] == PLUGIN and isinstance(entries, list)
    }


def installed_at(config_dir: str) -> str:
    """Return the time at which the client installed the plugin, ISO 8601; empty if not noted."""
    entries = [entry for some in installed(config_dir).values() for entry in some]
    times = [str(entry.get("installedAt") or "") for entry in entries]
    return min((at for at in times if at), default="")


def lost_folders(config_dir: str, name: str) -> list[str]:
    """Return missing folders from which an installed plugin (`plugin@source`) should run."""
    sources = _state(os.path.join(config_dir, "plugins", "known_marketplaces.json"))
    stated = [entry.get("installPath") for entry in installed(config_dir).get(name, [])]
    stated.append(_table(sources, name.partition("@")[2]).get("installLocation"))
    return [path for path in stated if isinstance(path, str) and not os.path.isdir(path)]


def _is_our_hook(command: str) -> bool:
    root = command.partition(LAUNCHER)[0]
    if LAUNCHER in command and os.path.isdir(os.path.join(root, "plugin", "memory_fabric")):
        return True
    return any(mark in command for mark in mcp_servers.OUR_MARKS)


def _state(path: str) -> dict[str, Any]:
    return files.read_json(path, mcp_servers.MAX_CONFIG_BYTES)


def _has_content(path: str) -> bool:
    """True if a file that could not be parsed as an object has any content."""
    try:
        text = (files.read_text(path, mcp_servers.MAX_CONFIG_BYTES) or "").strip()
    except OSError:
        return True
    return bool(text) and files.parsed(text) is None


def _commands(groups: object) -> Iterator[str]:
    for group in groups if isinstance(groups, list) else ():
        hooks = group.get("hooks") if isinstance(group, dict) else None
        for hook in hooks if isinstance(hooks, list) else ():
            if isinstance(hook, dict) and isinstance(hook.get("command"), str):
                yield " ".join([hook["command"], *_texts(hook.get("args"))])


def _table(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = values.get(name)
    return table if isinstance(table, dict) else {}


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
