"""Marks for memories that name a file which has changed since they were stored."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from memory_fabric.models import CHANGED_FILES, Hit, Record, record_type
from memory_fabric.store import file_states
from memory_fabric.store.memory import Memory
from memory_fabric.store.record_state import ACTIVE_CURRENT

if TYPE_CHECKING:
    from memory_fabric.recall.session_block import Contents

BATCH = 500


def mark_hits(hits: Sequence[Hit], memory: Memory) -> list[Hit]:
    """Return the hits with their changed files in the metadata, at most two `lstat` calls each."""
    ids = [str(hit.metadata.get("record") or "") for hit in hits]
    found = file_states.changed(memory, ids)
    if not found:
        return list(hits)
    return [
        hit._replace(metadata={**hit.metadata, CHANGED_FILES: found[id_]}) if id_ in found else hit
        for hit, id_ in zip(hits, ids, strict=True)
    ]


def mark_records(records: Sequence[Record], memory: Memory) -> list[Record]:
    """Return the records, to be told and not stored, with their changed files in the evidence."""
    found = file_states.changed(memory, [record.id for record in records])
    if not found:
        return list(records)
    return [
        record._replace(evidence={**record.evidence, CHANGED_FILES: found[record.id]})
        if record.id in found
        else record
        for record in records
    ]


def mark_contents(contents: Contents, memory: Memory) -> Contents:
    """Return the contents of a session block with its records as `mark_records` gives them."""
    kinds = (contents.rules, contents.decisions, contents.known, contents.others)
    marked = iter(mark_records([record for kind in kinds for record in kind], memory))
    rules, decisions, known, others = (tuple(islice(marked, len(kind))) for kind in kinds)
    return contents._replace(rules=rules, decisions=decisions, known=known, others=others)


def records_with_changes(memory: Memory, types: Sequence[str] = ()) -> list[Record]:
    """Return the current records whose files have changed, newest first, marked as `mark_records`.

    All files of all records are compared by their content, so nobody should wait.
    """
    found = file_states.all_changed(memory)
    wanted = frozenset(record_type(kind.lower()) for kind in types)
    holding = f"{ACTIVE_CURRENT} AND id"
    records: list[Record] = []
    ids = list(found)
    for at in range(0, len(ids), BATCH):
        some = ids[at : at + BATCH]
        marks = ", ".join("?" * len(some))
        records += memory.find_records(f"{holding} IN ({marks})", tuple(some), BATCH)
    records.sort(key=lambda record: (record.created_at, record.id), reverse=True)
    return [
        record._replace(evidence={**record.evidence, CHANGED_FILES: found[record.id]})
        for record in records
        if not wanted or record.type in wanted
    ]
