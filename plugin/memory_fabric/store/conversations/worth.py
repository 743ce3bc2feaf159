"""Texts that the model was told, item by item, and whether what it did next used them.

Rows live in the database of a project's sessions, without the words that were told: their memory
is named by its id in the injection ledger (`record:ID`, `episode:ID`, `graph:NAME#ROW`).
"""

from collections.abc import Container, Iterable
from typing import NamedTuple

from memory_fabric.errors import StoreUnavailable
from memory_fabric.ids import short_id
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory

RECORD, EPISODE, GRAPH = "record:", "episode:", "graph:"
# Kinds of items that tell no memory: headings and fences, the request for notes, the cue beside a
# prompt.
FRAME, PROTOCOL, CUE = "frame", "protocol", "cue"
# The channel of the tool `recall`, whose answers were asked for.
ASKED_FOR = "recall"
# A memory is "told often and never used" if at least this many sessions were told it in vain.
OFTEN_SESSIONS = 5
# At most this many rows are read to find such memories, newest first: about fifty sessions.
MAX_ROWS_READ = 2000
MAX_NAME_CHARS = 40


class Item(NamedTuple):
    """One part of a told text: the ledger id of its memory ('' if none), its kind, its length.

    The kind of a record is `record`: its type is looked up when the row is written.
    """

    memory: str
    kind: str
    chars: int


def items(memories: Iterable[str], text: str) -> list[Item]:
    """Return the parts of a text: one for the line of each memory, and one for all the rest.

    A line is its memory's if it holds the short id or, in the graph, the entity's name; names are
    looked for in what the ids leave, since a record's line may hold them, too. Characters are
    counted without line breaks.
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


def often_told_never_used(memory: Memory) -> set[str]:
    """Return the ids of records that sessions were told often and that none was seen to use.

    Often means in five sessions or more, of about the last fifty of this project. The ids have no
    prefix. Whoever chooses what is told may tell these less: they were delivered again and again,
    and no word of them appeared in what the assistant did next. It is an estimate by words, so a
    record that must be told (a pinned one, a rule that binds) should be told nevertheless. Answers
    of the tool `recall` do not count, since they were asked for. Reads at most MAX_ROWS_READ rows,
    about 3 ms. Returns nothing if the database cannot be read.
    """
    try:
        rows = memory.session_database().rows(
            "SELECT substr(memory, 8) FROM (SELECT memory, session, used, channel FROM told "
            "ORDER BY id DESC LIMIT ?) "
            "WHERE used IS NOT NULL AND substr(memory, 1, 7) = ? AND channel <> ? "
            "GROUP BY memory HAVING count(DISTINCT session) >= ? AND max(used) = 0",
            (MAX_ROWS_READ, RECORD, ASKED_FOR, OFTEN_SESSIONS),
        )
    except StoreUnavailable:
        return set()
    return {str(row[0]) for row in rows}


def not_used_yet(
    db: Database, session: str, agent: str, since_prompt: int, limit: int
) -> list[tuple[int, str]]:
    """Return memories (row, ledger id) that were told since that prompt and are not seen as used.

    Newest first.
    """
    rows = db.rows(
        "SELECT id, memory FROM told WHERE session = ? AND agent = ? AND memory <> '' "
        "AND prompt >= ? AND coalesce(used, 0) = 0 ORDER BY id DESC LIMIT ?",
        (session, agent, since_prompt, limit),
    )
    return [(row[0], row[1]) for row in rows]


def save_used(db: Database, rows: Iterable[int], used: Container[int], now: str) -> None:
    """Save that these rows were judged, and that some of them were used."""
    with db.transaction(durable=False) as c:
        c.executemany(
            "UPDATE told SET used = ?, judged_at = ? WHERE id = ?",
            [(int(row in used), now, row) for row in rows],
        )


def _reference(memory: str) -> str:
    """Return the name under which a text tells a memory; empty for other keys of the ledger."""
    if memory.startswith((RECORD, EPISODE)):
        return short_id(memory.partition(":")[2])
    if memory.startswith(GRAPH):
        name = memory.removeprefix(GRAPH)
        return (name.rpartition("#")[0] or name)[:MAX_NAME_CHARS]
    return ""
