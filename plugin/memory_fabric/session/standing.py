"""The records that a session block tells, read from the memory and ranked."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping

from memory_fabric.models import OTHERS, Record
from memory_fabric.recall import session_block
from memory_fabric.recall.share_of_others import within_share
from memory_fabric.session import last_session
from memory_fabric.store.conversations.worth import often_told_never_used
from memory_fabric.store.memory import Memory

HOLDS = last_session.HOLDS
STANDING_TYPES = (*session_block.RULE_TYPES, *session_block.DECISION_TYPES)
# The newest standing records that are ranked, and as many pinned ones and of the user's.
MAX_READ = 60
# Open points that the assistant noted, and that nobody confirmed or stated again, are told for so
# many later sessions that worked. Decisions become candidates (store.history.demotion).
NOTING = ("assistant", "subagent", "compaction", "mcp")
OPEN_FOR_SESSIONS = 3


class Standing:
    """Current records of a memory, each kind best first, without the records that are `left_out`.

    `rules` are also pinned records of other types; `others` are those of a shared journal, as many
    as their share.
    `sessions` are the records of the last sessions that worked.
    """

    def __init__(self, memory: Memory, left_out: Collection[str] = ()) -> None:
        self._memory, self.sessions = memory, last_session.worked(memory)
        found = [*_own(memory), *_open(memory, "<>")]
        sightings = _sightings(memory, found)
        current = [r for r in found if not self._is_passed_over(r, sightings)]
        best = session_block.ranked(current, sightings, _unused(memory, found))
        shown = session_block.still_new(best, left_out)
        standing = [r for r in shown if r.pinned or r.type in STANDING_TYPES]
        decisions = session_block.DECISION_TYPES
        rules = [r for r in standing if r.type not in decisions]
        self.rules = session_block.distinct(rules, session_block.MAX_RULES)
        made = [r for r in standing if r.type in decisions]
        self.decisions = session_block.distinct(made, session_block.MAX_DECISIONS)
        asked = [*(r for r in shown if r not in standing), *_open(memory, "=")]
        self.asked = [r for r in asked if r.id not in left_out][: session_block.MAX_OPEN]
        others = [r for r in _others(memory) if r.id not in left_out]
        self.others = within_share(
            others, lambda r: r.author, session_block.MAX_DECISIONS, beside_own=bool(best)
        )

    @property
    def records(self) -> list[Record]:
        """Rules, then decisions, then those that others shared."""
        return [*self.rules, *self.decisions, *self.others]

    def contents(self, last: str = "", seen: Collection[str] = ()) -> session_block.Contents:
        """Return the contents of a block, without records that were given already."""

        def new(records: Iterable[Record]) -> tuple[Record, ...]:
            return tuple(session_block.still_new(records, seen))

        return session_block.Contents(
            new(self.rules), last, new(self.decisions), new(self.asked), new(self.others)
        )

    def last_line(self, session: str = "") -> tuple[str, str]:
        """Return the line on the last other session, and the id of its record; '' without one."""
        last = last_session.last_session(self.sessions, time.time(), session)
        if last is None:
            return "", ""
        line = last_session.line(last, last_session.settled_in(self._memory, last))
        return line, last.id if line else ""

    def _is_passed_over(self, record: Record, sightings: Mapping[str, int]) -> bool:
        """Return True for an open point of the assistant that later sessions left as it is."""
        if record.type not in session_block.OPEN_TYPES or not _is_unconfirmed(record, sightings):
            return False
        later = sum(
            one.created_at > record.created_at and one.session != record.session
            for one in self.sessions
        )
        return later >= OPEN_FOR_SESSIONS


def _is_unconfirmed(record: Record, sightings: Mapping[str, int]) -> bool:
    """Return True if only the assistant noted a record, once."""
    is_noted = record.source in NOTING and session_block.trust_of(record) == "assistant"
    return is_noted and sightings.get(record.id, 1) < 2


def _open(memory: Memory, sign: str) -> list[Record]:
    """Return the newest unanswered questions and current blockers, own (<>) or shared ones (=).

    Pinned records are left out, since they are listed anyway.
    """
    # As the index of open points has it; a `+` keeps that of others' records from being chosen.
    types = ", ".join(f"'{kind}'" for kind in session_block.OPEN_TYPES)
    still = f"{HOLDS} AND pinned = 0 AND type IN ({types}) AND +source {sign} '{OTHERS}'"
    found: list[Record] = memory.find_records(still, (), session_block.MAX_OPEN)
    return found


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
    holding = f"{HOLDS} AND pinned = 0 AND type IN ({marks}) AND source = '{OTHERS}'"
    # More than are told: the newest may all be of one author.
    found: list[Record] = memory.find_records(holding, STANDING_TYPES, 2 * MAX_READ)
    return found


def _sightings(memory: Memory, found: Iterable[Record]) -> dict[str, int]:
    """Return the numbers of sessions in which the records were stated, by id."""
    ids = [record.id for record in found]
    marks = ", ".join("?" * len(ids))
    seen: dict[str, int] = {}
    for database in memory.databases() if ids else ():
        seen |= database.rows(f"SELECT id, sightings FROM records WHERE id IN ({marks})", ids)
    return seen


def _unused(memory: Memory, found: Collection[Record]) -> frozenset[str]:
    """Return the ids of records that are told often and never used, if some may be left out."""
    if len(found) <= session_block.MAX_DECISIONS:
        return frozenset()
    return frozenset(often_told_never_used(memory))
