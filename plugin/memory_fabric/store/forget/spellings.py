"""Words and texts that are sought in bytes, in every spelling in which a file of ours holds them.

Plain UTF-8 with accents joined or apart, escaped as JSON does it however often (`\\uXXXX`, `\\"`,
`\\/`), percent-encoded, as a list of its words; any case and white space, unless stated exactly.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from memory_fabric.store.sessions import ERASED
from memory_fabric.text import one_line
from memory_fabric.values import Value

# In the place of what was erased from a text that stays.
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


class Needle(Value):
    """One text that is sought: `whole` not inside longer words, `exact` in this case only."""

    text: str
    whole: bool = False
    exact: bool = False


class Sought:
    """All that is sought at once; true when that is anything."""

    def __init__(self, needles: Iterable[Needle] = ()) -> None:
        self._needles = tuple(dict.fromkeys(needle for needle in needles if needle.text.strip()))

    def __bool__(self) -> bool:
        return bool(self._needles)

    def is_in(self, text: str) -> bool:
        """True if any of it stands in the text."""
        return bool(self._needles) and next(self._spans(_bytes(text)), None) is not None

    def without(self, text: str) -> str:
        """The text with a mark in the place of each: the same object where there is none."""
        spans = self.spans(_bytes(text)) if self._needles else []
        return _replaced(text, spans) if spans else text

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where it stands, as (start, end) in bytes, in order; what overlaps is one."""
        found: list[tuple[int, int]] = []
        for start, end in sorted(self._spans(data)):
            if found and start < found[-1][1]:
                found[-1] = found[-1][0], max(end, found[-1][1])
            else:
                found.append((start, end))
        return found

    def anywhere(self) -> Sought:
        """The same, also inside longer words."""
        return Sought(needle._replace(whole=False) for needle in self._needles)

    def _spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        folded = b""
        for needle in self._needles:
            run = _telling_run(needle.text)
            if run:
                folded = folded or data.lower()
                # Unless somebody escaped letters of ASCII, which we never do.
                if run not in folded and b"\\u00" not in folded and b"%" not in folded:
                    continue
            for found in _expression(needle).finditer(data):
                start, end = found.span()
                if needle.whole and _is_inside(data, start, end, needle.text):
                    continue
                if not _is_marked(data, start, end):
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
def _telling_run(text: str) -> bytes:
    """The longest run of ASCII letters and digits in a text, small; it is in every spelling."""
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
    """An expression for every way in which a character may be written."""
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
    # The first as a letter of its own: so the expression begins with what it must begin with.
    return rb"\\\\*u" + _any_case(f"{unit:04x}")


def _any_case(digits: str) -> bytes:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits).encode()


def _is_marked(data: bytes, start: int, end: int) -> bool:
    """True if what was found is a part of our own mark."""
    mark = MARK.encode()
    return data.find(mark, max(0, end - len(mark)), start + len(mark)) >= 0


def _is_inside(data: bytes, start: int, end: int, text: str) -> bool:
    """True if what was found is only a part of a longer word."""
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
    """The character before a place; empty for none that could belong to a word."""
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
