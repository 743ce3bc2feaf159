"""What waits for somebody's word: candidates, and unpinned rules that were corrected twice."""

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
SIGHTING, REASON = "another session that says it", "a reason"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Candidates, and rules proposed to be pinned; each newest first."""

    candidates: tuple[Record, ...]
    proposals: tuple[Record, ...]


def waiting(memory: Memory) -> Waiting:
    """All that waits in this project and for the user."""
    return Waiting(
        tuple(memory.find_records(_CANDIDATE, (), MAX_LISTED)),
        tuple(memory.find_records(_TWICE, (), MAX_LISTED)),
    )


def missing(candidates: Sequence[Record]) -> str:
    """Return what would make memories of these: a reason only where one is not on record."""
    lacks_reason = any(not record.why for record in candidates)
    return f"{SIGHTING}, or {REASON}" if lacks_reason else SIGHTING


def note_shown(memory: Memory, found: Waiting, now: str) -> None:
    """Note which candidates the session of this shell has seen: its model may only repeat them."""
    session = memory.settings.session
    if not (session and found.candidates and memory.settings.writes):
        return
    shown = [f"record:{record.id}" for record in found.candidates]
    sessions.record_injections(memory.session_database(), session, "", shown, "pull", now)


def named(memory: Memory, text: str) -> tuple[Record, list[str], str]:
    """What waits under this id or its end, with its sessions and its database's kind.

    Raises NotFound, and BadInput where it names something that does not wait.
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
    """The rule, pinned; nothing is left to be said about it."""
    return _put(memory, record._replace(pinned=True), seen, kind, by)


def decline(memory: Memory, record: Record, seen: list[str], kind: str, by: Provenance) -> Record:
    """The rule as it was, proposed no more."""
    evidence = {**record.evidence, occurrences.PIN: occurrences.DECLINED}
    return _put(memory, record._replace(evidence=evidence), seen, kind, by)


def _put(memory: Memory, record: Record, seen: list[str], kind: str, by: Provenance) -> Record:
    payload = {"record": records.as_object(record), "seen_in": seen}
    memory.write("put_record", payload, by, store=kind)
    notices.withdraw(memory.settings.home, record.id)
    return record
