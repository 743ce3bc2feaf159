"""Extraction of entities and relations from a text (BR-7, BR-11, BR-16), without guesses.

One pass over the words finds mentions; a relation is read only from the words between two
neighbouring mentions of one sentence. An ordinary word never becomes an entity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from memory_fabric.capture.mentions import Mention, mentions
from memory_fabric.capture.parts import related_parts
from memory_fabric.capture.polarity import clause_around, is_denied, is_left
from memory_fabric.models import Entity, Relation

MAX_CHARS = 65536

# The words between two mentions, without fillers -> the relation, read forwards or backwards.
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
# Sentences with these words count although they leave something behind.
_OF_DEPARTURES = frozenset(("replaces", "chose_over"))
_COMPARED = frozenset((", not", "and not", ", never", ", and not", "not"))
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
_PREFERRED = frozenset("prefer prefers preferred preferring".split())
_MOVE_WORDS = frozenset(
    """move moved moving moves switch switched switching migrate migrated migrating migrates change
    changed changing port ported went""".split()
)
_REPLACE_WORDS = frozenset("replace replaced replacing replaces swap swapped swapping".split())


def extract(
    text: str, *, known: Mapping[str, str] = {}
) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """Return the entities in a text and their relations, in order, each once.

    `known` maps the `name_key` of existing entities to their names, so that a variant resolves to
    the existing entity. Reads 64 KB at most.
    """
    text = text[:MAX_CHARS]
    named = mentions(text, known)
    parts = related_parts(text, named, known)
    found = sorted([*named, *parts], key=lambda mention: mention.start)
    relations = tuple(dict.fromkeys(_relations(text, found)))
    related = {name for relation in relations for name in (relation.source, relation.target)}
    entities: dict[str, Entity] = {}
    for mention in found:
        # A part that nothing relates may be any words.
        if mention not in parts or mention.name in related:
            entities.setdefault(mention.name, Entity(mention.name, mention.type))
    return tuple(entities.values()), relations


def _relations(text: str, found: list[Mention]) -> Iterator[Relation]:
    last: Relation | None = None
    for left, right in pairwise(found):
        if left.name == right.name or _is_asked(text, right.end):
            last = None
            continue
        before, last = last, _between(text, left, right, last)
        if not last or not _is_meant(text, left, right, last):
            continue
        yield last
        if last.type == "used_for" and last.source != left.name and before:
            yield Relation(left.name, "rejected_for", last.target)  # "X instead of Y for Z"


def _is_meant(text: str, left: Mention, right: Mention, relation: Relation) -> bool:
    """Return True if the clause states the relation, and not its reverse."""
    clause = clause_around(text, left.start, right.end)
    if is_denied(clause):
        return False
    return relation.type in _OF_DEPARTURES or not is_left(clause)


def _between(text: str, left: Mention, right: Mention, last: Relation | None) -> Relation | None:
    gap = text[left.end : right.start]
    if len(gap) > 60:
        return None
    gap = gap.replace("`", "").replace("*", "")
    if last and last.target == left.name and last.type in _LISTED and _is_list(gap):
        return Relation(last.source, last.type, right.name) if last.source != right.name else None
    if last and last.type == "chose_over" and gap.startswith(", for"):
        gap = gap[1:]
    if gap.strip().lower() in _COMPARED and _CHOICE_WORDS & set(_words_before(text, left, 8)):
        return Relation(left.name, "chose_over", right.name)
    phrase = _phrase(gap)
    if phrase in _BACKWARD:
        return Relation(right.name, _BACKWARD[phrase], left.name)
    if phrase in ("with", "to") and _swapped(text, left, phrase):
        return Relation(right.name, "replaces", left.name)
    if phrase == "to" and _PREFERRED & set(_words_before(text, left, 6)):
        return Relation(left.name, "chose_over", right.name)
    kind = _FORWARD.get(phrase, "")
    if not kind or not _fits(kind, phrase, text, left, right):
        return None
    # "X instead of Y for Z": Z is about X.
    was_declined = last and last.type == "chose_over" and last.target == left.name
    source = last.source if last and was_declined else left.name
    return Relation(source, kind, right.name) if source != right.name else None


def _phrase(gap: str) -> str:
    """Return the words between two mentions without fillers; '' across a clause."""
    if any(sign in gap for sign in '.,;:!?()\n"|—'):
        return ""
    return " ".join(word for word in gap.lower().split() if word not in _FILLERS)


def _is_list(gap: str) -> bool:
    return " ".join(gap.replace(",", " ").lower().split()) in _LIST_WORDS


def _fits(kind: str, phrase: str, text: str, left: Mention, right: Mention) -> bool:
    if phrase == "for":
        return left.type in ("technology", "pattern") and right.type != "agent"
    if phrase == "over":
        return bool(_CHOICE_WORDS & set(_words_before(text, left, 8)))
    if kind in ("chose", "prefers", "recommends") or phrase == "used":
        return left.type in ("agent", "component", "technology")
    return True


def _swapped(text: str, left: Mention, phrase: str) -> bool:
    """Return True if the words before are "replaced X with" or "moved from X to"."""
    before = [word for word in _words_before(text, left, 6) if word not in _FILLERS]
    if phrase == "with":
        return bool(before) and before[-1] in _REPLACE_WORDS
    return bool(before) and before[-1] == "from" and bool(_MOVE_WORDS & set(before))


def _words_before(text: str, mention: Mention, count: int) -> list[str]:
    """Return the last words before a mention within its sentence, lower case."""
    head = text[max(0, mention.start - 80) : mention.start]
    for stop in (". ", "! ", "? ", "\n", "; "):
        head = head.rpartition(stop)[2]
    return [word.strip("`*,:\"'(").lower() for word in head.split()][-count:]


def _is_asked(text: str, place: int) -> bool:
    """Return True if the sentence at `place` ends with a question mark within 300 characters."""
    for character in text[place : place + 300]:
        if character in "?？":
            return True
        if character in "!\n。！":
            return False
    return False
