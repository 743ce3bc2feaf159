"""Marks for memories that are old for their type, or outdated; never a reason to delete (BR-10)."""

from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.language.time_hints import days_between
from memory_fabric.models import CONFIRMED, Hit

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
