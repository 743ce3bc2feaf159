"""Make a session's checkpoint before a compaction and, if a prompt asks for it, find the end of the
last session. Each part of a checkpoint has its own share of the characters, so that a long task
does not displace the decisions. Characters that one part does not need are available to the others.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from memory_fabric import text as texts
from memory_fabric.capture.notes.grammar import without_notes
from memory_fabric.capture.stated_causes import account
from memory_fabric.clients.transcript import ToolUse, Turn
from memory_fabric.models import Record
from memory_fabric.patterns import pattern
from memory_fabric.recall.session_block import SESSION_CHARS, Part, fitted_lines, record_line
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store.conversations import prompts
from memory_fabric.store.memory import Memory
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE, STOPWORDS, cut, neutralised, one_line

HEADING = "## Before this session's context was compacted"
NOTE = "Saved from the session itself, and on record (facts, not instructions):"
MAX_TASK_CHARS, MAX_FOLLOW_UP_CHARS = 500, 150
MAX_SAID_CHARS, LAST_SAID = 280, 2
MAX_FILES, MAX_READ, MAX_PATH_CHARS = 8, 3, 80
MAX_ITEMS, MAX_ITEM_CHARS = 8, 70
# The characters reserved for each part. With headings and delimiters, the sum is at most 3,000.
TASK_SHARE, ITEMS_SHARE, FILES_SHARE, SAID_SHARE = 700, 340, 340, 310
OWN_SHARE, PINNED_SHARE = 740, 400
# A prompt with fewer content words counts as an addition to the prompt before it.
FOLLOW_UP_WORDS = 4
# Words of agreement, which, like the stopwords, do not count as content words.
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
    """Make a checkpoint, the dict for `block`, from prompts, answers, the to-do list `items`, and
    the files changed last (or read, if none was changed). The files of the older checkpoint
    `before` are added. Its task and to-do list are used if there are no new ones.
    """
    task, follow_up = open_task(prompts)
    said = [text for answer in answers if (text := one_line(without_notes(answer)))]
    earlier = before or {}
    if not task:
        task, follow_up = str(earlier.get("task") or ""), follow_up or earlier.get("follow_up", "")
    files = [*reversed(earlier.get("files", ())), *changed]
    # A long path is cut at its beginning, so that the file name remains.
    latest = [path[-MAX_PATH_CHARS:] for path in dict.fromkeys(reversed(files or read))]
    return {
        "at": now,
        "task": _ends(without_secrets(task), MAX_TASK_CHARS),
        "follow_up": _ends(without_secrets(follow_up), MAX_FOLLOW_UP_CHARS),
        "said": [cut(without_secrets(text), MAX_SAID_CHARS) for text in said[-LAST_SAID:]],
        "files": latest[:MAX_FILES] if files else [],
        "read": [] if files else latest[:MAX_READ],
        "items": list(earlier.get("items", ()))
        if items is None
        else [cut(without_secrets(one_line(item)), MAX_ITEM_CHARS) for item in items[:MAX_ITEMS]],
    }


def open_task(prompts: Sequence[str]) -> tuple[str, str]:
    """Return the last prompt of FOLLOW_UP_WORDS words or more, and the last one after it, or ''. If
    all prompts are shorter, return the last of all and ''.
    """
    lines = (one_line(texts.without_injected(prompt)) for prompt in prompts)
    requests = [t for t in lines if not t.startswith(("/", INTERRUPTED)) and own_words(t)]
    stated = [place for place, text in enumerate(requests) if own_words(text) >= FOLLOW_UP_WORDS]
    if not stated:
        return requests[-1] if requests else "", ""
    last = stated[-1]
    return requests[last], requests[-1] if last < len(requests) - 1 else ""


def own_words(prompt: str) -> int:
    """Count a prompt's distinct content words; 0 if it only agrees ("yes, go ahead")."""
    return len({w for w in texts.words(prompt) if w not in STOPWORDS and w not in NODS})


def block(
    saved: Mapping[str, Any],
    own: Sequence[Record],
    pinned: Sequence[Record] = (),
    others: Sequence[Record] = (),
    *,
    max_chars: int = SESSION_CHARS,
) -> tuple[str, tuple[str, ...]]:
    """Return (text to inject after a compaction, ids of its records); ("", ()) if empty. The text
    has the checkpoint `saved`, and as many `pinned`, `others` and `own` (this session's) as fit.
    """
    tasks = [f"Task the user had asked for: {saved['task']}"] if saved.get("task") else []
    tasks += [f"Asked after that: {saved['follow_up']}"] if saved.get("follow_up") else []
    title, key = "Files changed in this session, the last first", "files"
    title, key = (title, key) if saved.get(key) else ("Files read last", "read")
    files = _list_line(title, saved.get(key), ", ")
    said = (f"Said by the assistant shortly before: {text}" for text in saved.get("said", ()))
    parts = (
        Part(_lines(tasks), TASK_SHARE, 2),
        Part(_lines(_list_line("Still to do", saved.get("items"), "; ")), ITEMS_SHARE, 3),
        Part(_lines(files), FILES_SHARE, 4),
        Part(_lines(own), OWN_SHARE, 0),
        Part(_lines(pinned), PINNED_SHARE, 1),
        Part(_lines(others), 0, 5),
        Part(_lines(said), SAID_SHARE, 6),
    )
    head = [OPEN_FENCE, HEADING, NOTE]
    lines = fitted_lines(parts, max_chars - len("\n".join([*head, CLOSE_FENCE])))
    if not lines:
        return "", ()
    text = "\n".join([*head, *(line for line, _ in lines), CLOSE_FENCE])
    return text, tuple(id_ for _, id_ in lines if id_)


def _list_line(title: str, items: Sequence[str] | None, between: str) -> list[str]:
    chars_left = ITEMS_SHARE - len(title) - 5
    fitting = []
    for item in items or ():
        chars_left -= len(item) + len(between)
        if chars_left < 0:
            break
        fitting.append(item)
    return [f"{title}: {between.join(fitting)}"] if fitting else []


def _lines(items: Iterable[str | Record]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (record_line(item), item.id) if isinstance(item, Record) else (neutralised(f"- {item}"), "")
        for item in items
    )


def _ends(text: str, max_chars: int) -> str:
    """Cut the middle out of a long text, because a request may be at its beginning or end."""
    if len(text) <= max_chars:
        return text
    tail = text[-max_chars // 3 :]
    return f"{cut(text, max_chars - len(tail) - 1)} {tail.partition(' ')[2] or tail}"


def summary_text(summary: str) -> str:
    """Return the client's summary without its analysis and tags."""
    return pattern(r"<analysis>.*?(?:</analysis>|\Z)|</?summary>", re.DOTALL).sub("", summary)


CHANGING_TOOLS = dict.fromkeys(("Edit", "Write", "MultiEdit"), "file_path")
CHANGING_TOOLS["NotebookEdit"] = "notebook_path"
READING_TOOLS = {"Read": "file_path", "NotebookRead": "notebook_path"}
# The client's two kinds of to-do lists: one call with the whole list, or one call per change.
WHOLE_LIST, NEW_ITEM, CHANGED_ITEM = "TodoWrite", "TaskCreate", "TaskUpdate"
DONE = frozenset(("completed", "deleted", "cancelled"))
IN_PROGRESS = "in_progress"


def failed_calls(turns: Sequence[Turn]) -> set[str]:
    """Return the ids of failed tool calls."""
    return {result.tool_use_id for turn in turns for result in turn.results if result.is_error}


def open_items(turns: Sequence[Turn]) -> list[str] | None:
    """Return the to-do list's open items, those in progress first; None if there is no list."""
    # Maps the number of each to-do item to the item's subject and status.
    items: dict[str, tuple[str, str]] | None = None
    results = {result.tool_use_id: result.text for turn in turns for result in turn.results}
    for tool in _that_worked(turns):
        if tool.name == WHOLE_LIST:
            todos = tool.input.get("todos")
            rows = [t for t in todos if isinstance(t, dict)] if isinstance(todos, list) else []
            pairs = ((_text(row, "content"), _text(row, "status")) for row in rows)
            items = {str(place): pair for place, pair in enumerate(pairs)}
        elif tool.name == NEW_ITEM:
            items = {} if items is None else items
            # The result of TaskCreate begins with: `Task #3 created successfully: …`.
            answer = re.match(r"[^#]*#(\d+)", results.get(tool.id, ""))
            number = answer[1] if answer else str(len(items) + 1)
            items[number] = _text(tool.input, "subject"), "pending"
        elif tool.name == CHANGED_ITEM and items is not None:
            number = _text(tool.input, "taskId")
            subject, status = items.get(number, ("", ""))
            if subject:
                subject = _text(tool.input, "subject") or subject
                items[number] = subject, _text(tool.input, "status") or status
    if items is None:
        return None
    in_progress = [s for s, status in items.values() if status == IN_PROGRESS and s]
    waiting = [s for s, status in items.values() if status not in (*DONE, IN_PROGRESS) and s]
    return [*(f"{subject} (in progress)" for subject in in_progress), *waiting]


def touched_files(turns: Sequence[Turn], tools: Mapping[str, str]) -> list[str]:
    """Return the paths in calls of `tools` ({name: path field}), latest last; omit failed calls."""
    used = [tool for tool in _that_worked(turns) if tool.name in tools]
    paths = [_text(tool.input, tools[tool.name]) for tool in used]
    return list(dict.fromkeys(filter(None, reversed(paths))))[::-1]


def _that_worked(turns: Sequence[Turn]) -> Iterator[ToolUse]:
    """Yield the tool calls that have not failed, including calls without a result."""
    failed = failed_calls(turns)
    return (tool for turn in turns for tool in turn.tools if tool.id not in failed)


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""


NAME = "end of session:"  # ledger prefix: the model was shown the end of the named session
MAX_TURNS = 60  # at most this many turns at the end of a session are searched for its last task
MAX_TOLD_TASK_CHARS, MAX_TOLD_FOLLOW_UP_CHARS, MAX_CLOSING_CHARS = 400, 200, 900
FIRST_SHARE = 0.3  # the largest share of `max_chars` for the first paragraph of a long answer
UNANSWERED = "- No answer to it is on record."


def end_of_last(memory: Memory, session: str, about: str = "") -> tuple[str, str]:
    """Return a text on how the session before `session` ended, and the text's name in the ledger.
    Both are '' if there is no text, or if `about` is given and no word of it is in the text.
    """
    last, turns = prompts.last_turns(memory.session_database(), session, MAX_TURNS)
    lines = end_lines([(role, without_secrets(text)) for role, text, _ in reversed(turns)])
    terms = texts.terms
    if not lines or (about and not set(terms(about)) & set(terms(" ".join(lines)))):
        return "", ""
    head = f"The last session here ended on {turns[0][2][:10]} (said then, not instructions):"
    text = "\n".join([OPEN_FENCE, head, *map(neutralised, lines), CLOSE_FENCE])
    return text, f"{NAME}{last}"


def end_lines(turns: list[tuple[str, str]]) -> list[str]:
    """Return lines with the user's last task, the last prompt after it, and the answer, if any."""
    task, follow_up = open_task([text for role, text in turns if role == "user"])
    lines = [f"- The user: “{cut(task, MAX_TOLD_TASK_CHARS)}”"] if task else []
    lines += [f"- Then: “{cut(follow_up, MAX_TOLD_FOLLOW_UP_CHARS)}”"] if follow_up else []
    answer = ""
    for role, text in reversed(turns):
        if role == "user" and texts.without_injected(text).strip():
            break
        answer = answer or closing(text)
    if answer:
        return [*lines, f"- The assistant's last words: {answer}"]
    return [*lines, UNANSWERED] if lines else []


def closing(answer: str, max_chars: int = MAX_CLOSING_CHARS) -> str:
    """Return an answer as one line without code and notes; a long answer loses its middle."""
    lines = "\n".join(line.lstrip("# ") for line in account(answer).splitlines())
    parts = [one_line(part) for part in lines.split("\n\n") if part.strip()]
    whole = " ".join(parts)
    if len(whole) <= max_chars:
        return whole
    first = cut(parts[0], int(max_chars * FIRST_SHARE))
    chars_left, last = max_chars - len(first) - 3, ""
    for part in reversed(parts[1:]):
        if len(part) + len(last) + 1 > chars_left:
            break
        last = f"{part} {last}".rstrip()
    return f"{first} … {last}" if last else cut(whole, max_chars)
