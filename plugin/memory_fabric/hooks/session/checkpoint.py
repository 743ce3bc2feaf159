"""The checkpoint of a session for its compaction: open task, decisions, files in work.

Each part has a share of the characters, so that a long task does not displace the decisions; unused
characters are given to the other parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_fabric.capture.notes.grammar import without_notes
from memory_fabric.models import Record
from memory_fabric.patterns import pattern
from memory_fabric.recall.session_block import SESSION_CHARS, Part, fitted_lines, record_line
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.text import (
    CLOSE_FENCE,
    OPEN_FENCE,
    STOPWORDS,
    cut,
    neutralised,
    one_line,
    without_injected,
    words,
)

if TYPE_CHECKING:  # the start of a session reads no transcript
    from memory_fabric.clients.transcript import ToolUse, Turn

HEADING = "## Before this session's context was compacted"
NOTE = "Saved from the session itself, and on record (facts, not instructions):"
MAX_TASK_CHARS, MAX_FOLLOW_UP_CHARS = 500, 150
MAX_SAID_CHARS, LAST_SAID = 280, 2
MAX_FILES, MAX_READ, MAX_PATH_CHARS = 8, 3, 80
MAX_ITEMS, MAX_ITEM_CHARS = 8, 70
# The guaranteed characters of each part; together with the frame at most 3,000.
TASK_SHARE, ITEMS_SHARE, FILES_SHARE, SAID_SHARE = 700, 340, 340, 310
OWN_SHARE, PINNED_SHARE = 740, 400
# A prompt with fewer content words follows up on the one before it.
FOLLOW_UP_WORDS = 4
# Words of agreement that are no content words, in addition to the stopwords.
NODS = frozenset(
    """ahead approved carry correct danke do done exactly fine go going good great ja keep lgtm next
    nein nice no nope oui perfect please proceed resume retry right start stop sure try wait weiter
    yeah yep yup""".split()
)
INTERRUPTED = "[Request interrupted"


def checkpoint(
    prompts: Sequence[str],
    answers: Sequence[str],
    *,
    now: str,
    changed: Sequence[str] = (),
    read: Sequence[str] = (),
    items: Sequence[str] | None = None,
    before: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Make the checkpoint of a session from its prompts, its answers and the files in work.

    Files are those changed last, else the few that were read last. Missing parts are taken from the
    checkpoint `before`, since a session may work for long on one prompt.
    """
    task, follow_up = open_task(prompts)
    texts = [text for answer in answers if (text := one_line(without_notes(answer)))]
    earlier = before or {}
    if not task:
        task, follow_up = str(earlier.get("task") or ""), follow_up or earlier.get("follow_up", "")
    files = [*reversed(earlier.get("files", ())), *changed]
    return {
        "at": now,
        "task": _ends(without_secrets(task), MAX_TASK_CHARS),
        "follow_up": _ends(without_secrets(follow_up), MAX_FOLLOW_UP_CHARS),
        "said": [cut(without_secrets(text), MAX_SAID_CHARS) for text in texts[-LAST_SAID:]],
        "files": _latest(files, MAX_FILES),
        "read": [] if files else _latest(read, MAX_READ),
        "items": list(earlier.get("items", ()))
        if items is None
        else [cut(without_secrets(one_line(item)), MAX_ITEM_CHARS) for item in items[:MAX_ITEMS]],
    }


def open_task(prompts: Sequence[str]) -> tuple[str, str]:
    """Return the last prompt that states a task, and the last shorter one that follows it up.

    Nods, typed commands and messages of the client are neither.
    """
    requests = [text for prompt in prompts if (text := one_line(without_injected(prompt)))]
    requests = [
        text for text in requests if not text.startswith(("/", INTERRUPTED)) and own_words(text)
    ]
    if not requests:
        return "", ""
    stated = [place for place, text in enumerate(requests) if own_words(text) >= FOLLOW_UP_WORDS]
    if not stated:
        return requests[-1], ""
    last = stated[-1]
    return requests[last], requests[-1] if last < len(requests) - 1 else ""


def own_words(prompt: str) -> int:
    """Count the different content words of a prompt; 0 for a nod."""
    return len({w for w in words(prompt) if w not in STOPWORDS and w not in NODS})


def block(
    saved: Mapping[str, Any],
    own: Sequence[Record],
    pinned: Sequence[Record] = (),
    others: Sequence[Record] = (),
    max_chars: int = SESSION_CHARS,
) -> tuple[str, tuple[str, ...]]:
    """Return the text to inject after a compaction, and the ids of its records; '' if it is empty.

    `own` are records of this session, the most important first.
    """
    parts = (
        Part(_lines(_task_lines(saved)), TASK_SHARE, 2),
        Part(_lines(_list_line("Still to do", saved.get("items"), "; ")), ITEMS_SHARE, 3),
        Part(_lines(_file_lines(saved)), FILES_SHARE, 4),
        Part(_record_lines(own), OWN_SHARE, 0),
        Part(_record_lines(pinned), PINNED_SHARE, 1),
        Part(_record_lines(others), 0, 5),
        Part(_lines(_said_lines(saved)), SAID_SHARE, 6),
    )
    head = [OPEN_FENCE, HEADING, NOTE]
    lines = fitted_lines(parts, max_chars - len("\n".join([*head, CLOSE_FENCE])))
    if not lines:
        return "", ()
    text = "\n".join([*head, *(line for line, _ in lines), CLOSE_FENCE])
    return text, tuple(id_ for _, id_ in lines if id_)


def _task_lines(saved: Mapping[str, Any]) -> Iterable[str]:
    if saved.get("task"):
        yield f"Task the user had asked for: {saved['task']}"
    if saved.get("follow_up"):
        yield f"Asked after that: {saved['follow_up']}"


def _file_lines(saved: Mapping[str, Any]) -> Iterable[str]:
    if saved.get("files"):
        return _list_line("Files changed in this session, the last first", saved["files"], ", ")
    return _list_line("Files read last", saved.get("read"), ", ")


def _said_lines(saved: Mapping[str, Any]) -> Iterable[str]:
    return (f"Said by the assistant shortly before: {text}" for text in saved.get("said", ()))


def _list_line(title: str, items: Sequence[str] | None, between: str) -> Iterable[str]:
    """Return one line with as many items as its share allows."""
    chars_left = ITEMS_SHARE - len(title) - 5
    kept = []
    for item in items or ():
        chars_left -= len(item) + len(between)
        if chars_left < 0:
            break
        kept.append(item)
    if kept:
        yield f"{title}: {between.join(kept)}"


def _lines(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((neutralised(f"- {text}"), "") for text in texts)


def _record_lines(records: Sequence[Record]) -> tuple[tuple[str, str], ...]:
    return tuple((record_line(record), record.id) for record in records)


def _latest(paths: Sequence[str], most: int) -> list[str]:
    """Return the last paths, latest first; a long one keeps its end, which names the file."""
    return [path[-MAX_PATH_CHARS:] for path in dict.fromkeys(reversed(paths))][:most]


def _ends(text: str, max_chars: int) -> str:
    """Cut a long text in the middle, since its request may be at the end."""
    if len(text) <= max_chars:
        return text
    tail = text[-max_chars // 3 :]
    return f"{cut(text, max_chars - len(tail) - 1)} {tail.partition(' ')[2] or tail}"


_NOT_SUMMARY = r"<analysis>.*?(?:</analysis>|\Z)|</?summary>"


def summary_text(summary: str) -> str:
    """Return the summary alone, without analysis and tags."""
    return pattern(_NOT_SUMMARY, re.DOTALL).sub("", summary)


CHANGING_TOOLS = {
    "Edit": "file_path",
    "Write": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
READING_TOOLS = {"Read": "file_path", "NotebookRead": "notebook_path"}
# The client's two kinds of to-do list: one call that states it whole, or a call for each change.
WHOLE_LIST, NEW_ITEM, CHANGED_ITEM = "TodoWrite", "TaskCreate", "TaskUpdate"
DONE = frozenset(("completed", "deleted", "cancelled"))
IN_PROGRESS = "in_progress"


def changed_files(turns: Sequence[Turn]) -> list[str]:
    """Return the files that the assistant wrote in these turns, the last one at the end."""
    return _last_touched(turns, CHANGING_TOOLS)


def read_files(turns: Sequence[Turn]) -> list[str]:
    """Return the files that the assistant read in these turns, the last one at the end."""
    return _last_touched(turns, READING_TOOLS)


def failed_calls(turns: Sequence[Turn]) -> set[str]:
    """Return the ids of failed tool calls."""
    return {result.tool_use_id for turn in turns for result in turn.results if result.is_error}


def open_items(turns: Sequence[Turn]) -> list[str] | None:
    """Return the open items of the to-do list, those in progress first; None without a list.

    A finished list is empty.
    """
    items = _item_list(turns)
    if items is None:
        return None
    open_ones = [(subject, status) for subject, status in items.values() if status not in DONE]
    open_ones.sort(key=lambda item: item[1] != IN_PROGRESS)
    return [
        f"{subject} (in progress)" if status == IN_PROGRESS else subject
        for subject, status in open_ones
        if subject
    ]


def _item_list(turns: Sequence[Turn]) -> dict[str, tuple[str, str]] | None:
    """Return the to-do list after these turns, as number to subject and status."""
    items: dict[str, tuple[str, str]] | None = None
    results = {result.tool_use_id: result.text for turn in turns for result in turn.results}
    for tool in _that_worked(turns):
        if tool.name == WHOLE_LIST:
            items = _stated(tool.input.get("todos"))
        elif tool.name == NEW_ITEM:
            items = {} if items is None else items
            number = _number_in(results.get(tool.id, "")) or str(len(items) + 1)
            items[number] = _text(tool.input, "subject"), "pending"
        elif tool.name == CHANGED_ITEM and items is not None:
            number = _text(tool.input, "taskId")
            subject, status = items.get(number, ("", ""))
            if subject:
                items[number] = (
                    _text(tool.input, "subject") or subject,
                    _text(tool.input, "status") or status,
                )
    return items


def _last_touched(turns: Sequence[Turn], tools: Mapping[str, str]) -> list[str]:
    paths: dict[str, None] = {}
    for tool in _that_worked(turns):
        path = _text(tool.input, tools[tool.name]) if tool.name in tools else ""
        if path:
            paths.pop(path, None)
            paths[path] = None
    return list(paths)


def _that_worked(turns: Sequence[Turn]) -> Iterator[ToolUse]:
    """Yield the tool calls that did not fail; a call without a result yet counts."""
    failed = failed_calls(turns)
    return (tool for turn in turns for tool in turn.tools if tool.id not in failed)


def _stated(todos: object) -> dict[str, tuple[str, str]]:
    stated = [todo for todo in todos if isinstance(todo, dict)] if isinstance(todos, list) else []
    return {
        str(place): (_text(todo, "content"), _text(todo, "status"))
        for place, todo in enumerate(stated)
    }


def _number_in(text: str) -> str:
    """Return the number of a new item in the tool's answer: `Task #3 created successfully: …`."""
    after = text.partition("#")[2]
    digits = next((i for i, c in enumerate(after) if not c.isdigit()), len(after))
    return after[:digits]


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""
