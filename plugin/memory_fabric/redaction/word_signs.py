"""Signs of secrets that the single words of a text show: what asks for a closer look at the text.

Texts consist of few different words, so what a word shows is remembered: a text of prose costs
a look-up for each of its words. `possible` names every sign of `secret_signs` that could be true;
most prose has none. A part of a sign's condition stands within one word, as no name of a secret has
white space in it but single spaces: of such a name, one word is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from memory_fabric.redaction import secret_signs as signs
from memory_fabric.redaction.secret_commands import OPTION_NAMES, PROGRAMS
from memory_fabric.redaction.secret_words import NETWORKS, PAIRS, PASSWORDS, SEEDS, SHORT_PASSWORDS
from memory_fabric.text import runs

# What a word shows.
(
    PRIVATE, KEY_BLOCK, TOKEN, ISSUED, ADDRESS, HEADER, OPTION, DASHES, OPTION_NAME,
    PROGRAM, NAME_PART, QUOTED_NAME, CALL, DUMPED, VARIABLE, STATED, PAIR, STRANGE,
    KEY, MIXED, ACCOUNT, CODE, DIGIT, TABLE, SEED, NETWORK,
) = (1 << place for place in range(26))  # fmt: skip

MAX_REMEMBERED_WORDS = 1 << 15
# Longer words are not remembered: together they could be long.
MAX_REMEMBERED_CHARS = 40
MIN_MIXED_CHARS = 8
_STRANGE = frozenset("0123456789") | signs.SYMBOLS
_DIGITS = frozenset("0123456789")
# Texts that stand within one word, with what they show. A name of several words is in _SPACED.
_PARTS: tuple[tuple[Iterable[str], int], ...] = (
    (("<private",), PRIVATE),
    (("-----begin", "-----end", "private-lines:"), KEY_BLOCK),
    (("://",), ADDRESS),
    (("authorization", "cookie", '"auth', "bearer", "basic", "-b"), HEADER),
    (signs.OPTIONS, OPTION),
    (("pass:", "password", "identified", "</", "/>", *signs.PORTS, *signs.OF_FILES), OPTION),
    (("--",), DASHES),
    (OPTION_NAMES, OPTION_NAME),
    (signs.NAME_PARTS, NAME_PART),
    (signs.QUOTED_NAMES, QUOTED_NAME),
    (signs.CALLS, CALL),
    (signs.DUMPED_PARTS, DUMPED),
    (signs.VARIABLE_PARTS, VARIABLE),
    (PASSWORDS, STATED),
    (PAIRS, PAIR),
    (signs.EVERY_KEY, KEY),
    (signs.ACCOUNTS, ACCOUNT),
    (signs.CODES, CODE),
    (signs.IN_TABLES, TABLE),
    (SEEDS, SEED),
    (NETWORKS, NETWORK),
)


class _Names:
    """The parts by their first three characters, and shorter ones; words of names with spaces."""

    def __init__(self) -> None:
        self.by_three: dict[str, list[tuple[str, int]]] = {}
        self.shorter: dict[str, int] = {}
        self.firsts: dict[str, int] = {}
        self.lasts: dict[str, int] = {}
        self.programs = frozenset(runs(name)[0] for names, _, _ in PROGRAMS for name in names)
        for parts, shown in _PARTS:
            for part in parts:
                self._add(part, shown)
        self.short_ascii = [(p, shown) for p, shown in self.shorter.items() if p.isascii()]
        self.ends, self.starts = tuple(self.firsts), tuple(self.lasts)

    def _add(self, part: str, shown: int) -> None:
        if " " in part:
            # Of a name of several words, the longer of the outer ones.
            first, *_, last = part.split()
            known, word = (self.firsts, first) if len(first) > len(last) else (self.lasts, last)
            known[word] = known.get(word, 0) | shown
        elif len(part) < 3:
            self.shorter[part] = self.shorter.get(part, 0) | shown
        else:
            self.by_three.setdefault(part[:3], []).append((part, shown))


_KNOWN: list[_Names] = []


def possible(text: str) -> int:
    """Return the places in `secret_signs.SIGNS` of the signs that could be true, as bits."""
    shown = 0
    for word in text.split():
        shown |= _SHOWN[word]
    return _signs_of(shown, text) if shown else 0


def _signs_of(shown: int, text: str) -> int:
    """Return the signs that may be true of a text whose words show this."""
    found = 0
    for place, alone in _ALONE:
        if shown & alone:
            found |= 1 << place
    if shown & DASHES and shown & OPTION_NAME:
        found |= 1 << _COMMAND
    if _may_be_named(shown, text):
        found |= 1 << _NAMED
    if _may_be_stated(shown, text):
        found |= 1 << _STATED
    return found


def _may_be_named(shown: int, text: str) -> bool:
    if shown & QUOTED_NAME and ("(" in text or "," in text):
        return True
    if shown & CALL and "(" in text:
        return True
    if shown & VARIABLE and ("=" in text or ":" in text):
        return True
    return bool(shown & DUMPED) and "=" in text


def _may_be_stated(shown: int, text: str) -> bool:
    if (shown & PAIR and shown & STRANGE) or (shown & KEY and shown & (MIXED | NETWORK)):
        return True
    if shown & ACCOUNT and any(sign in text for sign in "/:|"):
        return True
    if shown & CODE and (shown & DIGIT or not text.isascii()):
        return True
    return bool(shown & TABLE) and "\n" in text


def _shown_by(word: str) -> int:
    """Return what a word shows; `word` has no white space."""
    if not _KNOWN:
        _KNOWN.append(_Names())  # late: no word of an empty memory needs it
    known = _KNOWN[0]
    folded = word.casefold()
    is_pair = folded == "/" or folded in signs.ARROWS or signs.is_mail_with_more(folded)
    shown = STATED if is_pair or _has_short(folded) else 0
    shown |= ADDRESS if "@" in folded else OPTION if folded == "*" else 0
    by_three = known.by_three
    for head in {folded[at : at + 3] for at in range(len(folded) - 2)} & by_three.keys():
        for part, of_part in by_three[head]:
            shown |= of_part if part in folded else 0
    for part, of_part in known.short_ascii if folded.isascii() else known.shorter.items():
        shown |= of_part if part in folded else 0
    if folded.endswith(known.ends) or folded.startswith(known.starts):
        shown |= _of_outer(folded, known)
    if not known.programs.isdisjoint(runs(folded)):
        shown |= PROGRAM
    return shown | _form_of(word, folded)


def _of_outer(folded: str, known: _Names) -> int:
    shown = 0
    for part, of_part in known.firsts.items():
        shown |= of_part if folded.endswith(part) else 0
    for part, of_part in known.lasts.items():
        shown |= of_part if folded.startswith(part) else 0
    return shown


def _has_short(folded: str) -> bool:
    return any(
        True
        for name in SHORT_PASSWORDS
        if name in folded
        for _ in signs.places(folded, name, alone=True)
    )


def _form_of(word: str, folded: str) -> int:
    """Return what the characters of a word show: digits, symbols, or a random value."""
    shown = 0 if _STRANGE.isdisjoint(folded) and not signs.is_joined(folded) else STRANGE
    if shown and not _DIGITS.isdisjoint(folded):
        shown |= DIGIT
        shown |= MIXED if len(folded) >= MIN_MIXED_CHARS else 0
        shown |= ISSUED if len(word) >= signs.MIN_WORD_CHARS else 0
    elif any(map(str.isdigit, folded)):
        shown |= DIGIT  # of another script
    if len(word) >= signs.MIN_WORD_CHARS and signs.token(word, folded):
        shown |= TOKEN
    return shown


class _Shown(dict[str, int]):
    """Signs that words show; those of long words are not remembered."""

    def __missing__(self, word: str) -> int:
        shown = _shown_by(word)
        if len(word) <= MAX_REMEMBERED_CHARS:
            if len(self) >= MAX_REMEMBERED_WORDS:
                self.clear()
            self[word] = shown
        return shown


_SHOWN = _Shown()
_COMMAND = signs.SIGNS.index(signs.command)
_NAMED = signs.SIGNS.index(signs.named)
_STATED = signs.SIGNS.index(signs.may_state_secret)
# What alone makes a sign possible, with the sign's place.
_ALONE = tuple(
    (signs.SIGNS.index(sign), shown)
    for sign, shown in (
        (signs.private, PRIVATE),
        (signs.key_block, KEY_BLOCK),
        (signs.token, TOKEN),
        (signs.beside_issuer, ISSUED),
        (signs.url, ADDRESS),
        (signs.header, HEADER),
        (signs.command, OPTION | PROGRAM),
        (signs.named, NAME_PART),
        (signs.may_state_secret, STATED),
        (signs.seeds, SEED),
    )
)
