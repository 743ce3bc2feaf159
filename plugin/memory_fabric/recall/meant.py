"""Names and events that words of a question mean.

An alias or a misspelling means a name; an event dates a question: "before the migration".

A word counts as a misspelt name only if no text of the memory contains it, if it is not an ordinary
word, and if exactly one known name is near enough: one edit (a letter more, less or different, or
two letters swapped) for a word of five letters, two edits for a word of eight.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.language.concepts import WEAK, stems_of
from memory_fabric.language.times import MONTHS, WEEKDAYS
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import Query
from memory_fabric.recall.retrieve import EVERY_SOURCE
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.reader import Reader
from memory_fabric.store.queries.search import Candidate
from memory_fabric.text import STOPWORDS, stem, words

# Shorter words are near to too many other words.
ONE_EDIT_CHARS, TWO_EDITS_CHARS, MOST_CHARS = 5, 8, 30
# The most words of one question that are looked up.
MAX_ASKED = 6
ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ly", "y", "ies")


def with_names_meant(query: Query, readers: Sequence[Reader]) -> Query:
    """Return the query with the names that its words mean, as hints and in `meant`. A store that
    fails is skipped, since the search itself reports the failure. Raises DeadlinePassed.
    """
    asked = [
        term
        for term in query.terms
        if len(term) > 1 and term.isalnum() and term not in WEAK and term not in STOPWORDS
    ]
    names: dict[str, str] = {}
    for reader in readers:
        names = {**reader.aliases(asked), **names}
    vague = [
        term
        for term in asked
        if ONE_EDIT_CHARS <= len(term) <= MOST_CHARS
        and term.isascii()
        and not (term in names or term in TECHNOLOGIES or term in PATTERNS or term.isdigit())
    ]
    unknown = _unusual(vague)[:MAX_ASKED] if readers else []
    for reader in readers:  # Keep the words that are in no text of these stores.
        held = reader.rows_with(unknown, EVERY_SOURCE) if unknown else {}
        unknown = [term for term in unknown if term not in held]
    listed_names = [*TECHNOLOGIES.items(), *PATTERNS.items()] if unknown else []
    for word in unknown:
        most = 2 if len(word) >= TWO_EDITS_CHARS else 1
        pairs = [(key, name) for key, name in listed_names if key[0] == word[0]]
        pairs += [pair for reader in readers for pair in reader.names_like(word, most)]
        if name := _misspelt(word, pairs, most):
            names[word] = name
    hints = tuple(dict.fromkeys((*query.entity_hints, *names.values())))
    return query._replace(entity_hints=hints, meant=tuple(names.items()))


def edits(one: str, other: str, most: int) -> int:
    """Return the number of edits between two words, at most `most` + 1. A swap of two neighbouring
    letters is one edit.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above, row = row, before, [i]
        for j, its in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != its))
            if i > 1 < j and letter == other[j - 2] and its == one[i - 2]:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def _misspelt(word: str, names: Iterable[tuple[str, str]], most: int) -> str:
    """Return the only name near to a word, from (key, name) pairs; '' for none or several."""
    letters = set(word)
    near: dict[str, int] = {}
    for key, name in names:
        # A quick check: each edit changes at most two of the letters that occur.
        if len(letters.symmetric_difference(key)) > 2 * most:
            continue
        count = edits(word, key, most)
        if count <= most:
            near[name] = min(count, near.get(name, count))
    least = min(near.values(), default=0)
    best = [name for name, count in near.items() if count == least]
    return best[0] if len(best) == 1 else ""


def _unusual(terms: Sequence[str]) -> list[str]:
    if not terms:
        return []
    ordinary = listed("ordinary_words")
    return [
        term
        for term in terms
        if not any(
            form in ordinary or f"{form}e" in ordinary
            for form in (term, *(term.removesuffix(end) for end in ENDINGS))
        )
    ]


Span = tuple[str, str]
# A question without these words names no event; in a long text they do not refer to an event.
ANCHORING = frozenset(("before", "after", "since", "until"))
MAX_ANCHORED_CHARS = 500

MAX_RECORDS = 12
MAX_WORDS = 6
FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
_UNTIL, _FROM = frozenset(("before", "until")), frozenset(("after", "since"))
# Words for events, and the words with which records report these events.
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


def anchored(query: Query, memory: Memory, *, session: str = "") -> Query:
    """Return the query with the time span that "before the migration" means, if a record reports
    it. This takes one more search, but only for a question that names such an event.
    """
    words_asked = query.text.lower().split() if len(query.text) <= MAX_ANCHORED_CHARS else []
    if ANCHORING.isdisjoint(words_asked):
        return query
    event = event_in(query.text)
    if event is None:
        return query
    for reader in memory.readers():
        try:
            records = reader.records_with(spellings(event), MAX_RECORDS, session)
        except DeadlinePassed:
            raise
        except FabricError:
            continue  # the search itself reports the failure
        day_span = span(event, records)
        if day_span:
            return query._replace(spans=(*query.spans, day_span))
    return query


class Event(NamedTuple):
    """An event in a question: kinds (sets of words), names; `earlier` for the time before it."""

    kinds: tuple[frozenset[str], ...]
    names: tuple[str, ...]
    earlier: bool


def event_in(text: str) -> Event | None:
    """Return the event after the last "before", "after", "since" or "until"; None without one."""
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
        and (word in TECHNOLOGIES or not (len(word) == 1 or word in WEAK or stem(word) in WEAK))
    )
    if not kinds and not names:
        return None
    return Event(kinds, names, found[cues[-1]] in _UNTIL)


def spellings(event: Event) -> list[str]:
    """Return the words by which records of the event are searched."""
    named = [s for name in event.names for s in (name, TECHNOLOGIES.get(name, name).lower())]
    return list(dict.fromkeys([*named, *sorted(w for kind in event.kinds for w in kind)]))


def span(event: Event, found: Sequence[Candidate]) -> Span | None:
    """Return the time span on the question's side of the event; None if no record reports the
    event. Of several records the first counts if the event has a name, else the last.
    """
    days = sorted(c.timestamp[:10] for c in found if c.timestamp and _mentions(c, event))
    if not days:
        return None
    day = days[0] if event.names else days[-1]
    return (FIRST_DAY, day) if event.earlier else (day, LAST_DAY)


def _mentions(candidate: Candidate, event: Event) -> bool:
    entities = " ".join(candidate.metadata.get("entities", ()))
    said = stems_of(f"{candidate.text} {candidate.metadata.get('why') or ''} {entities}")
    names = ((stem(name), stem(TECHNOLOGIES.get(name, name).lower())) for name in event.names)
    has_names = not any(map(said.isdisjoint, names))
    return has_names and all(any(stem(word) in said for word in kind) for kind in event.kinds)
