"""Claude Code's transcripts: `projects/<folder>/<session>.jsonl` in its config folder.

Those of subagents (`<session>/subagents/`) are left out, as live: a subagent's report stands in its
session's own transcript as the result of a tool, and what it was told is no person's word.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memory_fabric.clients.claude_code.transcript import turn_of
from memory_fabric.clients.head import Head, entries, text_in
from memory_fabric.config import SDK
from memory_fabric.errors import BadInput
from memory_fabric.events import load_object
from memory_fabric.store import files

if TYPE_CHECKING:
    from memory_fabric.clients.claude_code.transcript import Turn

NAME = "Claude Code"
# Subagents of older releases, beside the sessions.
SUBAGENT = "agent-"
# The start of an entry that names the session's type of agent.
AGENT_SETTING, MAX_SETTING_BYTES = b'"agent-setting"', 200
DEFAULT_KEPT_DAYS = 30


def paths(root: str) -> Iterator[str]:
    """Yield the paths of all sessions' transcripts below the client's folder `projects`."""
    for folder in _names(root):
        inside = os.path.join(root, folder)
        for name in _names(inside):
            if name.endswith(".jsonl") and not name.startswith(SUBAGENT):
                yield os.path.join(inside, name)


def head(path: str) -> Head | None:
    """Return the head of a transcript; None if no entry names a folder. Raises OSError."""
    folder = at = ""
    is_attended = True
    for entry in entries(path):
        at = at or text_in(entry, "timestamp")
        folder = text_in(entry, "cwd")
        if folder:
            is_attended = not text_in(entry, "entrypoint").startswith(SDK)
            break
    session = os.path.basename(path).removesuffix(".jsonl")
    return Head(session, folder, at, "", is_attended) if folder else None


def agent(path: str) -> str:
    """Return the type of agent that the session runs as, '' without one. Raises OSError.

    The client writes it again from time to time; the whole file is searched.
    """
    with files.open_regular(path) as file:
        for line in file:
            if AGENT_SETTING in line[:MAX_SETTING_BYTES]:
                try:
                    return text_in(load_object(line), "agentSetting")
                except BadInput:
                    continue
    return ""


def parser(head: Head) -> Callable[[Mapping[str, Any], int], Turn | None]:
    """Return the function that makes a turn of an entry."""
    return lambda entry, _: turn_of(entry)


def kept_days(root: str) -> int:
    """Return the days for which the client keeps a transcript after its last change."""
    try:
        table = files.read_json(os.path.join(os.path.dirname(root), "settings.json"))
    except OSError:
        table = {}
    stated = table.get("cleanupPeriodDays")
    if isinstance(stated, int) and not isinstance(stated, bool) and stated > 0:
        return stated
    return DEFAULT_KEPT_DAYS


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
