"""Process an ingested text into memories, in steps that survive a crash at any point.

The plan is made first and saved with the text; each step has fixed ids and is saved when it is
done, so that another worker can continue and nothing is stored twice.
"""

from __future__ import annotations

from memory_fabric.capture.known_names import KnownNames
from memory_fabric.capture.remember import state
from memory_fabric.capture.unreadable import Unread
from memory_fabric.ingest import parts
from memory_fabric.store import records
from memory_fabric.store.queues import ingest_queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from memory_fabric.store.memory import Memory
    from memory_fabric.store.queues.ingest_queue import Claimed


def process_text(
    memory: Memory, claimed: Claimed, note: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any] | None:
    """Process a text; return ids of its `records` and the number of `turns`, or None if it was
    lost.

    `note` saves the progress, and returns False if another worker has the text now. Only the last
    step must be durable: a power failure before that undoes the last steps, and they are repeated.
    Raises StoreUnavailable.
    """
    progress = dict(claimed.progress)
    database = memory.session_database()
    memory.batch, database.waits_for_last = claimed.id, True
    try:
        if "plan" not in progress:
            progress = _plan(memory, claimed)
            if not note(progress):
                return None
        turns = _keep_turns(memory, claimed)
        for number in range(int(progress["step"]), len(progress["plan"])):
            id_ = _store_record(memory, claimed, progress["plan"][number])
            progress["records"] += [id_] if id_ else []
            progress["step"] = number + 1
            if not note(progress):
                return None
    finally:
        memory.batch, database.waits_for_last = "", False
    return {"records": list(dict.fromkeys(progress["records"])), "turns": turns}


def _plan(memory: Memory, claimed: Claimed) -> dict[str, Any]:
    """Return the plan: the records of the stated decisions and of notes."""
    unread = Unread()
    said = claimed.ingest
    known = KnownNames(memory, "\n".join([*said.key_decisions, said.session_summary]))
    found = parts.records(claimed, known, unread)
    unread.report(memory)
    return {"plan": [records.as_object(record) for record in found], "step": 0, "records": []}


def _keep_turns(memory: Memory, claimed: Claimed) -> int:
    """Store the turns, each once, if turns are kept; return their number."""
    if not memory.settings.episodes_keep_days:
        return 0
    said = parts.episodes(claimed, parts.turns(claimed))
    if said:
        memory.write_now(
            "add_episodes", {"episodes": said}, parts.provenance(claimed), store="project"
        )
    return len(said)


def _store_record(memory: Memory, claimed: Claimed, planned: Mapping[str, Any]) -> str:
    """Store a planned record; return its id, or '' if it was forgotten or is too uncertain."""
    record = records.from_object(planned)
    stored, _ = state(memory, record, parts.provenance(claimed))
    return stored.id if stored is not None else ""


def try_once(
    memory: Memory, claimed: Claimed, worker: str, now: Callable[[], float], lease_s: float
) -> bool:
    """Process a claimed text; return False if another worker took it over. Raises what
    stopped it.
    """

    def note(progress: Mapping[str, Any]) -> bool:
        return ingest_queue.save_progress(memory, claimed.id, worker, progress, now() + lease_s)

    outcome = process_text(memory, claimed, note)
    return outcome is not None and ingest_queue.finish(memory, claimed.id, worker, outcome)
