"""The domain that a question names explicitly, as in "in the code_reviewer domain".

The name must be that of a domain in memory, next to the word "domain", and not followed by a word
that makes another noun of both ("the security domain model"). An ordinary word counts only after
"in", "within", "inside", "for" or "from", or with "domain's". Names that are idioms, such as
`general` and `session`, count only as filters (`domain:general`). Two domains, or a "not in", are
ambiguous and count as none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memory_fabric.domain_config import domain_name
from memory_fabric.store.memory import Memory

WORD = "domain"
# Idioms such as "in the public domain" or "in the time domain" name no domain of memory.
IDIOMS = frozenset(
    """general session public time frequency problem business application core key main same other
    another different own whole wrong right given target sub expert any every each this that the
    a an one its our my your their""".split()
)
PLACING = frozenset("in within inside for from".split())
OUTSIDE = frozenset("not outside except beyond but never no without than".split())
ARTICLES = frozenset("the our my this".split())
# Words after a name that leave its meaning unchanged.
FOLLOWING = frozenset(
    """and or but so then if when where while what which who why how that than as is are was were do
    does did has have had can could should would will may must shall in on at of for from to with
    about by we i you they it he she there here only please say says said tell show list find recall
    give use uses using apply applies""".split()
)
MAX_WORDS, MAX_CHARS = 3, 4000
_TOKENS = re.compile(r"[\w'’-]+|[^\w\s]|\n")
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”|`[^`\n]*`')


class Named(NamedTuple):
    """A domain that a question names, and the question without the words that name it."""

    domain: str
    rest: str


def named(text: str, memory: Memory) -> Named | None:
    """Return the domain that a question names; None unless that is unambiguous."""
    if WORD not in text.lower() or len(text) > MAX_CHARS:
        return None
    found: dict[str, tuple[int, int]] = {}
    for name, start, end in _candidates(text):
        known = _known(name, memory)
        if known:
            found.setdefault(known, (start, end))
    if len(found) != 1:
        return None
    [(domain, (start, end))] = found.items()
    return Named(domain, f"{text[:start]} {text[end:]}".strip())


def _candidates(text: str) -> Iterable[tuple[str, int, int]]:
    """Yield the names next to the word "domain", each with its span of the text."""
    # Quoted text is ignored; its length is kept, so that positions remain valid.
    bare = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    tokens = [(m[0], m.start(), m.end()) for m in _TOKENS.finditer(bare)]
    words = [token.lower() for token, _, _ in tokens]
    for at, word in enumerate(words):
        owned = word in (f"{WORD}'s", f"{WORD}’s")
        if word != WORD and not owned:
            continue
        for count in range(MAX_WORDS, 0, -1):
            first = at - count
            if first >= 0 and _is_before(words, first, at, owned):
                yield " ".join(words[first:at]), _from(tokens, words, first), tokens[at][2]
            last = at + count
            if not owned and last < len(words) and _is_behind(words, at, last):
                name = " ".join(words[at + 1 : last + 1])
                yield name, _from(tokens, words, at), tokens[last][2]


def _is_before(words: Sequence[str], first: int, at: int, owned: bool) -> bool:
    """Return True if `NAME domain` refers to a domain."""
    name = words[first:at]
    if not _is_name(name) or not (owned or _ends(words, at + 1)):
        return False
    before = first - 1 - (words[first - 1] in ARTICLES if first else 0)
    if _is_left_out(words, before):
        return False
    placed = before >= 0 and words[before] in PLACING
    return placed or owned or _is_identifier(name)


def _is_behind(words: Sequence[str], at: int, last: int) -> bool:
    """Return True if `domain NAME` refers to a domain."""
    name = words[at + 1 : last + 1]
    before = at - 1 - (words[at - 1] in ARTICLES if at else 0)
    if not _is_name(name) or _is_left_out(words, before):
        return False
    if _is_identifier(name):
        return True
    return before >= 0 and words[before] in PLACING and _ends(words, last + 1)


def _is_name(words: Sequence[str]) -> bool:
    whole = "_".join(words)
    return whole not in IDIOMS and all(word[0].isalnum() for word in words) and WORD not in words


def _is_identifier(words: Sequence[str]) -> bool:
    """Return True for words written as an identifier: `code_reviewer`, `code-reviewer`."""
    return len(words) == 1 and ("_" in words[0] or "-" in words[0])


def _ends(words: Sequence[str], place: int) -> bool:
    if place >= len(words):
        return True
    word = words[place]
    return not word[0].isalnum() or word in FOLLOWING


def _is_left_out(words: Sequence[str], before: int) -> bool:
    """Return True if the domain is excluded: "outside the", "not in the"."""
    near = words[max(0, before - 1) : before + 1] if before >= 0 else ()
    return any(word in OUTSIDE or word.endswith(("n't", "n’t")) for word in near)


def _from(tokens: Sequence[tuple[str, int, int]], words: Sequence[str], first: int) -> int:
    """Return the index of the mention's first word, including "in the"."""
    while first and words[first - 1] in PLACING | ARTICLES:
        first -= 1
    return tokens[first][1]


def _known(name: str, memory: Memory) -> str:
    """Return the domain of this name that has rows here; '' if there is none."""
    domain = domain_name(name)
    if not domain or domain in IDIOMS:
        return ""
    return domain if any(reader.has_domain(domain) for reader in memory.readers()) else ""
