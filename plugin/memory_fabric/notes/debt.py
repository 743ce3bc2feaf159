"""Review debt: what was heard and nobody noted, shown to the next sessions' assistant."""

from __future__ import annotations

from memory_fabric.ids import short_id
from memory_fabric.text import cut, neutralised, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.models import Record
    from memory_fabric.store.memory import Memory

# The most candidates of one session, and how often each is shown.
MAX_SHOWN, MAX_TIMES = 3, 2
MAX_LINE_CHARS = 150
# The starts of a session at which they are shown.
SOURCES = ("startup", "clear")
# The prefix of the ledger's names for candidates that were shown.
ID = "debt:"
HEADING = "Heard, not noted (note with From: [id] if it holds, or Dropped: id):"
_WAITING = (
    "status = 'candidate' AND superseded_by = '' AND valid_to = '' AND scope <> 'local' "
    "AND source = 'prompt' AND (SELECT count(*) FROM injections AS i "
    f"WHERE i.memory = '{ID}' || records.id) < ?"
)
MAX_READ = 60


def of_session(memory: Memory) -> list[Record]:
    """Return the candidates to show: those said again in other sessions first, then the newest."""
    found = memory.find_records(_WAITING, (MAX_TIMES,), MAX_READ)
    found.sort(key=lambda record: record.created_at, reverse=True)
    found.sort(key=lambda record: int(record.evidence.get("again", 0)), reverse=True)
    return found[:MAX_SHOWN]


def text(waiting: Sequence[Record]) -> str:
    """Return the lines of the block; '' if nothing waits."""
    lines = [
        f"- [{short_id(r.id)}] “{cut(neutralised(one_line(r.what)), MAX_LINE_CHARS)}”"
        for r in waiting
    ]
    return "\n".join([HEADING, *lines]) if lines else ""
