"""Traits that differ between clients, the programs that run the hooks. `clients.table` has one row
for each client. An event's client is determined once, when the event is parsed (`key_of`). Most
other code reads the client's traits from `Settings.client`, and does not test which client it is.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

# An environment variable with the client's key, which `setup` sets in other clients' hooks.
VARIABLE = "MEMORY_FABRIC_CLIENT"
# Environment variables that only one client sets for its hooks, with that client's key. Qwen Code
# is a fork of Gemini CLI and also sets Gemini's variable, so it comes first.
SIGNS = (
    ("QWEN_PROJECT_DIR", "qwen"), ("GEMINI_PROJECT_DIR", "gemini"),
    ("FACTORY_PROJECT_DIR", "factory"), ("CODEBUDDY_PROJECT_DIR", "codebuddy"),
)  # fmt: skip
# Claude Code sets this for its hooks. If it is set, SIGNS are ignored: they can then only come from
# another client, in whose shell Claude Code was started.
OWN_SIGN = "CLAUDE_CODE_ENTRYPOINT"
# Pairs of fields that occur together only in one client's events, with that client's key.
FIELDS = (("turn_id", "model", "codex"), ("cursor_version", "conversation_id", "cursor"))
# The prefix of a transcript's file name, with the key of the client that writes it.
TRANSCRIPTS = (("rollout-", "codex"),)


class Client(NamedTuple):
    """The traits of a client; the default values are Claude Code's."""

    key: str = "claude-code"
    name: str = "Claude Code"
    assistant: str = "Claude"  # the assistant's name in notices
    memory_file: str = "MEMORY.md"  # file that the client shows to its model; '' if none
    transcripts: str = "claude-code"  # transcript format (`clients.transcripts`); '' if unsupported
    # Map the client's names of events, tools and fields to Claude Code's, which other code uses.
    events: Mapping[str, str] = {}
    tools: Mapping[str, str] = {}
    fields: Mapping[str, str] = {}
    form: str = "claude"  # the format of replies (`clients.adapter`)
    asks: bool = True  # A hook can request the user's approval of a tool call.
    summarises: bool = True  # The client passes PreCompact's output to its summariser.
    unheard: frozenset[str] = frozenset()  # events whose replies cannot add to the model's context
    # The environment variable with the session's start folder; if '', the event's `cwd` is used.
    project_variable: str = "CLAUDE_PROJECT_DIR"
    mark: Mapping[str, str] = {}  # {"client": key} for records' evidence and session data, or {}
    # Instruction files that the client shows to its model: paths in the project's root or, with
    # `~`, in the user's home; `*` matches any name.
    instructions: tuple[str, ...] = (
        *("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/*"),
        "~/.claude/CLAUDE.md",
    )
    has_skills: bool = True  # The client can run this plugin's skills as commands.


CLAUDE_CODE = Client()


def key_of(environ: Mapping[str, str], raw: Mapping[str, Any]) -> str:
    """Return the key of the client that sent the event `raw`, such as "codex". The environment
    variable VARIABLE states it. Without it, infer the key from the event's fields, the transcript's
    name or other variables (SIGNS), in this order; if nothing matches, it is Claude Code's.
    """
    if stated := environ.get(VARIABLE):
        return stated
    path = raw.get("transcript_path")
    name = path.replace("\\", "/").rpartition("/")[2] if isinstance(path, str) else ""
    keys = [key for first, second, key in FIELDS if first in raw and second in raw]
    keys += [key for beginning, key in TRANSCRIPTS if name.startswith(beginning)]
    signs = SIGNS if OWN_SIGN not in environ else ()
    keys += [key for variable, key in signs if variable in environ]
    return keys[0] if keys else CLAUDE_CODE.key
