"""A session's notes, updated after each reading, and the session record made of them at its end."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric import ids
from memory_fabric.clients.claude_code.transcript import Turn
from memory_fabric.config import trust_for
from memory_fabric.models import CLIENT, Provenance, Record
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.session import session_summary
from memory_fabric.session.working_state import changed_files, item_list, left_to_do
from memory_fabric.store import records
from memory_fabric.store.conversations import sessions
from memory_fabric.store.projects import commits

DECIDED = "('decision', 'constraint', 'preference', 'pattern', 'antipattern')"
MAX_DECISIONS = 20


def taken(notes: Mapping[str, Any], turns: Sequence[Turn], folder: str) -> dict[str, Any]:
    """Return the notes after these turns of the session itself; project paths become relative."""
    inside = folder.rstrip(os.sep) + os.sep
    times = [turn.created_at for turn in turns if _is_time(turn.created_at)]
    return session_summary.noted(
        notes,
        [(turn.role, turn.text) for turn in turns if turn.text],
        files=[path.removeprefix(inside) for path in changed_files(turns)],
        items=item_list(turns, _listed(notes)),
        at=max(times, default=""),
    )


def conclude(context: RequestContext, session: str) -> Record | None:
    """Store or update the session record; None if the session had no work.

    A forgotten record is not restored, a pinned one stays pinned.
    """
    memory = context.memory
    trust = trust_for(memory.settings, "assistant")
    if not trust:
        return None
    database = memory.session_database()
    notes = sessions.load_notes(database, session)
    made = database.rows(
        f"SELECT id FROM records WHERE session = ? AND type IN {DECIDED} AND status = 'active' "
        "AND scope <> 'local' ORDER BY seq LIMIT ?",
        (session, MAX_DECISIONS),
    )
    record = session_summary.summary(
        notes,
        to_do=left_to_do(_listed(notes) or {}),
        failing=_failing(notes),
        decisions=[row[0] for row in made],
        solved=int(notes.get("solved", 0)),
        commit="" if context.is_past else commits.commit_at(memory.settings.project_dir),
    )
    if record is None:
        return None
    by, domain = Provenance("assistant", trust=trust, session=session), context.domain
    record = record._replace(
        # A session may continue in another domain: its work in an isolated one is kept apart.
        id=ids.id_for(f"{session}\n{domain.name}" if domain.isolated else session),
        trust=trust,
        source=by.source,
        session=session,
        agent=context.agent_type,
        evidence={**record.evidence, **({CLIENT: notes[CLIENT]} if CLIENT in notes else {})},
        project=memory.project.name if memory.project else "",
        author=memory.settings.author,
        origin=memory.settings.origin,
        created_at=min(str(notes.get("at", "")) or context.now, context.now),
    )
    return _put(context, record, by)


def _put(context: RequestContext, record: Record, by: Provenance) -> Record:
    memory = context.memory
    known = records.find(memory.session_database().connection, "id = ?", (record.id,))
    if known:
        old = known[0][0]
        record = record._replace(pinned=old.pinned, scope=old.scope, status=old.status)
        if record._replace(evidence=old.evidence, what=old.what) == old and (
            record.what,
            dict(record.evidence),
        ) == (old.what, dict(old.evidence)):
            return old
    payload = {"record": records.as_object(record), "seen_in": [record.session]}
    memory.write("put_record", payload, by, store="project")
    return record


def _failing(notes: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not notes.get("failing"):
        return []
    # late: few sessions end with a failure
    from memory_fabric.session.store_incidents import still_failing

    failing = [failure for failure in still_failing(notes) if not failure.is_over]
    return [(failure.command.text, failure.error) for failure in failing]


def _listed(notes: Mapping[str, Any]) -> dict[str, tuple[str, str]] | None:
    kept = notes.get("items")
    if not isinstance(kept, dict):
        return None
    return {key: (str(item[0]), str(item[1])) for key, item in kept.items() if len(item) == 2}


def _is_time(text: str) -> bool:
    """Return True for a time in our format, which can be compared as text."""
    return len(text) == 24 and text[10] == "T" and text.endswith("Z")
