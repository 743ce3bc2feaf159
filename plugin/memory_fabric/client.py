"""The traits of the client that runs the hooks; `clients.table` has one row for each client.

The client is decided once for each event (`clients.adapter`). Other code reads these traits from
`Settings.client`, and never compares keys.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

# The variable that `setup` writes into another client's hooks; its value is the client's key.
VARIABLE = "MEMORY_FABRIC_CLIENT"
# Variables that only other clients set for their hooks, by the client's key. Qwen Code descends
# from Gemini CLI and also sets its variable.
SIGNS = (
    ("QWEN_PROJECT_DIR", "qwen"),
    ("GEMINI_PROJECT_DIR", "gemini"),
    ("FACTORY_PROJECT_DIR", "factory"),
    ("CODEBUDDY_PROJECT_DIR", "codebuddy"),
)
# Set by Claude Code for its hooks. Started in the shell of another client, it also inherits the
# variables of that client.
OWN_SIGN = "CLAUDE_CODE_ENTRYPOINT"
# Fields that only other clients send together, by the client's key.
FIELDS = (("turn_id", "model", "codex"), ("cursor_version", "conversation_id", "cursor"))
# Beginnings of the names of other clients' transcripts.
TRANSCRIPTS = (("rollout-", "codex"),)


class Client(NamedTuple):
    """A client: its key, its name, and how this package treats it otherwise than Claude Code.

    `assistant` is the name of its assistant in notices. `memory_file` is the file of records that
    the client itself shows its model, '' for none. `transcripts` is the form of its transcripts
    (`clients.transcripts`), '' if they are not read. `events`, `tools` and `fields` map its names
    to Claude Code's, which all other code uses. `form` is the form of its replies
    (`clients.adapter`). `asks` is true if a hook may have it ask the person before a call,
    `summarises` if its summariser reads what PreCompact prints. Its model never sees context in
    replies to the events in `unheard`. `project_variable` has the folder in which the session was
    started, '' for the event's own folder. `mark` is added to the evidence of its records and to
    the notes of its sessions. `instructions` are the instruction files that it shows its model:
    names below the project's root, or below the user's home with `~`; `*` is any name. `has_skills`
    is true if this plugin's skills are commands in it.
    """

    key: str = "claude-code"
    name: str = "Claude Code"
    assistant: str = "Claude"
    memory_file: str = "MEMORY.md"
    transcripts: str = "claude-code"
    events: Mapping[str, str] = {}
    tools: Mapping[str, str] = {}
    fields: Mapping[str, str] = {}
    form: str = "claude"
    asks: bool = True
    summarises: bool = True
    unheard: frozenset[str] = frozenset()
    project_variable: str = "CLAUDE_PROJECT_DIR"
    mark: Mapping[str, str] = {}
    instructions: tuple[str, ...] = (
        "CLAUDE.md",
        ".claude/CLAUDE.md",
        "CLAUDE.local.md",
        ".claude/rules/*",
        "~/.claude/CLAUDE.md",
    )
    has_skills: bool = True


CLAUDE_CODE = Client()


def key_of(environ: Mapping[str, str], raw: Mapping[str, Any]) -> str:
    """Return the key of the client that sent an event.

    The variable that `setup` writes decides, then the event, then the client's own variables, if
    they are not inherited by Claude Code.
    """
    stated = environ.get(VARIABLE)
    if stated:
        return stated
    for first, second, key in FIELDS:
        if first in raw and second in raw:
            return key
    path = raw.get("transcript_path")
    if isinstance(path, str):
        name = path.replace("\\", "/").rpartition("/")[2]
        for beginning, key in TRANSCRIPTS:
            if name.startswith(beginning):
                return key
    if OWN_SIGN not in environ:
        for variable, key in SIGNS:
            if variable in environ:
                return key
    return CLAUDE_CODE.key
