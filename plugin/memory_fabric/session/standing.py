"""The records that a session block tells, read from the memory and ranked."""

from __future__ import annotations

import time

from memory_fabric.models import OTHERS
from memory_fabric.recall import session_block
from memory_fabric.session import last_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from memory_fabric.models import Record
    from memory_fabric.store.memory import Memory

HOLDS = last_session.HOLDS
STANDING_TYPES = (*session_block.RULE_TYPES, *session_block.DECISION_TYPES)
# The newest standing records that are ranked, and as many pinned ones and of the user's.
MAX_READ = 60


class Standing:
    """What holds in a memory, each kind best first, without the records that are `left_out`.

    `rules` are also pinned records of other types; `others` are those of a shared journal.
    """

    def __init__(self, memory: Memory, left_out: Collection[str] = ()) -> None:
        self._memory = memory
        found = _ranked(memory, _own(memory))
        shown = [record for record in found if record.id not in left_out]
        decisions = session_block.DECISION_TYPES
        self.rules = [r for r in shown if r.type not in decisions]
        self.decisions = [r for r in shown if r.type in decisions]
        self.others = [r for r in _others(memory) if r.id not in left_out]
        self.asked = [r for r in open_points(memory) if r.id not in left_out]

    @property
    def records(self) -> list[Record]:
        """Rules, then decisions, then those that others shared."""
        return [*self.rules, *self.decisions, *self.others]

    def contents(self, last: str = "", seen: Collection[str] = ()) -> session_block.Contents:
        """Return the contents of a block, without records that were given already."""

        def new(records: Iterable[Record]) -> tuple[Record, ...]:
            fresh = [record for record in records if record.id not in seen]
            if fresh:
                from memory_fabric.recall import file_marks  # late: few starts tell any

                fresh = file_marks.mark_records(fresh, self._memory)
            return tuple(fresh)

        # The first ten, not the next ten once these were given.
        decisions = self.decisions[: session_block.MAX_DECISIONS]
        return session_block.Contents(
            new(self.rules), last, new(decisions), new(self.asked), new(self.others)
        )


def last_line(memory: Memory, session: str = "") -> tuple[str, str]:
    """Return the line on the last session, and the id of its record; empty without one."""
    last = last_session.last_session(memory, time.time(), session)
    line = last_session.line(last, last_session.settled_in(memory, last)) if last else ""
    return (line, last.id) if last and line else ("", "")


def open_points(memory: Memory) -> list[Record]:
    """Return unanswered questions and current blockers, newest first; own ones before shared ones.

    Pinned records are left out, since they are listed anyway.
    """
    most = session_block.MAX_OPEN
    marks = ", ".join("?" * len(session_block.OPEN_TYPES))
    still = f"{HOLDS} AND pinned = 0 AND type IN ({marks}) AND source"
    asked = (*session_block.OPEN_TYPES, OTHERS)
    ours: list[Record] = memory.find_records(f"{still} <> ?", asked, most)
    left = most - len(ours)
    return ours + (memory.find_records(f"{still} = ?", asked, left) if left else [])


def _own(memory: Memory) -> list[Record]:
    """Return the newest standing records and, if there are more, the pinned and the user's."""
    marks = ", ".join("?" * len(STANDING_TYPES))
    holding = f"{HOLDS} AND (pinned = 1 OR type IN ({marks}) AND source <> ?)"
    asked = (*STANDING_TYPES, OTHERS)
    found: list[Record] = memory.find_records(holding, asked, MAX_READ)
    if len(found) == MAX_READ:
        for part in ("pinned = 1", "trust = 'user'"):
            found += memory.find_records(f"{holding} AND {part}", asked, MAX_READ)
    return found


def _others(memory: Memory) -> list[Record]:
    marks = ", ".join("?" * len(STANDING_TYPES))
    holding = f"{HOLDS} AND pinned = 0 AND type IN ({marks}) AND source = ?"
    found: list[Record] = memory.find_records(
        holding, (*STANDING_TYPES, OTHERS), session_block.MAX_DECISIONS
    )
    return found


def _ranked(memory: Memory, found: list[Record]) -> list[Record]:
    ids = [record.id for record in found]
    marks = ", ".join("?" * len(ids))
    seen: dict[str, int] = {}
    for database in memory.databases() if ids else ():
        seen |= database.rows(f"SELECT id, sightings FROM records WHERE id IN ({marks})", ids)
    return session_block.ranked(found, seen, _unused(memory))


def _unused(memory: Memory) -> frozenset[str]:
    """Return the ids of records that are told often and never used."""
    return frozenset()
