"""The line in which a new session is told of the last one: asked, outcome, open work."""

from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.ids import timestamp
from memory_fabric.models import Record
from memory_fabric.store.memory import Memory
from memory_fabric.store.record_state import ACTIVE_CURRENT
from memory_fabric.text import cut, first_of, one_line

# A session is told of the last one that worked in so many seconds before.
TOLD_FOR_S = 14 * 24 * 3600
# Limits in characters, and the most records that were settled in it.
MAX_ASKED, MAX_OUTCOME, MAX_OPEN, MAX_SETTLED_CHARS = 110, 140, 140, 200
MAX_SETTLED, MAX_FILES, MAX_READ = 2, 3, 10
# The most sessions that are looked at.
MAX_WORKED = 10
# Types of records that the block does not list itself.
SETTLED_TYPES = ("solution", "note")
# The key of a record's evidence that holds the kind of its note.
NOTED = "noted"
HOLDS = f"{ACTIVE_CURRENT} AND scope <> 'local'"


def worked(memory: Memory) -> list[Record]:
    """Return the records of the last sessions that worked, newest first."""
    found: list[Record] = memory.find_records(f"{HOLDS} AND type = 'session'", (), MAX_WORKED)
    return found


def last_session(found: Sequence[Record], now_s: float, session: str = "") -> Record | None:
    """Return the first of these sessions that is another one and ended recently."""
    since = timestamp(now_s - TOLD_FOR_S)
    others = (one for one in found if one.session != session and one.created_at > since)
    return next(others, None)


def settled_in(memory: Memory, session: Record) -> list[Record]:
    """Return facts and fixes that the assistant noted in a session, newest first."""
    marks = ", ".join("?" * len(SETTLED_TYPES))
    where = f"{HOLDS} AND session = ? AND type IN ({marks})"
    found = memory.find_records(where, (session.session, *SETTLED_TYPES), MAX_READ)
    return [record for record in found if record.evidence.get(NOTED)][:MAX_SETTLED]


def line(session: Record, settled: Sequence[Record] = ()) -> str:
    """Return `Last session (2026-01-14): asked “…”; outcome: …; left open: …`.

    What was settled in it is told rather than what the assistant said at its end, and the changed
    files where neither is known. It is '' if only the request is known, or not even that.
    """
    evidence = session.evidence
    tasks = evidence.get("tasks") or [""]
    asked = cut(str(evidence.get("asked") or tasks[0]), MAX_ASKED)
    said = cut(str(evidence.get("said") or ""), MAX_OUTCOME)
    ends = evidence.get("open")
    left = cut("; ".join(map(str, ends)), MAX_OPEN) if isinstance(ends, list) else ""
    files = _names(evidence.get("files"))
    parts = [f"settled: {_texts(settled)}"] if settled else [f"outcome: {said}"] if said else []
    if not parts and asked and files:
        parts = [f"changed: {first_of(files, MAX_FILES)}"]
    parts += [f"left open: {left}"] if left else []
    if not parts:
        return ""
    parts = [f"asked “{asked}”", *parts] if asked else parts
    return f"Last session ({session.created_at[:10]}): {'; '.join(parts)}"


def _texts(settled: Sequence[Record]) -> str:
    """Return the first text, and the next ones that fit whole."""
    texts = [one_line(record.what).rstrip(".") for record in settled]
    kept = [cut(texts[0], MAX_SETTLED_CHARS)]
    for text in texts[1:]:
        if len("; ".join([*kept, text])) <= MAX_SETTLED_CHARS:
            kept.append(text)
    return "; ".join(kept)


def _names(paths: object) -> list[str]:
    """Return the names of files, the last one first, each once; without folders."""
    found = map(str, paths) if isinstance(paths, list) else ()
    names = [path.replace("\\", "/").rpartition("/")[2] for path in found]
    return list(dict.fromkeys(name for name in reversed(names) if "." in name))
