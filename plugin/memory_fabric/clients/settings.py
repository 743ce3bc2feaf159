"""Read the hooks, plugins, servers and permissions in Claude Code's settings and state files. The
scopes of settings, from lowest to highest precedence, are user (the client's `settings.json`),
project and local (in the project's `.claude`). For a plugin or server, the highest scope counts.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from memory_fabric.config import Settings
from memory_fabric.store import files

PLUGIN = "memory-fabric"
USER, PROJECT, LOCAL = "user", "project", "local"
# Every command that starts memory-fabric's hooks contains this path, in the plugin or elsewhere.
LAUNCHER = "hooks/launch"
# The path of this package, relative to the folder that contains `hooks/launch`.
SOURCE = os.path.join("plugin", "memory_fabric")
# A server is memory-fabric's if its command or one of its arguments contains one of these texts.
OUR_MARKS = ("memory-fabric", "memory_fabric")
# Larger files are not read. Claude Code's state file grows with the session history.
MAX_CONFIG_BYTES = 16 << 20


class Layer(NamedTuple):
    """A settings file: its scope, path and values; `broken` means that it exists but is invalid."""

    scope: str
    path: str
    values: Mapping[str, Any] = {}
    broken: bool = False


class ByHand(NamedTuple):
    """A hook of memory-fabric in a settings file, added there by `setup` or by hand."""

    event: str
    command: str
    path: str


class Server(NamedTuple):
    """An MCP server in the client's configuration; `ours` is True if it runs memory-fabric."""

    name: str
    scope: str
    path: str
    ours: bool
    enabled: bool = True


def layers(settings: Settings) -> list[Layer]:
    """Return Claude Code's settings files, lowest precedence first, including missing files."""
    own = os.path.join(settings.project_dir, ".claude")
    paths = (
        (USER, os.path.join(settings.config_dir, "settings.json")),
        (PROJECT, os.path.join(own, "settings.json")),
        (LOCAL, os.path.join(own, "settings.local.json")),
    )
    listed: list[Layer] = []
    for scope, path in paths:
        if any(os.path.realpath(path) == os.path.realpath(layer.path) for layer in listed):
            continue  # If the project is the user's home, both scopes use the same file.
        values, broken = _state(path), False
        if not values:  # either an empty object or invalid
            try:
                text = (files.read_text(path, MAX_CONFIG_BYTES) or "").strip()
                broken = bool(text) and files.parsed(text) is None
            except OSError:
                broken = True
        listed.append(Layer(scope, path, values, broken))
    return listed


def plugins(layers: list[Layer]) -> dict[str, tuple[bool, str]]:
    """Map each `memory-fabric@<marketplace>` in the settings to (is enabled, path of the file)."""
    return {
        name: (on is not False, layer.path)
        for layer in layers
        for name, on in _table(layer.values, "enabledPlugins").items()
        if name.split("@")[0] == PLUGIN
    }


def hooks_by_hand(layers: list[Layer]) -> list[ByHand]:
    """Return memory-fabric's hooks in settings files, without the argument `rules` or `fixes`."""
    return [
        ByHand(event, command.removesuffix(" rules").removesuffix(" fixes"), layer.path)
        for layer in layers
        for event, groups in _table(layer.values, "hooks").items()
        for command in _commands(groups)
        if any(mark in command for mark in OUR_MARKS)
        or (LAUNCHER in command and os.path.isdir(command.partition(LAUNCHER)[0] + SOURCE))
    ]


def events_of(hooks_file: str) -> dict[str, list[str]]:
    """Return the commands in a hooks.json by event; {} if the file cannot be parsed."""
    table = _table(files.read_json(hooks_file), "hooks")
    return {event: list(_commands(groups)) for event, groups in table.items()}


def variables(layers: list[Layer]) -> dict[str, tuple[str, str]]:
    """Return the environment variables set in settings files: (value, file) by name."""
    return {
        name: (value, layer.path)
        for layer in layers
        for name, value in _table(layer.values, "env").items()
        if isinstance(value, str)
    }


def rules(layers: list[Layer], *kinds: str) -> list[tuple[str, str]]:
    """Return (text, file) for each permission rule of the given kinds (allow, ask, deny)."""
    return [
        (text, layer.path)
        for layer in layers
        for kind in kinds
        for text in _texts(_table(layer.values, "permissions").get(kind))
    ]


def servers(settings: Settings, layers: list[Layer]) -> list[Server]:
    """Return the MCP servers configured for this project, except servers of plugins."""
    shared, config_dir = os.path.join(settings.project_dir, ".mcp.json"), settings.config_dir
    # Claude Code's state file is in its configuration folder or next to this folder.
    folders = (config_dir, os.path.dirname(config_dir))
    paths = [shared, *(os.path.join(folder, ".claude.json") for folder in folders)]
    paths.append(os.path.join(config_dir, "settings.json"))
    states = {path: _state(path) for path in dict.fromkeys(paths)}
    owns = [_table(_table(s, "projects"), settings.project_dir) for s in states.values()]
    off = {name for own in owns for name in _texts(own.get("disabledMcpServers"))}
    tables = [*(layer.values for layer in layers), *owns]
    refused = {name for table in tables for name in _texts(table.get("disabledMcpjsonServers"))}
    disabled = {USER: off, LOCAL: off, PROJECT: off | refused}
    return [
        Server(name, scope, path, _is_our_server(server), name not in disabled[scope])
        for (path, state), own in zip(states.items(), owns, strict=True)
        for scope, table in ((PROJECT if path == shared else USER, state), (LOCAL, own))
        for name, server in _table(table, "mcpServers").items()
    ]


def is_our_server(name: str, settings: Settings) -> bool:
    """Return True if a tool's server (`name` in `mcp__name__tool`) is one of memory-fabric's."""
    return any(s.ours and _slug(s.name) == _slug(name) for s in servers(settings, []))


def installed(config_dir: str) -> dict[str, list[Mapping[str, Any]]]:
    """Return Claude Code's data about installations of this plugin, by name (`plugin@source`)."""
    notes = _table(_state(os.path.join(config_dir, "plugins", "installed_plugins.json")), "plugins")
    return {
        name: [entry for entry in entries if isinstance(entry, dict)]
        for name, entries in notes.items()
        if name.split("@")[0] == PLUGIN and isinstance(entries, list)
    }


def lost_folders(config_dir: str, name: str) -> list[str]:
    """Return folders that the client needs to load `plugin@marketplace`, but that are missing."""
    sources = _state(os.path.join(config_dir, "plugins", "known_marketplaces.json"))
    folders = [entry.get("installPath") for entry in installed(config_dir).get(name, [])]
    folders.append(_table(sources, name.partition("@")[2]).get("installLocation"))
    return [path for path in folders if isinstance(path, str) and not os.path.isdir(path)]


def _is_our_server(server: Any) -> bool:
    if not isinstance(server, dict):
        return False
    words = [*_texts([server.get("command")]), *_texts(server.get("args"))]
    return any(mark in word for word in words for mark in OUR_MARKS)


def _slug(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)


def _state(path: str) -> dict[str, Any]:
    return files.read_json(path, MAX_CONFIG_BYTES)


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
