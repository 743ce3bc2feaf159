"""From a text in the intake to memories, step by step, so that any step may be the last one.

What is to be stored is settled first and noted beside the text; each step is noted when it is done,
and has ids of its own: whoever goes on does the rest, and nothing twice.
"""

from __future__ import annotations

from memory_fabric.capture.known_names import KnownNames
from memory_fabric.capture.remember import state
from memory_fabric.capture.unreadable import Unread
from memory_fabric.ingest import parts
from memory_fabric.store import ingest_queue, records, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from memory_fabric.store.ingest_queue import Claimed
    from memory_fabric.store.memory import Memory


def work_off(
    memory: Memory, claimed: Claimed, note: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any] | None:
    """What became of the text: ids of its `records`, how many `turns`; None when it was lost.

    `note` keeps how far it is, and says whether the text is still ours. Only what ends the text
    need be durable: a loss of power before that takes back the last steps, and they are done again.
    Raises StoreUnavailable.
    """
    progress = dict(claimed.progress)
    database = memory.session_database()
    memory.batch, database.waits_for_last = claimed.id, True
    try:
        if "plan" not in progress:
            progress = _planned(memory, claimed)
            if not note(progress):
                return None
        turns = _keep_turns(memory, claimed)
        for number in range(int(progress["step"]), len(progress["plan"])):
            id_ = _stated(memory, claimed, progress["plan"][number])
            progress["records"] += [id_] if id_ else []
            progress["step"] = number + 1
            if not note(progress):
                return None
    finally:
        memory.batch, database.waits_for_last = "", False
    return {"records": list(dict.fromkeys(progress["records"])), "turns": turns}


def _planned(memory: Memory, claimed: Claimed) -> dict[str, Any]:
    """What is to be stated: the decisions, and what the turns say that had not come before."""
    turns = parts.turns(claimed)
    asked = [(turn.id, parts.ROLE, "") for turn in turns]
    known, _ = sessions.known_turns(memory.session_database(), asked)
    new = [turn for turn in turns if turn.id not in known]
    text = "\n".join([*claimed.ingest.key_decisions, *(turn.text for turn in new)])
    unread = Unread()
    found = parts.records(claimed, new, KnownNames(memory, text), unread)
    unread.tell(memory)
    return {"plan": [records.as_object(record) for record in found], "step": 0, "records": []}


def _keep_turns(memory: Memory, claimed: Claimed) -> int:
    """How many turns the text has; they are kept, each once, where turns are."""
    if not memory.settings.episodes_keep_days:
        return 0
    said = parts.episodes(claimed, parts.turns(claimed))
    if said:
        memory.write_now(
            "add_episodes", {"episodes": said}, parts.provenance(claimed), store="project"
        )
    return len(said)


def _stated(memory: Memory, claimed: Claimed, planned: Mapping[str, Any]) -> str:
    """The id under which memory has the record; '' where it must stay away, or is too unsure."""
    record = records.from_object(planned)
    stored, _ = state(memory, record, parts.provenance(claimed), claimed.ingest.session_summary)
    return stored.id if stored is not None else ""


def try_once(
    memory: Memory, claimed: Claimed, worker: str, now: Callable[[], float], lease_s: float
) -> bool:
    """Work off a claimed text; False when it was lost meanwhile. Raises what stopped it."""

    def note(progress: Mapping[str, Any]) -> bool:
        return ingest_queue.save_progress(memory, claimed.id, worker, progress, now() + lease_s)

    outcome = work_off(memory, claimed, note)
    return outcome is not None and ingest_queue.finish(memory, claimed.id, worker, outcome)
