"""Texts made harmless for a model and a screen: characters that nobody sees, and tags that imitate
those with which clients and we fence what they say.

Invisible characters are taken out where no script needs them. For the comparison names are folded:
compatibility forms, marks, and letters of other scripts that look like Latin ones.
"""

from __future__ import annotations

import unicodedata

from memory_fabric.values import Value

# What may stand for `<`; `‹` is what we write in its place.
OPENERS = "<＜﹤˂ᐸ〈〈⟨❮"
# How far behind an opener a name is looked for.
MAX_TAG_CHARS = 80
JOINERS = "\u200c\u200d"
_SELECTORS = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
# Cyrillic, Greek and other letters that look like these.
_ALIKE = dict(
    zip(
        "аαɑеɛіιıӏјоοорρсϲѕуухχԁнһкκмтτνυѵԝɡգ",
        "aaaeeiiiljoooppccsyyxxdhhkkmttvuvwgg",
        strict=True,
    )
)


class Guarded(Value):
    """Characters that show nothing, names of tags that open a fence, and how others begin."""

    hidden: frozenset[str]
    tags: frozenset[str]
    starts: tuple[str, ...]


def without_imitations(text: str, guarded: Guarded) -> str:
    """Return the text without invisible characters, and with tags of fences opened by `‹`."""
    text = _visible(text, guarded.hidden)
    return "".join(
        "‹" if c in OPENERS and _opens_fence(text, at + 1, guarded) else c
        for at, c in enumerate(text)
    )


def _visible(text: str, hidden: frozenset[str]) -> str:
    """The text without characters that show nothing; joiners and selectors stay where a script or
    an emoji is written with them.
    """
    kept: list[str] = []
    for at, c in enumerate(text):
        if c in JOINERS:
            stays = _is_joined(text[at - 1 : at]) and _is_joined(text[at + 1 : at + 2])
        elif c in _SELECTORS:
            stays = bool(kept) and kept[-1] == text[at - 1] and _is_selected(kept[-1], c)
        else:
            stays = c not in hidden
        if stays:
            kept.append(c)
    return "".join(kept)


def _is_joined(c: str) -> bool:
    """True if a character is written joined to others: of Arabic and Indic scripts, or an emoji."""
    if not c or c < "\u0590" or "\u2000" <= c <= "\u206f":
        return False
    return unicodedata.category(c) in ("Lo", "Lm", "Mn", "Mc", "So", "Sk") or c in _SELECTORS


def _is_selected(c: str, selector: str) -> bool:
    """True if a character has such variants to select from: signs, emoji, ideographs, keycaps."""
    if selector >= "\U000e0100":
        return unicodedata.category(c) == "Lo"
    if c in "#*0123456789©®":
        return True
    return c >= "\u2000" and unicodedata.category(c) in ("So", "Sm", "Po", "Lo", "Sk")


def _opens_fence(text: str, at: int, guarded: Guarded) -> bool:
    name = _name_at(text, at, guarded.hidden)
    if name.startswith("antml:") or name in guarded.tags:
        return True
    for tag in guarded.starts:
        if name.startswith(tag) and not name[len(tag) : len(tag) + 1].isalnum():
            return True
    return False


def _name_at(text: str, at: int, hidden: frozenset[str]) -> str:
    """The name of the tag that begins here, folded, with `-` for every dash and `_`."""
    name = ""
    for c in text[at : at + MAX_TAG_CHARS]:
        for part in unicodedata.normalize("NFKD", c).casefold():
            kind = unicodedata.category(part)
            if (kind[0] in "MC" or part in hidden) and not part.isspace():
                continue  # marks and what does not show
            part = "-" if kind == "Pd" or part == "_" else _ALIKE.get(part, part)
            if part.isalnum() or part in "-:":
                name += part
            elif name or not (part.isspace() or part in "/\\∕⁄"):
                return name
    return name
