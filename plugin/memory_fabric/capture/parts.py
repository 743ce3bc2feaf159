"""The parts that a sentence relates by a verb although no vocabulary knows them: "the checkout".

Only whole subjects and objects of verbs that relate two things are read, of one to three words;
where it is unclear where a name ends, nothing is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from memory_fabric.capture.clauses import NO_NAME
from memory_fabric.capture.mentions import OPENERS, Mention
from memory_fabric.language.concepts import WEAK
from memory_fabric.patterns import pattern
from memory_fabric.text import name_key

# The words between two things -> the relation, read forwards or backwards.
FORWARD = {
    "uses": "uses", "use": "uses", "using": "uses", "is using": "uses", "used": "uses",
    "are using": "uses", "will use": "uses", "must use": "uses", "utilizes": "uses",
    "is built on": "uses", "are built on": "uses", "built on": "uses", "built with": "uses",
    "is built with": "uses", "powered by": "uses", "is powered by": "uses",
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
BACKWARD = {
    "used by": "uses", "is used by": "uses", "are used by": "uses", "required by": "requires",
    "is required by": "requires", "recommended by": "recommends",
    "is recommended by": "recommends", "enabled by": "enables", "is enabled by": "enables",
    "replaced by": "replaces", "is replaced by": "replaces", "was replaced by": "replaces",
    "are replaced by": "replaces", "were replaced by": "replaces",
    "superseded by": "replaces", "is superseded by": "replaces",
}  # fmt: skip
# Words that relate two things without a verb, or mostly as an adjective or of people.
_NO_VERB = frozenset(
    "for over used using required enabled recommended allows need instead rather".split()
)
_VERB = "|".join(
    sorted(
        (w for w in (*FORWARD, *BACKWARD) if w.split()[0] not in _NO_VERB), key=len, reverse=True
    )
)
# "Used for" and "used by" need no auxiliary in a note.
_VERBS = rf" (?P<verb>(?:(?:now|also|still|only) )?(?:{_VERB}|used for|used by|required by)) "
# Verbs of several subjects: a single one before them is an order, "please use".
_PLURAL = frozenset("use require need enable prefer depend rely are were".split())
_NAME = r"(?:[A-Za-z][\w-]*)(?: [A-Za-z][\w-]*){0,2}?"
_ARTICLE = r"(?:(?:the|our|a|an|its|their|all|every|each) )?"
_SUBJECT = (
    rf"(?:(?:^|[.;:!?] |, )(?P<article>(?:the|our|a|an|all|every|each) )?|"
    rf"\b(?P<opener>the|our|that|because|since|and) )(?P<name>{_NAME}){_VERBS}"
)
# An object ends where the clause does, or before a preposition.
_END = (
    r"(?=$|[.,;:!?)]|\n| (?:for|in|on|to|with|by|from|at|as|when|where|because|since|so|and|or|but|"
    r"instead|rather|over|until|unless|if|which|that)\b)"
)
_OBJECT = rf"{_VERBS}{_ARTICLE}(?P<name>{_NAME}){_END}"
_PURPOSE = rf",? for {_ARTICLE}(?P<name>{_NAME}){_END}"
# A choice of unknown things: "use spaces instead of tabs", "synced with one-repo instead of two".
_CHOICE = (
    r"\b(?:us(?:e|es|ed|ing)|with|to|cho(?:ose|se|sen)|prefers?|pick(?:ed)?|adopt(?:ed)?|take|took)"
    rf" {_ARTICLE}(?P<name>{_NAME}) (?:instead of|rather than|over) "
    rf"{_ARTICLE}(?P<other>{_NAME}){_END}"
)
# Common words that name a part of a system where a verb governs them.
_PARTS = frozenset("app build client code page repo repository test tests".split())
# Behind these an -ing form is something to do: "recommends waiting".
_ADVISING = frozenset("recommends suggests prefers prefer".split())
# Adjectives in the form of adverbs.
_TIMES = frozenset("hourly daily nightly weekly monthly quarterly yearly".split())


def related_parts(text: str, named: Sequence[Mention], known: Mapping[str, str]) -> list[Mention]:
    """Return mentions of parts that the text relates and `named` lacks, in no order."""
    found: dict[int, Mention] = {}
    for start, end in _spans(text, named):
        overlaps = any(start < m.end and m.start < end for m in (*named, *found.values()))
        if not overlaps and _is_name(text[start:end]):
            found[start] = _mention(text[start:end], start, known)
    return list(found.values())


def _spans(text: str, named: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    for match in pattern(_SUBJECT).finditer(text):
        if match["article"] or match["opener"] or _is_subject(match["name"], match["verb"]):
            yield match.span("name")
    for match in pattern(_OBJECT).finditer(text):
        if _is_object(match["name"], match["verb"], text[: match.start()]):
            yield match.span("name")
    for match in pattern(_CHOICE).finditer(text):
        if _is_name(match["name"]) and _is_name(match["other"]):
            yield match.span("name")
            yield match.span("other")
    for mention in named:
        if mention.type in ("technology", "pattern", "tool"):
            # The purpose stands right behind what it is for.
            purpose = pattern(_PURPOSE).match(text, mention.end)
            if purpose:
                yield purpose.span("name")


def _is_name(text: str) -> bool:
    parts = text.lower().split()
    if parts[-1].endswith("ly") or any(part in NO_NAME or _is_adverb(part) for part in parts):
        return False
    return any((part not in WEAK or part in _PARTS) and len(part) > 2 for part in parts)


def _is_subject(name: str, verb: str) -> bool:
    """Return True if words without an article may be a subject: not "please" of "please use"."""
    parts = name.lower().split()
    return parts[0] not in OPENERS and (verb.split()[0] not in _PLURAL or parts[-1].endswith("s"))


def _is_object(name: str, verb: str, before: str) -> bool:
    """Return True if what follows a verb is a thing: nothing to do, and after several subjects."""
    if verb.split()[-1] in _ADVISING and name.endswith("ing"):
        return False
    if verb.endswith("for") and " " in name and name.split()[0].endswith("ing"):
        return False  # "used for keeping state"
    return verb.split()[0] not in _PLURAL or before.endswith("s")


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and word not in _TIMES


def _mention(text: str, start: int, known: Mapping[str, str]) -> Mention:
    name = known.get(name_key(text)) or "-".join(text.lower().split())
    return Mention(name, "component", start, start + len(text))
