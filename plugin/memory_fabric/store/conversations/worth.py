"""The parts of texts shown to a model, and whether the model later followed shown records."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memory_fabric.ids import short_id
from memory_fabric.store.database import Database

RECORD, EPISODE, GRAPH = "record:", "episode:", "graph:"
# Kinds of text other than memories: headings and tags, the request for notes, a hint on a prompt.
FRAME, PROTOCOL, CUE = "frame", "protocol", "cue"
# The channel of texts that the tool `recall` returned.
ASKED_FOR = "recall"
# Channels: a rule that refused a call, a rule that asked the user about a call, and a fix that was
# shown when its error occurred again.
HELD, QUESTION, FIX = "held", "asked", "fix"
# At the end of a turn, at most this many memories shown to the session are judged, newest first.
MAX_JUDGED = 80
MAX_NAME_CHARS = 40


class Item(NamedTuple):
    """A part of an injected text: its memory's ledger id or '', the part's kind and length."""

    memory: str
    kind: str
    chars: int


def items(memories: Iterable[str], text: str) -> list[Item]:
    """Split a text: one part for each memory's line (found by id or name), one for all the rest."""
    lines = text.split("\n")
    items = []
    for memory in sorted(memories, key=lambda memory: memory.startswith(GRAPH)):
        # Find the memory's line by short id or entity name; other kinds of memories have no line.
        kind, _, key = memory.partition(":")
        name = short_id(key) if memory.startswith((RECORD, EPISODE)) else ""
        if memory.startswith(GRAPH):
            name = (key.rpartition("#")[0] or key)[:MAX_NAME_CHARS]
        place = next((place for place, line in enumerate(lines) if name and name in line), -1)
        if place >= 0:
            items.append(Item(memory, kind, len(lines[place])))
            lines[place] = ""
    other_chars = sum(map(len, lines))
    return [*items, Item("", FRAME, other_chars)] if other_chars else items


def to_judge(db: Database, session: str) -> list[tuple[int, str, str]]:
    """Return (row, id, channel) of shown records for which to judge if the model followed them."""
    return db.rows(
        "SELECT id, substr(memory, 8), channel FROM told WHERE session = ? AND agent = '' "
        "AND substr(memory, 1, 7) = ? AND followed IS NOT (channel NOT IN (?, ?)) "
        "AND (channel IN (?, ?, ?) OR kind IN ('decision', '')) ORDER BY id DESC LIMIT ?",
        (session, RECORD, HELD, QUESTION, HELD, QUESTION, FIX, MAX_JUDGED),
    )


def save_outcomes(db: Database, outcomes: Mapping[int, bool], now: str) -> None:
    """Save, by row number, whether the model followed each item that it was shown."""
    with db.transaction(durable=False) as c:
        judged = [(int(is_followed), now, row) for row, is_followed in outcomes.items()]
        c.executemany("UPDATE told SET followed = ?, judged_at = ? WHERE id = ?", judged)
