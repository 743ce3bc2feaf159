"""Records that become candidates: those of releases without notes, and unconfirmed old ones."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from memory_fabric import ids
from memory_fabric.models import TYPED, Provenance
from memory_fabric.store import records
from memory_fabric.store.database import Database
from memory_fabric.store.record_state import ACTIVE_CURRENT

if TYPE_CHECKING:
    from memory_fabric.store.protocols import Memory

# The row of `meta` that the migration leaves where there are records of an earlier release. Its
# value is the id of the undoable step, once that has begun; it is deleted at the end.
UPGRADING = "upgrade to notes"
_CURRENT = f"{ACTIVE_CURRENT} AND pinned = 0 AND sightings < 2 "
_UNUSED = (
    "AND NOT EXISTS (SELECT 1 FROM injections AS i WHERE i.memory = 'record:' || records.id "
    "AND i.channel = 'pull') "
)
# Captured by phrases: from the prompt or the assistant's prose, and no note. A fix with its command
# has evidence of its own.
_BY_PHRASES = (
    f"{_CURRENT} {_UNUSED} AND scope <> 'local' AND type <> 'session' "
    "AND source IN ('prompt', 'assistant', 'subagent', 'compaction') AND created_at < ? "
    "AND json_extract(body, '$.evidence.noted') IS NULL "
    "AND json_extract(body, '$.evidence.command') IS NULL"
)
# Notes of earlier releases with the user's trust, but no words of theirs, that no act of theirs
# ever stated or kept.
_WITHOUT_WORDS = (
    "trust = 'user' AND source = 'assistant' "
    "AND json_extract(body, '$.evidence.noted') IS NOT NULL "
    "AND json_extract(body, '$.evidence.quotation') IS NULL "
    "AND json_extract(body, '$.evidence.confirmed') IS NULL AND NOT EXISTS ("
    "SELECT 1 FROM operations AS o WHERE json_extract(o.provenance, '$.source') IN "
    f"{TYPED} AND (instr(o.payload, records.id) > 0 OR instr(o.inverse, records.id) > 0))"
)
# What only the assistant said, and nobody used or said again since.
_UNCONFIRMED = (
    f"{_CURRENT} {_UNUSED} AND trust = 'assistant' AND type IN ('decision', 'note', 'question') "
    "AND json_extract(body, '$.evidence.noted') IS NOT NULL "
    "AND json_extract(body, '$.evidence.agreed') IS NULL AND created_at < ?"
)


def upgrade(memory: Memory, most: int) -> int:
    """Make candidates of what earlier releases captured by phrases; return how many, at most.

    All of it is one step for `undo`, told once when it is done.
    """
    made = 0
    for database in memory.databases():
        if database.read_only or database.newer:
            continue
        state = _state(database)
        if state is None:
            continue
        batch = state or ids.new_id()
        made += _demote(memory, database, _BY_PHRASES, ids.timestamp(), batch, most - made)
        is_done = made < most
        _set_state(database, None if is_done else batch)
        if is_done and (state or made):
            count = database.row(
                "SELECT count(*) FROM operations WHERE instr(payload, ?) > 0", (batch,)
            )
            step = database.row("SELECT id FROM operations WHERE instr(payload, ?) > 0", (batch,))
            if count and step:
                memory.messages.append(
                    f"{count[0]} memories that an earlier release took from prose, and that nobody "
                    "confirmed, are candidates now: `memory-fabric candidates` lists them, "
                    f"`memory-fabric undo {ids.short_id(step[0])}` takes this back"
                )
    return made


def demote_unconfirmed(memory: Memory, before: str, least_sessions: int) -> int:
    """Make candidates of the assistant's own facts, decisions and questions from before a time.

    Those that are told since fewer than `least_sessions` sessions stay. Returns how many.
    """
    made = 0
    for database in memory.databases():
        row = database.row(
            "SELECT started_at FROM sessions ORDER BY started_at DESC LIMIT 1 OFFSET ?",
            (least_sessions - 1,),
        )
        if row and not database.read_only:
            made += _demote(
                memory, database, _UNCONFIRMED, min(before, row[0]), ids.new_id(), most=1000
            )
    return made


def distrust_without_words(memory: Memory) -> int:
    """Give notes the assistant's trust that have the user's, but none of their words; return how
    many. An `undo` of it holds.
    """
    return sum(
        _demote(memory, one, _WITHOUT_WORDS, "", ids.new_id(), 1000, trust="assistant")
        for one in memory.databases()
        if not one.read_only
    )


def _demote(
    memory: Memory,
    database: Database,
    where: str,
    before: str,
    batch: str,
    most: int,
    **lower: Any,
) -> int:
    try:
        values = (before,) if before else ()
        found = records.find(database.connection, where, values, max(0, most))
    except sqlite3.Error:
        return 0  # a damaged database is reported and rebuilt elsewhere
    by = Provenance("cli", trust="user")
    for record, seen in found:
        lowered = record._replace(**(lower or {"status": "candidate"}))
        payload = {"record": records.as_object(lowered), "seen_in": seen, "batch": batch}
        memory.write("put_record", payload, by, store=database.kind)
    return len(found)


def _state(database: Database) -> str | None:
    row = database.row("SELECT value FROM meta WHERE key = ?", (UPGRADING,))
    return str(row[0]) if row else None


def _set_state(database: Database, batch: str | None) -> None:
    with database.transaction() as c:
        if batch is None:
            c.execute("DELETE FROM meta WHERE key = ?", (UPGRADING,))
        else:
            c.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (UPGRADING, batch))
