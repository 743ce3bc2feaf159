"""Traits of the client that runs the hooks; `clients.table` has a row for each client.

The client is determined once for each event (`clients.adapter`). Other code reads the traits from
`Settings.client`, and never compares clients' keys.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

# Environment variable that `setup` writes into other clients' hooks; its value is the client's key.
VARIABLE = "MEMORY_FABRIC_CLIENT"
# Environment variables that only one client sets for its hooks, with the client's key. Qwen Code is
# derived from Gemini CLI and also sets Gemini's variable, so it comes first.
SIGNS = (
    ("QWEN_PROJECT_DIR", "qwen"), ("GEMINI_PROJECT_DIR", "gemini"),
    ("FACTORY_PROJECT_DIR", "factory"), ("CODEBUDDY_PROJECT_DIR", "codebuddy"),
)  # fmt: skip
# Set by Claude Code for its hooks. If Claude Code is started in another client's shell, it also
# inherits that client's variables.
OWN_SIGN = "CLAUDE_CODE_ENTRYPOINT"
# Pairs of fields that occur together only in events of one client, with the client's key.
FIELDS = (("turn_id", "model", "codex"), ("cursor_version", "conversation_id", "cursor"))
# Prefixes of transcript file names, with the client's key.
TRANSCRIPTS = (("rollout-", "codex"),)


class Client(NamedTuple):
    """A client, and how this package treats it differently from Claude Code."""

    key: str = "claude-code"
    name: str = "Claude Code"
    assistant: str = "Claude"  # the assistant's name in notices
    memory_file: str = "MEMORY.md"  # file of records that it shows to its model; '': none
    transcripts: str = "claude-code"  # a format of `clients.transcripts`; '': they are not read
    # Its names, mapped to Claude Code's names, which all other code uses.
    events: Mapping[str, str] = {}
    tools: Mapping[str, str] = {}
    fields: Mapping[str, str] = {}
    form: str = "claude"  # the format of its replies (`clients.adapter`)
    asks: bool = True  # A hook can make it ask the user before a tool call.
    summarises: bool = True  # Its summariser reads PreCompact's output.
    unheard: frozenset[str] = frozenset()  # events in whose replies the model sees no context
    # Environment variable with the folder in which the session was started; '': the event has it.
    project_variable: str = "CLAUDE_PROJECT_DIR"
    mark: Mapping[str, str] = {}  # added to the evidence of its records, and its sessions' notes
    # Instruction files that it shows to its model: names below the project's root or, with `~`, the
    # user's home; `*` matches any name.
    instructions: tuple[str, ...] = (
        *("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/*"),
        "~/.claude/CLAUDE.md",
    )
    has_skills: bool = True  # This plugin's skills are commands in it.


CLAUDE_CODE = Client()


def key_of(environ: Mapping[str, str], raw: Mapping[str, Any]) -> str:
    """Return the key of the client that sent an event: by the variable that `setup` writes, else by
    the event, else by the client's own variables unless Claude Code inherited them.
    """
    if stated := environ.get(VARIABLE):
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
    signs = SIGNS if OWN_SIGN not in environ else ()
    return next((key for variable, key in signs if variable in environ), CLAUDE_CODE.key)
