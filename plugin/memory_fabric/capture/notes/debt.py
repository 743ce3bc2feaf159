"""Items for review: statements without a note, contradictions, records closed by other sessions."""

import time
from collections.abc import Iterable
from typing import NamedTuple

from memory_fabric.ids import short_id, timestamp
from memory_fabric.models import AGAIN, CONTRADICTS, PASTED, Record, contradicted, shown
from memory_fabric.store.conversations.sessions import CLOSED, closed_elsewhere
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.conditions import marks
from memory_fabric.store.schema import ACTIVE_CURRENT, CURRENT

# At most MAX_SHOWN items per session, each MAX_TIMES times; restating a candidate adds one time.
MAX_SHOWN, MAX_TIMES = 3, 2
SOURCES = ("startup", "clear")  # SessionStart events that show items for review
ID = "debt:"  # prefix of candidates' and contradictions' ids in the table of shown memories
HEADING = "Heard, not noted (note with From: [id] if it holds, or Dropped: id):"
_WAITING = (
    f"status = 'candidate' AND {CURRENT} AND scope <> 'local' "
    f"AND source = 'prompt' AND json_extract(body, '$.evidence.{PASTED}') IS NULL "
    "AND (SELECT count(*) FROM injections AS i "
    f"WHERE i.memory = '{ID}' || records.id) < ? + sightings - 1"
)
MAX_READ = 60
_CONTRADICTORY = (
    f"{ACTIVE_CURRENT} AND instr(body, '\"{CONTRADICTS}\"') > 0 "
    f"AND json_array_length(body, '$.evidence.{CONTRADICTS}') > 0 "
    f"AND (SELECT count(*) FROM injections AS i WHERE i.memory = '{ID}' || records.id) < ?"
)
# SQL condition: candidates and contradictory records that this session stored or was shown.
_OPEN_HERE = (
    f"{CURRENT} AND scope <> 'local' AND (session = ? OR EXISTS (SELECT 1 FROM injections AS i "
    f"WHERE i.session = ? AND i.memory = '{ID}' || records.id)) AND (status = 'candidate' "
    f"OR json_array_length(body, '$.evidence.{CONTRADICTS}') > 0)"
)


class Debt(NamedTuple):
    """The items for review to show in a session: candidates, contradictions and closed records."""

    candidates: tuple[Record, ...] = ()  # statements to note or drop
    contradictory: tuple[tuple[Record, Record], ...] = ()  # (new, older): the assistant drops one
    asked: tuple[tuple[Record, Record], ...] = ()  # (new, older), the user decides
    closed: tuple[tuple[Record, Record | None, str], ...] = ()  # (old, new or None, day)

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the items in the table of shown memories: record ids with a prefix."""
        records = (*self.candidates, *(new for new, _ in (*self.contradictory, *self.asked)))
        closed = (CLOSED + old.id for old, *_ in self.closed)
        return (*(ID + record.id for record in records), *closed)

    @property
    def closed_lines(self) -> list[str]:
        return [
            f"{'Replaced' if new else 'Dropped'} {when}: {_quoted(old)}"
            + (f" → {_quoted(new)}" if new else "")
            + f"; `keep {short_id(old.id)}` takes it back"
            for old, new, when in self.closed
        ]


def of_session(memory: Memory, session: str) -> Debt:
    """Return the items to show: up to MAX_SHOWN contradictions and candidates (often stated ones
    first), up to MAX_SHOWN contradictions that the user decides, and as many closed records.
    """
    pairs = _with_older(memory, memory.find_records(_CONTRADICTORY, (MAX_TIMES,), MAX_READ))
    of_user = [pair for pair in pairs if any(r.pinned or r.trust == "user" for r in pair)]
    pairs = [pair for pair in pairs if pair not in of_user][:MAX_SHOWN]
    waiting = memory.find_records(_WAITING, (MAX_TIMES,), MAX_READ)
    waiting.sort(key=lambda r: (int(r.evidence.get(AGAIN, 0)), r.created_at), reverse=True)
    closed = []
    today, yesterday = timestamp()[:10], timestamp(time.time() - 24 * 3600)[:10]
    for id_, at in closed_elsewhere(memory.session_database(), session)[:MAX_READ]:
        for old in memory.find_records("id = ? AND valid_to <> ''", (id_,), 1):
            new = memory.find_records("id = ?", (old.superseded_by,), 1)
            when = {today: "today", yesterday: "yesterday"}.get(at[:10], f"on {at[:10]}")
            closed.append((old, new[0] if new else None, when))
    candidates = tuple(waiting[: MAX_SHOWN - len(pairs)])
    return Debt(candidates, tuple(pairs), tuple(of_user[:MAX_SHOWN]), tuple(closed[:MAX_SHOWN]))


def open_here(memory: Memory, session: str) -> list[tuple[Record, Record | None]]:
    """Return a session's items to decide: (candidate, None) or (record, the one it contradicts)."""
    records = memory.find_records(_OPEN_HERE, (session, session), MAX_READ)
    waiting = [(record, None) for record in records if record.status == "candidate"]
    return [*waiting, *_with_older(memory, records)]


def text(debt: Debt) -> str:
    """Return the closed records, contradictions and candidates as lines for the assistant."""
    lines = [f"{line}." for line in debt.closed_lines]
    lines += [
        f"{_quoted(new)} contradicts {_quoted(old)}: Dropped: the id of the one that does not hold."
        for new, old in debt.contradictory
    ]
    if debt.candidates:
        lines += [HEADING, *(f"- {_quoted(record)}" for record in debt.candidates)]
    return "\n".join(lines)


def _with_older(memory: Memory, records: Iterable[Record]) -> list[tuple[Record, Record]]:
    return [
        (new, old)
        for new in records
        if (ids := contradicted(new))
        for old in memory.find_records(f"id IN ({marks(ids)}) AND {ACTIVE_CURRENT}", ids, 1)
    ]


def _quoted(record: Record) -> str:
    text = shown(record)
    return f"[{short_id(record.id)}] {text if text.startswith('“') else f'“{text}”'}"
