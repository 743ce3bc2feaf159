"""Order of memories that contradict each other: both are told, the newer one first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory_fabric.ids import short_id
from memory_fabric.models import CONTRADICTS, Hit

# The key of a hit's metadata: ids of newer records that contradict it.
SAID_BEFORE = "said_before"


def newer_first(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with each one behind the newer ones that contradict it, and marked so.

    A note names the records that it contradicts, so the one that names is the newer one.
    """
    by_record = {str(hit.metadata.get("record")): hit for hit in hits if hit.source == "records"}
    newer: dict[str, list[str]] = {}
    for id_, hit in by_record.items():
        for old in hit.metadata.get(CONTRADICTS) or ():
            if old in by_record:
                newer.setdefault(old, []).append(id_)
    if not newer:
        return list(hits)
    placed: dict[str, Hit] = {}
    for hit in hits:
        before = newer.get(str(hit.metadata.get("record")), ()) if hit.source == "records" else ()
        for id_ in before:
            placed.setdefault(by_record[id_].id, by_record[id_])
        marked = hit._replace(metadata={**hit.metadata, SAID_BEFORE: list(before)})
        placed.setdefault(hit.id, marked if before else hit)
    return list(placed.values())


def said_before(metadata: Mapping[str, object]) -> str:
    """Return `said before 1a2b3c4d` for a memory that a newer one contradicts; else ''."""
    newer = metadata.get(SAID_BEFORE)
    return f"said before {short_id(str(newer[0]))}" if isinstance(newer, list) and newer else ""
