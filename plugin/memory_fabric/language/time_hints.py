"""How old something is, and whether a text may name a time at all: what every recall asks.

`times`, which understands stretches of time and needs expressions, is imported only behind
`may_name_time`. Of `datetime` the compiled half suffices, at a fifth of its start-up.
"""

from __future__ import annotations

from memory_fabric.text import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime, timezone
else:
    try:
        from _datetime import datetime, timezone
    except ImportError:  # another Python than CPython
        from datetime import datetime, timezone

MONTHS = (
    "january february march april may june july august september october november december".split()
)
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
# Words without which no stretch of time can be named, unless by a year.
CUES = frozenset(
    "today yesterday day days week weeks weekend month months year years sept".split()
).union(MONTHS, (month[:3] for month in MONTHS), WEEKDAYS)
YEAR_DIGITS = 4

_ONLY_LETTERS = bytes(c if 97 <= c <= 122 else 32 for c in range(256))


def may_name_time(text: str) -> bool:
    """Whether `times.ranges` could find a stretch of time in the text."""
    return not CUES.isdisjoint(letters_of(text)) or any(
        len(word) == YEAR_DIGITS and word.isdecimal() for word in words(text)
    )


def letters_of(text: str) -> list[str]:
    """The runs of Latin letters of a text, lower case."""
    return text.lower().encode("ascii", "replace").translate(_ONLY_LETTERS).decode().split()


def parsed(stamp: str) -> datetime | None:
    """The moment an ISO 8601 text names, in UTC; None where it names none."""
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    utc = timezone.utc  # noqa: UP017 - the compiled half knows no other name for it
    return moment.replace(tzinfo=utc) if moment.tzinfo is None else moment.astimezone(utc)


def days_between(stamp: str, now: str) -> float | None:
    """Days from `stamp` to `now`, never below 0; None where either is unknown."""
    then, moment = (parsed(stamp) if stamp else None), (parsed(now) if now else None)
    if then is None or moment is None:
        return None
    return max(0.0, (moment - then).total_seconds() / 86400)
