"""Memories that wait for confirmation: candidates, and unpinned rules that were corrected twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_fabric.errors import BadInput
from memory_fabric.ids import short_id
from memory_fabric.models import Provenance, Record
from memory_fabric.store import notices, records, sessions
from memory_fabric.store.history import resolve
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import occurrences

MAX_LISTED = 200
_OPEN = "superseded_by = '' AND valid_to = ''"
_CANDIDATE = f"status = 'candidate' AND {_OPEN} AND scope <> 'local'"
_TWICE = (
    f"status = 'active' AND {_OPEN} AND pinned = 0 AND scope <> 'local' "
    f"AND json_array_length(body, '$.evidence.{occurrences.CORRECTED}') > 1 "
    f"AND coalesce(json_extract(body, '$.evidence.{occurrences.PIN}'), '') "
    f"<> '{occurrences.DECLINED}'"
)
SIGHTING, REASON = "another session that states it", "a reason"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Candidates, and rules proposed to be pinned; each newest first."""

    candidates: tuple[Record, ...]
    proposals: tuple[Record, ...]


def waiting(memory: Memory) -> Waiting:
    """Return everything that waits in this project and for the user."""
    return Waiting(
        tuple(memory.find_records(_CANDIDATE, (), MAX_LISTED)),
        tuple(memory.find_records(_TWICE, (), MAX_LISTED)),
    )


def missing(candidates: Sequence[Record]) -> str:
    """Return what would activate these candidates: a reason only where none is on record."""
    lacks_reason = any(not record.why for record in candidates)
    return f"{SIGHTING}, or {REASON}" if lacks_reason else SIGHTING


def note_shown(memory: Memory, found: Waiting, now: str) -> None:
    """Note which candidates this session has been shown, so that its model only repeats them."""
    session = memory.settings.session
    if not (session and found.candidates and memory.settings.writes):
        return
    shown = [f"record:{record.id}" for record in found.candidates]
    sessions.record_injections(memory.session_database(), session, "", shown, "pull", now)


def named(memory: Memory, text: str) -> tuple[Record, list[str], str]:
    """Return the waiting record with this id or its end, its sessions and its database's kind.

    Raises NotFound, and BadInput for a record that does not wait.
    """
    record, seen, kind = resolve.record_by_id(memory, text)
    found = waiting(memory)
    if record.id not in {r.id for r in (*found.candidates, *found.proposals)}:
        raise BadInput(
            "id",
            f"{short_id(record.id)} is neither a candidate nor a rule corrected twice.",
            remedy="memory-fabric candidates lists them; pin, forget and why take any memory.",
        )
    return record, seen, kind


def pin(memory: Memory, record: Record, seen: list[str], kind: str, by: Provenance) -> Record:
    """Pin the rule, which ends the proposal."""
    return _put(memory, record._replace(pinned=True), seen, kind, by)


def decline(memory: Memory, record: Record, seen: list[str], kind: str, by: Provenance) -> Record:
    """Keep the rule as it was, and propose it no more."""
    evidence = {**record.evidence, occurrences.PIN: occurrences.DECLINED}
    return _put(memory, record._replace(evidence=evidence), seen, kind, by)


def _put(memory: Memory, record: Record, seen: list[str], kind: str, by: Provenance) -> Record:
    payload = {"record": records.as_object(record), "seen_in": seen}
    memory.write("put_record", payload, by, store=kind)
    notices.withdraw(memory.settings.home, record.id)
    return record
