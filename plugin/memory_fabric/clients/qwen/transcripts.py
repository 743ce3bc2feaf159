"""Qwen Code's transcripts: `projects/<folder>/chats/<session>.jsonl` in its folder.

Measured with release 0.24: Claude Code's fields around a message of Gemini's form (`parts`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memory_fabric.clients.claude_code.transcript import ToolResult, ToolUse, Turn
from memory_fabric.clients.head import Head, entries, text_in
from memory_fabric.store.conversations.prompts import BY_MACHINE, TYPED

NAME = "Qwen Code"
# Claude Code's names of its tools. `replace` is the older name of `edit`.
TOOLS = {"run_shell_command": "Bash", "write_file": "Write", "edit": "Edit", "replace": "Edit"}
# Opens the part of a user's message that holds what hooks added.
_OF_HOOKS = "<qwen:user-prompt-submit-context>"
_OUTPUT, _AFTER_OUTPUT = "\nOutput: ", "\nError: "


def paths(root: str) -> Iterator[str]:
    """Yield the paths of all sessions' transcripts below the client's folder `projects`."""
    for project in _names(root):
        inside = os.path.join(root, project, "chats")
        for name in _names(inside):
            if name.endswith(".jsonl"):
                yield os.path.join(inside, name)


def head(path: str) -> Head | None:
    """Return the head of a transcript; None if no entry names a folder. Raises OSError."""
    session = os.path.basename(path).removesuffix(".jsonl")
    for entry in entries(path):
        if folder := text_in(entry, "cwd"):
            return Head(session, folder, text_in(entry, "timestamp"))
    return None


def agent(path: str) -> str:
    """Return '': no session runs as an agent."""
    return ""


def parser(head: Head) -> Callable[[Mapping[str, Any], int], Turn | None]:
    """Return the function that makes a turn of an entry."""
    return lambda entry, _: turn_of(entry)


def kept_days(root: str) -> int:
    """Return 0: the client deletes no session by itself."""
    return 0


def turn_of(entry: Mapping[str, Any]) -> Turn | None:
    """Return the turn in an entry of a transcript; None if it has none."""
    kind, message = entry.get("type"), entry.get("message")
    if kind not in ("user", "assistant", "tool_result") or not isinstance(message, dict):
        return None
    if entry.get("isSidechain") is True or entry.get("agentId"):
        return None
    is_typed = not entry.get("subtype") and entry.get("provenance") != "system"
    parts = message.get("parts")
    blocks = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    said = [
        text
        for part in blocks
        if part.get("thought") is not True
        and (text := text_in(part, "text"))
        and not (kind == "user" and text.startswith(_OF_HOOKS))
    ]
    forked = entry.get("forkedFrom")
    turn = Turn(
        uuid=text_in(entry, "uuid"),
        role="assistant" if kind == "assistant" else "user",
        text="\n".join(said) if kind != "tool_result" else "",
        created_at=text_in(entry, "timestamp"),
        cwd=text_in(entry, "cwd"),
        tools=tuple(_tool(part["functionCall"]) for part in blocks if "functionCall" in part),
        results=tuple(
            _result(part["functionResponse"], entry)
            for part in blocks
            if "functionResponse" in part
        ),
        session=text_in(forked, "sessionId") or text_in(entry, "sessionId"),
        origin=TYPED if is_typed or kind != "user" else BY_MACHINE,
    )
    return turn if turn.text or turn.tools or turn.results else None


def _tool(call: object) -> ToolUse:
    given = call.get("args") if isinstance(call, dict) else None
    name = text_in(call, "name")
    return ToolUse(
        text_in(call, "id"), TOOLS.get(name, name), given if isinstance(given, dict) else {}
    )


def _result(answer: object, entry: Mapping[str, Any]) -> ToolResult:
    said = answer.get("response") if isinstance(answer, dict) else None
    error = text_in(said, "error")
    text = error or text_in(said, "output")
    _, mark, rest = text.partition(_OUTPUT)
    output = rest.partition(_AFTER_OUTPUT)[0] if mark else text
    status = text_in(entry.get("toolCallResult"), "status")
    return ToolResult(text_in(answer, "id"), output, bool(error) or status == "error")


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
