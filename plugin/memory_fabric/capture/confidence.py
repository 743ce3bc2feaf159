"""The confidence of records: one table, by who stated them and how."""

from __future__ import annotations

# Said on purpose; a note with the user's own words; said in so many words in a prompt; a note of
# the assistant alone; a candidate. Stored from 0.5, in MEMORY.md from 0.7, generalizable from 0.8.
PURPOSE, USER_NOTE, STATED, NOTE, CANDIDATE = 0.9, 0.85, 0.75, 0.6, 0.4
# What hooks observe: an incident, the summary of a session.
BASE = 0.5
# A reason counts for this much, and never lifts a record into the next class.
REASON_STEP, LEAST_DISTANCE = 0.05, 0.01


def with_reason(of_class: float, has_reason: bool) -> float:
    """Return the confidence of a record of a class, a little higher if a reason is stated."""
    above = [c for c in (PURPOSE, USER_NOTE, STATED, NOTE) if c > of_class]
    most = min(above) - LEAST_DISTANCE if above else 1.0
    return round(min(of_class + REASON_STEP * has_reason, most), 2)
