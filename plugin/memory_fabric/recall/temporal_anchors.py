"""Temporal anchors: events that date a question, as in "before the migration".

The event is searched for among the records. The day on which the best matching record was made
limits a time span, which only raises the hits in it. Pure; `retrieve` queries the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.language.concepts import WEAK, stems_of
from memory_fabric.language.times import MONTHS, WEEKDAYS
from memory_fabric.language.vocabulary import TECHNOLOGIES
from memory_fabric.store.search import Candidate
from memory_fabric.text import STOPWORDS, stem, words

Span = tuple[str, str]

MAX_RECORDS = 12
MAX_WORDS = 6
FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
_UNTIL, _FROM = frozenset(("before", "until")), frozenset(("after", "since"))
# Words for events, and the words with which records report them.
_EVENTS = (
    frozenset(
        """migration migrate migrated migrating move moved moving switch switched switching
        changeover transition replacement replaced replaces""".split()
    ),
    frozenset("incident outage crash failure downtime postmortem".split()),
    frozenset("rewrite rewrote rewritten refactoring refactored refactor redesign".split()),
    frozenset("upgrade upgraded upgrading update bump bumped".split()),
    frozenset("release released launch launched deploy deployed rollout".split()),
)
_NO_EVENT = frozenset((*MONTHS, *WEEKDAYS, "yesterday", "today", "week", "month", "year", "last"))


class Event(NamedTuple):
    """An event in a question: its kinds (sets of words), its own words, and the side."""

    kinds: tuple[frozenset[str], ...]
    names: tuple[str, ...]
    earlier: bool


def event_in(text: str) -> Event | None:
    """Return the event after the last "before", "after", "since" or "until", if any."""
    found = words(text)
    cues = [i for i, word in enumerate(found) if word in _UNTIL | _FROM]
    if not cues:
        return None
    named = found[cues[-1] + 1 : cues[-1] + 1 + MAX_WORDS]
    if not named or any(word in _NO_EVENT or word.isdigit() for word in named[:2]):
        return None
    kinds = tuple(kind for kind in _EVENTS if kind & set(named))
    known = frozenset(word for kind in kinds for word in kind)
    names = tuple(
        word
        for word in named
        if word not in known
        and word not in STOPWORDS
        and (word in TECHNOLOGIES or _is_specific(word))
    )
    if not kinds and not names:
        return None
    return Event(kinds, names, found[cues[-1]] in _UNTIL)


def spellings(event: Event) -> list[str]:
    """Return the words to search records for."""
    named = [s for name in event.names for s in (name, TECHNOLOGIES.get(name, name).lower())]
    return list(dict.fromkeys([*named, *sorted(w for kind in event.kinds for w in kind)]))


def span(event: Event, found: Sequence[Candidate]) -> Span | None:
    """Return the time span on the question's side of the event; None if no record reports it.

    Of several records the first that names it counts, or the last for an event without a name.
    """
    days = sorted(c.timestamp[:10] for c in found if c.timestamp and _mentions(c, event))
    if not days:
        return None
    day = days[0] if event.names else days[-1]
    return (FIRST_DAY, day) if event.earlier else (day, LAST_DAY)


def _is_specific(word: str) -> bool:
    return word not in WEAK and stem(word) not in WEAK and len(word) > 1


def _mentions(candidate: Candidate, event: Event) -> bool:
    entities = " ".join(candidate.metadata.get("entities", ()))
    said = stems_of(f"{candidate.text} {candidate.metadata.get('why') or ''} {entities}")
    for name in event.names:
        if said.isdisjoint((stem(name), stem(TECHNOLOGIES.get(name, name).lower()))):
            return False
    return all(any(stem(word) in said for word in kind) for kind in event.kinds)
