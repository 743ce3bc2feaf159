"""The head of a transcript: the session and folder that its first lines name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from memory_fabric.errors import BadInput
from memory_fabric.events import load_object
from memory_fabric.store import files

# The first lines hold the client's own state, which may be long.
MAX_HEAD_BYTES, MAX_HEAD_LINES = 2 << 20, 200


class Head(NamedTuple):
    """A session's id, the folder in which it began, the time of its first entry (ISO 8601).

    `agent` is the type of agent that it runs as. `is_attended` is False if a program wrote its
    prompts.
    """

    session: str
    folder: str
    began_at: str
    agent: str = ""
    is_attended: bool = True


def entries(path: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in the first lines of a file; bad lines are skipped. Raises OSError."""
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


def text_in(table: Any, key: str) -> str:
    """Return a text field of an object; '' if it is missing or of another type."""
    value = table.get(key) if isinstance(table, dict) else None
    return value if isinstance(value, str) else ""
