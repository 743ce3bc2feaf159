"""Values that a sentence sets, and values that it says were changed."""

from __future__ import annotations

from memory_fabric.capture.closing.wording import key_of
from memory_fabric.capture.extract import extract
from memory_fabric.language.patterns import pattern
from memory_fabric.text import stem, words

_COPULA = (
    r"^(?:the |our |my )?(?P<subject>[^,;:.?!]{3,60}?)(?: (?:is|are|must be|should be|will be)|\s?"
    r"[:=])(?: now| always| set to| still)? (?P<value>[^,;?!]{1,40}?)\.?$"
)
# "The default port is 9090, not 8080" sets one value.
_NOT_THAT = r", (?:and )?not \S{1,40}$"
# Sentences about one of these set a single value.
_SLOT_NOUNS = frozenset(
    """port branch timeout limit region language timezone encoding license licence owner prefix
    version length width interval retention ttl format name directory folder path size indent
    indentation level locale currency theme schedule maximum minimum""".split()
)
_VALUE_BEFORE = frozenset("is are of at to for after every most least than within under".split())
_UNITS = frozenset(
    """ms s sec second seconds minute minutes min hour hours day days week weeks month months year
    years character characters columns lines spaces percent mb gb kb requests retries
    attempts""".split()
)
_ADDING = frozenset(
    "support supports allow allows accept accepts add adds include includes".split()
)
_DROPPED_IN_SLOTS = frozenset(
    "the a an our my now always we please just it s that currently still set".split()
)


def slot_of(text: str) -> tuple[tuple[str, ...], str]:
    """The subject and the value of a sentence that sets exactly one value."""
    text = pattern(_NOT_THAT, 0).sub("", text)
    return _number_slot(text) or _named_slot(text) or ((), "")


def _number_slot(text: str) -> tuple[tuple[str, ...], str] | None:
    tokens = pattern(r"\d[\d._]*|[A-Za-z][\w-]*|[:=]", 0).findall(text.lower())
    tokens = ["is" if t in (":", "=", "are") else t for t in tokens if t not in _DROPPED_IN_SLOTS]
    tokens = [t for i, t in enumerate(tokens) if i == 0 or t != tokens[i - 1]]
    numbers = [i for i, t in enumerate(tokens) if t[0].isdigit()]
    if len(numbers) != 1 or set(tokens) & _ADDING or len(tokens) > 12:
        return None
    at = numbers[0]
    before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
    noun = any(t in _SLOT_NOUNS for t in tokens)
    if not (before in _VALUE_BEFORE and (after in _UNITS or (noun and not after))):
        return None
    if not [t for t in tokens if stem(t) not in _UNITS | _VALUE_BEFORE and not t[0].isdigit()]:
        return None
    template = tuple("#" if i == at else stem(t) for i, t in enumerate(tokens))
    return template, tokens[at]


def _named_slot(text: str) -> tuple[tuple[str, ...], str] | None:
    match = pattern(_COPULA).match(text)
    if not match:
        return None
    subject, value = words(match["subject"]), match["value"].strip(" \"'")
    told = value.lower().split()
    if not told or len(told) > 3 or told[0] in ("not", "a", "an", "too", "very", "no", "that"):
        return None
    known = bool(extract(value)[0])
    slot = subject and subject[-1] in _SLOT_NOUNS
    if any(c.isdigit() for c in value) or not (known or slot):
        return None
    if not known and told[-1].endswith(("ed", "ing", "ly", "able", "en", "ic", "al")):
        return None
    if known and not slot and subject[0] not in ("default", "primary", "main", "only", "current"):
        return None
    stems = tuple(stem(w) for w in subject if w not in _DROPPED_IN_SLOTS)
    return (stems, key_of(value)) if stems else None
