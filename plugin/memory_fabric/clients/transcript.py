"""Read the turns of a session's transcript, continuing where the last reading ended. A transcript
has one JSON object per line, by default in Claude Code's format.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

from memory_fabric import deadline
from memory_fabric.client import CLAUDE_CODE
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput
from memory_fabric.events import RUNNING, SCHEDULED, answers_in, is_machine_text, load_object
from memory_fabric.store import files
from memory_fabric.store.conversations.prompts import BY_MACHINE, CHOSEN, TYPED

# The maximum size of one reading, and of one line; longer lines are skipped and counted as bad.
MAX_BYTES = MAX_LINE_BYTES = 8 << 20
# How much is read to find a session's `Head`, which may come after other data of the client.
MAX_HEAD_BYTES, MAX_HEAD_LINES = 2 << 20, 200
# The size of the chunks when a file is read backwards from its end.
TAIL_BYTES = 128 << 10
# An overlong line is skipped in chunks of SKIPPED_BYTES, at most MAX_SKIPPED_BYTES per reading.
SKIPPED_BYTES, MAX_SKIPPED_BYTES = 1 << 20, 256 << 20
MISSING, UNREADABLE, REPLACED = "missing", "unreadable", "replaced"
# Flags of entries that are not part of the conversation, or that repeat parts of it.
SKIPPED_FLAGS = ("isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
# MARKS are the fields that show who wrote a prompt. The listed values mean a person, or a program
# acting for a person; any other value means an automatic prompt. A prompt without these fields
# counts as a person's only if the client's release is at most MEASURED, the newest release in which
# the fields were checked (scripts/contract).
MEASURED = (2, 1, 332)
MARKS = {
    "promptSource": ("typed", "queued", "sdk", "suggestion_accepted"),
    "turnOrigin": ("human", "sdk", "unknown"),
    "wakeupSource": (),
}
MACHINE_MARKS = ("system", "scheduled", "schedule_wakeup", "loop_wakeup")
# How many bytes are read from the end of a transcript to find out who sent a prompt.
BEFORE_PROMPT_BYTES = 128 << 10
# The maximum number of subagents per session whose transcripts are read.
MAX_AGENTS = 20


class ToolUse(NamedTuple):
    """A tool call by the assistant."""

    id: str
    name: str
    input: Mapping[str, Any] = {}


class ToolResult(NamedTuple):
    """The result of a tool call, as text; `tool_use_id` is the id of the call."""

    tool_use_id: str
    text: str = ""
    is_error: bool = False


class Turn(NamedTuple):
    """An entry of a conversation. A message of the assistant is stored as one turn per block."""

    uuid: str
    role: str
    text: str = ""
    created_at: str = ""
    cwd: str = ""
    is_sidechain: bool = False
    tools: tuple[ToolUse, ...] = ()
    results: tuple[ToolResult, ...] = ()
    # The id of the session that wrote the entry. A forked session's transcript begins with copies
    # of its parent's entries, but only copies of the assistant's entries have the parent's id.
    session: str = ""
    origin: str = TYPED  # who wrote a user's turn: TYPED, CHOSEN or BY_MACHINE
    answers: tuple[str, ...] = ()  # the user's typed replies to the assistant's questions

    def is_in(self, periods: Iterable[tuple[str, str]]) -> bool:
        """Return True if the entry was written in one of these periods (from, until; ISO 8601)."""
        return any(since <= self.created_at < until for since, until in periods)


# A function that converts an entry, with the offset of its line, to a turn or None.
Parse = Callable[[Mapping[str, Any], int], Turn | None]
# A function that returns a turn as it may be kept, or None if it may not.
Keep = Callable[[Turn], Turn | None]


class Reading(NamedTuple):
    """The result of one reading of a transcript."""

    turns: list[Turn]
    offset: int  # the byte at which the next reading will begin
    bad: int = 0  # the number of bad lines
    mark: str = ""  # a checksum of the bytes just before the offset
    # MISSING or UNREADABLE: nothing was read, and the offset is unchanged. REPLACED: the file was
    # replaced or truncated, so it was read from its start.
    trouble: str = ""
    more: bool = False  # True if a limit was reached before the end of the file
    prompts: tuple[Turn, ...] = ()  # all messages with the role user, even if a machine wrote them


class Head(NamedTuple):
    """A session's id, start folder and time (ISO 8601), agent type, and if a person attends it."""

    session: str
    folder: str
    began_at: str
    agent: str = ""
    is_attended: bool = True


def text_in(table: Any, key: str) -> str:
    """Return the string under `key` in a dict; '' if it is missing or has another type."""
    value = table.get(key) if isinstance(table, dict) else None
    return value if isinstance(value, str) else ""


def table_in(table: Any, key: str) -> dict[str, Any]:
    """Return the dict under `key` in a dict; {} if it is missing or has another type."""
    value = table.get(key) if isinstance(table, dict) else None
    return value if isinstance(value, dict) else {}


def is_clients_own(settings: Settings, path: str) -> bool:
    """Return True if a path is in Claude Code's transcript folder, or if the client is another."""
    if settings.client != CLAUDE_CODE:
        return True
    root = os.path.join(settings.config_dir, "projects")
    norms = (os.path.normpath, os.path.realpath)
    return "\0" not in path and any(n(path).startswith(n(root) + os.sep) for n in norms)


def entries(path: str) -> Iterator[dict[str, Any]]:
    """Yield the valid JSON objects in the first MAX_HEAD_LINES lines of a file. Raises OSError."""
    with files.open_regular(path) as file:
        left = MAX_HEAD_BYTES
        for _ in range(MAX_HEAD_LINES):
            line = file.readline(left)
            left -= len(line)
            if not line.endswith(b"\n"):
                return
            try:
                yield load_object(line)
            except BadInput:
                continue


def read_on(
    path: str,
    offset: int = 0,
    mark: str = "",
    max_bytes: int = MAX_BYTES,
    *,
    max_said: int = MAX_BYTES,
    sidechain: bool = False,
    parse: Parse | None = None,
) -> Reading:
    """Read a transcript's turns from byte `offset` on. `mark` is the checksum from the previous
    reading: if it shows that the file was replaced, read from the start. Read about `max_bytes` of
    the file and `max_said` characters of text, or less if the deadline of the current event passes.
    If a size limit is reached, the result ends before the last prompt, so that the next reading
    returns this prompt together with its answer. If no turn precedes the prompt, the result
    includes it. An incomplete last line is left for the next reading. Lines longer than
    MAX_LINE_BYTES are skipped and counted in `Reading.bad`. `sidechain` includes turns of
    subagents. `parse` is the parser of a format other than Claude Code's.
    """
    try:
        with files.open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            is_same = 0 <= offset <= size and mark in ("", _mark(file, offset))
            start = offset if is_same else 0
            file.seek(start)
            turn_at = parse or (lambda entry, _: any_turn_of(entry, sidechain))
            whole, end, bad, more = _read(file, start, max_bytes, max_said, turn_at)
            turns = [turn for turn in whole if turn.origin != BY_MACHINE]
            prompts = [turn for turn in whole if turn.role == "user" and turn.text]
            prompts += [Turn("", "user", text) for turn in whole for text in turn.answers]
            trouble = "" if is_same else REPLACED
            return Reading(turns, end, bad, _mark(file, end), trouble, more, tuple(prompts))
    except FileNotFoundError:
        return Reading([], offset, mark=mark, trouble=MISSING)
    except (OSError, ValueError):  # ValueError: the path contains NUL
        return Reading([], offset, mark=mark, trouble=UNREADABLE)


def _mark(file: BinaryIO, offset: int) -> str:
    if offset <= 0:
        return ""
    from zlib import crc32  # imported late: hooks for prompts do not need it

    # These bytes are enough to detect that the file was replaced.
    start = max(0, offset - 64)
    file.seek(start)
    return f"{crc32(file.read(offset - start)):08x}"


def _read(
    file: BinaryIO, offset: int, max_bytes: int, max_said: int, parse: Parse
) -> tuple[list[Turn], int, int, bool]:
    """Return the turns, the new offset, the number of bad lines, and whether more may follow."""
    turns: list[Turn] = []
    bad, chars, end, limit = 0, 0, offset + max_bytes, deadline.current()
    # The turn count, offset and bad-line count before the last prompt, in case a limit is reached.
    whole = 0, 0, 0
    while not (limit.is_limited and limit.is_over()):
        if (offset >= end or chars >= max_said) and file.read(1):
            count, offset, bad = whole if whole[0] else (len(turns), offset, bad)
            return turns[:count], offset, bad, True
        line = file.readline(MAX_LINE_BYTES)
        if not line.endswith(b"\n"):
            skipped = _length_to_line_end(file) if len(line) == MAX_LINE_BYTES else 0
            if skipped:
                offset, bad = offset + len(line) + skipped, bad + 1
            return turns, offset, bad, skipped > 0
        at, offset = offset, offset + len(line)
        try:
            turn = parse(load_object(line), at) if line.strip() else None
        except BadInput:
            bad += 1
            continue
        if turn is not None:
            if turn.role == "user" and turn.text and turn.origin != BY_MACHINE:
                whole = len(turns), at, bad
            turns.append(turn)
            chars += len(turn.text)
    return turns, offset, bad, True


def _length_to_line_end(file: BinaryIO) -> int:
    """Skip the rest of an overlong line and return its length; 0 if the line is incomplete."""
    length, limit = 0, deadline.current()
    while chunk := file.readline(SKIPPED_BYTES):
        length += len(chunk)
        is_late = limit.is_limited and limit.is_over()
        if chunk.endswith(b"\n") or is_late or length >= MAX_SKIPPED_BYTES:
            return length
    return 0


def last_said(
    path: str, most: int, max_bytes: int = MAX_BYTES, keep: Keep = lambda turn: turn
) -> list[tuple[str, str]]:
    """Return (uuid, text) of the assistant's last `most` messages that have text, oldest first, but
    no messages of subagents. Only the last `max_bytes` are read. [] if the file is unreadable.
    """
    messages: list[tuple[str, str, str]] = []
    try:
        for entry in _entries_from_end(path, max_bytes, b'"assistant"'):
            said = turn_of(entry)
            turn = keep(said) if said else None
            if turn is None or not turn.text.strip():
                continue
            message = text_in(entry.get("message"), "id") or turn.uuid
            if messages and messages[-1][0] == message:  # another block of the same message
                messages[-1] = (message, messages[-1][1], f"{turn.text}\n{messages[-1][2]}")
            elif len(messages) == most:
                break
            else:
                messages.append((message, turn.uuid, turn.text))
    except (OSError, ValueError):  # ValueError: the path contains NUL
        return []
    return [(uuid, text) for _, uuid, text in reversed(messages)]


def before_prompt(path: str, prompt: str) -> str:
    """Return SCHEDULED, RUNNING or '', depending on the transcript's entries before a prompt.
    SCHEDULED means that a scheduled task sent the prompt. RUNNING means that a tool call has no
    result yet, so the prompt may come from the command that this call runs. '' means neither. Only
    the last BEFORE_PROMPT_BYTES are read; if a longer file has no message there, return RUNNING.
    """
    answered: set[str] = set()
    is_shown = False
    signs = b'"scheduled_task_fire"', b'"message"'
    try:
        for entry in _entries_from_end(path, BEFORE_PROMPT_BYTES, *signs):
            if entry.get("subtype") == "scheduled_task_fire":
                # The entry's text may be cut off, and `prompt` may contain several such texts.
                if text_in(entry, "prompt").strip()[:100] in prompt:
                    return SCHEDULED
                continue
            turn = any_turn_of(entry)
            if turn is None:
                continue
            is_shown = True
            answered.update(result.tool_use_id for result in turn.results)
            if any(tool.id not in answered for tool in turn.tools):
                return RUNNING
            if turn.role == "user" and turn.text:
                break
        return "" if is_shown or os.path.getsize(path) < BEFORE_PROMPT_BYTES else RUNNING
    except (OSError, ValueError):  # the file does not exist yet, or the path contains NUL
        return ""


def _entries_from_end(path: str, max_bytes: int, *signs: bytes) -> Iterator[dict[str, Any]]:
    with files.open_regular(path) as file:
        at = os.fstat(file.fileno()).st_size
        stop, torn = max(0, at - max_bytes), b""
        while at > stop:
            start = max(stop, at - TAIL_BYTES)
            file.seek(start)
            first, *lines = (file.read(at - start) + torn).split(b"\n")
            at, torn = start, first
            lines = [torn, *lines] if at == 0 else lines
            for line in reversed(lines):
                if any(sign in line for sign in signs):
                    try:
                        yield load_object(line)
                    except BadInput:
                        continue


def paths_of_agents(path: str) -> list[str]:
    """Return the transcript paths of a session's subagents, at most the newest MAX_AGENTS."""
    try:
        with os.scandir(os.path.join(path.removesuffix(".jsonl"), "subagents")) as found:
            agents = [(e.stat().st_mtime, e.path) for e in found if e.name.endswith(".jsonl")]
    except (OSError, ValueError):  # ValueError: the path contains NUL
        return []
    return [path for _, path in sorted(agents)[-MAX_AGENTS:]]


def task_of_agent(path: str, agent: str) -> str:
    """Return the id of the tool call that started a subagent; '' if the client did not save it."""
    if not agent or not all(c.isalnum() or c in "-_" for c in agent):
        return ""
    folder = os.path.join(path.removesuffix(".jsonl"), "subagents")
    try:
        with files.open_regular(os.path.join(folder, f"agent-{agent}.meta.json")) as file:
            return text_in(load_object(file.read(64 << 10)), "toolUseId")
    except (OSError, ValueError, BadInput):
        return ""


def turn_of(entry: Mapping[str, Any]) -> Turn | None:
    """Return the turn in a transcript entry; None if there is none or it is an automatic prompt."""
    turn = any_turn_of(entry)
    return turn if turn is not None and turn.origin != BY_MACHINE else None


def any_turn_of(entry: Mapping[str, Any], sidechain: bool = False) -> Turn | None:
    """Return the turn in a transcript entry, even an automatic prompt; None if there is none."""
    role, message = entry.get("type"), entry.get("message")
    if role == "attachment":
        role, message, entry = "user", *_sent_meanwhile(entry)
    if role not in ("user", "assistant") or not isinstance(message, dict):
        return None
    is_sidechain = entry.get("isSidechain") is True
    if (is_sidechain and not sidechain) or any(entry.get(f) is True for f in SKIPPED_FLAGS):
        return None
    content = message.get("content")
    text = _content_text(content)
    origin = _origin(entry, text) if role == "user" else TYPED
    if entry.get("isMeta") is True and (role == "assistant" or not text):
        return None
    turn = Turn(
        uuid=text_in(entry, "uuid"),
        role=role,
        text=text,
        created_at=text_in(entry, "timestamp"),
        cwd=text_in(entry, "cwd"),
        is_sidechain=is_sidechain,
        tools=tuple(
            ToolUse(text_in(block, "id"), text_in(block, "name"), table_in(block, "input"))
            for block in _blocks(content, "tool_use")
        ),
        results=tuple(
            ToolResult(
                text_in(block, "tool_use_id"),
                _content_text(block.get("content")),
                block.get("is_error") is True,
            )
            for block in _blocks(content, "tool_result")
        ),
        session=text_in(entry, "requestSessionId") or text_in(entry, "sessionId"),
        origin=origin,
        answers=tuple(answers_in(entry.get("toolUseResult"))[1]) if role == "user" else (),
    )
    return turn if turn.text or turn.tools or turn.results else None


def _sent_meanwhile(entry: Mapping[str, Any]) -> tuple[object, Mapping[str, Any]]:
    """If an entry attaches a message sent while the assistant worked, return the message, and the
    entry with the attachment's fields that show the sender. Otherwise return (None, entry).
    """
    queued = table_in(entry, "attachment")
    if queued.get("type") != "queued_command":
        return None, entry
    marks = {key: queued.get(key) for key in ("origin", "isMeta", "textNotTyped")}
    mode = queued.get("commandMode", "prompt")
    marks["promptSource"] = "queued" if mode == "prompt" else mode
    return {"content": queued.get("prompt")}, {**entry, **marks}


def _origin(entry: Mapping[str, Any], text: str) -> str:
    author = entry.get("origin")
    kind = author.get("kind") if isinstance(author, dict) else author
    flags = entry.get("isMeta"), entry.get("textNotTyped")
    if True in flags or kind not in (None, "human") or is_machine_text(text):
        return BY_MACHINE
    if _lacks_marks(entry) or any(entry.get(k) not in (None, *v) for k, v in MARKS.items()):
        return BY_MACHINE
    # CHOSEN means that the model suggested the prompt and the user accepted it.
    return CHOSEN if entry.get("promptSource") == "suggestion_accepted" else TYPED


def unknown_mark(entry: Mapping[str, Any]) -> str:
    """Return the first of a prompt's origin fields (MARKS) with an unknown value, such as
    `promptSource=voice`. If all are missing, but expected, return "no" and their names. Else ''.
    """
    turn = any_turn_of(entry) if entry.get("type") == "user" else None
    if turn is None or not turn.text or entry.get("isMeta") or is_machine_text(turn.text):
        return ""
    if _lacks_marks(entry) and not turn.text.startswith("["):  # the client itself writes "[…]"
        return f"no {', '.join(MARKS)}"
    known = {key: (None, *values, *MACHINE_MARKS) for key, values in MARKS.items()}
    return next((f"{k}={entry[k]}" for k, v in known.items() if entry.get(k) not in v), "")


def _lacks_marks(entry: Mapping[str, Any]) -> bool:
    if entry.get("isSidechain") is True or any(entry.get(key) for key in ("origin", *MARKS)):
        return False
    parts = text_in(entry, "version").split("-")[0].split(".")
    return tuple(int(part) for part in parts if part.isdigit()) > MEASURED


def _blocks(content: object, kind: str) -> list[Mapping[str, Any]]:
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _content_text(content: object) -> str:
    if isinstance(content, str):
        return content
    texts = [text_in(block, "text") for block in _blocks(content, "text")]
    return "\n".join(text for text in texts if text)
