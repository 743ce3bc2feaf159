"""Names that words of a question mean: by an alias, or by a spelling mistake in a known name.

A word is taken for a misspelt name only if no text of the memory holds it, if it is no ordinary
word, and if exactly one known name is near enough: one edit (a letter more, less or different, or
two letters swapped) for a word of five letters, two for one of eight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory_fabric.language.concepts import WEAK
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import Query
from memory_fabric.recall.retrieve import EVERY_SOURCE
from memory_fabric.store.reader import Reader
from memory_fabric.text import STOPWORDS

# Shorter words are near to too many others.
ONE_EDIT_CHARS, TWO_EDITS_CHARS, MOST_CHARS = 5, 8, 30
# Words looked up in one question.
MAX_ASKED = 6
ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ly", "y", "ies")


def with_names_meant(query: Query, readers: Sequence[Reader]) -> Query:
    """Return the query with the names that its words mean as hints, and in `meant`.

    A store that fails is skipped: the search itself reports it. Raises DeadlinePassed.
    """
    asked = [
        term
        for term in query.terms
        if len(term) > 1 and term.isalnum() and term not in WEAK and term not in STOPWORDS
    ]
    found = _by_alias(asked, readers)
    vague = [
        term
        for term in asked
        if ONE_EDIT_CHARS <= len(term) <= MOST_CHARS
        and term.isascii()
        and not (term in found or term in TECHNOLOGIES or term in PATTERNS or term.isdigit())
    ]
    unknown = _unknown(_unusual(vague)[:MAX_ASKED], readers)
    listed = _listed(unknown)
    for word in unknown:
        name = _misspelt(word, [*listed[word], *_like(word, readers)])
        if name:
            found[word] = name
    if not found:
        return query
    hints = tuple(dict.fromkeys((*query.entity_hints, *found.values())))
    return query._replace(entity_hints=hints, meant=tuple(found.items()))


def edits(one: str, other: str, most: int) -> int:
    """Return the number of edits between two words, at most `most` + 1; a swap of two neighbours
    is one.
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


def _by_alias(terms: Sequence[str], readers: Sequence[Reader]) -> dict[str, str]:
    found: dict[str, str] = {}
    for reader in readers:
        found = {**reader.aliases(terms), **found}
    return found


def _unknown(terms: Sequence[str], readers: Sequence[Reader]) -> list[str]:
    """Return the words that no text of these stores holds."""
    left = list(terms)
    for reader in readers:
        if left:
            held = reader.rows_with(left, EVERY_SOURCE)
            left = [term for term in left if term not in held]
    return left if readers else []


def _misspelt(word: str, names: Iterable[tuple[str, str]]) -> str:
    """Return the one of these names (key, name) that is near to a word; '' for none or several."""
    most = _most_edits(word)
    letters = set(word)
    near: dict[str, int] = {}
    for key, name in names:
        # Each edit changes at most two of the letters that occur, which is quickly counted.
        if len(letters.symmetric_difference(key)) > 2 * most:
            continue
        count = edits(word, key, most)
        if count <= most:
            near[name] = min(count, near.get(name, count))
    if not near:
        return ""
    least = min(near.values())
    best = [name for name, count in near.items() if count == least]
    return best[0] if len(best) == 1 else ""


def _most_edits(word: str) -> int:
    return 2 if len(word) >= TWO_EDITS_CHARS else 1


def _listed(words: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return, for each word, (key, name) of the technologies and patterns with its first letter."""
    found: dict[str, list[tuple[str, str]]] = {word: [] for word in words}
    by_letter: dict[str, list[str]] = {}
    for word in words:
        by_letter.setdefault(word[0], []).append(word)
    for table in (TECHNOLOGIES, PATTERNS) if words else ():
        for key, name in table.items():
            for word in by_letter.get(key[0], ()):
                found[word].append((key, name))
    return found


def _like(word: str, readers: Sequence[Reader]) -> list[tuple[str, str]]:
    """Return (key, name) of names that may be near to a word."""
    most = _most_edits(word)
    return [pair for reader in readers for pair in reader.names_like(word, most)]


def _unusual(terms: Sequence[str]) -> list[str]:
    """Return the terms that are no ordinary words."""
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
