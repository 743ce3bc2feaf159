"""The hooks for clients other than Claude Code, and the files where `setup --client` adds them."""

import json
import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric.client import VARIABLE
from memory_fabric.clients import set_up
from memory_fabric.clients.hooks_json import SERVER, Edit, Edited
from memory_fabric.clients.set_up import Change, Mark
from memory_fabric.clients.table import CLIENTS
from memory_fabric.errors import BadInput
from memory_fabric.store import files

MILLISECONDS = 1000


class HookFile(NamedTuple):
    """The file in the user's home in which a client's hooks are configured."""

    variable: str  # environment variable for the client's folder, or ''
    folder: str  # the client's default folder, relative to the user's home
    name: str  # the hooks file's path in this folder
    todo: str  # instructions for what the user must do next
    events: tuple[str, ...] = ()  # events supported beyond COMMON_EVENTS (Claude Code's names)
    per_second: int = 1  # 1: timeouts are in seconds; 1000: in milliseconds; 0: left out
    most_s: Mapping[str, int] = {}  # maximum timeouts of some events, by Claude Code's event name
    flat: bool = False  # Cursor's format: a version number, and no groups of hooks
    has_server: bool = False  # the file also lists the MCP servers
    is_run: bool = False  # True if the hooks were tested with the real client


# Events that every client with a hooks file supports.
COMMON_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
    *("Stop", "PreCompact", "SessionEnd"),
)
NEW_SESSIONS = "New sessions will have the hooks."
CODEX, OPENCODE = "codex", "opencode"
FILES: Mapping[str, HookFile] = {
    CODEX: HookFile(
        *("CODEX_HOME", ".codex", "hooks.json"),
        "Codex runs new or changed hooks only once you trust them: start codex, type /hooks, and "
        "trust those of memory-fabric.",
        events=("SubagentStart", "SubagentStop"),
        # Codex shortens a SessionEnd timeout of more than 3 s, with a warning at each start.
        most_s={"SessionEnd": 3},
        is_run=True,
    ),
    "qwen": HookFile(
        *("QWEN_HOME", ".qwen", "settings.json"),
        NEW_SESSIONS,
        events=("PostToolUseFailure", "SubagentStart", "SubagentStop", "PostCompact"),
        per_second=MILLISECONDS,
        has_server=True,
        is_run=True,
    ),
    "gemini": HookFile(
        *("", ".gemini", "settings.json"),
        f"{NEW_SESSIONS} In Gemini CLI, /hooks lists them.",
        per_second=MILLISECONDS,
    ),
    "cursor": HookFile(
        *("", ".cursor", "hooks.json"),
        "Restart Cursor; its settings list the hooks. If it also loads Claude Code's hooks "
        "(third-party configurations) and these are in ~/.claude/settings.json, switch that off: "
        "every hook would run twice.",
        events=("PostToolUseFailure", "SubagentStart", "SubagentStop"),
        per_second=0,
        flat=True,
    ),
    "factory": HookFile(
        *("", ".factory", "settings.json"),
        f"{NEW_SESSIONS} In droid, /hooks lists them.",
        events=("SubagentStop",),
    ),
    "codebuddy": HookFile(
        *("", ".codebuddy", "settings.json"),
        f"{NEW_SESSIONS} In CodeBuddy, /hooks reviews them.",
        events=("SubagentStop",),
    ),
    OPENCODE: HookFile(
        "OPENCODE_CONFIG_DIR",
        os.path.join(".config", "opencode"),
        os.path.join("plugins", "memory-fabric.js"),
        "Restart OpenCode: it loads the plugin when it starts.",
    ),
}
# Codex's configuration file. The server is a TOML table at its end, between two comments.
CODEX_CONFIG, TABLES = "config.toml", "mcp_servers"
BEGIN, END = "# memory-fabric: begin\n", "# memory-fabric: end\n"
# Environment variables that Codex passes to the server, so that it uses the same memory as hooks.
VARIABLES = ("MEMORY_FABRIC_HOME", "CLAUDE_CONFIG_DIR", "MEMORY_FABRIC", "MEMORY_FABRIC_PYTHON")


def path_of(client: str, environ: Mapping[str, str], user_home: str) -> str:
    """Return the path of the user's hooks file for a client."""
    file = FILES[client]
    folder = environ.get(file.variable, "") if file.variable else ""
    return os.path.join(os.path.abspath(folder or os.path.join(user_home, file.folder)), file.name)


def changes(client: str, home: str, path: str, root: str, *, mcp: bool) -> list[Change]:
    """Return the changes that add hooks to the client's file `path` and, if `mcp`, the MCP server
    for Codex or Qwen Code. `root` is the installation's folder. Raises BadInput, OSError.
    """
    if client == OPENCODE:
        source = files.read_text(os.path.join(os.path.dirname(__file__), "opencode_plugin.js"))
        place = json.dumps(set_up.launcher(root), ensure_ascii=False)[1:-1]
        return [set_up.with_file(path, (source or "").replace("@LAUNCHER@", place), root)]
    file, groups = FILES[client], hooks(client, root)
    has_server = mcp and file.has_server
    own = set_up.with_hooks(home, path, root, groups, has_version=file.flat, has_server=has_server)
    if client != CODEX or not mcp:
        return [own]
    path = os.path.join(os.path.dirname(path), CODEX_CONFIG)
    bare = without_codex_server(home, path, root)
    text = set_up.text_of(bare.after, path) if bare.after is not None else ""
    try:
        servers = tomllib.loads(text).get(TABLES, {})
    except tomllib.TOMLDecodeError as error:
        text = f"{path}: {error}; it was left as it is."
        raise BadInput(path, text, remedy="Correct it, and try again.") from error
    if isinstance(servers, dict) and SERVER in servers:
        text = f"{path} has a server named {SERVER} already; nothing was changed."
        raise BadInput("--client", text, remedy="Remove or rename it, or add --no-mcp.")
    server = {**set_up.server_of(root), "env_vars": VARIABLES}
    # JSON strings and JSON lists of strings are also valid TOML.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in server.items()]
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    block = f"{gap}{BEGIN}[{TABLES}.{SERVER}]\n{''.join(lines)}{END}"
    mark = Mark(path, set_up.CODEX, server["command"])
    add = set_up.added(bare, lambda d: d.then(Edit(len(d.text), "", block)), mark, empty="")
    return [own, add]


def removals(client: str, home: str, path: str, root: str) -> list[Change]:
    """Return the changes that remove a client's hooks and server. Raises BadInput, OSError."""
    take = set_up.without_file if client == OPENCODE else set_up.without_hooks
    own = take(home, path, root)
    if client == CODEX:
        path = os.path.join(os.path.dirname(path), CODEX_CONFIG)
        return [own, without_codex_server(home, path, root)]
    return [own]


def hooks(client: str, root: str) -> dict[str, list[Any]]:
    """Return the hook groups for a client, keyed by the client's own names of events."""
    file, row = FILES[client], CLIENTS[client]
    own_names = {known: name for name, known in row.events.items()}
    tools: dict[str, list[str]] = {}  # the client's tool names, keyed by Claude Code's name
    for name, known in row.tools.items():
        tools.setdefault(known, []).append(name)
    own: dict[str, list[Any]] = {}
    for event, groups in set_up.hook_groups(root, "posix").items():
        for group in groups if event in (*COMMON_EVENTS, *file.events) else ():
            commands: list[dict[str, Any]] = []
            for hook in group["hooks"]:
                entry = {} if file.flat else {"type": "command"}
                entry["command"] = command(client, root, hook.get("args", []))
                if file.per_second:
                    seconds = min(hook["timeout"], file.most_s.get(event, hook["timeout"]))
                    entry["timeout"] = seconds * file.per_second
                commands.append(entry)
            matcher = group.get("matcher")
            head = {"matcher": _matcher(matcher, tools)} if matcher else {}
            body = commands[0] if file.flat else {"hooks": commands}
            own.setdefault(own_names.get(event, event), []).append({**head, **body})
    return own


def command(client: str, root: str, arguments: list[str], system: str = os.name) -> str:
    """Return the shell command that runs a client's hook: the launcher in `root`, with `arguments`.
    `system` is a value of `os.name`, because Windows needs another form of command.
    """
    if system != "posix":
        words = [*set_up.without_shell(root), "--client", client, *arguments]
        return " ".join(f'"{word}"' if " " in word else word for word in words)
    variables = f"{VARIABLE}={client} "
    if not CLIENTS[client].project_variable:
        variables += 'CLAUDE_PROJECT_DIR="$PWD" '
    return variables + shlex.join([set_up.launcher(root), *arguments])


def _matcher(matcher: str, tools: Mapping[str, list[str]]) -> str:
    """Extend a matcher for Claude Code's tool names, so that it also matches the client's names."""
    single = re.fullmatch(r"\^([A-Za-z]+)\$", matcher)
    return re.sub(
        r"(?<=[(^|])[A-Z][A-Za-z]+(?=[)$|])",
        lambda match: "|".join((match[0], *tools.get(match[0], ()))),
        f"^({single[1]})$" if single and single[1] in tools else matcher,
    )


def without_codex_server(home: str, path: str, root: str) -> Change:
    """Return the change that removes the MCP server from config.toml. Raises BadInput, OSError."""

    def take(done: Edited) -> Edited:
        text = done.text
        start, end = text.find(BEGIN), text.find(END)
        if start < 0 or end < start:
            return done
        start -= text[:start].endswith("\n\n")  # also remove the empty line above the table
        return done.then(Edit(start, text[start : end + len(END)], ""))

    return set_up.taken(home, path, take)
