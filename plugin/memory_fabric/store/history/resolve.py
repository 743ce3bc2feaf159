"""Find records and entities by names and ids that people type; pin records; format them as JSON."""

import re
from typing import Any

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.ids import checksum, short_id
from memory_fabric.models import CONFIRMED, WHEN, Provenance, Record
from memory_fabric.sharing.git import location
from memory_fabric.store import journal, records
from memory_fabric.store.database import Database
from memory_fabric.store.files import read_lines
from memory_fabric.store.history.changes import MIN_ID_CHARS
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.tiers import memory_md

_ID = re.compile(r"(?:record:)?[0-9a-f-]{6,}")
_SHORT_ID = re.compile(rf"[0-9a-f]{{{MIN_ID_CHARS},5}}")


def looks_like_id(text: str) -> bool:
    """Return True if a text has the characters and the length of an id."""
    return _ID.fullmatch(text.strip()) is not None


def means_id(memory: Memory, text: str) -> bool:
    """Return True if a text looks like an id. A short text must also be the end of a record's id,
    and must not be an entity's name.
    """
    if looks_like_id(text) or not _SHORT_ID.fullmatch(text):
        return looks_like_id(text)
    return not entities_meant(memory, text) and any(memory.find_records("id LIKE ?", ("%" + text,)))


def id_part(text: str) -> str:
    """Return the part of an id that the user typed, without `record:` and SQL's `%` and `_`."""
    return text.strip().removeprefix("record:").replace("%", "").replace("_", "")


def record_by_id(memory: Memory, text: str) -> tuple[Record, list[str], str]:
    """Find (record, sessions, kind of database) by the end of an id. Raises NotFound, BadInput."""
    ending = id_part(text)
    like, databases = ("id LIKE ?", ("%" + ending,)), memory.databases()
    pairs = ((pair, db.kind) for db in databases for pair in records.find(db.connection, *like))
    matches = [(record, seen_in, store) for (record, seen_in), store in pairs]
    if len(ending) < MIN_ID_CHARS or not matches:
        raise no_such_id(text)
    if len(matches) > 1:
        raise several_ids(text, (record.id for record, _, _ in matches))
    return matches[0]


def no_such_id(text: str) -> NotFound:
    """Return the error for an id that no memory has."""
    problem = f"No memory has the id {text!r}."
    return NotFound(text, problem, remedy="memory-fabric recall shows ids.")


def no_such_entity(name: str) -> NotFound:
    """Return the error for a name that no entity has."""
    problem = f"There is no entity {name!r}."
    return NotFound(name, problem, remedy="memory-fabric recall finds names.")


def several_ids(text: str, ids: Any) -> BadInput:
    """Return the error for a text that is the end of several ids."""
    listed = ", ".join(ids)
    return BadInput("id", f"{text!r} fits several ids: {listed}.", remedy="Type more of the id.")


def entities_meant(memory: Memory, text: str) -> list[tuple[str, str]]:
    """Return (database kind, name) of each entity with exactly this name or alias."""
    query = (
        "SELECT name FROM entities WHERE name = ?1 UNION SELECT e.name FROM entities AS e "
        "JOIN aliases AS a ON a.entity = e.id WHERE a.alias = ?1 "
        "AND NOT EXISTS (SELECT 1 FROM entities WHERE name = ?1)"
    )
    return [(db.kind, name) for db in memory.databases() for (name,) in db.rows(query, (text,))]


def names_of(memory: Memory, text: str) -> set[str]:
    """Return `text`, and all names and aliases of each entity called `text` in any spelling."""
    names = {text}
    for database in memory.databases():
        names.update(e.name for e in graph.entities_by_key(database, [text]).values())
        names.update(alias for name in sorted(names) for alias in aliases_of(database, name))
    return names


def aliases_of(database: Database, name: str) -> list[str]:
    """Return the aliases of the entity with exactly this name."""
    query = (
        "SELECT a.alias FROM aliases AS a JOIN entities AS e ON e.id = a.entity "
        "WHERE e.name = ? ORDER BY a.key"
    )
    return [alias for (alias,) in database.rows(query, (name,))]


def tiers_holding(memory: Memory, record_id: str) -> list[str]:
    """Return which of `graph`, `queue`, `decisions.jsonl` and `MEMORY.md` contain the record."""
    tiers = ["graph"] if memory.find_records("id = ?", (record_id,)) else []
    for folder in memory.queue_folders():
        try:
            waiting, _ = journal.queued(folder)
        except OSError:
            continue  # skip a queue that is unreadable or too large
        payloads = [line.get("payload") for line in waiting]
        changed = [p.get("record") for p in payloads if isinstance(p, dict)]
        if any(isinstance(r, dict) and r.get("id") == record_id for r in changed):
            tiers.append("queue")
    if memory.project is None:
        return tiers
    for path in location.files_of(memory):
        lines, _ = read_lines(path)
        mine = [line for line in lines if line.get("id") == record_id]
        if mine and not mine[-1].get("forgotten"):
            tiers.append(journal.DECISIONS)
            break
    if record_id in memory_md.shown_lines(memory_md_file(memory)):
        tiers.append("MEMORY.md")
    return tiers


def memory_md_file(memory: Memory) -> memory_md.MemoryFile:
    """Return the MEMORY.md file of this project."""
    root, settings = memory.project.root if memory.project else "", memory.settings
    return memory_md.locate(settings.config_dir, root, settings.memory_md_off)


def pin(memory: Memory, name: str, by: Provenance, *, off: bool = False) -> Record:
    """Pin a record to show it at session starts, or unpin it (`off`); return the changed record."""
    record, seen_in, store = record_by_id(memory, name)
    pinned = record._replace(pinned=not off)
    if pinned != record:
        payload = {"record": records.as_object(pinned), "seen_in": seen_in}
        memory.write("put_record", payload, by, store=store)
    return pinned


def record_json(record: Record) -> dict[str, Any]:
    """Return the record as a JSON object for output, without empty fields."""
    whole = records.as_object(record)
    whole["short_id"] = short_id(record.id)
    whole["entities"] = [{"name": e.name, "type": e.type} for e in record.entities]
    names = ("from", "relation", "to")
    whole["relations"] = [dict(zip(names, edge, strict=True)) for edge in record.relations]
    return {k: v for k, v in whole.items() if v not in ("", [], {})}


def version_of(record: Record) -> str:
    """Return a checksum (8 hex digits) of the fields a user decides on, to detect later changes."""
    stated = (
        *(record.id, record.type, record.what, record.why, *record.alternatives),
        *(record.scope, record.domain, record.status, str(record.pinned)),
        *(record.superseded_by, record.valid_to),
        *(str(record.evidence.get(key) or "") for key in (WHEN, CONFIRMED)),
    )
    return f"{checksum(chr(0).join(stated)):08x}"
