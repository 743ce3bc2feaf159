"""Compute the age of a time stamp, and find the time spans that a question or filter mentions."""

from datetime import UTC, datetime, timedelta

from memory_fabric.errors import BadInput
from memory_fabric.patterns import pattern
from memory_fabric.text import words

Range = tuple[str, str]
MONTHS = (
    "january february march april may june july august september october november december".split()
)
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
# A text without any of these words can contain no time span except a year.
CUES = frozenset(
    "today yesterday day days week weeks weekend month months year years sept".split()
).union(MONTHS, (month[:3] for month in MONTHS), WEEKDAYS)
YEAR_DIGITS = 4
_ONLY_LETTERS = bytes(c if 97 <= c <= 122 else 32 for c in range(256))
_UNIT_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_MONTH = "|".join([*MONTHS, "sept", *(month[:3] for month in MONTHS)])
_ISO_DATE = r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b"
_NAMED_MONTH = (
    rf"(?:\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?\b({_MONTH})\b\.?"
    r"(?: (\d{1,2})(?:st|nd|rd|th)?\b)?(?:,? (\d{4})\b)?"
)
_YEAR = r"\b(?:in|of|during|since|from) ((?:19|20)\d\d)\b"
_AGO = r"\b(\d{1,3}|a|an|one|two|three|four|five|six) (day|week|month|year)s? ago\b"
_LAST = r"\b(last|this|past|previous) (week|weekend|month|year)\b"
# "may" and "march" are also verbs; without a day or year, they are months only if capitalised.
_AMBIGUOUS = frozenset(("may", "march", "mar"))
MAX_RANGES = 4
_SMALL_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
DATE_CHARS = len("2026-01-15")


def may_name_time(text: str) -> bool:
    """Return False if the text certainly contains no time span that `ranges` can find."""
    return not CUES.isdisjoint(letters_of(text)) or any(
        len(word) == YEAR_DIGITS and word.isdecimal() for word in words(text)
    )


def letters_of(text: str) -> list[str]:
    """Return all runs of Latin letters in a text, in lower case."""
    return text.lower().encode("ascii", "replace").translate(_ONLY_LETTERS).decode().split()


def parsed(stamp: str) -> datetime | None:
    """Parse a time in ISO 8601 and convert it to UTC; return None for any other text."""
    try:
        moment = datetime.fromisoformat(stamp)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def days_between(stamp: str, now: str) -> float | None:
    """Return the number of days from `stamp` to `now`, at least 0; None if a time is invalid."""
    then, moment = (parsed(stamp) if stamp else None), (parsed(now) if now else None)
    if then is None or moment is None:
        return None
    return max(0.0, (moment - then).total_seconds() / 86400)


def boundary(text: str, now: str) -> str:
    """Convert a filter's value (`2026-01`, `7d`, a time) to a date or UTC time; '' if invalid."""
    value = text.strip().lower()
    moment = parsed(now) if now else None
    if pattern(r"\d{4}(-\d\d){0,2}", 0).fullmatch(value):
        date = value + "-01-01"[len(value) - 4 :]
        return date if parsed(date) else ""
    if value[:4].isdigit() and (exact := parsed(text.strip())):
        return _not_after(exact, "")
    if moment is None:
        return ""
    if match := pattern(r"(\d{1,4})([hdwmy])", 0).fullmatch(value):
        return _iso(moment, days=-int(match[1]) * _UNIT_DAYS[match[2]])
    return next((first for first, _ in ranges(text, now)), "")


def moment(text: str, now: str) -> str:
    """Convert the value of an `as_of:` filter to an exact time. For a day, a month or a time span,
    this is its end, but at most `now`. Return '' if the text is not a time.
    """
    value = text.strip()
    if len(value) > DATE_CHARS and value[:4].isdigit() and (exact := parsed(value)):
        return _not_after(exact, now)
    spans: tuple[Range | None, ...]
    if pattern(r"\d{4}(-\d\d){0,2}", 0).fullmatch(value):
        year, *parts = map(int, value.split("-"))
        whole = _month(year, 1), _month(year, 12)
        part = _day(year, *parts) if len(parts) == 2 else _month(year, *(parts or [1]))
        spans = (part,) if parts else whole
    elif pattern(r"\d{1,4}[hdwmy]", 0).fullmatch(value.lower()):
        spans = tuple(_iso_dates(boundary(value, now)))
    else:
        spans = ranges(value, now)[:1]
    after = parsed(spans[-1][1]) if spans and spans[-1] else None
    return _not_after(after - timedelta(milliseconds=1), now) if after else ""


def stated(text: str, now: str, field: str) -> str:
    """Convert a text to an exact time (see `moment`). Raises BadInput, which names the `field`."""
    time = moment(text, now)
    if not time:
        remedy = 'Say 2026-01-15, 2026-01, 30d, "last month" or a time in ISO 8601.'
        raise BadInput(field, f"{text!r} names no time.", remedy=remedy)
    return time


def _not_after(moment: datetime, now: str) -> str:
    stamp = moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3].rjust(23, "0") + "Z"
    return min(stamp, now) if now else stamp


def ranges(text: str, now: str) -> tuple[Range, ...]:
    """Return up to four time spans in a text (dates, years, weekdays, "last week", etc.), each as
    (first day, day after the last). A month without a year is the latest one not in the future.
    """
    moment = parsed(now) if now else None
    lowered = text.lower()
    words = set(letters_of(text))
    spans: list[Range] = []
    has_digits = any(map(str.isdigit, text))
    if has_digits:
        spans += _iso_dates(text)
    if moment is not None and words & CUES:
        spans += _relative(lowered, words, moment) + _named_months(text, moment)
    if has_digits and not spans and moment is not None:
        years = map(int, pattern(_YEAR).findall(lowered))
        spans += [(f"{year}-01-01", f"{year + 1}-01-01") for year in years]
    return tuple(dict.fromkeys(spans))[:MAX_RANGES]


def _iso_dates(text: str) -> list[Range]:
    dates = pattern(_ISO_DATE).findall(text)
    spans = (_day(int(y), int(m), int(d)) if d else _month(int(y), int(m)) for y, m, d in dates)
    return list(filter(None, spans))


def _relative(lowered: str, words: set[str], now: datetime) -> list[Range]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    spans = [_span(today, 1)] if "today" in words else []
    if "yesterday" in words:
        spans.append(_span(today - timedelta(days=1), 1))
    for name in filter(words.__contains__, WEEKDAYS):
        back = (today.weekday() - WEEKDAYS.index(name)) % 7 or 7
        spans.append(_span(today - timedelta(days=back), 1))
    for count, unit in pattern(_AGO).findall(lowered):
        days = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
        middle = today - timedelta(days=days * (_SMALL_NUMBERS.get(count) or int(count)))
        # "Two weeks ago" is imprecise, so the span includes days before and after.
        slack = 0 if unit == "day" else days // 2
        spans.append(_span(middle - timedelta(days=slack), 1 + 2 * slack))
    return spans + [_last(word == "this", u, today) for word, u in pattern(_LAST).findall(lowered)]


def _last(this: bool, unit: str, today: datetime) -> Range:
    if unit == "week":
        monday = today - timedelta(days=today.weekday())
        return _span(monday if this else monday - timedelta(days=7), 7)
    if unit == "weekend":
        back = (today.weekday() - 5) % 7 if this else today.weekday() + 2
        return _span(today - timedelta(days=back), 2)
    if unit == "year":
        first = datetime(today.year - (0 if this else 1), 1, 1, tzinfo=UTC)
        return _iso(first), _iso(first.replace(year=first.year + 1))
    first = today.replace(day=1)
    first = first if this else (first - timedelta(days=1)).replace(day=1)
    return _month(first.year, first.month) or _span(first, 30)


def _named_months(text: str, now: datetime) -> list[Range]:
    spans: list[Range | None] = []
    for match in pattern(_NAMED_MONTH).finditer(text):
        before, name, after, year = match.groups()
        day, lowered = int(before or after or 1), name.lower()
        if not (before or after or year) and lowered in _AMBIGUOUS and not name[0].isupper():
            continue
        month = next(i for i, full in enumerate(MONTHS, 1) if full.startswith(lowered[:3]))
        is_ahead = not year and (month, day) > (now.month, now.day)
        number = int(year or now.year) - is_ahead
        spans.append(_day(number, month, day) if before or after else _month(number, month))
    return list(filter(None, spans))


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
