"""The working state of a session, read from its turns: files in work and open to-dos."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from memory_fabric.clients.claude_code.transcript import ToolUse, Turn

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
    left = [(subject, status) for subject, status in items.values() if status not in DONE]
    left.sort(key=lambda item: item[1] != IN_PROGRESS)
    return [
        f"{subject} (in progress)" if status == IN_PROGRESS else subject
        for subject, status in left
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
