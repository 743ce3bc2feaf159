"""Items due for review, for the page: candidates whole, others by the ids of their records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_fabric.ids import short_id
from memory_fabric.models import BEFORE, PROMPT, WHEN, Record
from memory_fabric.recall.review import CANDIDATE, KINDS, due
from memory_fabric.store.history import candidates
from memory_fabric.store.history.record_json import version_of
from memory_fabric.store.memory import Memory

# Of each kind; the totals count all.
MAX_DUE = 200
# Newest records among which near duplicates are looked for: comparing takes time, and the page is
# read again after each change.
MAX_COMPARED = 500


def review(memory: Memory, now: str) -> dict[str, Any]:
    """Return what is due at `now`, in the order of the command `review`, and how much of each kind.

    Raises StoreUnavailable and DeadlinePassed.
    """
    found = due(memory, now, MAX_COMPARED)
    total = {kind: sum(one.kind == kind for one in found) for kind in KINDS}
    shown = [one for kind in KINDS for one in [o for o in found if o.kind == kind][:MAX_DUE]]
    return {
        "total": total,
        "due": [
            {
                "kind": one.kind,
                "record": one.record.id,
                "others": [other.id for other in one.others],
                "days": one.days,
            }
            for one in shown
        ],
        "candidates": [candidate(one.record) for one in shown if one.kind == CANDIDATE],
    }


def candidate(record: Record) -> dict[str, Any]:
    """Return a candidate with the words around it and what a change of it must name."""
    return {
        "id": record.id,
        "short_id": short_id(record.id),
        "type": record.type,
        "what": record.what,
        "why": record.why,
        "scope": record.scope,
        "domain": record.domain,
        "trust": record.trust,
        "source": record.source,
        "session": record.session,
        "confidence": record.confidence,
        "at": record.created_at,
        "again": candidates.said_again(record),
        "prompt": str(record.evidence.get(PROMPT) or ""),
        "before": str(record.evidence.get(BEFORE) or ""),
        **change_fields(record),
    }


def change_fields(record: Record) -> Mapping[str, str]:
    """Return the fields of a record that only its changes need."""
    return {"when": str(record.evidence.get(WHEN) or ""), "version": version_of(record)}
