"""Dates in words: the time span that a question or a filter means."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from memory_fabric.errors import BadInput
from memory_fabric.language.time_hints import CUES, MONTHS, WEEKDAYS, letters_of, parsed
from memory_fabric.patterns import pattern

Range = tuple[str, str]

_UNIT_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
# "may" and "march" are also a modal and a verb: as bare words they need a capital.
_AMBIGUOUS = frozenset(("may", "march", "mar"))
MAX_RANGES = 4
DATE_CHARS = len("2026-01-15")


def boundary(text: str, now: str) -> str:
    """Return the ISO date of a filter value: `2026-01`, `7d`, `yesterday`, `monday`, or ''."""
    value = text.strip().lower()
    moment = parsed(now) if now else None
    if pattern(r"\d{4}(-\d\d){0,2}", 0).fullmatch(value):
        date = value + "-01-01"[len(value) - 4 :]
        return date if parsed(date) else ""
    if value[:4].isdigit() and parsed(text.strip()):
        return text.strip()
    if moment is None:
        return ""
    if match := pattern(r"(\d{1,4})([hdwmy])", 0).fullmatch(value):
        return _iso(moment, days=-int(match[1]) * _UNIT_DAYS[match[2]])
    found = ranges(text, now)
    return found[0][0] if found else ""


def moment(text: str, now: str) -> str:
    """Return the time of `as_of:`: the end of the day, month or span in the text; '' for none.

    `2026-01-15`, `2026-01`, `last month`, `7d`, or an exact time. Never later than `now`.
    """
    value = text.strip()
    if len(value) > DATE_CHARS and value[:4].isdigit() and (exact := parsed(value)):
        return _not_after(exact, now)
    spans: tuple[Range | None, ...]
    if pattern(r"\d{4}(-\d\d){0,2}", 0).fullmatch(value):
        year, *rest = map(int, value.split("-"))
        whole = _month(year, 1), _month(year, 12)
        spans = (_day(year, *rest) if len(rest) == 2 else _month(year, *rest),) if rest else whole
    elif pattern(r"\d{1,4}[hdwmy]", 0).fullmatch(value.lower()):
        spans = tuple(_iso_dates(boundary(value, now)))
    else:
        spans = ranges(value, now)[:1]
    after = parsed(spans[-1][1]) if spans and spans[-1] else None
    return _not_after(after - timedelta(milliseconds=1), now) if after else ""


def stated(text: str, now: str, field: str) -> str:
    """Return the time that a field's value means. Raises BadInput if it means none."""
    found = moment(text, now)
    if not found:
        raise BadInput(
            field,
            f"{text!r} names no time.",
            remedy='Say 2026-01-15, 2026-01, 30d, "last month" or a time in ISO 8601.',
        )
    return found


def _not_after(moment: datetime, now: str) -> str:
    stamp = moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3].rjust(23, "0") + "Z"
    return min(stamp, now) if now else stamp


def ranges(text: str, now: str) -> tuple[Range, ...]:
    """Return the time spans in a text, as (first day, first day after), at most four.

    Understands `2026-01-15`, `15 January 2026`, `May 7`, `March`, `March 2025`, `in 2024`,
    weekdays, today, yesterday, last/this week, month, year, and `3 days ago`. Months without a year
    mean the latest that is not in the future.
    """
    moment = parsed(now) if now else None
    lowered = text.lower()
    words = set(letters_of(text))
    found: list[Range] = []
    has_digits = any(map(str.isdigit, text))
    if has_digits:
        found += _iso_dates(text)
    if moment is not None and words & CUES:
        found += _relative(lowered, words, moment) + _named_months(text, moment)
    if has_digits and not found and moment is not None:
        found += _years(lowered)
    return tuple(dict.fromkeys(found))[:MAX_RANGES]


def _expression(name: str) -> re.Pattern[str]:
    month = "|".join([*MONTHS, "sept", *(m[:3] for m in MONTHS)])
    return pattern(
        {
            "iso": r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b",
            "month": rf"(?:\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?\b({month})\b\.?"
            r"(?: (\d{1,2})(?:st|nd|rd|th)?\b)?(?:,? (\d{4})\b)?",
            "year": r"\b(?:in|of|during|since|from) ((?:19|20)\d\d)\b",
            "ago": r"\b(\d{1,3}|a|an|one|two|three|four|five|six) (day|week|month|year)s? ago\b",
            "last": r"\b(last|this|past|previous) (week|weekend|month|year)\b",
        }[name],
    )


def _iso_dates(text: str) -> list[Range]:
    found = []
    for year, month, day in _expression("iso").findall(text):
        span = _day(int(year), int(month), int(day)) if day else _month(int(year), int(month))
        found += [span] if span else []
    return found


def _relative(lowered: str, words: set[str], now: datetime) -> list[Range]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    found: list[Range] = []
    if "today" in words:
        found.append(_span(today, 1))
    if "yesterday" in words:
        found.append(_span(today - timedelta(days=1), 1))
    for name in words.intersection(WEEKDAYS):
        back = (today.weekday() - WEEKDAYS.index(name)) % 7 or 7
        found.append(_span(today - timedelta(days=back), 1))
    for count, unit in _expression("ago").findall(lowered):
        found += _ago(count, unit, today)
    for which, unit in _expression("last").findall(lowered):
        found.append(_last(which, unit, today))
    return found


def _ago(count: str, unit: str, today: datetime) -> list[Range]:
    small = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    middle = today - timedelta(days=days * (small.get(count) or int(count)))
    # People round: "two weeks ago" is some day of that week.
    slack = 0 if unit == "day" else days // 2
    return [_span(middle - timedelta(days=slack), 1 + 2 * slack)]


def _last(which: str, unit: str, today: datetime) -> Range:
    this = which == "this"
    if unit == "week":
        monday = today - timedelta(days=today.weekday())
        return _span(monday if this else monday - timedelta(days=7), 7)
    if unit == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7)
        return _span(saturday, 2)
    if unit == "year":
        first = datetime(today.year - (0 if this else 1), 1, 1, tzinfo=UTC)
        return _iso(first), _iso(first.replace(year=first.year + 1))
    first = today.replace(day=1)
    first = first if this else (first - timedelta(days=1)).replace(day=1)
    return _month(first.year, first.month) or _span(first, 30)


def _named_months(text: str, now: datetime) -> list[Range]:
    found = []
    for match in _expression("month").finditer(text):
        before, name, after, year = match.groups()
        bare = not (before or after or year)
        if bare and name.lower() in _AMBIGUOUS and not name[0].isupper():
            continue
        span = _month_span(name.lower()[:3], before or after or "", year or "", now)
        found += [span] if span else []
    return found


def _month_span(name: str, day: str, year: str, now: datetime) -> Range | None:
    month = next(i for i, full in enumerate(MONTHS, 1) if full.startswith(name))
    number = int(year) if year else now.year
    if not year and (month, int(day or 1)) > (now.month, now.day):
        number -= 1
    return _day(number, month, int(day)) if day else _month(number, month)


def _years(lowered: str) -> list[Range]:
    years = [int(year) for year in _expression("year").findall(lowered)]
    return [(f"{year}-01-01", f"{year + 1}-01-01") for year in years]


def _month(year: int, month: int) -> Range | None:
    try:
        first = datetime(year, month, 1, tzinfo=UTC)
        following = (first + timedelta(days=32)).replace(day=1)
    except (ValueError, OverflowError):
        return None
    return _iso(first), _iso(following)


def _day(year: int, month: int, day: int) -> Range | None:
    try:
        return _span(datetime(year, month, day, tzinfo=UTC), 1)
    except (ValueError, OverflowError):
        return None


def _span(first: datetime, days: int) -> Range:
    return _iso(first), _iso(first, days=days)


def _iso(moment: datetime, days: float = 0) -> str:
    try:
        return (moment + timedelta(days=days)).strftime("%Y-%m-%d").rjust(10, "0")
    except (ValueError, OverflowError):
        return "9999-12-31" if days > 0 else "0001-01-01"
