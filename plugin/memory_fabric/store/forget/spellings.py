"""Search for words and texts in bytes, in every spelling in which memory's files may hold them.

Spellings: plain UTF-8 with composed or decomposed accents, JSON escapes of any depth (`\\uXXXX`,
`\\"`, `\\/`), percent-encoding, a list of the words; any case and white space unless exact.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from memory_fabric.models import ERASED
from memory_fabric.text import one_line

# Replaces erased words in a text that is kept.
MARK = ERASED
# Longer than any escape of a single character.
NEAR_BYTES = 16
_BETWEEN = (
    rb"(?:\s|\\+[nrtfv]|\\+u0020|\\+u00(?:09|0[aAcCdD]|[aA]0)|%(?:20|09|0[aAdD])|\+|"
    rb"\xc2[\x85\xa0]|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80|"
    rb"\\*\"\s*,\s*\\*\")+"
)
_MARKED = {'"': rb"\\*\"", "/": rb"\\*/", "\\": rb"\\+", "<": "‹".encode()}
_ESCAPE_BEFORE = re.compile(rb"(?:\\+(?:u([0-9a-fA-F]{4})|[nrtbf])|%([0-9a-fA-F]{2}))\Z")
_ESCAPE_AFTER = re.compile(rb"(?:\\+u([0-9a-fA-F]{4})|%([0-9a-fA-F]{2}))")
_RUN = re.compile(rb"[a-z0-9]+")
# Scripts that put no space between words: Thai to Tibetan, Burmese, Khmer, Chinese, Japanese; and
# Korean, whose words carry endings.
_UNSPACED = (
    *(("\u0e00", "\u0fff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"), ("\u2e80", "\u9fff")),
    *(("\uac00", "\ud7af"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003ffff")),
)


class Needle(NamedTuple):
    """One text to search for: `whole` not inside longer words, `exact` in this case only."""

    text: str
    whole: bool = False
    exact: bool = False


class Sought:
    """All texts that are searched for together; false if there are none."""

    def __init__(self, needles: Iterable[Needle] = ()) -> None:
        self._needles = tuple(dict.fromkeys(needle for needle in needles if needle.text.strip()))

    def __bool__(self) -> bool:
        return bool(self._needles)

    def is_in(self, text: str) -> bool:
        """True if the text holds any of them."""
        return bool(self._needles) and next(self._spans(_bytes(text)), None) is not None

    def without(self, text: str) -> str:
        """Return the text with a mark in place of each match: the same object if there is none."""
        spans = self.spans(_bytes(text)) if self._needles else []
        return _replaced(text, spans) if spans else text

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return the matches as (start, end) in bytes, in order; overlapping ones are joined."""
        found: list[tuple[int, int]] = []
        for start, end in sorted(self._spans(data)):
            if found and start < found[-1][1]:
                found[-1] = found[-1][0], max(end, found[-1][1])
            else:
                found.append((start, end))
        return found

    def anywhere(self) -> Sought:
        """Return the same search, also inside longer words."""
        return Sought(needle._replace(whole=False) for needle in self._needles)

    def _spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        folded = b""
        for needle in self._needles:
            run = _longest_run(needle.text)
            if run:
                folded = folded or data.lower()
                # Memory never escapes ASCII letters itself, but another program may.
                if run not in folded and b"\\u00" not in folded and b"%" not in folded:
                    continue
            for found in _expression(needle).finditer(data):
                start, end = found.span()
                if needle.whole and _is_inside(data, start, end, needle.text):
                    continue
                if not _is_own_mark(data, start, end):
                    yield start, end


def _replaced(text: str, spans: Iterable[tuple[int, int]]) -> str:
    data, parts, last = _bytes(text), [], 0
    for start, end in spans:
        parts += [data[last:start], MARK.encode()]
        last = end
    return b"".join((*parts, data[last:])).decode("utf-8", "surrogatepass")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@cache
def _longest_run(text: str) -> bytes:
    """Return the longest run of ASCII letters and digits in lower case; every spelling
    contains it.
    """
    joined = unicodedata.normalize("NFC", text).lower()
    ascii_ = joined.encode("ascii", "replace").replace(b"?", b" ")
    runs: list[bytes] = _RUN.findall(ascii_)
    return max(runs, key=len, default=b"")


@cache
def _expression(needle: Needle) -> re.Pattern[bytes]:
    text = unicodedata.normalize("NFC", one_line(needle.text))
    return re.compile(b"".join(_spellings(c, needle.exact) for c in text))


@cache
def _spellings(c: str, exact: bool) -> bytes:
    """Return an expression for every way in which a character may be written."""
    if c == " ":
        return _BETWEEN
    cases = {c} if exact else {c, c.lower(), c.upper(), c.casefold(), c.title()}
    forms = {
        unicodedata.normalize(form, case) for case in cases for form in ("NFC", "NFD")
    }  # fmt: skip
    plain = [re.escape(form.encode("utf-8", "surrogatepass")) for form in sorted(forms)]
    plain += [_MARKED[c]] if c in _MARKED else []
    escaped = [b"".join(map(_as_json, _units(form))) for form in sorted(forms)]
    percent = [
        b"".join(b"%" + _any_case(f"{b:02x}") for b in form.encode("utf-8", "surrogatepass"))
        for form in sorted(forms)
    ]
    return b"(?:" + b"|".join([*plain, *escaped, *percent]) + b")"


def _units(text: str) -> list[int]:
    data = text.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]


def _as_json(unit: int) -> bytes:
    # One backslash is required, so that the expression starts with a literal.
    return rb"\\\\*u" + _any_case(f"{unit:04x}")


def _any_case(digits: str) -> bytes:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits).encode()


def _is_own_mark(data: bytes, start: int, end: int) -> bool:
    """True if the match is a part of memory's own mark."""
    mark = MARK.encode()
    return data.find(mark, max(0, end - len(mark)), start + len(mark)) >= 0


def _is_inside(data: bytes, start: int, end: int, text: str) -> bool:
    """True if the match is only a part of a longer word."""
    first, last = text.strip()[0], text.strip()[-1]
    return _joins(first, _before(data, start)) or _joins(last, _after(data, end))


def _joins(edge: str, neighbour: str) -> bool:
    if not _is_of_word(edge) or not neighbour or not _is_of_word(neighbour):
        return False
    return not (_is_unspaced(edge) or _is_unspaced(neighbour))


def _is_of_word(c: str) -> bool:
    return c.isalnum() or unicodedata.category(c)[0] == "M"


def _is_unspaced(c: str) -> bool:
    return any(low <= c <= high for low, high in _UNSPACED)


def _before(data: bytes, at: int) -> str:
    """Return the character before an offset; empty if none that could belong to a word."""
    near = data[max(0, at - NEAR_BYTES) : at]
    if found := _ESCAPE_BEFORE.search(near):
        return _escaped(found)
    return near.decode("utf-8", "ignore")[-1:] if near[-1:] else ""


def _after(data: bytes, at: int) -> str:
    near = data[at : at + NEAR_BYTES]
    if found := _ESCAPE_AFTER.match(near):
        return _escaped(found)
    return near[:4].decode("utf-8", "ignore")[:1]


def _escaped(found: re.Match[bytes]) -> str:
    digits = [part for part in found.groups() if part]
    if not digits or (len(digits[0]) == 2 and int(digits[0], 16) > 127):
        return ""
    return chr(int(digits[0], 16))
