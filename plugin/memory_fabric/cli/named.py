"""Records by the ids that people type, and the tiers that hold them."""

from __future__ import annotations

import os
import re
from typing import Any

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.ids import short_id
from memory_fabric.models import Record
from memory_fabric.store import journal, native, records
from memory_fabric.store.files import read_lines
from memory_fabric.store.memory import Memory

# Short ids have eight characters; fewer would too often mean several.
MIN_ID_CHARS = 6


def looks_like_id(text: str) -> bool:
    """Whether a text can only be meant as an id."""
    found = re.fullmatch(r"(?:record:)?([0-9a-f-]+)", text.strip())
    return bool(found) and len(found.group(1) if found else "") >= MIN_ID_CHARS


def record_by_id(memory: Memory, text: str) -> tuple[Record, list[str], str]:
    """The record that an id or its end names, the sessions that saw it, and its database's kind.

    Raises NotFound, and BadInput when several end alike.
    """
    ending = text.strip().removeprefix("record:")
    pattern = "%" + ending.replace("%", "").replace("_", "")
    found = [
        (record, seen, database.kind)
        for database in memory.databases()
        for record, seen in records.find(database.connection, "id LIKE ?", (pattern,))
    ]
    if len(ending) < MIN_ID_CHARS or not found:
        raise NotFound(
            text, f"No memory has the id {text!r}.", remedy="memory-fabric recall shows ids."
        )
    if len(found) > 1:
        ids = ", ".join(record.id for record, _, _ in found)
        raise BadInput("id", f"{text!r} means several: {ids}.", remedy="Type more of the id.")
    return found[0]


def tiers_holding(memory: Memory, record_id: str) -> list[str]:
    """Where a record lies now: graph, queue, decisions.jsonl, MEMORY.md."""
    held = []
    if memory.find_records("id = ?", (record_id,)):
        held.append("graph")
    for folder in dict.fromkeys(memory.queue_folder(kind) for kind in ("project", "user")):
        waiting, _ = journal.queued(folder)
        if any(_record_id(line) == record_id for line in waiting):
            held.append("queue")
    if memory.project is None:
        return held
    lines, _ = read_lines(os.path.join(memory.project.local, journal.DECISIONS))
    mine = [line for line in lines if line.get("id") == record_id]
    if mine and not mine[-1].get("forgotten"):
        held.append(journal.DECISIONS)
    if record_id in native.shown_ids(native_notes(memory)):
        held.append("MEMORY.md")
    return held


def native_notes(memory: Memory) -> native.NativeNotes:
    """The MEMORY.md of this project."""
    root = memory.project.root if memory.project else ""
    settings = memory.settings
    return native.locate(settings.config_dir, root, settings.native_memory)


def as_json(record: Record) -> dict[str, Any]:
    """The record for programs; fields without a value are left out."""
    whole = records.as_object(record)
    whole["short_id"] = short_id(record.id)
    whole["entities"] = [{"name": e.name, "type": e.type} for e in record.entities]
    whole["relations"] = [
        {"from": r.source, "relation": r.type, "to": r.target} for r in record.relations
    ]
    return {k: v for k, v in whole.items() if v not in ("", [], {})}


def said_by(record: Record) -> str:
    """Who said it, by what way, and when, in a phrase."""
    who = record.author or ("someone" if record.trust == "user" else f"the {record.trust}")
    agent = f" (agent {record.agent})" if record.agent else ""
    return f"{who}{agent}, by {record.source}, on {when(record.created_at)}"


def when(timestamp: str) -> str:
    """A time for people: `2026-01-15 10:00`; the times of the house are UTC."""
    return f"{timestamp[:10]} {timestamp[11:16]} UTC" if timestamp else "an unknown day"


def _record_id(line: dict[str, Any]) -> str:
    payload = line.get("payload")
    record = payload.get("record") if isinstance(payload, dict) else None
    return str(record.get("id", "")) if isinstance(record, dict) else ""
