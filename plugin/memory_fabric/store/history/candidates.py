"""Candidates: sentences that were heard and not noted, and wait for confirmation."""

from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.errors import BadInput
from memory_fabric.ids import short_id
from memory_fabric.models import Record
from memory_fabric.store import sessions
from memory_fabric.store.history import resolve
from memory_fabric.store.memory import Memory

MAX_LISTED = 200
_OPEN = "superseded_by = '' AND valid_to = ''"
_CANDIDATE = f"status = 'candidate' AND {_OPEN} AND scope <> 'local'"
SIGHTING, REASON = "another session that states it", "a reason"


def waiting(memory: Memory) -> list[Record]:
    """Return the candidates of this project and of the user, newest first."""
    return memory.find_records(_CANDIDATE, (), MAX_LISTED)


def missing(candidates: Sequence[Record]) -> str:
    """Return what would activate these candidates: a reason only where none is on record."""
    lacks_reason = any(not record.why for record in candidates)
    return f"{SIGHTING}, or {REASON}" if lacks_reason else SIGHTING


def note_shown(memory: Memory, found: Sequence[Record], now: str) -> None:
    """Note which candidates this session has been shown, so that its model only repeats them."""
    session = memory.settings.session
    if not (session and found and memory.settings.writes):
        return
    shown = [f"record:{record.id}" for record in found]
    sessions.record_injections(memory.session_database(), session, "", shown, "pull", now)


def named(memory: Memory, text: str) -> Record:
    """Return the candidate with this id or its end.

    Raises NotFound, and BadInput for a record that does not wait.
    """
    record, _, _ = resolve.record_by_id(memory, text)
    if record.id not in {candidate.id for candidate in waiting(memory)}:
        raise BadInput(
            "id",
            f"{short_id(record.id)} is no candidate.",
            remedy="memory-fabric candidates lists them; pin, forget and why take any memory.",
        )
    return record
