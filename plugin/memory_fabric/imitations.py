"""Remove invisible characters and imitated tags from texts for models and screens. Clients and this
plugin enclose some of their texts in tags, which other texts must not imitate. Invisible characters
are removed unless the text's script needs them. Before tag names are compared, they are normalized
(NFKD), combining marks are removed, and letters that look like Latin letters are replaced by them.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

OPENERS = "<＜﹤˂ᐸ〈〈⟨❮"  # characters that look like `<`; replaced with `‹` in guarded tags
MAX_TAG_CHARS = 80  # a tag's name is searched for within this many characters
JOINERS = "\u200c\u200d"
_SELECTORS = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
# Maps Cyrillic, Greek and other letters to the Latin letters that they look like.
_ALIKE = dict(
    zip("аαɑеɛіιıӏјоοорρсϲѕуухχԁнһкκмтτνυѵԝɡգ", "aaaeeiiiljoooppccsyyxxdhhkkmttvuvwgg", strict=True)
)


class Guarded(NamedTuple):
    """Invisible characters to remove, and tags to escape, by full name or by the name's start."""

    hidden: frozenset[str]
    tags: frozenset[str]
    starts: tuple[str, ...]


def without_imitations(text: str, guarded: Guarded) -> str:
    """Remove invisible characters that no script or emoji needs; replace `<` in guarded tags."""
    visible: list[str] = []
    for at, c in enumerate(text):
        if c in JOINERS:
            is_kept = _is_joined(text[at - 1 : at]) and _is_joined(text[at + 1 : at + 2])
        elif c in _SELECTORS:
            is_kept = bool(visible) and visible[-1] == text[at - 1] and _is_selected(visible[-1], c)
        else:
            is_kept = c not in guarded.hidden
        if is_kept:
            visible.append(c)
    text = "".join(visible)
    return "".join(
        "‹" if c in OPENERS and _opens_fence(text, at + 1, guarded) else c
        for at, c in enumerate(text)
    )


def _is_joined(c: str) -> bool:
    """Return True if zero-width joiners may stand beside `c`: Arabic, Indic script or emoji."""
    if not c or c < "\u0590" or "\u2000" <= c <= "\u206f":
        return False
    return unicodedata.category(c) in ("Lo", "Lm", "Mn", "Mc", "So", "Sk") or c in _SELECTORS


def _is_selected(c: str, selector: str) -> bool:
    """Return True if this variation selector may follow character `c`."""
    if selector >= "\U000e0100":
        return unicodedata.category(c) == "Lo"
    if c in "#*0123456789©®":
        return True
    return c >= "\u2000" and unicodedata.category(c) in ("So", "Sm", "Po", "Lo", "Sk")


def _opens_fence(text: str, at: int, guarded: Guarded) -> bool:
    name = _name_at(text, at, guarded.hidden)
    if name.startswith("antml:") or name in guarded.tags:
        return True
    starts = [tag for tag in guarded.starts if name.startswith(tag)]
    return any(not name[len(tag) : len(tag) + 1].isalnum() for tag in starts)


def _name_at(text: str, at: int, hidden: frozenset[str]) -> str:
    """Return the normalized tag name at an offset, or ''; dashes and `_` count as `-`."""
    name = ""
    for c in text[at : at + MAX_TAG_CHARS]:
        for part in unicodedata.normalize("NFKD", c).casefold():
            kind = unicodedata.category(part)
            if (kind[0] in "MC" or part in hidden) and not part.isspace():
                continue  # skip combining marks and invisible characters
            part = "-" if kind == "Pd" or part == "_" else _ALIKE.get(part, part)
            if part.isalnum() or part in "-:":
                name += part
            elif name or not (part.isspace() or part in "/\\∕⁄"):
                return name
    return name
