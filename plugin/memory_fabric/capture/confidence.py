"""The confidence of records: one table for all ways of capturing."""

from __future__ import annotations

# The classes of records, by who stated them and how surely.
PURPOSE, USER_NOTE, STATED, NOTE, CANDIDATE = 0.9, 0.85, 0.75, 0.6, 0.4
# A reason counts for this much, and never lifts a record into the next class.
REASON_STEP, LEAST_DISTANCE = 0.05, 0.01

BASE = 0.5
EXPLICIT = 0.2  # a first-person decision or a lasting rule, stated as such
REASON = 0.15
ALTERNATIVE = 0.1  # a rejected alternative is named
KNOWN_ENTITY = 0.05  # for the first and for a second one
STATED_BY_USER = 0.05
# A statement without support: below the threshold of storing, whatever else is in its favour.
CANDIDATE_BASE, CANDIDATE_STEP = 0.3, 0.05


def confidence(
    *,
    explicit: bool = False,
    reason: bool = False,
    alternative: bool = False,
    known_entities: int = 0,
    by_user: bool = False,
) -> float:
    """Return the confidence of one record, 0.5 to 1.0, rounded to two places.

    Stored from 0.5, promoted to MEMORY.md from 0.7, generalizable from 0.8 (models).
    """
    total = BASE
    total += EXPLICIT * explicit + REASON * reason + ALTERNATIVE * alternative
    total += KNOWN_ENTITY * min(2, max(0, known_entities)) + STATED_BY_USER * by_user
    return round(min(1.0, total), 2)


def of_candidate(
    *, explicit: bool = False, known_entities: int = 0, by_user: bool = False
) -> float:
    """Return the confidence of a statement without the support that a record needs: 0.3 to 0.45.

    It is a candidate (docs/decisions/0022): not a memory until another session says it, too.
    """
    steps = explicit + by_user + min(1, max(0, known_entities))
    return round(CANDIDATE_BASE + CANDIDATE_STEP * steps, 2)


def with_reason(of_class: float, has_reason: bool) -> float:
    """Return the confidence of a record of a class, a little higher if a reason is stated."""
    above = [c for c in (PURPOSE, USER_NOTE, STATED, NOTE) if c > of_class]
    most = min(above, default=1.0) - LEAST_DISTANCE
    return round(min(of_class + REASON_STEP * has_reason, most), 2)
