"""The line in which a new session is told of the last one: asked, outcome, open work."""

from __future__ import annotations

from memory_fabric.ids import timestamp
from memory_fabric.text import cut, first_of, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.models import Record
    from memory_fabric.store.memory import Memory

# A session is told of the last one that worked in so many seconds before.
TOLD_FOR_S = 14 * 24 * 3600
# Limits in characters, and the most records that were settled in it.
MAX_ASKED, MAX_OUTCOME, MAX_OPEN, MAX_SETTLED_TEXT = 140, 140, 160, 110
MAX_SETTLED, MAX_FILES, MAX_READ = 2, 3, 10
# Types of records that the block does not list itself.
SETTLED_TYPES = ("solution", "note")
# The key of a record's evidence that holds the kind of its note.
NOTED = "noted"
HOLDS = "status = 'active' AND superseded_by = '' AND valid_to = '' AND scope <> 'local'"


def last_session(memory: Memory, now_s: float, session: str = "") -> Record | None:
    """Return the record of the last other session, if it ended recently."""
    since = timestamp(now_s - TOLD_FOR_S)
    where = f"{HOLDS} AND type = 'session' AND session <> ? AND created_at > ?"
    found = memory.find_records(where, (session, since), 1)
    return found[0] if found else None


def settled_in(memory: Memory, session: Record) -> list[Record]:
    """Return facts and fixes that the assistant noted in a session, newest first."""
    marks = ", ".join("?" * len(SETTLED_TYPES))
    where = f"{HOLDS} AND session = ? AND type IN ({marks})"
    found = memory.find_records(where, (session.session, *SETTLED_TYPES), MAX_READ)
    return [record for record in found if record.evidence.get(NOTED)][:MAX_SETTLED]


def line(session: Record, settled: Sequence[Record] = ()) -> str:
    """Return `Last session (2026-01-14): asked “…”; outcome: …; left open: …`.

    What was settled in it is told rather than what the assistant said at its end, and the changed
    files where neither is known. It is '' if nothing of that is known.
    """
    evidence = session.evidence
    tasks = evidence.get("tasks") or [""]
    asked = cut(str(evidence.get("asked") or tasks[0]), MAX_ASKED)
    said = cut(str(evidence.get("said") or ""), MAX_OUTCOME)
    ends = evidence.get("open")
    left = cut("; ".join(map(str, ends)), MAX_OPEN) if isinstance(ends, list) else ""
    files = list(map(str, evidence.get("files") or ()))[::-1]
    parts = [f"asked “{asked}”"] if asked else []
    if settled:
        texts = (cut(one_line(record.what).rstrip("."), MAX_SETTLED_TEXT) for record in settled)
        parts.append(f"settled: {'; '.join(texts)}")
    elif said:
        parts.append(f"outcome: {said}")
    elif asked and files:
        parts.append(f"changed: {first_of(files, MAX_FILES)}")
    parts += [f"left open: {left}"] if left else []
    if not parts:
        return ""
    return f"Last session ({session.created_at[:10]}): {'; '.join(parts)}"
