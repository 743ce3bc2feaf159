"""Resolve names that a question mentions by an alias or misspells, and the time before or after an
event in it ("before the migration"). A word is a misspelt name only if it is neither in the
memory's texts nor an ordinary word, and exactly one known name is near. Words of five letters may
differ by one edit (a letter added, removed or replaced, or two swapped), those of eight by two.
"""

from collections.abc import Iterable, Mapping, Sequence

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.language.concepts import WEAK, stems_of
from memory_fabric.language.times import MONTHS, WEEKDAYS
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import Query
from memory_fabric.recall.retrieve import EVERY_SOURCE
from memory_fabric.store.queries.reader import Reader
from memory_fabric.store.queries.search import EVERYTHING, Candidate
from memory_fabric.text import STOPWORDS, stem, words

# Minimum lengths of words for one and two edits: shorter words are near to too many words.
ONE_EDIT_CHARS, TWO_EDITS_CHARS, MOST_CHARS = 5, 8, 30
# The maximum number of a question's unknown words for which names are looked up.
MAX_ASKED = 6
_COMMON = WEAK | STOPWORDS
# Limits: characters of a question about an event, words that name it, and records read to date it.
MAX_DATED_CHARS, MAX_EVENT_WORDS, MAX_REPORTS = 500, 6, 12
_BEFORE, _AFTER = frozenset(("before", "until")), frozenset(("after", "since"))
# Kinds of events, each with the words by which questions and records mention it.
_EVENTS = (
    frozenset(
        "migration migrate migrated migrating move moved moving switch switched switching "
        "changeover transition replacement replaced replaces".split()
    ),
    frozenset("incident outage crash failure downtime postmortem".split()),
    frozenset("rewrite rewrote rewritten refactoring refactored refactor redesign".split()),
    frozenset("upgrade upgraded upgrading update bump bumped".split()),
    frozenset("release released launch launched deploy deployed rollout".split()),
)
_DATES = frozenset((*MONTHS, *WEEKDAYS, "yesterday", "today", "week", "month", "year", "last"))
ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ly", "y", "ies")


def with_names_meant(query: Query, readers: Sequence[Reader]) -> Query:
    """Add names meant by aliases and typos to `entity_hints` and `meant`. Raises DeadlinePassed."""
    asked = [t for t in query.terms if len(t) > 1 and t.isalnum() and t not in _COMMON]
    names: dict[str, str] = {}
    for reader in readers:
        names = {**reader.aliases(asked), **names}
    vague = [t for t in asked if ONE_EDIT_CHARS <= len(t) <= MOST_CHARS and t.isascii()]
    vague = [t for t in vague if t not in names and t not in TECHNOLOGIES and t not in PATTERNS]
    unknown = []
    for term in vague if readers else ():
        ordinary = listed("ordinary_words")
        forms = (term, *(term.removesuffix(end) for end in ENDINGS))
        if not (term.isdigit() or any(f in ordinary or f"{f}e" in ordinary for f in forms)):
            unknown.append(term)
    unknown = unknown[:MAX_ASKED]
    for reader in readers:  # keep only words that no text contains
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


def dated(query: Query, readers: Sequence[Reader], session: str) -> Query:
    """Add the period before or after an event that the question mentions. An event with a name
    ("the Kafka migration") is dated by the first record about it, any other event by the latest.
    Without such a record, return the query unchanged. Raises DeadlinePassed.
    """
    asked = words(query.text) if len(query.text) <= MAX_DATED_CHARS else []
    cue = max((i for i, word in enumerate(asked) if word in _BEFORE | _AFTER), default=len(asked))
    mentioned = asked[cue + 1 : cue + 1 + MAX_EVENT_WORDS]
    if not mentioned or any(word in _DATES or word.isdigit() for word in mentioned[:2]):
        return query
    kinds = [kind for kind in _EVENTS if kind & set(mentioned)]
    known = _COMMON.union(*kinds)
    names = {
        word: TECHNOLOGIES.get(word, word).lower()
        for word in mentioned
        if word in TECHNOLOGIES or not (len(word) == 1 or {word, stem(word)} & known)
    }
    spellings = dict.fromkeys((*names, *names.values(), *sorted(frozenset().union(*kinds))))
    for reader in readers if spellings else ():
        try:
            rows = reader.records([list(spellings)], MAX_REPORTS, EVERYTHING, session)
        except DeadlinePassed:
            raise
        except FabricError:
            continue  # the search, which comes next, reports this store's error
        days = sorted(r.timestamp[:10] for r in rows if r.timestamp and _reports(r, kinds, names))
        if days:
            day = days[0] if names else days[-1]
            period = ("0001-01-01", day) if asked[cue] in _BEFORE else (day, "9999-12-31")
            return query._replace(spans=(*query.spans, period))
    return query


def _reports(record: Candidate, kinds: Sequence[frozenset[str]], names: Mapping[str, str]) -> bool:
    entities = " ".join(record.metadata.get("entities", ()))
    stems = stems_of(f"{record.text} {record.metadata.get('why') or ''} {entities}")
    has_names = all({stem(word), stem(name)} & stems for word, name in names.items())
    return has_names and all(any(stem(word) in stems for word in kind) for kind in kinds)


def edits(one: str, other: str, most: int) -> int:
    """Count the edits between two words, up to `most` + 1; swapping two letters is one edit."""
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
    """Return the name nearest to the word, within `most` edits; '' if there is none or a tie."""
    letters = set(word)
    near: dict[str, int] = {}
    for key, name in names:
        # As a quick check: one edit changes the set of letters by at most two.
        if len(letters.symmetric_difference(key)) > 2 * most:
            continue
        count = edits(word, key, most)
        if count <= most:
            near[name] = min(count, near.get(name, count))
    least = min(near.values(), default=0)
    best = [name for name, count in near.items() if count == least]
    return best[0] if len(best) == 1 else ""
