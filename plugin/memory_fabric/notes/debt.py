"""Review debt: what was heard and nobody noted, shown to the next sessions' assistant."""

from __future__ import annotations

from memory_fabric.ids import short_id
from memory_fabric.models import AGAIN, CONTRADICTS
from memory_fabric.store.record_state import ACTIVE_CURRENT, CURRENT
from memory_fabric.text import cut, neutralised, one_line
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Record
    from memory_fabric.store.memory import Memory

# The most candidates of one session, and how often each is shown.
MAX_SHOWN, MAX_TIMES = 3, 2
MAX_LINE_CHARS = 120
# The starts of a session at which they are shown.
SOURCES = ("startup", "clear")
# The prefix of the ledger's names for candidates that were shown.
ID = "debt:"
HEADING = "Heard, not noted (note with From: [id] if it holds, or Dropped: id):"
_WAITING = (
    f"status = 'candidate' AND {CURRENT} AND scope <> 'local' "
    "AND source = 'prompt' AND (SELECT count(*) FROM injections AS i "
    f"WHERE i.memory = '{ID}' || records.id) < ?"
)
MAX_READ = 60


_CONTRADICTORY = (
    f"{ACTIVE_CURRENT} AND instr(body, '\"{CONTRADICTS}\"') > 0 "
    f"AND json_array_length(body, '$.evidence.{CONTRADICTS}') > 0 "
    f"AND (SELECT count(*) FROM injections AS i WHERE i.memory = '{ID}' || records.id) < ?"
)


class Debt(Value):
    """Candidates to note or drop, and records of which each contradicts older ones."""

    candidates: tuple[Record, ...] = ()
    contradictory: tuple[tuple[Record, Record], ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ledger's names for what is shown."""
        shown = (*self.candidates, *(new for new, _ in self.contradictory))
        return tuple(ID + record.id for record in shown)


def of_session(memory: Memory) -> Debt:
    """Return what to show: candidates said again in other sessions first, then the newest.

    Contradictory records come before candidates; at most three of both together.
    """
    pairs = _contradictory(memory)[:MAX_SHOWN]
    found = memory.find_records(_WAITING, (MAX_TIMES,), MAX_READ)
    found.sort(key=lambda record: record.created_at, reverse=True)
    found.sort(key=lambda record: int(record.evidence.get(AGAIN, 0)), reverse=True)
    return Debt(tuple(found[: MAX_SHOWN - len(pairs)]), tuple(pairs))


def text(debt: Debt) -> str:
    """Return the lines of the block; '' if nothing waits."""
    lines = [
        f"{_quoted(new)} contradicts {_quoted(old)}: Dropped: the id of the one that does not hold."
        for new, old in debt.contradictory
    ]
    if debt.candidates:
        lines += [HEADING, *(f"- {_quoted(record)}" for record in debt.candidates)]
    return "\n".join(lines)


def _contradictory(memory: Memory) -> list[tuple[Record, Record]]:
    pairs = []
    for new in memory.find_records(_CONTRADICTORY, (MAX_TIMES,), MAX_READ):
        older = [str(id_) for id_ in new.evidence[CONTRADICTS]]
        marks = ", ".join("?" * len(older))
        pairs += [
            (new, old)
            for old in memory.find_records(
                f"id IN ({marks}) AND {ACTIVE_CURRENT}",
                tuple(older),
                1,
            )
        ]
    return pairs


def _quoted(record: Record) -> str:
    what = cut(neutralised(one_line(record.what)), MAX_LINE_CHARS)
    return f"[{short_id(record.id)}] “{what}”"
