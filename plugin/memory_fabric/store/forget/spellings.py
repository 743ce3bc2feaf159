"""Search for words and texts in bytes, in every spelling that the memory's files may contain.

Texts may be UTF-8 (accents composed or decomposed), JSON-escaped to any depth (`\\uXXXX`, `\\"`,
`\\/`), percent-encoded, or JSON lists of words. White space and, unless exact, case may differ.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from memory_fabric.models import ERASED
from memory_fabric.text import one_line

# The marker that replaces erased words in a text that is kept.
MARK = ERASED
# A number of bytes that exceeds the longest escape of a single character.
NEAR_BYTES = 16
# Limits of an SQL condition. With more texts, reading every row is faster.
MAX_RUNS, MAX_RUN_CHARS = 20, 100
_BETWEEN = (
    rb"(?:\s|\\+[nrtfv]|\\+u0020|\\+u00(?:09|0[aAcCdD]|[aA]0)|%(?:20|09|0[aAdD])|\+|"
    rb"\xc2[\x85\xa0]|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80|"
    rb"\\*\"\s*,\s*\\*\")+"
)
_ESCAPE = rb"\\\\*u"
_MARKED = {'"': rb"\\*\"", "/": rb"\\*/", "\\": rb"\\+", "<": "‹".encode()}
_ESCAPE_BEFORE = re.compile(rb"(?:\\+(?:u([0-9a-fA-F]{4})|[nrtbf])|%([0-9a-fA-F]{2}))\Z")
_ESCAPE_AFTER = re.compile(rb"(?:\\+u([0-9a-fA-F]{4})|%([0-9a-fA-F]{2}))")
_RUN = re.compile(rb"[a-z0-9]+")
_ESCAPED_ASCII = re.compile(rb"(?:\\u00|%)[2-7][0-9a-f]")
# Scripts that write no spaces between words (Thai to Tibetan, Burmese, Khmer, Chinese, Japanese),
# and Korean, which attaches endings to words.
_UNSPACED = (
    *(("\u0e00", "\u0fff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"), ("\u2e80", "\u9fff")),
    *(("\uac00", "\ud7af"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003ffff")),
)


class Needle(NamedTuple):
    """A text to search for: with `whole`, not in longer words; with `exact`, in the same case."""

    text: str
    whole: bool = False
    exact: bool = False


class Sought:
    """A set of texts that are searched for together; an empty set is false."""

    def __init__(self, needles: Iterable[Needle] = ()) -> None:
        self._needles = tuple(dict.fromkeys(needle for needle in needles if needle.text.strip()))

    def __len__(self) -> int:
        return len(self._needles)

    def is_in(self, text: str | bytes) -> bool:
        """Return True if the text or bytes contain a sought text, however deeply it is escaped."""
        return bool(self._needles) and next(self._spans(_bytes(text)), None) is not None

    def without(self, text: str) -> str:
        """Return the text with a marker in place of each match; the same object if none matches."""
        data = _bytes(text)
        spans = self.spans(data) if self._needles else []
        parts, last = [], 0
        for start, end in spans:
            parts += [data[last:start], MARK.encode()]
            last = end
        return b"".join((*parts, data[last:])).decode("utf-8", "surrogatepass") if spans else text

    def spans(self, text: str | bytes) -> list[tuple[int, int]]:
        """Return the byte ranges (start, end) of all matches, in order; join overlapping ranges."""
        joined: list[tuple[int, int]] = []
        for start, end in sorted(self._spans(_bytes(text))):
            if joined and start < joined[-1][1]:
                joined[-1] = joined[-1][0], max(end, joined[-1][1])
            else:
                joined.append((start, end))
        return joined

    def bytes_in(self, text: str | bytes) -> int:
        """Return the number of bytes that belong to a match."""
        return sum(end - start for start, end in self.spans(text))

    def anywhere(self) -> "Sought":
        """Return a search for the same texts that also matches inside longer words."""
        return Sought(needle._replace(whole=False) for needle in self._needles)

    def condition(self, columns: Iterable[str]) -> str:
        """Return an SQL condition that is true for all matching rows, and perhaps for others."""
        runs = {_longest_run(needle.text)[:MAX_RUN_CHARS].decode() for needle in self._needles}
        if not runs:
            return "0"
        if "" in runs or len(runs) > MAX_RUNS:
            return "1"
        tests = [f"{{0}} LIKE '%{run}%'" for run in sorted(runs)]
        # Also select rows with escaped letters, or with NUL, where LIKE and GLOB stop reading.
        tests.append("instr({0}, '%') AND {0} GLOB '*%[2-7][0-9A-Fa-f]*'")
        tests += ["instr({0}, '\\u00')", "instr({0}, char(0))"]
        any_of = " OR ".join(tests)
        return "(" + " OR ".join(any_of.format(column) for column in columns) + ")"

    def _spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        folded, mark = b"", MARK.encode()
        for needle in self._needles:
            if run := _longest_run(needle.text):
                folded = folded or data.lower()
                # Memory itself never escapes ASCII letters, but another program may.
                if run not in folded and not _ESCAPED_ASCII.search(folded):
                    continue
            for match in _expression(needle).finditer(data):
                start, end = match.span()
                is_part = needle.whole and _is_inside(data, start, end, needle.text)
                around = data[max(0, end - len(mark)) : start + len(mark)]
                if not is_part and mark not in around:  # ignore a match within our own marker
                    yield start, end


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


@cache
def _longest_run(text: str) -> bytes:
    """Return the longest run of ASCII letters and digits, lower-cased; all spellings contain it."""
    # Encode before `lower`: "İ".lower() begins with an ASCII "i", which the UTF-8 bytes lack.
    ascii_ = unicodedata.normalize("NFC", text).encode("ascii", "replace").lower()
    runs: list[bytes] = _RUN.findall(ascii_)
    return max(runs, key=len, default=b"")


@cache
def _expression(needle: Needle) -> re.Pattern[bytes]:
    text = unicodedata.normalize("NFC", one_line(needle.text))
    return re.compile(b"".join(_spellings(c, needle.exact) for c in text))


@cache
def _spellings(c: str, exact: bool) -> bytes:
    if c == " ":
        return _BETWEEN
    cases = {c} if exact else {c, c.lower(), c.upper(), c.casefold(), c.title()}
    forms = sorted({unicodedata.normalize(form, case) for case in cases for form in ("NFC", "NFD")})
    plain = [re.escape(_bytes(form)) for form in forms] + ([_MARKED[c]] if c in _MARKED else [])
    units = [form.encode("utf-16-be", "surrogatepass").hex(" ", 2).split() for form in forms]
    # Require a backslash: `re` searches faster if each alternative starts with a literal.
    escaped = [b"".join(_ESCAPE + _any_case(unit) for unit in some) for some in units]
    percent = [b"".join(b"%" + _any_case(f"{b:02x}") for b in _bytes(form)) for form in forms]
    return b"(?:" + b"|".join([*plain, *escaped, *percent]) + b")"


def _any_case(digits: str) -> bytes:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits).encode()


def _is_inside(data: bytes, start: int, end: int, text: str) -> bool:
    """Return True if a word continues before or after this match, which is at `start` to `end`."""
    left, right = data[max(0, start - NEAR_BYTES) : start], data[end : end + NEAR_BYTES]
    escape = _ESCAPE_BEFORE.search(left)
    before = _escaped(escape) if escape else left.decode("utf-8", "ignore")[-1:]
    escape = _ESCAPE_AFTER.match(right)
    after = _escaped(escape) if escape else right[:4].decode("utf-8", "ignore")[:1]
    return _joins(text.strip()[0], before) or _joins(text.strip()[-1], after)


def _joins(edge: str, neighbour: str) -> bool:
    both = (edge, neighbour) if neighbour else ()
    if not (both and all(c.isalnum() or unicodedata.category(c)[0] == "M" for c in both)):
        return False
    return not any(low <= c <= high for c in both for low, high in _UNSPACED)


def _escaped(escape: re.Match[bytes]) -> str:
    """Return the escaped character, or "" if the escape encodes only a part of a character."""
    digits = next(filter(None, escape.groups()), b"")
    is_character = len(digits) == 4 or (digits and int(digits, 16) <= 127)
    return chr(int(digits, 16)) if is_character else ""
