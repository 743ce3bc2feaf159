"""Texts that the model was told, item by item, and what became of those that can be judged.

Rows live in the database of a project's sessions, without the words that were told: their memory
is named by its id in the injection ledger (`record:ID`, `episode:ID`, `graph:NAME#ROW`).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memory_fabric.ids import short_id
from memory_fabric.store.database import Database

RECORD, EPISODE, GRAPH = "record:", "episode:", "graph:"
# Kinds of items that tell no memory: headings and fences, request for notes, cue of a prompt.
FRAME, PROTOCOL, CUE = "frame", "protocol", "cue"
# The channel of the tool `recall`, whose answers were asked for.
ASKED_FOR = "recall"
# The channels of a rule that held a call back or asked the user about it, and of a fix that was
# told when its error came again.
HELD, QUESTION, FIX = "held", "asked", "fix"
# At most this many of the memories that a session was shown are judged at the end of a turn, the
# latest first.
MAX_JUDGED = 80
MAX_NAME_CHARS = 40


class Item(NamedTuple):
    """A part of a told text: its memory's ledger id or '', its kind, and its length."""

    memory: str
    kind: str
    chars: int


def items(memories: Iterable[str], text: str) -> list[Item]:
    """Return the parts of a text: the line of each memory, with its short id or else its entity's
    name, and one for all the rest. Characters are counted without line breaks.
    """
    lines = text.split("\n")
    items = []
    for memory in sorted(memories, key=lambda memory: memory.startswith(GRAPH)):
        name = _reference(memory)
        place = next((place for place, line in enumerate(lines) if name and name in line), -1)
        if place >= 0:
            items.append(Item(memory, memory.partition(":")[0], len(lines[place])))
            lines[place] = ""
    other_chars = sum(map(len, lines))
    return [*items, Item("", FRAME, other_chars)] if other_chars else items


def to_judge(db: Database, session: str) -> list[tuple[int, str, str]]:
    """Return told records (row, id, channel) that a later call or answer decides on."""
    return db.rows(
        "SELECT id, substr(memory, 8), channel FROM told WHERE session = ? AND agent = '' "
        "AND substr(memory, 1, 7) = ? AND followed IS NOT (channel NOT IN (?, ?)) "
        "AND (channel IN (?, ?, ?) OR kind IN ('decision', '')) ORDER BY id DESC LIMIT ?",
        (session, RECORD, HELD, QUESTION, HELD, QUESTION, FIX, MAX_JUDGED),
    )


def save_outcomes(db: Database, outcomes: Mapping[int, bool], now: str) -> None:
    """Save of these rows whether what they told was followed."""
    with db.transaction(durable=False) as c:
        c.executemany(
            "UPDATE told SET followed = ?, judged_at = ? WHERE id = ?",
            [(int(is_followed), now, row) for row, is_followed in outcomes.items()],
        )


def _reference(memory: str) -> str:
    """Return the name under which a text tells a memory; empty for other keys of the ledger."""
    if memory.startswith((RECORD, EPISODE)):
        return short_id(memory.partition(":")[2])
    if memory.startswith(GRAPH):
        name = memory.removeprefix(GRAPH)
        return (name.rpartition("#")[0] or name)[:MAX_NAME_CHARS]
    return ""
