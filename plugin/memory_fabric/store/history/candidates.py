"""Candidates: sentences that were heard and not noted, and what could hold for everybody."""

from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.errors import BadInput
from memory_fabric.ids import short_id
from memory_fabric.models import AGAIN, OTHERS, Provenance, Record
from memory_fabric.store import records
from memory_fabric.store.conversations import sessions
from memory_fabric.store.history import resolve
from memory_fabric.store.memory import Memory
from memory_fabric.store.record_state import CURRENT

MAX_LISTED = 200
_OPEN = f"{CURRENT} AND scope <> 'local'"
_CANDIDATE = f"status = 'candidate' AND {_OPEN}"
# The key of a record's evidence with the id of the global one that was made from it.
GLOBAL = "global"
_GENERALIZABLE = (
    f"status = 'active' AND {_OPEN} AND scope <> 'global' AND source <> '{OTHERS}' "
    f"AND json_extract(body, '$.generalizable') AND json_extract(body, '$.evidence.{GLOBAL}') "
    "IS NULL"
)
MISSING = "your word (--keep), or a note of the assistant with From: [id]"


def waiting(memory: Memory) -> list[Record]:
    """Return the candidates of this project and of the user: said again first, then newest."""
    found = memory.find_records(_CANDIDATE, (), MAX_LISTED)
    return sorted(found, key=said_again, reverse=True)


def said_again(candidate: Record) -> int:
    """Return the number of other sessions in which the user said nearly the same."""
    times = candidate.evidence.get(AGAIN)
    return times if isinstance(times, int) else 0


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
    if record.status != "candidate" or record.superseded_by or record.scope == "local":
        raise BadInput(
            "id",
            f"{short_id(record.id)} is no candidate.",
            remedy="memory-fabric candidates lists them; edit, pin and forget take any memory.",
        )
    return record


def for_everybody(memory: Memory) -> list[Record]:
    """Return records that may hold in every project, newest first; none is global yet."""
    return memory.find_records(_GENERALIZABLE, (), MAX_LISTED)


def named_for_everybody(memory: Memory, text: str) -> tuple[Record, list[str], str]:
    """Return the record of `for_everybody` with this id, its sessions and its database's kind.

    Raises NotFound, and BadInput for any other record.
    """
    record, seen, kind = resolve.record_by_id(memory, text)
    if not memory.find_records(f"id = ? AND {_GENERALIZABLE}", (record.id,)):
        raise BadInput(
            "id",
            f"{short_id(record.id)} is not proposed for every project.",
            remedy="memory-fabric candidates --global lists what is; edit --scope global takes "
            "any memory.",
        )
    return record, seen, kind


def settle_for_everybody(
    memory: Memory, found: tuple[Record, list[str], str], by: Provenance, made: str = ""
) -> Record:
    """Propose the record no more: `made` is the id of the global one, or it is for this project."""
    record, seen, kind = found
    if made:
        record = record._replace(evidence={**record.evidence, GLOBAL: made})
    else:
        record = record._replace(generalizable=False)
    payload = {"record": records.as_object(record), "seen_in": seen}
    memory.write("put_record", payload, by, store=kind)
    return record
