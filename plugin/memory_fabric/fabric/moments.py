"""What needs no calendar: how old a stamp is, and whether a text may name a time at all.

`datetime` costs a sixth of a bare start; `times`, which needs it, is imported only behind
`may_name_time` and for stamps in another form than our own.
"""

from __future__ import annotations

from functools import lru_cache

MONTHS = (
    "january february march april may june july august september october november december".split()
)
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
# Words without which no stretch of time can be named, unless by digits.
CUES = frozenset(
    "today yesterday day days week weeks weekend month months year years sept".split()
).union(MONTHS, (month[:3] for month in MONTHS), WEEKDAYS)

_ONLY_LETTERS = bytes(c if 97 <= c <= 122 else 32 for c in range(256))
_SEPARATORS = (("-", "-", "T", ":", ":", "Z"), ("-", "-", "T", ":", ":", "."))
_DAYS_BEFORE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)


def may_name_time(text: str) -> bool:
    """Whether `times.ranges` could find a stretch of time in the text."""
    return any(map(str.isdigit, text)) or not CUES.isdisjoint(letters_of(text))


def letters_of(text: str) -> list[str]:
    """The runs of Latin letters of a text, lower case."""
    return text.lower().encode("ascii", "replace").translate(_ONLY_LETTERS).decode().split()


def days_between(stamp: str, now: str) -> float | None:
    """Days from `stamp` to `now`, never below 0; None where either is unknown."""
    then, moment = _seconds(stamp), _seconds(now)
    return None if then is None or moment is None else max(0.0, (moment - then) / 86400)


@lru_cache(maxsize=512)  # `now` is asked for with every stamp
def _seconds(stamp: str) -> float | None:
    """Seconds since the first day of year 1 of an ISO 8601 text; None where it names no moment."""
    if not stamp:
        return None
    if stamp[-1] == "Z" and stamp.isascii() and len(stamp) in (20, 24):
        seconds = _of_own_form(stamp)
        if seconds is not None:
            return seconds
    from memory_fabric.fabric.times import parsed  # only for the stamps of others

    moment = parsed(stamp)
    if moment is None:
        return None
    of_day = moment.hour * 3600 + moment.minute * 60 + moment.second
    return moment.toordinal() * 86400 + of_day + moment.microsecond / 1e6


def _of_own_form(stamp: str) -> float | None:
    """The seconds of `YYYY-MM-DDThh:mm:ss[.mmm]Z`; None for what is not quite that."""
    date, time = stamp[:10], stamp[11:19]
    parts = [stamp[:4], stamp[5:7], stamp[8:10], stamp[11:13], stamp[14:16], stamp[17:19]]
    fraction = stamp[20:-1] or "0"
    if not (all(map(str.isdigit, parts)) and fraction.isdigit()):
        return None
    separators = (date[4], date[7], stamp[10], time[2], time[5], stamp[19])
    if separators not in _SEPARATORS:
        return None
    year, month, day, hour, minute, second = map(int, parts)
    if not (year and 1 <= month <= 12 and hour < 24 and minute < 60 and second < 60):
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _DAYS_BEFORE[month] - _DAYS_BEFORE[month - 1] + (leap and month == 2):
        return None
    past = year - 1
    days = 365 * past + past // 4 - past // 100 + past // 400
    days += _DAYS_BEFORE[month - 1] + (leap and month > 2) + day
    return days * 86400 + hour * 3600 + minute * 60 + second + int(fraction) / 1000
