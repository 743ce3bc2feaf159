"""The kind of answer that a question asks for: a person, a number or a time.

A memory without any word of that kind is no answer, however much it is about the same thing: "how
long do we keep the rows?" is not answered by what the rows are.
"""

from __future__ import annotations

from collections.abc import Iterable

from memory_fabric.language import time_hints
from memory_fabric.language.vocabulary import TECHNOLOGIES
from memory_fabric.text import name_key, without_files, words

PERSON, NUMBER, TIME = "person", "number", "time"
# A longer prompt asks for more than one thing.
MAX_CHARS = 240
_PERSON_WORDS = frozenset("who whom whose".split())
_AMOUNTS = frozenset("many much often long big large old fast".split())
_AUXILIARIES = frozenset("do does did will is are was were should can".split())
_NUMBER_WORDS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve dozen twenty thirty fifty
    hundred thousand million half once twice double none no never every each daily hourly weekly
    monthly nightly yearly always unlimited forever""".split()
)
_TIME_WORDS = _NUMBER_WORDS.union(
    time_hints.MONTHS, time_hints.WEEKDAYS, time_hints.CUES,
    "after before until when once during while then now later soon at on".split(),
)  # fmt: skip
# Those who do something without a name of their own.
_ROLES = frozenset(
    """i me we us team teams group department engineer engineers developer developers manager
    managers lead leads owner owners admin admins administrator administrators operator operators
    support legal security finance ops customer customers client clients vendor vendors reviewer
    reviewers maintainer maintainers designer designers analyst analysts auditor auditors user users
    everyone everybody nobody anyone call""".split()
)


def asked_kind(text: str) -> str:
    """Return the kind of answer that a short question asks for with its first words; or ''."""
    if len(text) > MAX_CHARS:
        return ""
    first, second = [*words(without_files(text))[:2], "", ""][:2]
    if first in _PERSON_WORDS:
        return PERSON
    if (first == "how" and second in _AMOUNTS) or (
        first in ("which", "what") and second in ("version", "versions")
    ):
        return NUMBER
    return TIME if first == "when" and second in _AUXILIARIES else ""


def holds(kind: str, text: str, names: Iterable[str] = ()) -> bool:
    """Return True if a text holds a word of the kind; `names` are things that are no persons."""
    if not kind:
        return True
    if kind == PERSON:
        return not _ROLES.isdisjoint(words(text)) or _names_somebody(text, names)
    known = _NUMBER_WORDS if kind == NUMBER else _TIME_WORDS
    return any(c.isdigit() for c in text) or not known.isdisjoint(words(text))


def _names_somebody(text: str, names: Iterable[str]) -> bool:
    """Return True if a capitalised word inside a sentence is none of the things."""
    things = {part for name in names for part in (name_key(name), *words(name))}
    things.update(word for word in words(text) if word in TECHNOLOGIES)
    parts = [part.strip("\"'()[],;:.!?*`") for part in text.split()]
    before = ["", *text.split()]
    return any(
        part[:1].isupper() and part[1:2].islower() and part[1:].islower()
        for part, last in zip(parts, before, strict=False)
        if last and last[-1] not in ".!?:" and not {name_key(part), part.lower()} & things
    )
