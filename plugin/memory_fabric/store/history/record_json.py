"""A record as a JSON object for people and programs, and the version of it that one was shown."""

from __future__ import annotations

from typing import Any

from memory_fabric.ids import checksum, short_id
from memory_fabric.models import CONFIRMED, WHEN, Record
from memory_fabric.store import records


def as_json(record: Record) -> dict[str, Any]:
    """Return the record as a JSON object, without empty fields."""
    whole = records.as_object(record)
    whole["short_id"] = short_id(record.id)
    whole["entities"] = [{"name": e.name, "type": e.type} for e in record.entities]
    whole["relations"] = [
        {"from": r.source, "relation": r.type, "to": r.target} for r in record.relations
    ]
    return {k: v for k, v in whole.items() if v not in ("", [], {})}


def version_of(record: Record) -> str:
    """Return eight hexadecimal digits that change with what a person sees and decides on.

    Counters and evidence that sessions add by themselves do not change it.
    """
    stated = (
        *(record.id, record.type, record.what, record.why, *record.alternatives),
        *(record.scope, record.domain, record.status, str(record.pinned)),
        *(record.superseded_by, record.valid_to),
        *(str(record.evidence.get(key) or "") for key in (WHEN, CONFIRMED)),
    )
    return f"{checksum(chr(0).join(stated)):08x}"
