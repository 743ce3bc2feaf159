"""Parsers of Codex CLI's patches, and of its transcripts below CODEX_HOME:
`sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`, with lines of `{timestamp, type, payload}`.

In release 0.169, messages of the role user also contain text that the client added. The user's text
is therefore read from events: `item_completed`, or `user_message` in older releases.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from memory_fabric.clients.transcript import (
    Head,
    ToolResult,
    ToolUse,
    Turn,
    entries,
    table_in,
    text_in,
)
from memory_fabric.events import is_machine_text
from memory_fabric.store import files
from memory_fabric.store.conversations.prompts import BY_MACHINE, TYPED

PATCH = "apply_patch"
_BEGIN = "*** Begin Patch"
_CHANGES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
# Codex may move finished sessions to the second folder.
FOLDERS = ("sessions", "archived_sessions")
# The length of a session's id, a UUID, with which the file's name ends.
ID_CHARS = 36
SHELLS = frozenset(("exec_command", "shell", "shell_command", "local_shell", "container.exec"))
_EXITED = ("Process exited with code ", "Exit code: ")
_OUTPUT = "\nOutput:\n"
_REFUSED = ("unsupported ", "apply_patch verification failed")


def changed_files(patch: str) -> list[str]:
    """Return the paths of the files that a patch adds, changes, deletes or moves, each once."""
    lines = (line.strip() for line in patch.splitlines())
    paths = (line[len(c) :].strip() for line in lines for c in _CHANGES if line.startswith(c))
    return list(dict.fromkeys(path for path in paths if path))


def patch_in(tool: str, command: str) -> str:
    """Return the patch that a tool call or shell command applies; '' if it applies none."""
    if tool == PATCH or (command.lstrip().startswith((PATCH, "applypatch")) and _BEGIN in command):
        return command
    return ""


def paths(root: str) -> Iterator[str]:
    """Yield the paths of all transcripts ("rollouts") below the folder CODEX_HOME."""
    for folder in FOLDERS:
        for inside, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            for name in sorted(names):
                if name.startswith("rollout-") and name.endswith(".jsonl"):
                    yield os.path.join(inside, name)


def head(path: str) -> Head | None:
    """Return a transcript's head; None for subagents or without a folder. Raises OSError."""
    for entry in entries(path):
        if entry.get("type") == "session_meta":
            meta = table_in(entry, "payload")
            source, folder = meta.get("source"), text_in(meta, "cwd")
            is_subagent = isinstance(source, dict) and "subagent" in source
            if is_subagent or text_in(meta, "thread_source") == "subagent" or not folder:
                return None
            id_in_name = os.path.basename(path).removesuffix(".jsonl")[-ID_CHARS:]
            at = text_in(meta, "timestamp") or text_in(entry, "timestamp")
            return Head(text_in(meta, "id") or id_in_name, folder, at, "", source != "exec")
    return None


class Parser:
    """A parser that returns the turns of a session; its entries must be passed in order."""

    def __init__(self, head: Head) -> None:
        self._head, self._folder, self._typed = head, head.folder, ""

    def __call__(self, entry: Mapping[str, Any], at: int) -> Turn | None:
        """Return the turn in an entry, or None. `at` is the offset of the entry's line."""
        payload, kind, turn = entry.get("payload"), entry.get("type"), None
        if not isinstance(payload, dict):
            return None
        if kind == "turn_context":
            self._folder = text_in(payload, "cwd") or self._folder
        elif kind == "event_msg":
            turn = self._typed_turn(payload)
        elif kind == "response_item":
            turn = _answered_turn(payload, self._folder)
            self._typed = "" if turn else self._typed
        if turn is None:
            return None
        return turn._replace(
            # Shorter ids are unique only within one answer, so the offset replaces them.
            uuid=turn.uuid if len(turn.uuid) >= ID_CHARS else f"{self._head.session}:{at}",
            created_at=text_in(entry, "timestamp"),
            cwd=self._folder,
            session=self._head.session,
        )

    def _typed_turn(self, payload: Mapping[str, Any]) -> Turn | None:
        item, kind = payload.get("item"), text_in(payload, "type")
        if kind == "user_message":
            text = text_in(payload, "message")
            origin = TYPED if text_in(payload, "kind") in ("", "plain") else BY_MACHINE
        elif kind == "item_completed" and text_in(item, "type") == "UserMessage":
            text = _texts(item.get("content") if isinstance(item, dict) else None)
            origin = TYPED
        else:
            return None
        if not text or text == self._typed:
            return None  # Some releases write an event of each kind for one message.
        self._typed = text
        origin = BY_MACHINE if is_machine_text(text) else origin
        return Turn(text_in(item, "id"), "user", text, origin=origin)


def _answered_turn(payload: Mapping[str, Any], folder: str) -> Turn | None:
    kind, call = text_in(payload, "type"), text_in(payload, "call_id")
    if kind == "message" and payload.get("role") == "assistant":
        text = _texts(payload.get("content"))
        return Turn(text_in(payload, "id"), "assistant", text) if text else None
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        tools = _tools(kind, payload, call, folder)
        return Turn("", "assistant", tools=tools) if tools else None
    if kind in ("function_call_output", "custom_tool_call_output"):
        text, is_error = _result(payload.get("output"))
        return Turn("", "user", results=(ToolResult(call, text, is_error),))
    return None


def _tools(kind: str, payload: Mapping[str, Any], call: str, folder: str) -> tuple[ToolUse, ...]:
    name = text_in(payload, "name")
    if kind == "local_shell_call":
        name, arguments = "local_shell", table_in(payload, "action")
    else:
        arguments = files.parsed(text_in(payload, "arguments")) or {}
    if name == PATCH:
        patch = text_in(payload, "input") or text_in(arguments, "input")
    elif name in SHELLS:
        command = arguments.get("cmd") or arguments.get("command") or ""
        if isinstance(command, list):
            # for example ["bash", "-lc", "the command"]
            words = [str(word) for word in command]
            is_shell = len(words) == 3 and words[1] in ("-lc", "-c")
            command = words[2] if is_shell else " ".join(words)
        patch = patch_in(name, str(command))
        if not patch:
            return (ToolUse(call, "Bash", {"command": str(command)}),)
    else:
        return (ToolUse(call, name, arguments),) if name else ()
    # A patch has paths relative to the working folder.
    paths = [os.path.join(folder, file) for file in changed_files(patch)]
    return tuple(ToolUse(call, "Edit", {"file_path": path}) for path in paths)


def _result(output: object) -> tuple[str, bool]:
    if isinstance(output, list):
        return _texts(output), False
    if isinstance(output, dict):
        return text_in(output, "content"), output.get("success") is False
    text = output if isinstance(output, str) else ""
    if text.startswith("{"):
        value = files.parsed(text) or {}
        if "output" in value:
            code = table_in(value, "metadata").get("exit_code")
            return text_in(value, "output"), code not in (None, 0)
    head, mark, printed = text.partition(_OUTPUT)
    for line in head.splitlines():
        for words in _EXITED:
            if line.startswith(words):
                return printed if mark else text, line[len(words) :].strip() != "0"
    return text, text.startswith(_REFUSED)


def _texts(content: object) -> str:
    blocks = content if isinstance(content, list) else []
    return "\n".join(text for block in blocks if (text := text_in(block, "text")))
