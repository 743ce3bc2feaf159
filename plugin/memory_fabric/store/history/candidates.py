"""Candidates: records awaiting confirmation. No note states them, or only an old, unused one."""

import sqlite3
from collections.abc import Sequence

from memory_fabric import ids
from memory_fabric.errors import BadInput
from memory_fabric.models import AGAIN, RECORD_TYPES, TYPED, Payload, Provenance, Record
from memory_fabric.store import records
from memory_fabric.store.conversations import sessions
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.schema import ACTIVE_CURRENT, CURRENT

MAX_LISTED = 200
_CANDIDATE = f"status = 'candidate' AND {CURRENT} AND scope <> 'local'"
MISSING = "your word (--keep), or a note of the assistant with From: [id]"
# SQL condition: notes whose trust is `user`, although no quotation or action of the user backs it.
_WITHOUT_WORDS = (
    "trust = 'user' AND source = 'assistant' "
    "AND json_extract(body, '$.evidence.noted') IS NOT NULL "
    "AND json_extract(body, '$.evidence.quotation') IS NULL "
    "AND json_extract(body, '$.evidence.confirmed') IS NULL AND NOT EXISTS ("
    "SELECT 1 FROM operations AS o WHERE json_extract(o.provenance, '$.source') IN "
    f"{TYPED} AND (instr(o.payload, records.id) > 0 OR instr(o.inverse, records.id) > 0))"
)
_FADING = ", ".join(f"'{kind}'" for kind, row in RECORD_TYPES.items() if row.fades)
# SQL condition for notes that only the assistant stated, and that nobody used or repeated.
_UNCONFIRMED = (
    f"{ACTIVE_CURRENT} AND pinned = 0 AND sightings < 2 AND NOT EXISTS (SELECT 1 "
    "FROM injections AS i WHERE i.memory = 'record:' || records.id AND i.channel = 'pull') "
    f"AND trust = 'assistant' AND type IN ({_FADING}) "
    "AND json_extract(body, '$.evidence.noted') IS NOT NULL "
    "AND json_extract(body, '$.evidence.agreed') IS NULL AND created_at < ?"
)


def waiting(memory: Memory) -> list[Record]:
    """Return the candidates of this project and of the user: repeated ones first, then newest."""
    return sorted(memory.find_records(_CANDIDATE, (), MAX_LISTED), key=said_again, reverse=True)


def said_again(candidate: Record) -> int:
    """Return in how many other sessions the user said the candidate's text in similar words."""
    times = candidate.evidence.get(AGAIN)
    return times if isinstance(times, int) else 0


def note_shown(memory: Memory, listed: Sequence[Record], now: str) -> None:
    """Log that this session was shown these candidates, so that repeating them confirms nothing."""
    session = memory.settings.session
    if not (session and listed and memory.settings.writes):
        return
    memories = [f"record:{record.id}" for record in listed]
    sessions.record_injections(memory.session_database(), session, "", memories, "pull", now)


def named(memory: Memory, text: str) -> Record:
    """Return the candidate whose id equals or ends with the text. Raises NotFound, BadInput."""
    from memory_fabric.store.history import resolve  # imported late: not needed at session start

    record, _, _ = resolve.record_by_id(memory, text)
    if record.status != "candidate" or record.superseded_by or record.scope == "local":
        problem = f"{ids.short_id(record.id)} is no candidate."
        remedy = "memory-fabric candidates lists them; edit, pin and forget take any memory."
        raise BadInput("id", problem, remedy=remedy)
    return record


def demote_unconfirmed(memory: Memory, before: str, least_sessions: int) -> int:
    """Turn unconfirmed notes of the assistant into candidates; return their count. A note must be
    older than `before`, and than the newest `least_sessions` sessions of its database.
    """
    demoted = 0
    for database in memory.databases():
        newest = "SELECT started_at FROM sessions ORDER BY started_at DESC LIMIT 1 OFFSET ?"
        row = database.row(newest, (least_sessions - 1,))
        if row and not database.read_only:
            lowered = {"status": "candidate"}
            demoted += _demote(memory, database, _UNCONFIRMED, min(before, row[0]), lowered)
    return demoted


def distrust_without_words(memory: Memory) -> int:
    """Set the trust of notes without a quotation of the user to `assistant`; return their count."""
    writable = (db for db in memory.databases() if not db.read_only)
    return sum(_demote(memory, db, _WITHOUT_WORDS, "", {"trust": "assistant"}) for db in writable)


def _demote(memory: Memory, database: Database, where: str, before: str, change: Payload) -> int:
    try:
        values, batch = (before,) if before else (), ids.new_id()
        matches = records.find(database.connection, where, values)
    except sqlite3.Error:
        return 0  # other code reports and rebuilds a damaged database
    for record, seen_in in matches:
        lowered = {**records.as_object(record), **change}
        payload = {"record": lowered, "seen_in": seen_in, "batch": batch}
        memory.write("put_record", payload, Provenance("cli", trust="user"), store=database.kind)
    return len(matches)
