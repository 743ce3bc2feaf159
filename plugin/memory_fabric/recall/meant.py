"""Names that words of a question mean, by an alias or with a spelling mistake.

A word is a misspelt name only if it is neither in the memory's texts nor an ordinary word, and
exactly one known name is near enough. Words of five letters may differ by one edit (a letter added,
removed or replaced, or two letters swapped), words of eight letters by two.
"""

from collections.abc import Iterable, Sequence

from memory_fabric.language.concepts import WEAK
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import Query
from memory_fabric.recall.retrieve import EVERY_SOURCE
from memory_fabric.store.queries.reader import Reader
from memory_fabric.text import STOPWORDS

# Shorter words would be near to too many other words.
ONE_EDIT_CHARS, TWO_EDITS_CHARS, MOST_CHARS = 5, 8, 30
# The maximum number of unknown words of a question for which names are looked up.
MAX_ASKED = 6
_COMMON = WEAK | STOPWORDS
ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ly", "y", "ies")


def with_names_meant(query: Query, readers: Sequence[Reader]) -> Query:
    """Add the names that words of the query mean to its hints and its `meant`. Raises
    DeadlinePassed.
    """
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


def edits(one: str, other: str, most: int) -> int:
    """Count the edits between two words, up to `most` + 1. Swapping two letters is one edit."""
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
    """Return the one name that is nearest to the word; '' if none or several are near."""
    letters = set(word)
    near: dict[str, int] = {}
    for key, name in names:
        # A quick check: one edit can change the set of letters by at most two.
        if len(letters.symmetric_difference(key)) > 2 * most:
            continue
        count = edits(word, key, most)
        if count <= most:
            near[name] = min(count, near.get(name, count))
    least = min(near.values(), default=0)
    best = [name for name, count in near.items() if count == least]
    return best[0] if len(best) == 1 else ""
