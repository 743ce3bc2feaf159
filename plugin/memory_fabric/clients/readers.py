"""Reading on the transcripts of other clients' running sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_fabric.clients.claude_code.transcript import Reading, read_on
from memory_fabric.clients.transcripts import CLIENTS

if TYPE_CHECKING:
    from memory_fabric.clients.head import Head


class Reader:
    """Reads on the transcripts of a client, like `read_on`; of an unknown form it reads nothing.

    `form` is the client's `transcripts`.
    """

    def __init__(self, form: str) -> None:
        self._form = form

    def __call__(
        self, path: str, offset: int, mark: str, max_bytes: int, *, max_said: int
    ) -> Reading:
        head = head_of(self._form, path)
        if head is None:
            return Reading([], offset, mark=mark)
        parse = CLIENTS[self._form].parser(head)
        return read_on(path, offset, mark, max_bytes, max_said=max_said, parse=parse)


def head_of(form: str, path: str) -> Head | None:
    """Return the head of a transcript; None if there is none yet, or its form is unknown."""
    if form not in CLIENTS or not path:
        return None
    try:
        head: Head | None = CLIENTS[form].head(path)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    return head
