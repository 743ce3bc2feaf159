"""Transcripts that clients keep on this machine: their locations and their formats (`CLIENTS`).

- Claude Code: `projects/<folder>/<session>.jsonl` in its configuration folder. Transcripts of
  subagents are left out: no person wrote the prompts, and the session contains the reports.
- Qwen Code: `projects/<folder>/chats/<session>.jsonl`. In release 0.24, entries have Claude Code's
  fields, but the message is in Gemini's form (`parts`).
- Codex: see `clients.codex`.
"""

import os
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, NamedTuple

from memory_fabric.clients import codex
from memory_fabric.clients.table import GEMINI_TOOLS
from memory_fabric.clients.transcript import (
    Head,
    Parse,
    Reading,
    ToolResult,
    ToolUse,
    Turn,
    entries,
    read_on,
    table_in,
    text_in,
    turn_of,
)
from memory_fabric.config import SDK
from memory_fabric.errors import BadInput
from memory_fabric.events import load_object
from memory_fabric.store import files
from memory_fabric.store.conversations.prompts import BY_MACHINE, TYPED

DAY_S = 24 * 3600
# In older releases of Claude Code, the names of subagents' transcripts begin with this.
SUBAGENT = "agent-"
# A line with the session's agent type contains this text within its first bytes.
AGENT_SETTING, MAX_SETTING_BYTES = b'"agent-setting"', 200
DEFAULT_KEPT_DAYS = 30
# In Qwen Code, hooks' text in a user message begins with this.
_OF_HOOKS = "<qwen:user-prompt-submit-context>"
# The texts before and after a command's output in reports of Gemini CLI and Qwen Code.
_OUTPUT, _AFTER_OUTPUT = "\nOutput: ", "\nError: "


def printed_by(report: str) -> str:
    """Return a command's output from a report of Gemini CLI or Qwen Code; other texts unchanged."""
    _, mark, behind = report.partition(_OUTPUT)
    return behind.partition(_AFTER_OUTPUT)[0] if mark else report


def _files_in(root: str, inside: str = "") -> Iterator[str]:
    """Yield the transcripts in each subfolder of `root`, or in the folder `inside` of each."""
    for name in files.names_in(root):
        folder = os.path.join(root, name, inside) if inside else os.path.join(root, name)
        files_ = (file for file in files.names_in(folder) if file.endswith(".jsonl"))
        yield from (os.path.join(folder, file) for file in files_)


def _head(path: str) -> Head | None:
    """Return the head of a transcript of Claude Code or Qwen Code, which have the same fields."""
    at = ""
    for entry in entries(path):
        at = at or text_in(entry, "timestamp")
        if folder := text_in(entry, "cwd"):
            is_attended = not text_in(entry, "entrypoint").startswith(SDK)
            return Head(os.path.basename(path).removesuffix(".jsonl"), folder, at, "", is_attended)
    return None


def _claude_agent(path: str) -> str:
    """Return the agent type of a Claude Code session; '' if no line has it. Raises OSError."""
    with files.open_regular(path) as file:
        for line in file:
            if AGENT_SETTING in line[:MAX_SETTING_BYTES]:
                try:
                    return text_in(load_object(line), "agentSetting")
                except BadInput:
                    continue
    return ""


def _claude_kept_days(root: str) -> int:
    try:
        settings = files.read_json(os.path.join(os.path.dirname(root), "settings.json"))
    except OSError:
        return DEFAULT_KEPT_DAYS
    days: Any = settings.get("cleanupPeriodDays")
    is_number = isinstance(days, int) and not isinstance(days, bool)
    return days if is_number and days > 0 else DEFAULT_KEPT_DAYS


def qwen_turn_of(entry: Mapping[str, Any]) -> Turn | None:
    """Return the turn in an entry of a Qwen Code transcript; None if there is none."""
    kind, message = entry.get("type"), entry.get("message")
    if kind not in ("user", "assistant", "tool_result") or not isinstance(message, dict):
        return None
    if entry.get("isSidechain") is True or entry.get("agentId"):
        return None
    is_typed = not entry.get("subtype") and entry.get("provenance") != "system"
    parts = message.get("parts")
    texts, tools, results = [], [], []
    for part in (p for p in (parts if isinstance(parts, list) else []) if isinstance(p, dict)):
        text = text_in(part, "text")
        is_of_hooks = kind == "user" and text.startswith(_OF_HOOKS)
        if text and part.get("thought") is not True and not is_of_hooks:
            texts.append(text)
        if "functionCall" in part:
            call, name = part["functionCall"], text_in(part["functionCall"], "name")
            known = GEMINI_TOOLS.get(name, name)
            name = known if known in ("Bash", "Write", "Edit") else name
            tools.append(ToolUse(text_in(call, "id"), name, table_in(call, "args")))
        if "functionResponse" in part:
            answer = part["functionResponse"]
            response = table_in(answer, "response")
            error = text_in(response, "error")
            report = printed_by(error or text_in(response, "output"))
            is_error = bool(error) or text_in(entry.get("toolCallResult"), "status") == "error"
            results.append(ToolResult(text_in(answer, "id"), report, is_error))
    turn = Turn(
        uuid=text_in(entry, "uuid"),
        role="assistant" if kind == "assistant" else "user",
        text="\n".join(texts) if kind != "tool_result" else "",
        created_at=text_in(entry, "timestamp"),
        cwd=text_in(entry, "cwd"),
        tools=tuple(tools),
        results=tuple(results),
        session=text_in(entry.get("forkedFrom"), "sessionId") or text_in(entry, "sessionId"),
        origin=TYPED if is_typed or kind != "user" else BY_MACHINE,
    )
    return turn if turn.text or turn.tools or turn.results else None


class Form(NamedTuple):
    """A transcript format: its client's name, and functions that find and read transcripts."""

    name: str
    paths: Callable[[str], Iterator[str]]  # yields paths of sessions, given the client's folder
    head: Callable[[str], Head | None]  # None without a folder; may raise OSError
    parser: Callable[[Head], Parse]  # returns the function that parses entries
    kept_days: Callable[[str], int] = lambda root: 0  # days before the client deletes it; 0: never
    agent: Callable[[str], str] = lambda path: ""  # the session's agent type


CLIENTS: Mapping[str, Form] = {
    "claude-code": Form(
        "Claude Code",
        lambda root: (p for p in _files_in(root) if not os.path.basename(p).startswith(SUBAGENT)),
        _head,
        lambda head: lambda entry, _: turn_of(entry),
        _claude_kept_days,
        _claude_agent,
    ),
    "codex": Form("Codex", codex.paths, codex.head, codex.Parser),
    "qwen": Form(
        "Qwen Code",
        lambda root: _files_in(root, "chats"),
        lambda path: (head := _head(path)) and head._replace(is_attended=True),
        lambda head: lambda entry, _: qwen_turn_of(entry),
    ),
}


class Transcript(NamedTuple):
    """A transcript file of one session."""

    client: str  # a key of CLIENTS
    path: str
    head: Head
    size: int
    changed_s: float
    deleted_s: float = 0.0  # when the client will delete it; 0: never


def find(
    roots: Mapping[str, str], *, agents: bool = False, failed: list[str] | None = None
) -> Iterator[Transcript]:
    """Yield the transcripts of all conversations in the clients' folders, each file only once.

    With `agents`, agent types are looked up, too. Errors are appended to `failed` as messages.
    """
    seen: set[tuple[int, int]] = set()
    for client, root in roots.items():
        form = CLIENTS[client]
        days = form.kept_days(root)
        for path in form.paths(root):
            try:
                if os.path.islink(path):
                    path = os.path.realpath(path)  # The session id is the target's file name.
                status = os.stat(path)
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
                head = form.head(path) if status.st_size else None
                if head is not None and agents:
                    head = head._replace(agent=form.agent(path))
            except FileNotFoundError:
                continue  # deleted meanwhile
            except OSError as error:
                if failed is not None:
                    failed.append(f"{path}: {error.strerror or error}")
                continue
            if head is not None:
                deleted_s = status.st_mtime + days * DAY_S if days else 0.0
                yield Transcript(client, path, head, status.st_size, status.st_mtime, deleted_s)


def earlier(roots: Mapping[str, str], without: Container[str]) -> dict[str, int]:
    """Count the sessions whose path is not in `without`, by client name; no file is opened."""
    numbers = {}
    for client, root in roots.items():
        form = CLIENTS[client]
        if number := sum(p not in without and files.size_of(p) > 0 for p in form.paths(root)):
            numbers[form.name] = number
    return numbers


class Reader:
    """A function like `read_on` for one transcript; the object also counts bad lines in `bad`."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript, self.bad, self.trouble = transcript, 0, ""

    def __call__(
        self, path: str, offset: int, mark: str, max_bytes: int, *, max_said: int
    ) -> Reading:
        parse = CLIENTS[self._transcript.client].parser(self._transcript.head)
        reading = read_on(path, offset, mark, max_bytes, max_said=max_said, parse=parse)
        self.bad += reading.bad
        self.trouble = reading.trouble or self.trouble
        # Errors are reported at the end of the run, not as notices of a session.
        return reading._replace(bad=0, trouble="")


def head_of(form: str, path: str) -> Head | None:
    """Return the head of a transcript; None if it has none yet, or if the format is unknown."""
    if form not in CLIENTS or not path:
        return None
    try:
        return CLIENTS[form].head(path)
    except (OSError, ValueError):  # ValueError: the path contains NUL
        return None


def read_running(
    form: str, path: str, offset: int, mark: str, max_bytes: int, *, max_said: int
) -> Reading:
    """Read the next part of a running session's transcript; no turns if the format is unknown."""
    head = head_of(form, path)
    if head is None:
        return Reading([], offset, mark=mark)
    parse = CLIENTS[form].parser(head)
    return read_on(path, offset, mark, max_bytes, max_said=max_said, parse=parse)
