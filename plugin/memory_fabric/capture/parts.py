"""The parts that a sentence relates by a verb although no vocabulary knows them: "the checkout".

Only whole subjects and objects of a few verbs are read, of one to three words; where it is unclear
where a name ends, nothing is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from memory_fabric.capture.clauses import NO_NAME
from memory_fabric.capture.mentions import Mention
from memory_fabric.language.concepts import WEAK
from memory_fabric.patterns import pattern
from memory_fabric.text import name_key

# Verbs whose subject and object are parts of a system. "use" alone is too common for that.
_VERBS = (
    r" (?P<verb>(?:now )?(?:(?:is|are) )?(?:depends? on|rel(?:y|ies) on|requires?|uses|is using|"
    r"(?:is|are) (?:used by|blocked by|built on|required by)|blocked by|enables?|replaces?|"
    r"recommends)) "
)
_NAME = r"(?:[A-Za-z][\w-]*)(?: [A-Za-z][\w-]*){0,2}?"
_ARTICLE = r"(?:(?:the|our|a|an|its|their|all|every|each) )?"
_SUBJECT = (
    rf"(?:(?:^|[.;:!?] |, )(?:(?:the|our|a|an) )?|\b(?:the|our|that|because|since|and) )"
    rf"(?P<name>{_NAME}){_VERBS}"
)
# An object ends where the clause does, or before a preposition.
_END = (
    r"(?=$|[.,;:!?)]|\n| (?:for|in|on|to|with|by|from|at|as|when|where|because|since|so|and|or|but|"
    r"instead|rather|until|unless|if|which|that)\b)"
)
_OBJECT = rf"{_VERBS}{_ARTICLE}(?P<name>{_NAME}){_END}"
_PURPOSE = rf",? for {_ARTICLE}(?P<name>{_NAME}){_END}"
# A choice of unknown things: "use spaces instead of tabs", "synced with one-repo instead of two".
_CHOICE = (
    r"\b(?:us(?:e|es|ed|ing)|with|to|cho(?:ose|se|sen)|prefers?|pick(?:ed)?|adopt(?:ed)?|take|took)"
    rf" {_ARTICLE}(?P<name>{_NAME}) (?:instead of|rather than|over) "
    rf"{_ARTICLE}(?P<other>{_NAME}){_END}"
)
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
    for expression in (_SUBJECT, _OBJECT):
        for match in pattern(expression).finditer(text):
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
    if len(parts) == 1 and parts[0].endswith("ing"):
        return False  # "recommends waiting"
    return any(part not in WEAK and len(part) > 2 for part in parts)


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and word not in _TIMES


def _mention(text: str, start: int, known: Mapping[str, str]) -> Mention:
    name = known.get(name_key(text)) or "-".join(text.lower().split())
    return Mention(name, "component", start, start + len(text))
