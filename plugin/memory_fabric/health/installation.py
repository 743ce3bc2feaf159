"""Health checks of the installation: Python, packages, plugin files and the client's settings."""

import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterable

from memory_fabric.clients import settings
from memory_fabric.config import OFF_WORDS, memory_md_off
from memory_fabric.health.check import Finding, Sight, fault, fine, warning
from memory_fabric.semantic import measure
from memory_fabric.setup import extras
from memory_fabric.setup import packages as installer
from memory_fabric.store.files import read_text

INSTALL = "claude plugin install memory-fabric@memory-fabric"
MARKETPLACE = "claude plugin marketplace add"
FROM_A_CLONE = (
    f'In a clone: scripts/package dist/memory-fabric, then {MARKETPLACE} "$PWD/dist/memory-fabric"'
)
MANIFEST = os.path.join(".claude-plugin", "marketplace.json")
# The release of Claude Code that docs/hooks.md describes; older releases often differ.
TESTED_VERSION = (2, 1, 329)
# The server's name in .mcp.json, and its tools' prefix if the plugin provides the server.
SERVER = "memory"
OUR_TOOLS = "mcp__plugin_memory-fabric_memory__"
TABLE = "CREATE VIRTUAL TABLE probe USING fts5(words, tokenize='trigram')"
# A script that tests an interpreter in the same way as hooks/find-python.sh.
PROBE = f"""
import sys
if sys.version_info < (3, 11):
    sys.exit("it is Python %d.%d, and hooks need 3.11" % sys.version_info[:2])
import sqlite3
table = "{TABLE}"
sqlite3.connect(":memory:").execute(table)
"""
AGAIN = f"Install the plugin again: {INSTALL}."


def python(_sight: Sight) -> Finding:
    """Check the Python of this process, and that its SQLite supports full-text search."""
    version = ".".join(map(str, sys.version_info[:3]))
    text = f"{version} at {sys.executable}, SQLite {sqlite3.sqlite_version}"
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(TABLE)
    except sqlite3.Error as error:
        return fault(f"{text}: {error}", "Use a Python with SQLite 3.34 or newer and FTS5.")
    finally:
        connection.close()
    return fine(text)


def interpreter(sight: Sight) -> Finding:
    """Check that the hooks' Python exists, is recent enough, and supports full-text search."""
    path = installer.remembered_file(sight.settings.data_dir)
    remembered = (read_text(path) or "").strip() if path else ""
    if not remembered:
        return warning("no hook has run from here yet", "Start a session.")
    if not os.path.isfile(remembered) or not os.access(remembered, os.X_OK):
        return warning(f"{remembered} is gone", "The next hook looks for another.", fixable=True)
    command = [remembered, "-I", "-S", "-c", PROBE]
    try:
        process = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False
        )
        if process.returncode == 0:
            return fine(remembered)
        lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = (lines or [f"exit code {process.returncode}"])[-1]
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = f"it does not start ({error})"
    remedy = "memory-fabric doctor --fix forgets it, and the next hook looks for another."
    return fault(f"{remembered}: {reason}", remedy, fixable=True)


def forget_interpreter(sight: Sight) -> list[str]:
    """Delete the saved path of the hooks' Python, so that the next hook searches for one."""
    path = installer.remembered_file(sight.settings.data_dir)
    os.unlink(path)
    return [f"{path} named an interpreter that is gone, and was deleted"]


def packages(sight: Sight) -> Finding:
    """Check that the command line's packages are installed; hooks and the MCP server need none."""
    data, root = sight.settings.data_dir, sight.settings.plugin_root
    if not data or not root:
        return fine("the packages of this Python, not installed by the plugin")
    if ready := installer.environment_python(data, root):
        return fine(ready)
    if installer.is_running(data):
        return fine("the installation is running")
    if failed := installer.last_error(data):
        return fault(failed, "Hooks and the MCP server work meanwhile.", fixable=True)
    if half := installer.half_installed(data):
        text = f"an installation was interrupted: {', '.join(map(os.path.basename, half))}"
        return warning(text, "The next session start repeats it.", fixable=True)
    return warning("not installed yet", "The next session start installs them.")


def install_packages(sight: Sight) -> list[str]:
    """Restart the background installation of packages, which first deletes any unfinished one."""
    if installer.start_again(sight.settings.data_dir, sight.settings.plugin_root):
        return ["the installation of the packages was started again, in the background"]
    return []


def plugin_files(sight: Sight) -> Finding:
    """Check that hooks.json has a command for every event, and that the launcher is executable."""
    root = sight.settings.plugin_root
    if not root:
        return warning("this package has no plugin folder", AGAIN)
    commands = settings.events_of(os.path.join(root, "hooks.json"))
    missing = [event for event in sight.events if not commands.get(event)]
    if missing:
        return fault(f"hooks.json does not name {', '.join(missing)}", AGAIN)
    launcher = os.path.join(root, settings.LAUNCHER)
    if not os.access(launcher, os.X_OK):
        return fault(f"{launcher} cannot be started", f"{AGAIN} Or: chmod +x {launcher}.")
    return fine(f"{len(sight.events)} events, {launcher}")


def semantic(sight: Sight) -> Finding:
    """Check that the packages for semantic search work, if installed; recall works without them."""
    state, why = measure.state(sight.settings)
    if state == measure.BROKEN:
        return warning(why, "Recall matches words only. memory-fabric semantic off")
    if state == measure.ABSENT and extras.installed(extras.SEMANTIC, sight.settings.data_dir):
        remedy = "memory-fabric semantic on brings it up to date."
        return warning("installed for another release or Python", remedy)
    return fine(why if state == measure.OFF else state)


def settings_files(sight: Sight) -> Finding:
    """Check that the client's settings files are valid JSON."""
    if broken := [layer.path for layer in sight.layers if layer.broken]:
        remedy = "Correct it: nothing in it holds until then."
        return fault(f"not valid JSON: {', '.join(broken)}", remedy)
    return fine(", ".join(layer.path for layer in sight.layers if layer.values) or "none here")


def hooks(sight: Sight) -> Finding:
    """Check that the hooks are configured exactly once, either by the plugin or by hand."""
    plugins, by_hand = settings.plugins(sight.layers), settings.hooks_by_hand(sight.layers)
    enabled = _enabled(sight)
    files = ", ".join(dict.fromkeys(hook.path for hook in by_hand))
    if enabled and by_hand:
        twice = f"set up twice, so every hook runs twice: enabled as {enabled[0]}, by hand in"
        return warning(f"{twice} {files}", f"Remove the hooks from {files}.")
    if len(enabled) > 1:
        text = f"enabled more than once, so every hook may run twice: {', '.join(enabled)}"
        return warning(text, f"claude plugin uninstall {enabled[-1]}")
    commands: dict[str, set[str]] = {}
    for hook in by_hand:
        commands.setdefault(hook.event, set()).add(hook.command)
    # The client runs identical commands for an event only once (as measured).
    doubled = [event for event, different in commands.items() if len(different) > 1]
    if doubled:
        text = f"by hand in two ways, so they run twice: {', '.join(doubled)}"
        return warning(text, f"Keep only one of {files}.")
    if enabled:
        return fine(f"enabled as {enabled[0]} in {plugins[enabled[0]][1]}")
    if by_hand:
        return fine(f"set by hand in {files}")
    if plugins:
        name, (_, path) = next(iter(plugins.items()))
        remedy = f"claude plugin enable {name} (nothing to do with --plugin-dir)."
        return warning(f"{name} is disabled in {path}", remedy)
    return warning("not in settings.json", f"Run {INSTALL} (nothing to do with --plugin-dir).")


def plugin_folder(sight: Sight) -> Finding:
    """Check that the folder from which the client loads the enabled plugin exists."""
    config_dir, root = sight.settings.config_dir, sight.settings.plugin_root
    enabled = _enabled(sight)
    lost = [path for plugin in enabled for path in settings.lost_folders(config_dir, plugin)]
    if lost:
        text = (
            f"Claude Code loads it from {', '.join(dict.fromkeys(lost))}, which does not "
            "exist: the clone was moved or deleted. No hook runs, and sessions show no error"
        )
        is_clone = bool(root) and not root.startswith(os.path.join(config_dir, ""))
        if is_clone and os.path.exists(os.path.join(root, MANIFEST)):
            return fault(text, f"Add the clone's present folder: {MARKETPLACE} {shlex.quote(root)}")
        return fault(text, f"{FROM_A_CLONE}, then {INSTALL}.")
    installed = settings.installed(config_dir)
    missing = [plugin for plugin in enabled if plugin not in installed]
    if missing:
        text = f"{missing[0]} is enabled, but Claude Code does not list it as installed"
        return warning(text, f"{FROM_A_CLONE}, then {INSTALL}.")
    return fine("as installed" if enabled else "no plugin is enabled")


def hook_events(sight: Sight) -> Finding:
    """Check that hooks set by hand cover all events; `plugin_files` checks the plugin's hooks."""
    by_hand = settings.hooks_by_hand(sight.layers)
    missing = [event for event in sight.events if event not in {hook.event for hook in by_hand}]
    if by_hand and missing:
        files = dict.fromkeys(hook.path for hook in by_hand)
        remedy = " ".join(f"memory-fabric setup --file {path} adds them." for path in files)
        return warning(f"set by hand, without {', '.join(missing)}", remedy)
    count = f"set by hand, all {len(sight.events)} of them"
    return fine(count if by_hand else "those of the plugin's hooks.json")


def hooks_allowed(sight: Sight) -> Finding:
    """Check that the client's settings do not disable all hooks (`disableAllHooks`)."""
    if off := [layer.path for layer in sight.layers if layer.values.get("disableAllHooks") is True]:
        text = f"disableAllHooks is true in {', '.join(off)}: no hook runs"
        return fault(text, "Take disableAllHooks out of it.")
    return fine("disableAllHooks is nowhere set")


def servers(sight: Sight) -> Finding:
    """Check that the MCP server is configured only once, and that no other server has its name."""
    enabled = [s for s in settings.servers(sight.settings, sight.layers) if s.enabled]
    strangers = [s for s in enabled if s.name == SERVER and not s.ours]
    if strangers:
        remedy = (
            f"Its graph is not this memory. {_removal(strangers[0])}; "
            "memory-fabric import FILE imports its memory.jsonl."
        )
        return warning(f"another server named {SERVER}: {_servers(strangers)}", remedy)
    ours = [s for s in enabled if s.ours]
    is_plugin = bool(_enabled(sight))
    if ours and is_plugin:
        text = f"the plugin's server, and by hand {_servers(ours)}: tools appear twice"
        return warning(text, f"{_removal(ours[0])}.")
    if ours:
        return fine(f"by hand: {_servers(ours)}")
    if settings.hooks_by_hand(sight.layers) and not is_plugin:
        text = "none of memory's, though hooks are set by hand: each starts a Python of its own"
        return warning(text, "memory-fabric setup adds it.")
    return fine("no other server is named memory")


def permission_rules(sight: Sight) -> Finding:
    """Check that no permission rule denies our tools, or names an unconfigured server `memory`."""
    ours = (OUR_TOOLS.removesuffix("__"), "Bash(memory-fabric")
    denied = [rule for rule in settings.rules(sight.layers, "deny") if rule[0].startswith(ours)]
    if denied:
        return warning(f"denied: {_rules(denied)}", "Take the rule out, if it is not meant so.")
    by_hand = settings.servers(sight.settings, sight.layers)
    if not any(server.name == SERVER and server.enabled for server in by_hand):
        rules = settings.rules(sight.layers, "allow", "ask", "deny")
        stale = [rule for rule in rules if rule[0].split("__")[:2] == ["mcp", "memory"]]
        if stale:
            remedy = f"The plugin's tools are {OUR_TOOLS}*: name these instead."
            return warning(f"of a server that is not configured: {_rules(stale)}", remedy)
    return fine("none forbids or misnames our tools")


def variables(sight: Sight) -> Finding:
    """Warn about environment variables that switch memory off or change where memory is stored."""
    values = settings.variables(sight.layers)
    if sight.settings.memory_file_path:
        values = {**values, "MEMORY_FILE_PATH": (sight.settings.memory_file_path, "this shell")}
    effects = []
    path, where = values.get("MEMORY_FILE_PATH", ("", ""))
    if path:
        alone = f"the server serves {path} alone, hooks do not use it"
        effects.append(f"MEMORY_FILE_PATH ({where}): {alone}")
    switch, where = values.get("MEMORY_FABRIC", ("", ""))
    if switch.lower() in OFF_WORDS:
        effects.append(f"MEMORY_FABRIC={switch} ({where}): every session is without memory")
    native = memory_md_off({name: value for name, (value, _) in values.items()})
    if native:
        effects.append(f"{native} ({values[native][1]}): no session is shown MEMORY.md")
    if effects:
        remedy = "Remove the variable if this is not intended. See docs/configuration.md."
        return warning("; ".join(effects), remedy)
    return fine("none switches memory off or moves it")


def version_check(version: str) -> Finding:
    """Check that the client's version, found in a transcript, is at least the tested one."""
    parts = version.split("-")[0].split(".")
    if version and tuple(int(part) for part in parts if part.isdigit()) < TESTED_VERSION:
        tested = ".".join(map(str, TESTED_VERSION))
        text = f"{version}, older than {tested}, with which this release was tested"
        return warning(text, "Run claude update.")
    return fine(version or "not known: no session was recorded here lately")


def _enabled(sight: Sight) -> list[str]:
    return [name for name, (on, _) in settings.plugins(sight.layers).items() if on]


def _servers(servers: Iterable[settings.Server]) -> str:
    return ", ".join(f"{s.name} ({s.scope} scope, {s.path})" for s in servers)


def _removal(server: settings.Server) -> str:
    return f"claude mcp remove {server.name} -s {server.scope}"


def _rules(rules: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{text} in {path}" for text, path in rules)
