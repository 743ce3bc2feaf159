"""Find records and entities by the names and ids that people type, and the tiers that hold a
record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Record
from memory_fabric.sharing.git import location
from memory_fabric.store import graph, journal, records
from memory_fabric.store.files import read_lines
from memory_fabric.store.history.changes import MIN_ID_CHARS
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import memory_md


def looks_like_id(text: str) -> bool:
    """True if a text can only be an id."""
    found = re.fullmatch(r"(?:record:)?([0-9a-f-]+)", text.strip())
    return bool(found) and len(found.group(1) if found else "") >= MIN_ID_CHARS


def id_part(text: str) -> str:
    """Return the typed part of an id, without characters that are special in a query."""
    return text.strip().removeprefix("record:").replace("%", "").replace("_", "")


def record_by_id(memory: Memory, text: str) -> tuple[Record, list[str], str]:
    """Return the record that an id or its end names, the sessions that saw it, and its database's
    kind.

    Raises NotFound, and BadInput if several ids end alike.
    """
    ending = id_part(text)
    found = [
        (record, seen, database.kind)
        for database in memory.databases()
        for record, seen in records.find(database.connection, "id LIKE ?", ("%" + ending,))
    ]
    if len(ending) < MIN_ID_CHARS or not found:
        raise NotFound(
            text, f"No memory has the id {text!r}.", remedy="memory-fabric recall shows ids."
        )
    if len(found) > 1:
        ids = ", ".join(record.id for record, _, _ in found)
        raise BadInput("id", f"{text!r} fits several ids: {ids}.", remedy="Type more of the id.")
    return found[0]


def entities_meant(memory: Memory, text: str) -> list[tuple[str, str]]:
    """Return (database kind, name) of the entities of exactly this name or alias."""
    found = []
    for database in memory.databases():
        rows = database.rows(
            "SELECT name FROM entities WHERE name = ?1 UNION SELECT e.name FROM entities AS e "
            "JOIN aliases AS a ON a.entity = e.id WHERE a.alias = ?1 "
            "AND NOT EXISTS (SELECT 1 FROM entities WHERE name = ?1)",
            (text,),
        )
        found += [(database.kind, row[0]) for row in rows]
    return found


def names_of(memory: Memory, text: str) -> set[str]:
    """Return all names of the entities that a text means, in any spelling, with the text itself."""
    names = {text}
    for database in memory.databases():
        names.update(e.name for e in graph.entities_by_key(database, [text]).values())
        for name in sorted(names):
            names.update(
                row[0]
                for row in database.rows(
                    "SELECT a.alias FROM aliases AS a JOIN entities AS e ON e.id = a.entity "
                    "WHERE e.name = ?",
                    (name,),
                )
            )
    return names


def tiers_holding(memory: Memory, record_id: str) -> list[str]:
    """Return the tiers that hold a record now: graph, queue, decisions.jsonl, MEMORY.md."""
    held = []
    if memory.find_records("id = ?", (record_id,)):
        held.append("graph")
    for folder in dict.fromkeys(memory.queue_folder(kind) for kind in ("project", "user")):
        try:
            waiting, _ = journal.queued(folder)
        except OSError:
            continue  # a file that is too large is no queue
        if any(_record_id(line) == record_id for line in waiting):
            held.append("queue")
    if memory.project is None:
        return held
    for path in location.files_of(memory):
        lines, _ = read_lines(path)
        mine = [line for line in lines if line.get("id") == record_id]
        if mine and not mine[-1].get("forgotten"):
            held.append(journal.DECISIONS)
            break
    if record_id in memory_md.shown_ids(memory_md_file(memory)):
        held.append("MEMORY.md")
    return held


def memory_md_file(memory: Memory) -> memory_md.MemoryFile:
    """Return the MEMORY.md of this project."""
    root = memory.project.root if memory.project else ""
    settings = memory.settings
    return memory_md.locate(settings.config_dir, root, settings.memory_md_off)


def _record_id(line: Mapping[str, Any]) -> str:
    payload = line.get("payload")
    record = payload.get("record") if isinstance(payload, dict) else None
    return str(record.get("id", "")) if isinstance(record, dict) else ""
