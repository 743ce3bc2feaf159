"""Checks of Claude Code's settings: hooks configured once each, plugin folder, MCP servers."""

import os
import shlex
from collections.abc import Iterable, Iterator

from memory_fabric.cli.doctor.finding import FAULT, OK, WARNING, Check, Sight
from memory_fabric.clients import settings
from memory_fabric.clients.settings import ByHand, Rule, Server
from memory_fabric.config import OFF_WORDS, memory_md_off
from memory_fabric.hooks.dispatcher import HANDLERS

INSTALL = "claude plugin install memory-fabric@memory-fabric"
MARKETPLACE = "claude plugin marketplace add"
FROM_A_CLONE = f'In a clone of the repository: {MARKETPLACE} "$PWD"'
MANIFEST = os.path.join(".claude-plugin", "marketplace.json")
# docs/hooks.md was measured with this release; many older ones behave differently.
TESTED_VERSION = (2, 1, 329)
# The server's name in .mcp.json, and the prefix of its tools when the plugin is installed.
SERVER = "memory"
OUR_TOOLS = "mcp__plugin_memory-fabric_memory__"
OTHERS_TOOLS = "mcp__memory"
COMMAND_RULE = "Bash(memory-fabric"


def settings_files(sight: Sight) -> Check:
    """Check that the client's settings files can be read."""
    broken = [layer.path for layer in sight.layers if layer.broken]
    if broken:
        told = f"not valid JSON: {', '.join(broken)}"
        return Check("settings files", FAULT, told, "Correct it: nothing in it holds until then.")
    there = [layer.path for layer in sight.layers if layer.values]
    return Check("settings files", OK, ", ".join(there) or "none here")


def hooks(sight: Sight) -> Check:
    """Check that the hooks are configured exactly once."""
    plugins = settings.plugins(list(sight.layers))
    by_hand = settings.hooks_by_hand(list(sight.layers))
    enabled = [name for name, (on, _) in plugins.items() if on]
    if enabled and by_hand:
        files = ", ".join(dict.fromkeys(hook.path for hook in by_hand))
        told = (
            f"set up twice, so every hook runs twice: enabled as {enabled[0]}, by hand in {files}"
        )
        return Check("hooks", WARNING, told, f"Remove the hooks from {files}.")
    if len(enabled) > 1:
        told = f"enabled more than once, so every hook may run twice: {', '.join(enabled)}"
        return Check("hooks", WARNING, told, f"claude plugin uninstall {enabled[-1]}")
    doubled = _doubled(by_hand)
    if doubled:
        told = f"by hand in two ways, so they run twice: {', '.join(doubled)}"
        return Check("hooks", WARNING, told, f"Keep only one of {_places(by_hand)}.")
    if enabled:
        return Check("hooks", OK, f"enabled as {enabled[0]} in {plugins[enabled[0]][1]}")
    if by_hand:
        return Check("hooks", OK, f"set by hand in {_places(by_hand)}")
    if plugins:
        name, (_, path) = next(iter(plugins.items()))
        remedy = f"claude plugin enable {name} (nothing to do with --plugin-dir)."
        return Check("hooks", WARNING, f"{name} is disabled in {path}", remedy)
    remedy = f"Run {INSTALL} (nothing to do with --plugin-dir)."
    return Check("hooks", WARNING, "not in settings.json", remedy)


def plugin_folder(sight: Sight) -> Check:
    """Check that the folder of the enabled plugin exists."""
    name, config = "plugin folder", sight.settings.config_dir
    plugins = settings.plugins(list(sight.layers))
    enabled = [plugin for plugin, (on, _) in plugins.items() if on]
    lost = [path for plugin in enabled for path in settings.lost_folders(config, plugin)]
    if lost:
        told = (
            f"Claude Code loads it from {', '.join(dict.fromkeys(lost))}, which does not "
            "exist: the clone was moved or deleted. No hook runs, and sessions show no error"
        )
        return Check(name, FAULT, told, _found_again(sight.settings.plugin_root, config))
    noted = settings.installed(config)
    missing = [plugin for plugin in enabled if plugin not in noted]
    if missing:
        told = f"{missing[0]} is enabled, but Claude Code does not list it as installed"
        return Check(name, WARNING, told, f"{FROM_A_CLONE}, then {INSTALL}.")
    return Check(name, OK, "as installed" if enabled else "no plugin is enabled")


def _found_again(root: str, config_dir: str) -> str:
    """Return the command that makes the client load the plugin from its present folder."""
    is_clone = bool(root) and not root.startswith(os.path.join(config_dir, ""))
    if is_clone and os.path.exists(os.path.join(root, MANIFEST)):
        return f"Add the clone's present folder: {MARKETPLACE} {shlex.quote(root)}"
    return f"{FROM_A_CLONE}, then {INSTALL}."


def hook_events(sight: Sight) -> Check:
    """Check that hooks set by hand name every event; the plugin has its own list."""
    by_hand = settings.hooks_by_hand(list(sight.layers))
    if not by_hand:
        return Check("hook events", OK, "those of the plugin's hooks.json")
    named = {hook.event for hook in by_hand}
    missing = [event for event in HANDLERS if event not in named]
    if missing:
        told = f"set by hand, without {', '.join(missing)}"
        files = dict.fromkeys(hook.path for hook in by_hand)
        remedy = " ".join(f"memory-fabric setup --file {path} adds them." for path in files)
        return Check("hook events", WARNING, told, remedy)
    return Check("hook events", OK, f"set by hand, all {len(HANDLERS)} of them")


def hooks_allowed(sight: Sight) -> Check:
    """Check that hooks are not disabled as a whole."""
    off = [layer.path for layer in sight.layers if layer.values.get("disableAllHooks") is True]
    if off:
        told = f"disableAllHooks is true in {', '.join(off)}: no hook runs"
        return Check("hooks allowed", FAULT, told, "Take disableAllHooks out of it.")
    return Check("hooks allowed", OK, "disableAllHooks is nowhere set")


def servers(sight: Sight) -> Check:
    """Check that only this server has its name, and that it is configured once."""
    known = settings.servers(sight.settings, list(sight.layers))
    strangers = [s for s in known if s.name == SERVER and not s.ours and s.enabled]
    if strangers:
        told = f"another server named {SERVER}: {', '.join(map(_server, strangers))}"
        remedy = (
            f"Its graph is not this memory. {_removal(strangers[0])}; "
            "memory-fabric import FILE imports its memory.jsonl."
        )
        return Check("servers", WARNING, told, remedy)
    ours = [s for s in known if s.ours and s.enabled]
    is_plugin = any(on for on, _ in settings.plugins(list(sight.layers)).values())
    if ours and is_plugin:
        told = (
            f"the plugin's server, and by hand {', '.join(map(_server, ours))}: tools appear twice"
        )
        return Check("servers", WARNING, told, f"{_removal(ours[0])}.")
    if ours:
        return Check("servers", OK, f"by hand: {', '.join(map(_server, ours))}")
    if settings.hooks_by_hand(list(sight.layers)) and not is_plugin:
        told = "none of memory's, though hooks are set by hand: each starts a Python of its own"
        return Check("servers", WARNING, told, "memory-fabric setup adds it.")
    return Check("servers", OK, "no other server is named memory")


def permission_rules(sight: Sight) -> Check:
    """Check for rules that deny the tools or the command, or name an old server's tools."""
    rules = settings.rules(list(sight.layers))
    denied = [rule for rule in rules if rule.kind == "deny" and _is_about_us(rule)]
    if denied:
        told = f"denied: {_rules(denied)}"
        return Check("permission rules", WARNING, told, "Take the rule out, if it is not meant so.")
    by_hand = settings.servers(sight.settings, list(sight.layers))
    if not any(server.name == SERVER and server.enabled for server in by_hand):
        stale = [rule for rule in rules if _is_of_others(rule)]
        if stale:
            told = f"of a server that is not configured: {_rules(stale)}"
            remedy = f"The plugin's tools are {OUR_TOOLS}*: name these instead."
            return Check("permission rules", WARNING, told, remedy)
    return Check("permission rules", OK, "none forbids or misnames our tools")


def variables(sight: Sight) -> Check:
    """Check for variables that switch memory off or move it."""
    stated = settings.variables(list(sight.layers))
    if sight.settings.memory_file_path:
        stated = {**stated, "MEMORY_FILE_PATH": (sight.settings.memory_file_path, "this shell")}
    told = list(_turned_away(stated))
    if told:
        remedy = "Remove the variable if this is not intended. See docs/configuration.md."
        return Check("variables", WARNING, "; ".join(told), remedy)
    return Check("variables", OK, "none switches memory off or moves it")


def version_check(version: str) -> Check:
    """Check the version of the client in its newest transcript."""
    tested = ".".join(map(str, TESTED_VERSION))
    if not version:
        return Check("client version", OK, "not known: no session was recorded here lately")
    if _numbers(version) < TESTED_VERSION:
        told = f"{version}, older than {tested}, with which this release was tested"
        return Check("client version", WARNING, told, "Run claude update.")
    return Check("client version", OK, version)


def _turned_away(stated: dict[str, tuple[str, str]]) -> Iterator[str]:
    path, where = stated.get("MEMORY_FILE_PATH", ("", ""))
    if path:
        yield f"MEMORY_FILE_PATH ({where}): the server serves {path} alone, hooks do not use it"
    switch, where = stated.get("MEMORY_FABRIC", ("", ""))
    if switch.lower() in OFF_WORDS:
        yield f"MEMORY_FABRIC={switch} ({where}): every session is without memory"
    native = memory_md_off({name: value for name, (value, _) in stated.items()})
    if native:
        yield f"{native} ({stated[native][1]}): no session is shown MEMORY.md"


def _doubled(by_hand: Iterable[ByHand]) -> list[str]:
    """Return the events with two different commands; the client runs equal ones once (measured)."""
    commands: dict[str, set[str]] = {}
    for hook in by_hand:
        commands.setdefault(hook.event, set()).add(hook.command)
    return [event for event, known in commands.items() if len(known) > 1]


def _places(by_hand: Iterable[ByHand]) -> str:
    return ", ".join(dict.fromkeys(hook.path for hook in by_hand))


def _server(server: Server) -> str:
    return f"{server.name} ({server.scope} scope, {server.path})"


def _removal(server: Server) -> str:
    return f"claude mcp remove {server.name} -s {server.scope}"


def _rules(rules: Iterable[Rule]) -> str:
    return ", ".join(f"{rule.text} in {rule.path}" for rule in rules)


def _is_about_us(rule: Rule) -> bool:
    return rule.text.startswith((OUR_TOOLS.removesuffix("__"), COMMAND_RULE))


def _is_of_others(rule: Rule) -> bool:
    return rule.text == OTHERS_TOOLS or rule.text.startswith(f"{OTHERS_TOOLS}__")


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split("-")[0].split(".")
    return tuple(int(part) for part in parts if part.isdigit())
