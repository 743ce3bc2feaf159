"""The age of a time stamp, and a cheap test if a text may name a time: needed by every recall.

`times`, which understands time spans and needs patterns, is imported only if `may_name_time`.
"""

from __future__ import annotations

from datetime import UTC, datetime

from memory_fabric.text import words

MONTHS = (
    "january february march april may june july august september october november december".split()
)
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
# A text without these words names no time span, unless by a year.
CUES = frozenset(
    "today yesterday day days week weeks weekend month months year years sept".split()
).union(MONTHS, (month[:3] for month in MONTHS), WEEKDAYS)
YEAR_DIGITS = 4

_ONLY_LETTERS = bytes(c if 97 <= c <= 122 else 32 for c in range(256))


def may_name_time(text: str) -> bool:
    """Return True if `times.ranges` could find a time span in the text."""
    return not CUES.isdisjoint(letters_of(text)) or any(
        len(word) == YEAR_DIGITS and word.isdecimal() for word in words(text)
    )


def letters_of(text: str) -> list[str]:
    """Return the runs of Latin letters of a text, lower case."""
    return text.lower().encode("ascii", "replace").translate(_ONLY_LETTERS).decode().split()


def parsed(stamp: str) -> datetime | None:
    """Return the time of an ISO 8601 text, in UTC; None if it is none."""
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def days_between(stamp: str, now: str) -> float | None:
    """Return the days from `stamp` to `now`, at least 0; None if either is unknown."""
    then, moment = (parsed(stamp) if stamp else None), (parsed(now) if now else None)
    if then is None or moment is None:
        return None
    return max(0.0, (moment - then).total_seconds() / 86400)
