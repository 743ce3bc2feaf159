"""Purge of what other members said, when they had it erased from the shared log.

It is the same purge as that of this user's words: they are gone from this machine's journals,
backups and session notes, too. What this user said stays, whatever it holds.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory_fabric.models import OTHERS, Provenance
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.heads import Head
from memory_fabric.store.forget import purge
from memory_fabric.store.forget.plan import Found, FoundText
from memory_fabric.store.memory import Memory


def erase(memory: Memory, found: Sequence[Head], provenance: Provenance) -> int:
    """Purge what these operations of others state; return how many memories that were.

    No tombstone stays of it, since its author may say it again. Raises what `purge.purge` raises.
    """
    meant = Found(", ".join(head.key for head in found))
    for head in found:
        value = json.loads(head.value)
        if head.kind == wire.RECORD:
            found_ = memory.find_records("id = ? AND source = ?", (value["id"], OTHERS))
            theirs = [record for record in found_ if record.author == head.shown_author]
            meant = replace(meant, records=(*meant.records, *theirs))
        elif head.kind == wire.OBSERVATION and _is_theirs(memory, head.shown_author, value):
            said = FoundText(value["entity"], value["text"], "project")
            meant = replace(meant, observations=(*meant.observations, said))
    if meant:
        before = _tombstones(memory)
        purge.purge_exactly(memory, meant, provenance)
        new = [list(row) for row in _tombstones(memory) - before]
        memory.write("tombstones", {"add": [], "remove": new}, provenance, store="project")
    return len(meant)


def _tombstones(memory: Memory) -> set[tuple[Any, ...]]:
    database = memory.database("project", create=False)
    return set(database.rows("SELECT id, key, created_at FROM tombstones")) if database else set()


def _is_theirs(memory: Memory, author: str, value: Mapping[str, str]) -> bool:
    """True if the observation is shown as this member's, not as this user's or another's."""
    database = memory.database("project", create=False)
    stated = (
        "SELECT 1 FROM observations AS o JOIN entities AS e ON e.id = o.entity "
        "WHERE e.name = ? AND o.text = ? AND o.source = ? AND o.agent = ?"
    )
    values = (value["entity"], value["text"], OTHERS, author)
    return database is not None and database.row(stated, values) is not None
