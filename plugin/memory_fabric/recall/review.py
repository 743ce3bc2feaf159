"""Records due for review: candidates, contradictions, stale records and near duplicates."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memory_fabric.models import (
    CONFIRMED,
    OTHERS,
    Hit,
    Record,
    contradicted,
    text_with_reason,
    verdict,
)
from memory_fabric.recall import retention
from memory_fabric.recall.dedupe import dedupe
from memory_fabric.store.history import candidates
from memory_fabric.store.history.last_mentions import RECORD
from memory_fabric.store.memory import Memory
from memory_fabric.store.record_state import ACTIVE_CURRENT

CANDIDATE, CONTRADICTION, STALE, DUPLICATE = "candidate", "contradiction", "stale", "duplicate"
KINDS = (CANDIDATE, CONTRADICTION, STALE, DUPLICATE)
# The most records of one kind that are looked at.
MAX_READ = 5000
_CURRENT = f"{ACTIVE_CURRENT} AND scope <> 'local' AND type <> 'session' AND source <> '{OTHERS}'"


class Due(NamedTuple):
    """A record to decide on: why it is due, the others that it is about, and its age in days."""

    kind: str
    record: Record
    others: tuple[Record, ...] = ()
    days: int = 0


def due(memory: Memory, now: str, compared: int = MAX_READ) -> list[Due]:
    """Return what is due for review at `now`, each record once, in the order of KINDS.

    Near duplicates are looked for among so many of the newest records (`compared`).
    """
    current = memory.find_records(_CURRENT, (), MAX_READ)
    by_id = {record.id: record for record in current}
    found = [Due(CANDIDATE, record) for record in candidates.waiting(memory)]
    found += _contradictions(by_id)
    for old in retention.stale(memory, now, limit=MAX_READ).shown:
        if old.item.kind == RECORD and old.item.id in by_id:
            found.append(Due(STALE, by_id[old.item.id], days=old.days))
    found += _duplicates(current[:compared])
    seen: set[str] = set()
    first = []
    for one in found:
        if one.record.id not in seen:
            first.append(one)
            seen |= {one.record.id, *(other.id for other in one.others)}
    return first


def _contradictions(by_id: dict[str, Record]) -> Iterable[Due]:
    """Yield records that contradict current ones, unless the user has confirmed either since."""
    for record in by_id.values():
        others = [by_id[id_] for id_ in contradicted(record) if id_ in by_id]
        others = [old for old in others if _confirmed_at(old) < record.created_at]
        if others and not _confirmed_at(record):
            yield Due(CONTRADICTION, record, tuple(others))


def _duplicates(current: Sequence[Record]) -> Iterable[Due]:
    """Yield the newest of records that say nearly the same, with the others."""
    by_id = {record.id: record for record in current if not _confirmed_at(record)}
    groups: dict[tuple[str, ...], list[Hit]] = {}
    for record in by_id.values():
        alike = (record.scope, record.domain, verdict(record), str(record.type == "question"))
        groups.setdefault(alike, []).append(_as_hit(record))
    for hits in groups.values():
        for hit in dedupe(hits):
            ids = [id_ for key, id_ in hit.metadata.items() if key.endswith("id")]
            others = tuple(by_id[id_] for id_ in ids if id_ in by_id)
            if others:
                yield Due(DUPLICATE, by_id[hit.id], others)


def _as_hit(record: Record) -> Hit:
    return Hit(
        record.id,
        text_with_reason(record),
        "records",
        record.created_at,
        1.0,
        tuple(entity.name for entity in record.entities),
    )


def _confirmed_at(record: Record) -> str:
    """Return the time at which the user confirmed or reworded the record; '' if never."""
    return str(record.evidence.get(CONFIRMED) or "")
