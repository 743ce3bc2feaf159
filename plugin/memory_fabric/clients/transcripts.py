"""Transcripts that clients store on this machine: their locations and formats (`CLIENTS`).

- Claude Code: `projects/<folder>/<session>.jsonl` in its configuration folder. Transcripts of
  subagents are left out: no person wrote their prompts, and the session contains their reports.
- Qwen Code: `projects/<folder>/chats/<session>.jsonl`. In release 0.24, entries have Claude Code's
  fields, but messages have Gemini's form (`parts`).
- Codex: `sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl` below CODEX_HOME, with lines of
  `{timestamp, type, payload}`. In release 0.169, messages with the role user also contain text that
  the client added. The user's text is therefore read from events: `item_completed`, or
  `user_message` in older releases.
"""

import os
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, NamedTuple

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
from memory_fabric.events import is_machine_text, load_object
from memory_fabric.store import files
from memory_fabric.store.conversations.prompts import BY_MACHINE, TYPED

DAY_S = 24 * 3600
# The prefix of the file names of subagents' transcripts in older releases of Claude Code.
SUBAGENT = "agent-"
# The line with the agent type contains AGENT_SETTING in its first MAX_SETTING_BYTES bytes.
AGENT_SETTING, MAX_SETTING_BYTES = b'"agent-setting"', 200
DEFAULT_KEPT_DAYS = 30
# The texts before and after a command's output in Gemini CLI's and Qwen Code's reports.
_OUTPUT, _AFTER_OUTPUT = "\nOutput: ", "\nError: "
# Codex's tool for applying patches, and the prefixes of a patch's lines that name files.
PATCH, _BEGIN = "apply_patch", "*** Begin Patch"
_CHANGES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
# The length of a Codex session's id, a UUID at the end of the transcript's file name.
ID_CHARS = 36
SHELLS = frozenset(("exec_command", "shell", "shell_command", "local_shell", "container.exec"))


def printed_by(report: str) -> str:
    """Extract a command's output from Gemini CLI's or Qwen Code's report; other text is kept."""
    _, mark, behind = report.partition(_OUTPUT)
    return behind.partition(_AFTER_OUTPUT)[0] if mark else report


def _files_in(root: str, inside: str = "") -> Iterator[str]:
    for name in files.names_in(root):
        folder = os.path.join(root, name, inside) if inside else os.path.join(root, name)
        files_ = (file for file in files.names_in(folder) if file.endswith(".jsonl"))
        yield from (os.path.join(folder, file) for file in files_)


def _head(path: str) -> Head | None:
    at = ""
    for entry in entries(path):
        at = at or text_in(entry, "timestamp")
        if folder := text_in(entry, "cwd"):
            is_attended = not text_in(entry, "entrypoint").startswith(SDK)
            return Head(os.path.basename(path).removesuffix(".jsonl"), folder, at, "", is_attended)
    return None


def _claude_agent(path: str) -> str:
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
    """Return the turn in an entry of a Qwen Code transcript, or None."""
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
        # In Qwen Code, text that hooks added to a user message begins with this.
        is_of_hooks = kind == "user" and text.startswith("<qwen:user-prompt-submit-context>")
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


def changed_files(patch: str) -> list[str]:
    """Return the paths that a patch adds, changes, deletes, or moves from or to, each once."""
    lines = (line.strip() for line in patch.splitlines())
    paths = (line[len(c) :].strip() for line in lines for c in _CHANGES if line.startswith(c))
    return list(dict.fromkeys(path for path in paths if path))


def patch_in(tool: str, command: str) -> str:
    """Return `command` if `tool` is PATCH, or if it is a shell call of `apply_patch`; else ''."""
    if tool == PATCH or (command.lstrip().startswith((PATCH, "applypatch")) and _BEGIN in command):
        return command
    return ""


def _codex_paths(root: str) -> Iterator[str]:
    for folder in ("sessions", "archived_sessions"):
        for inside, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            for name in sorted(names):
                if name.startswith("rollout-") and name.endswith(".jsonl"):
                    yield os.path.join(inside, name)


def _codex_head(path: str) -> Head | None:
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


def _codex_parser(head: Head) -> Parse:
    """Return a parser for a session's entries in order: it remembers the folder and last prompt."""
    folder, typed = head.folder, ""

    def parse(entry: Mapping[str, Any], at: int) -> Turn | None:
        nonlocal folder, typed
        payload, kind, turn = entry.get("payload"), entry.get("type"), None
        if not isinstance(payload, dict):
            return None
        if kind == "turn_context":
            folder = text_in(payload, "cwd") or folder
        elif kind == "event_msg":
            turn = _typed_turn(payload)
            if turn is None or not turn.text or turn.text == typed:
                return None  # no message, or a repetition: some releases write each message twice
            typed = turn.text
        elif kind == "response_item":
            turn = _answered_turn(payload, folder)
            typed = "" if turn else typed
        # An id shorter than a UUID is unique only within an answer: use session and offset instead.
        return turn and turn._replace(
            uuid=turn.uuid if len(turn.uuid) >= ID_CHARS else f"{head.session}:{at}",
            created_at=text_in(entry, "timestamp"),
            cwd=folder,
            session=head.session,
        )

    return parse


def _typed_turn(payload: Mapping[str, Any]) -> Turn | None:
    item, kind, origin = payload.get("item"), text_in(payload, "type"), TYPED
    if kind == "user_message":
        text = text_in(payload, "message")
        origin = TYPED if text_in(payload, "kind") in ("", "plain") else BY_MACHINE
    elif kind == "item_completed" and text_in(item, "type") == "UserMessage":
        text = _codex_texts(item.get("content") if isinstance(item, dict) else None)
    else:
        return None
    origin = BY_MACHINE if is_machine_text(text) else origin
    return Turn(text_in(item, "id"), "user", text, origin=origin)


def _answered_turn(payload: Mapping[str, Any], folder: str) -> Turn | None:
    kind, call = text_in(payload, "type"), text_in(payload, "call_id")
    if kind == "message" and payload.get("role") == "assistant":
        text = _codex_texts(payload.get("content"))
        return Turn(text_in(payload, "id"), "assistant", text) if text else None
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        tools = _codex_tools(kind, payload, call, folder)
        return Turn("", "assistant", tools=tools) if tools else None
    if kind in ("function_call_output", "custom_tool_call_output"):
        text, is_error = _codex_result(payload.get("output"))
        return Turn("", "user", results=(ToolResult(call, text, is_error),))
    return None


def _codex_tools(
    kind: str, payload: Mapping[str, Any], call: str, folder: str
) -> tuple[ToolUse, ...]:
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
            words = [str(word) for word in command]
            is_shell = len(words) == 3 and words[1] in ("-lc", "-c")
            command = words[2] if is_shell else " ".join(words)
        patch = patch_in(name, str(command))
        if not patch:
            return (ToolUse(call, "Bash", {"command": str(command)}),)
    else:
        return (ToolUse(call, name, arguments),) if name else ()
    # Paths in a patch are relative to the working folder.
    paths = [os.path.join(folder, file) for file in changed_files(patch)]
    return tuple(ToolUse(call, "Edit", {"file_path": path}) for path in paths)


def _codex_result(output: object) -> tuple[str, bool]:
    if isinstance(output, list):
        return _codex_texts(output), False
    if isinstance(output, dict):
        return text_in(output, "content"), output.get("success") is False
    text = output if isinstance(output, str) else ""
    if text.startswith("{"):
        value = files.parsed(text) or {}
        if "output" in value:
            code = table_in(value, "metadata").get("exit_code")
            return text_in(value, "output"), code not in (None, 0)
    head, mark, printed = text.partition("\nOutput:\n")
    for line in head.splitlines():
        for words in ("Process exited with code ", "Exit code: "):
            if line.startswith(words):
                return printed if mark else text, line[len(words) :].strip() != "0"
    return text, text.startswith(("unsupported ", "apply_patch verification failed"))


def _codex_texts(content: object) -> str:
    blocks = content if isinstance(content, list) else []
    return "\n".join(text for block in blocks if (text := text_in(block, "text")))


class Form(NamedTuple):
    """A transcript format: its client's name, and functions that find and read transcripts."""

    name: str
    paths: Callable[[str], Iterator[str]]  # yields transcript paths for a client's folder
    head: Callable[[str], Head | None]  # None if the session has no folder; may raise OSError
    parser: Callable[[Head], Parse]  # returns a function that parses entries
    kept_days: Callable[[str], int] = lambda root: 0  # days until transcripts are deleted; 0: never
    agent: Callable[[str], str] = lambda path: ""  # returns the session's agent type


CLIENTS: Mapping[str, Form] = {
    "claude-code": Form(
        "Claude Code",
        lambda root: (p for p in _files_in(root) if not os.path.basename(p).startswith(SUBAGENT)),
        _head,
        lambda head: lambda entry, _: turn_of(entry),
        _claude_kept_days,
        _claude_agent,
    ),
    "codex": Form("Codex", _codex_paths, _codex_head, _codex_parser),
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
    deleted_s: float = 0.0  # when the client will delete the file (epoch seconds); 0: never


def find(
    roots: Mapping[str, str], *, agents: bool = False, failed: list[str] | None = None
) -> Iterator[Transcript]:
    """Yield the transcripts of all conversations in `roots` ({client key: folder}), each file once.
    If `agents`, also look up each session's agent type. Skip files that cannot be read, and append
    an error message for each to `failed`, if given.
    """
    seen: set[tuple[int, int]] = set()
    for client, root in roots.items():
        form = CLIENTS[client]
        days = form.kept_days(root)
        for path in form.paths(root):
            try:
                if os.path.islink(path):
                    path = os.path.realpath(path)  # The link's own name may lack the session id.
                status = os.stat(path)
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
                head = form.head(path) if status.st_size else None
                if head is not None and agents:
                    head = head._replace(agent=form.agent(path))
            except FileNotFoundError:
                continue  # the file was deleted meanwhile
            except OSError as error:
                if failed is not None:
                    failed.append(f"{path}: {error.strerror or error}")
                continue
            if head is not None:
                deleted_s = status.st_mtime + days * DAY_S if days else 0.0
                yield Transcript(client, path, head, status.st_size, status.st_mtime, deleted_s)


def earlier(roots: Mapping[str, str], without: Container[str]) -> dict[str, int]:
    """Count the nonempty transcripts not in `without`, by client name; no file is opened."""
    numbers = {}
    for client, root in roots.items():
        form = CLIENTS[client]
        if number := sum(p not in without and files.size_of(p) > 0 for p in form.paths(root)):
            numbers[form.name] = number
    return numbers


class Reader:
    """A callable that reads parts of one transcript, and counts its bad lines in `bad`."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript, self.bad, self.trouble = transcript, 0, ""

    def __call__(
        self, path: str, offset: int, mark: str, max_bytes: int, *, max_said: int
    ) -> Reading:
        parse = CLIENTS[self._transcript.client].parser(self._transcript.head)
        reading = read_on(path, offset, mark, max_bytes, max_said=max_said, parse=parse)
        self.bad += reading.bad
        self.trouble = reading.trouble or self.trouble
        # `memory-fabric learn` reports this reader's `bad` and `trouble` later, so clear them here.
        return reading._replace(bad=0, trouble="")


def head_of(form: str, path: str) -> Head | None:
    """Return a transcript's session data; None if it has none yet, or if its format is unknown."""
    if form not in CLIENTS or not path:
        return None
    try:
        return CLIENTS[form].head(path)
    except (OSError, ValueError):  # ValueError: the path contains NUL
        return None


def read_running(
    form: str, path: str, offset: int, mark: str, max_bytes: int, *, max_said: int
) -> Reading:
    """Read a running session's transcript like `read_on`; no turns if its format is unknown."""
    head = head_of(form, path)
    if head is None:
        return Reading([], offset, mark=mark)
    parse = CLIENTS[form].parser(head)
    return read_on(path, offset, mark, max_bytes, max_said=max_said, parse=parse)
