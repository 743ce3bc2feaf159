"""Marks on memories: old for their type (BR-10), outdated, contradicted, about a changed file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory_fabric.ids import short_id
from memory_fabric.language.times import days_between
from memory_fabric.models import (
    CHANGED_FILES,
    CONFIRMED,
    CONTRADICTS,
    SAID_BEFORE,
    Hit,
    Record,
    newer_than,
    record_type,
)
from memory_fabric.store import file_states
from memory_fabric.store.memory import Memory
from memory_fabric.store.schema import ACTIVE_CURRENT

# Days after which a memory of a type should be reviewed; None if it does not age.
STALE_AFTER_DAYS = {
    "decision": 90,
    "pattern": 180,
    "technology": 120,
    "preference": 365,
    "agent": None,
    "episode": None,  # a past turn stays true
}
DEFAULT_DAYS = 90
# Metadata of a memory that was replaced after the requested time.
NOT_YET = {"superseded_by": "", "valid_to": ""}


def mark_stale(hits: Sequence[Hit], now: str) -> list[Hit]:
    """Return the hits with `stale`, `days_since` and `over` in their metadata, as of `now`.

    An unknown time gives None days, and is not stale; neither are pinned records, nor those that
    the user confirmed since. `over` means
    replaced, or past its validity. A later replacement is not linked.
    """
    return [_marked(hit, now) for hit in hits]


def is_stale(kind: str, days: float | None, own_limit: int | None = None) -> bool:
    """Return True if this type is stale after this number of days, or after its own limit."""
    limit = limit_days(kind, own_limit)
    return limit is not None and days is not None and days > limit


def limit_days(kind: str, own_limit: int | None = None) -> int | None:
    """Return the days after which this type is stale; None if it never is, whatever the limit."""
    limit = STALE_AFTER_DAYS.get(kind.lower(), DEFAULT_DAYS)
    return limit if limit is None or own_limit is None else own_limit


def is_over(hit: Hit, now: str) -> bool:
    """Return True if the memory was replaced by then, or its validity had ended."""
    until = str(hit.metadata.get("valid_to") or "")
    return until <= now if until and now else bool(hit.metadata.get("superseded_by"))


def kind_of(hit: Hit) -> str:
    """Return the type of a hit's record, else of its entity, else ''."""
    return str(hit.metadata.get("type") or hit.metadata.get("entityType") or "")


def _marked(hit: Hit, now: str) -> Hit:
    days = days_between(hit.timestamp, now)
    unconfirmed = days_between(str(hit.metadata.get(CONFIRMED) or hit.timestamp), now)
    over = is_over(hit, now)
    later = {} if over or not hit.metadata.get("superseded_by") else NOT_YET
    return hit._replace(
        metadata={
            **hit.metadata,
            "stale": not hit.metadata.get("pinned") and is_stale(kind_of(hit), unconfirmed),
            "days_since": None if days is None else int(days),
            "over": over,
            **later,
        }
    )


BATCH = 500


def mark_hits(hits: Sequence[Hit], memory: Memory) -> list[Hit]:
    """Return the hits with their changed files in the metadata, at most two `lstat` calls each."""
    ids = [str(hit.metadata.get("record") or "") for hit in hits]
    changes = file_states.changed(memory, ids)
    if not changes:
        return list(hits)
    return [
        hit._replace(metadata={**hit.metadata, CHANGED_FILES: changes[id_]})
        if id_ in changes
        else hit
        for hit, id_ in zip(hits, ids, strict=True)
    ]


def mark_records(records: Sequence[Record], memory: Memory) -> list[Record]:
    """Return the records, to be told and not stored, with their changed files in the evidence."""
    changes = file_states.changed(memory, [record.id for record in records])
    if not changes:
        return list(records)
    return [
        record._replace(evidence={**record.evidence, CHANGED_FILES: changes[record.id]})
        if record.id in changes
        else record
        for record in records
    ]


def records_with_changes(memory: Memory, types: Sequence[str] = ()) -> list[Record]:
    """Return the current records whose files have changed, newest first, marked as `mark_records`.

    All files of all records are compared by their content, so nobody should wait.
    """
    changes = file_states.all_changed(memory)
    wanted = frozenset(record_type(kind.lower()) for kind in types)
    holding = f"{ACTIVE_CURRENT} AND id"
    records: list[Record] = []
    ids = list(changes)
    for at in range(0, len(ids), BATCH):
        some = ids[at : at + BATCH]
        marks = ", ".join("?" * len(some))
        records += memory.find_records(f"{holding} IN ({marks})", tuple(some), BATCH)
    records.sort(key=lambda record: (record.created_at, record.id), reverse=True)
    return [
        record._replace(evidence={**record.evidence, CHANGED_FILES: changes[record.id]})
        for record in records
        if not wanted or record.type in wanted
    ]


def newer_first(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with each one behind the newer ones that contradict it, and marked so."""
    by_record = {str(hit.metadata.get("record")): hit for hit in hits if hit.source == "records"}
    newer = newer_than(
        {
            id_: (str(hit.metadata.get("stated_at") or hit.timestamp), _contradicted(hit))
            for id_, hit in by_record.items()
        }
    )
    if not newer:
        return list(hits)
    placed: dict[str, Hit] = {}
    for hit in hits:
        before = newer.get(str(hit.metadata.get("record")), ()) if hit.source == "records" else ()
        # The newest first: one of them may be older than another.
        for id_ in sorted(before, key=lambda id_: len(newer.get(id_, ()))):
            placed.setdefault(by_record[id_].id, by_record[id_])
        placed.setdefault(hit.id, hit)
    return [
        hit._replace(metadata={**hit.metadata, SAID_BEFORE: newer[id_]})
        if hit.source == "records" and (id_ := str(hit.metadata.get("record"))) in newer
        else hit
        for hit in placed.values()
    ]


def said_before(about: Mapping[str, object]) -> str:
    """Return `said before 1a2b3c4d` for a memory that a newer one contradicts; else ''."""
    newer = about.get(SAID_BEFORE)
    return f"said before {short_id(str(newer[-1]))}" if isinstance(newer, list) and newer else ""


def _contradicted(hit: Hit) -> Sequence[str]:
    ids: Sequence[str] = hit.metadata.get(CONTRADICTS) or ()
    return ids
