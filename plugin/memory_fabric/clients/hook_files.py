"""The files into which `setup --client` writes the hooks of other clients, and those hooks.

They are the hooks of hooks.json under the client's own names of events and tools. Each command
names its client, and calls the launcher by its absolute path.
"""

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memory_fabric.client import VARIABLE, Client
from memory_fabric.clients.claude_code import set_up
from memory_fabric.clients.claude_code.set_up import Change
from memory_fabric.clients.codex import server
from memory_fabric.clients.table import CLIENTS
from memory_fabric.store import files

MILLISECONDS = 1000


@dataclass(frozen=True, slots=True)
class HookFile:
    """The user's file of hooks of a client.

    `folder` is the client's folder (from `variable`, else below the user's home), `name` the file
    in it. `events` are those of Claude Code's events that it has; `per_second` is the unit of its
    timeouts, 0 where it is not certain and none is written; `most_s` limits those of some events.
    `flat` hooks stand in the list of their event without a group, in a file that has a version.
    The MCP server stands in the same file if it `has_server`.
    `todo` is left to the person.
    """

    variable: str
    folder: str
    name: str
    events: frozenset[str]
    todo: str
    per_second: int = 1
    most_s: Mapping[str, int] = field(default_factory=dict)
    flat: bool = False
    has_server: bool = False


_ALL = frozenset(
    """SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure SubagentStart
    SubagentStop Stop PreCompact PostCompact SessionEnd""".split()
)
NEW_SESSIONS = "New sessions will have the hooks."
OPENCODE = "opencode"
FILES: Mapping[str, HookFile] = {
    "codex": HookFile(
        "CODEX_HOME",
        ".codex",
        "hooks.json",
        _ALL - {"PostToolUseFailure", "PostCompact"},
        "Codex runs new or changed hooks only once you trust them: start codex, type /hooks, and "
        "trust those of memory-fabric.",
        # The client cuts a longer one, with a warning at each start.
        most_s={"SessionEnd": 3},
    ),
    "qwen": HookFile(
        "QWEN_HOME",
        ".qwen",
        "settings.json",
        _ALL,
        NEW_SESSIONS,
        MILLISECONDS,
        has_server=True,
    ),
    "gemini": HookFile(
        "",
        ".gemini",
        "settings.json",
        _ALL - {"PostToolUseFailure", "SubagentStart", "SubagentStop", "PostCompact"},
        f"{NEW_SESSIONS} In Gemini CLI, /hooks lists them.",
        MILLISECONDS,
    ),
    "cursor": HookFile(
        "",
        ".cursor",
        "hooks.json",
        _ALL - {"PostCompact"},
        "Restart Cursor; its settings list the hooks. If it also loads Claude Code's hooks "
        "(third-party configurations) and these are in ~/.claude/settings.json, switch that off: "
        "every hook would run twice.",
        per_second=0,
        flat=True,
    ),
    "factory": HookFile(
        "",
        ".factory",
        "settings.json",
        _ALL - {"PostToolUseFailure", "SubagentStart", "PostCompact"},
        f"{NEW_SESSIONS} In droid, /hooks lists them.",
    ),
    "codebuddy": HookFile(
        "",
        ".codebuddy",
        "settings.json",
        _ALL - {"PostToolUseFailure", "SubagentStart", "PostCompact"},
        f"{NEW_SESSIONS} In CodeBuddy, /hooks reviews them.",
    ),
    OPENCODE: HookFile(
        "OPENCODE_CONFIG_DIR",
        os.path.join(".config", "opencode"),
        os.path.join("plugins", "memory-fabric.js"),
        frozenset(),
        "Restart OpenCode: it loads the plugin when it starts.",
    ),
}


def path_of(client: str, environ: Mapping[str, str], user_home: str) -> str:
    """Return the path of the user's file of hooks of a client."""
    file = FILES[client]
    folder = environ.get(file.variable, "") if file.variable else ""
    return os.path.join(os.path.abspath(folder or os.path.join(user_home, file.folder)), file.name)


def changes(client: str, home: str, path: str, root: str, *, mcp: bool) -> list[Change]:
    """Return the changes that add a client's hooks to its file, and where it is known how with
    `mcp` the server.

    Raises BadInput, OSError.
    """
    if client == OPENCODE:
        return [set_up.with_file(home, path, plugin(root), root)]
    file, groups = FILES[client], hooks(client, root)
    has_server = mcp and file.has_server
    own = set_up.with_hooks(home, path, root, groups, has_version=file.flat, has_server=has_server)
    more = [server.with_server(home, server.path_of(path), root)] if _is_codex(client, mcp) else []
    return [own, *more]


def removals(client: str, home: str, path: str, root: str) -> list[Change]:
    """Return the changes that remove what `changes` adds. Raises BadInput, OSError."""
    take = set_up.without_file if client == OPENCODE else set_up.without_hooks
    more = (
        [server.without_server(home, server.path_of(path), root)] if _is_codex(client, True) else []
    )
    return [take(home, path, root), *more]


def _is_codex(client: str, mcp: bool) -> bool:
    return mcp and client == "codex"


def plugin(root: str) -> str:
    """Return the text of OpenCode's plugin, which calls the launcher."""
    path = os.path.join(os.path.dirname(__file__), OPENCODE, "plugin.js")
    place = json.dumps(set_up.launcher(root), ensure_ascii=False)[1:-1]
    return (files.read_text(path) or "").replace("@LAUNCHER@", place)


def hooks(client: str, root: str) -> dict[str, list[Any]]:
    """Return the hooks for a client by its names of events."""
    file, row = FILES[client], CLIENTS[client]
    own_names = {known: name for name, known in row.events.items()}
    return {
        own_names.get(event, event): [_group(row, file, event, group) for group in groups]
        for event, groups in set_up.hook_groups(root, "posix").items()
        if event in file.events
    }


def command(client: str, root: str, arguments: list[str], system: str = os.name) -> str:
    """Return the shell command of a hook: it names the client, and calls the launcher.

    For a client without a variable for the project's folder it is the folder in which hooks run.
    `system` is `os.name`.
    """
    if system != "posix":
        words = [*set_up.without_shell(root), "--client", client, *arguments]
        return " ".join(f'"{word}"' if " " in word else word for word in words)
    variables = f"{VARIABLE}={client} "
    if not CLIENTS[client].project_variable:
        variables += 'CLAUDE_PROJECT_DIR="$PWD" '
    return variables + shlex.join([set_up.launcher(root), *arguments])


def _group(row: Client, file: HookFile, event: str, group: Mapping[str, Any]) -> dict[str, Any]:
    matcher = group.get("matcher")
    head = {"matcher": _matcher(row, matcher)} if matcher else {}
    made = [_hook(row.key, file, event, hook) for hook in group["hooks"]]
    if not file.flat:
        return {**head, "hooks": made}
    (only,) = made
    return {**head, "command": only["command"]}


def _hook(client: str, file: HookFile, event: str, hook: Mapping[str, Any]) -> dict[str, Any]:
    root = os.path.dirname(os.path.dirname(hook["command"]))
    made = {"type": "command", "command": command(client, root, hook.get("args", []))}
    seconds = min(hook["timeout"], file.most_s.get(event, hook["timeout"]))
    return {**made, "timeout": seconds * file.per_second} if file.per_second else made


def _matcher(row: Client, matcher: str) -> str:
    """Return a matcher with the client's names of tools beside Claude Code's."""
    theirs: dict[str, list[str]] = {}
    for name, known in row.tools.items():
        theirs.setdefault(known, []).append(name)
    alone = re.fullmatch(r"\^([A-Za-z]+)\$", matcher)
    grouped = f"^({alone[1]})$" if alone and alone[1] in theirs else matcher
    return re.sub(
        r"(?<=[(^|])[A-Z][A-Za-z]+(?=[)$|])",
        lambda found: "|".join((found[0], *theirs.get(found[0], ()))),
        grouped,
    )
