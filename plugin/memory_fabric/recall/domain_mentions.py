"""The domain that a question names in so many words: "in the code_reviewer domain", and no other.

Only where it cannot be prose: a domain that memory knows, named right beside the word "domain",
with nothing behind it that would make another noun of both ("the security domain model"). A plain
word counts only behind "in", "within", "inside", "for" or "from", or with its "domain's". `general`
and `session` are words of everybody, and so is a domain whose name is an idiom: they are stated
(`domain:general`), never guessed. Two domains, or a "not in", are no clear word either.
"""

from __future__ import annotations

import re

from memory_fabric.domain_config import domain_name
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory_fabric.store.memory import Memory

WORD = "domain"
# "In the public domain", "in the time domain", "in the business domain" are no rooms.
IDIOMS = frozenset(
    """general session public time frequency problem business application core key main same other
    another different own whole wrong right given target sub expert any every each this that the
    a an one its our my your their""".split()
)
PLACING = frozenset("in within inside for from".split())
OUTSIDE = frozenset("not outside except beyond but never no without than".split())
ARTICLES = frozenset("the our my this".split())
# What may follow a whole name without making another noun of it.
FOLLOWING = frozenset(
    """and or but so then if when where while what which who why how that than as is are was were do
    does did has have had can could should would will may must shall in on at of for from to with
    about by we i you they it he she there here only please say says said tell show list find recall
    give use uses using apply applies""".split()
)
MAX_WORDS, MAX_CHARS = 3, 4000
_TOKENS = re.compile(r"[\w'’-]+|[^\w\s]|\n")
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”|`[^`\n]*`')
_TABLES = ("records", "observations", "entities", "relations", "episodes")


class Named(Value):
    """A domain that a question names, and the question without the words that name it."""

    domain: str
    rest: str


def named(text: str, memory: Memory) -> Named | None:
    """The domain that a question is confined to by its own words; None where that is not clear."""
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
    """Names beside the word, each with the stretch of the text that says so."""
    # What is quoted is spoken of; its length is kept, so that places stay true.
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
    """Whether `NAME domain` stands there as a place."""
    name = words[first:at]
    if not _is_name(name) or not (owned or _ends(words, at + 1)):
        return False
    before = first - 1 - (words[first - 1] in ARTICLES if first else 0)
    if _is_left_out(words, before):
        return False
    placed = before >= 0 and words[before] in PLACING
    return placed or owned or _is_identifier(name)


def _is_behind(words: Sequence[str], at: int, last: int) -> bool:
    """Whether `domain NAME` stands there as a place."""
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
    """Whether it is written as nobody writes prose: `code_reviewer`, `code-reviewer`."""
    return len(words) == 1 and ("_" in words[0] or "-" in words[0])


def _ends(words: Sequence[str], place: int) -> bool:
    if place >= len(words):
        return True
    word = words[place]
    return not word[0].isalnum() or word in FOLLOWING


def _is_left_out(words: Sequence[str], before: int) -> bool:
    """Whether the place is one that is not meant: "outside the", "not in the"."""
    near = words[max(0, before - 1) : before + 1] if before >= 0 else ()
    return any(word in OUTSIDE or word.endswith(("n't", "n’t")) for word in near)


def _from(tokens: Sequence[tuple[str, int, int]], words: Sequence[str], first: int) -> int:
    """Where the words that name the place begin: "in the" go with it."""
    while first and words[first - 1] in PLACING | ARTICLES:
        first -= 1
    return tokens[first][1]


def _known(name: str, memory: Memory) -> str:
    """The domain of this name that has rows here; '' for none."""
    domain = domain_name(name)
    if not domain or domain in IDIOMS:
        return ""
    for database in memory.databases():
        for table in _TABLES:
            if database.row(f"SELECT 1 FROM {table} WHERE domain = ? LIMIT 1", (domain,)):
                return domain
    return ""
