"""Entities and relations that a text names (BR-7, BR-11, BR-16): known words, no guesses.

One pass over the words finds mentions; a relation is read only from what stands between two
neighbouring mentions of one sentence. An ordinary word never becomes an entity.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from memory_fabric.fabric.vocabulary import (
    ORDINARY,
    PATTERN_HEADS,
    PATTERNS,
    TECHNOLOGIES,
    entity_type,
    is_agent,
)
from memory_fabric.models import Entity, Relation
from memory_fabric.text import STOPWORDS, name_key
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_CHARS = 65536
MAX_NAME_BYTES = 512
_MAX_MENTIONS = 2000
_LONGEST_NAME_WORDS = 4

# What stands between two mentions, without fillers -> the relation, read forwards or backwards.
_FORWARD = {
    "uses": "uses", "use": "uses", "using": "uses", "is using": "uses", "used": "uses",
    "will use": "uses", "must use": "uses", "utilizes": "uses", "is built on": "uses",
    "built on": "uses", "built with": "uses", "is built with": "uses", "powered by": "uses",
    "recommends": "recommends", "recommended": "recommends", "suggests": "recommends",
    "recommends using": "recommends", "recommended using": "recommends",
    "requires": "requires", "require": "requires", "needs": "requires", "need": "requires",
    "required": "requires",
    "blocked by": "blocked_by", "is blocked by": "blocked_by", "are blocked by": "blocked_by",
    "was blocked by": "blocked_by", "blocked on": "blocked_by", "is blocked on": "blocked_by",
    "depends on": "depends_on", "depend on": "depends_on", "relies on": "depends_on",
    "rely on": "depends_on", "depended on": "depends_on", "is dependent on": "depends_on",
    "used for": "used_for", "is used for": "used_for", "are used for": "used_for",
    "for": "used_for",
    "enables": "enables", "enable": "enables", "enabled": "enables", "allows": "enables",
    "prefers": "prefers", "prefer": "prefers",
    "chose": "chose", "chooses": "chose", "picked": "chose", "selected": "chose",
    "decided on": "chose", "settled on": "chose", "chose to use": "chose",
    "decided to use": "chose",
    "replaces": "replaces", "replaced": "replaces", "supersedes": "replaces",
    "instead of": "chose_over", "rather than": "chose_over", "over": "chose_over",
}  # fmt: skip
_BACKWARD = {
    "used by": "uses", "is used by": "uses", "are used by": "uses", "required by": "requires",
    "is required by": "requires", "recommended by": "recommends",
    "is recommended by": "recommends", "enabled by": "enables", "is enabled by": "enables",
    "replaced by": "replaces", "is replaced by": "replaces", "was replaced by": "replaces",
    "superseded by": "replaces", "is superseded by": "replaces",
}  # fmt: skip
_LIST_WORDS = frozenset(("and", "or", "as well as", "and also", "plus", ""))
_LISTED = frozenset("uses requires depends_on recommends enables prefers chose_over".split())
_FILLERS = frozenset(
    """the a an our its their now also always still already currently then all any every each both
    only just simply mainly primarily""".split()
)
_CHOICE_WORDS = frozenset(
    """chose choose chooses chosen choosing prefer prefers preferred preferring pick picks picked
    select selected selects use uses used using adopt adopted take took favor favors favour went go
    going decided opted stick recommends recommended""".split()
)
_MOVE_WORDS = frozenset(
    """move moved moving moves switch switched switching migrate migrated migrating migrates change
    changed changing port ported went""".split()
)
_REPLACE_WORDS = frozenset("replace replaced replacing replaces swap swapped swapping".split())
_VERBS_AFTER_NAME = frozenset(
    """is uses requires needs was has and over supports for replaces depends enables does can will
    instead handles runs works cannot should must as""".split()
)

_COMPONENT_HEADS = frozenset(
    """endpoint endpoints api apis service services handler handlers route routes page pages
    component components table tables job jobs worker workers queue queues database databases db dbs
    cache store layer pipeline pipelines module modules form forms controller controllers webhook
    webhooks client clients server servers gateway dashboard frontend backend app apps cli sdk
    library libraries schema cluster boundary boundaries""".split()
)
_VERBS_OF_PARTS = frozenset("uses depends requires relies needs".split())
_COMPONENT_STARTS = frozenset(("all", "every", "each", "any"))
_VAGUE = STOPWORDS | frozenset(
    """new old other others whole entire existing following first last next different above below
    remaining various several two three many current main single extra additional specific certain
    given actual real right wrong good bad big small future previous own using use
    cross multi full half non inter sub per pre post semi mid self server client real one""".split()
)
_LITERALS = frozenset("true false null none nil undefined nan yes no ok todo".split())
_FILE_ENDINGS = frozenset(
    """py pyi js jsx mjs cjs ts tsx go rs java kt kts rb php c h cc cpp hpp cs swift scala sql sh md
    mdx json jsonl yaml yml toml ini cfg conf env lock html css scss vue svelte tf proto graphql
    xml db sqlite csv ipynb ps1 bat gradle ex exs lua zig dart""".split()
)


class _Word(Value):
    text: str
    start: int
    end: int
    key: str
    first: bool  # opens a sentence
    code: bool  # stands between backticks


class _Mention(Value):
    name: str
    type: str
    start: int
    end: int


@cache
def _word_pattern() -> re.Pattern[str]:
    return re.compile(r"[^\s,;:!?\"'“”‘’()\[\]{}<>`|*=…。，、：；！？（）「」]+")


@cache
def _shape_pattern() -> re.Pattern[str]:
    """CamelCase, snake_case, dotted.call and CONSTANT_CASE names; nothing that prose contains."""
    return re.compile(
        r"(?:[A-Z][a-z0-9]+){2,8}|[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*){1,8}"
        r"|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+){1,8}"
    )


def extract(
    text: str, *, known: Mapping[str, str] = {}
) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """What the text names, in the order it is named, and how it says these things relate.

    `known` maps the `name_key` of existing entities to their names, so that a variant resolves to
    the entity that is already there. Each entity and relation comes once. Reads 64 KB at most.
    """
    text = text[:MAX_CHARS]
    mentions = _mentions(text, known)
    entities: dict[str, Entity] = {}
    for mention in mentions:
        entities.setdefault(mention.name, Entity(mention.name, mention.type))
    return tuple(entities.values()), tuple(dict.fromkeys(_relations(text, mentions)))


def _mentions(text: str, known: Mapping[str, str]) -> list[_Mention]:
    words = _words(text)
    mentions: list[_Mention] = []
    i = 0
    while i < len(words) and len(mentions) < _MAX_MENTIONS:
        found, used = _name_at(words, i, known) or _component_at(words, i) or ("", 0)
        if found:
            last = words[i + used - 1]
            mentions.append(_resolved(found, words[i].start, last.end, known))
            i += used
        else:
            i += 1
    return mentions


def _words(text: str) -> list[_Word]:
    """The words with their places; full stops and slashes at their ends do not belong to them."""
    words: list[_Word] = []
    end = 0
    code = False
    for match in _word_pattern().finditer(text):
        word = match.group().rstrip(".-/&—–")
        gap = text[end : match.start()]
        code ^= gap.count("`") % 2 == 1
        first = not words or text[words[-1].end : words[-1].end + 1] in (".", "!", "?")
        first = first or any(sign in gap for sign in "\n:;(")
        end = match.end()
        if word:
            key = name_key(word)
            words.append(_Word(word, match.start(), match.start() + len(word), key, first, code))
    return words


def _name_at(words: list[_Word], i: int, known: Mapping[str, str]) -> tuple[str, int] | None:
    """The longest name that begins at word `i`, and how many words it takes."""
    run = _run(words, i)
    for used in range(len(run), 1, -1):
        key = "".join(word.key for word in run[:used])
        name = known.get(key) or TECHNOLOGIES.get(key) or PATTERNS.get(key)
        if name and not run[0].code:
            return name, used
    return _based(run) or _single(words, i, known)


def _run(words: list[_Word], i: int) -> list[_Word]:
    """Up to four words from `i` that stand beside each other with one space between."""
    run = [words[i]]
    for word in words[i + 1 : i + _LONGEST_NAME_WORDS]:
        if word.start != run[-1].end + 1 or word.first:
            break
        run.append(word)
    return run


def _based(run: list[_Word]) -> tuple[str, int] | None:
    """`token-based pagination` names the pattern token-pagination."""
    if len(run) > 1 and run[0].key.endswith("based") and run[1].key in PATTERN_HEADS:
        stem = run[0].text.lower().removesuffix("based").rstrip("-_")
        if stem and stem.replace("-", "").isalnum():
            return f"{stem}-{run[1].text.lower()}", 2
    return None


def _single(words: list[_Word], i: int, known: Mapping[str, str]) -> tuple[str, int] | None:
    word = words[i]
    text, key = word.text, word.key
    if key in known and (len(key) > 3 or text == known[key]) and key not in STOPWORDS:
        return known[key], 1
    if is_agent(text):
        return text, 1
    name = TECHNOLOGIES.get(key) or PATTERNS.get(key)
    if name:
        return (name, 1) if key not in ORDINARY or _meant_as_name(words, i, name) else None
    if "-" in text and text.islower() and _is_made_name(text):
        return text, 1
    return (text, 1) if _is_identifier(word) else None


def _is_made_name(name: str) -> bool:
    """Whether a hyphenated word names a pattern or a part: `token-caching`, `billing-service`."""
    first, _, rest = name.partition("-")
    head = rest.rpartition("-")[2]
    if head not in PATTERN_HEADS and head not in _COMPONENT_HEADS:
        return False
    return len(first) > 2 and first not in _VAGUE and name.replace("-", "").isalnum()


def _meant_as_name(words: list[_Word], i: int, name: str) -> bool:
    """Whether an ordinary word is written as a name, and not only since it opens a sentence."""
    word = words[i]
    if word.code or (name.isupper() and word.text == name):
        return True
    if name.isupper() or not word.text[0].isupper():
        return False
    follower = words[i + 1].text.lower() if i + 1 < len(words) else "is"
    return not word.first or follower in _VERBS_AFTER_NAME


def _is_identifier(word: _Word) -> bool:
    """Whether the word is a file, or shaped like a name in code, or stands between backticks."""
    text = word.text.removesuffix("()")
    if not 2 < len(text) <= 80 or "://" in text or not text.isascii():
        return False
    stem, dot, ending = text.rpartition(".")
    if dot and ending in _FILE_ENDINGS and stem.strip("./") and not stem.endswith("e.g"):
        return True
    if not text[0].isalpha():
        return False
    if _shape_pattern().fullmatch(text):
        return True
    bare = text.replace("_", "").replace(".", "").replace("-", "")
    return word.code and bare.isalnum() and text.lower() not in _LITERALS and "-" not in text[0]


def _component_at(words: list[_Word], i: int) -> tuple[str, int] | None:
    """`all list endpoints`, `for the analytics DB`: the part of the system a rule is about."""
    opener = words[i].text.lower()
    # The opening word is read one back, so that the mention itself begins at its first modifier.
    if i == 0 or opener in _VAGUE or opener in _COMPONENT_HEADS or not opener.isalpha():
        return None
    before = words[i - 1].text.lower()
    prior = words[i - 2].text.lower() if i > 1 else ""
    if before not in _COMPONENT_STARTS and before not in ("the", "our"):
        return None
    run = _run(words, i)
    for used in range(2, min(len(run), 3) + 1):
        parts = [word.text.lower() for word in run[:used]]
        if parts[-1] not in _COMPONENT_HEADS:
            continue
        follower = run[used].text.lower() if used < len(run) else ""
        told = (
            before in _COMPONENT_STARTS
            or prior in ("for", "in", "on", "across")
            or follower in _VERBS_OF_PARTS
        )
        fit = all(part.isalpha() and part not in _VAGUE for part in parts)
        return ("-".join(parts), used) if told and fit else None
    return None


def _resolved(name: str, start: int, end: int, known: Mapping[str, str]) -> _Mention:
    kind = entity_type(name) or "component"
    name = known.get(name_key(name), name)
    return _Mention(_within_bytes(name), kind, start, end)


def _within_bytes(name: str) -> str:
    return name.encode("utf-8", "replace")[:MAX_NAME_BYTES].decode("utf-8", "ignore")


def _relations(text: str, mentions: list[_Mention]) -> Iterator[Relation]:
    last: Relation | None = None
    for left, right in pairwise(mentions):
        if left.name == right.name or _is_asked(text, right.end):
            last = None
            continue
        last = _between(text, left, right, last)
        if last:
            yield last


def _between(text: str, left: _Mention, right: _Mention, last: Relation | None) -> Relation | None:
    gap = text[left.end : right.start]
    if len(gap) > 60:
        return None
    gap = gap.replace("`", "").replace("*", "")
    if last and last.target == left.name and last.type in _LISTED and _is_list(gap):
        return Relation(last.source, last.type, right.name) if last.source != right.name else None
    phrase = _phrase(gap)
    if phrase in _BACKWARD:
        return Relation(right.name, _BACKWARD[phrase], left.name)
    if phrase in ("with", "to") and _swapped(text, left, phrase):
        return Relation(right.name, "replaces", left.name)
    kind = _FORWARD.get(phrase, "")
    if not kind or not _fits(kind, phrase, text, left, right):
        return None
    return Relation(left.name, kind, right.name)


def _phrase(gap: str) -> str:
    """The words between two mentions without fillers; a sign that parts clauses leaves none."""
    if any(sign in gap for sign in '.,;:!?()\n"|—'):
        return ""
    return " ".join(word for word in gap.lower().split() if word not in _FILLERS)


def _is_list(gap: str) -> bool:
    return " ".join(gap.replace(",", " ").lower().split()) in _LIST_WORDS


def _fits(kind: str, phrase: str, text: str, left: _Mention, right: _Mention) -> bool:
    if phrase == "for":
        return left.type in ("technology", "pattern") and right.type != "agent"
    if phrase == "over":
        return bool(_CHOICE_WORDS & set(_words_before(text, left, 8)))
    if kind in ("chose", "prefers", "recommends") or phrase == "used":
        return left.type in ("agent", "component", "technology")
    return True


def _swapped(text: str, left: _Mention, phrase: str) -> bool:
    """Whether the words before say replaced X *with*, or moved from X *to*."""
    before = [word for word in _words_before(text, left, 6) if word not in _FILLERS]
    if phrase == "with":
        return bool(before) and before[-1] in _REPLACE_WORDS
    return bool(before) and before[-1] == "from" and bool(_MOVE_WORDS & set(before))


def _words_before(text: str, mention: _Mention, count: int) -> list[str]:
    """The last words before a mention within its sentence, lower case."""
    head = text[max(0, mention.start - 80) : mention.start]
    for stop in (". ", "! ", "? ", "\n", "; "):
        head = head.rpartition(stop)[2]
    return [word.strip("`*,:\"'(").lower() for word in head.split()][-count:]


def _is_asked(text: str, place: int) -> bool:
    """Whether the sentence around `place` ends with a question mark (300 characters are read)."""
    for character in text[place : place + 300]:
        if character in "?？":
            return True
        if character in "!\n。！":
            return False
    return False
