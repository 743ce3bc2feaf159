"""Order of memories that contradict each other: both are told, the newer one first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory_fabric.ids import short_id
from memory_fabric.models import CONTRADICTS, SAID_BEFORE, Hit, newer_than


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
    found: Sequence[str] = hit.metadata.get(CONTRADICTS) or ()
    return found
