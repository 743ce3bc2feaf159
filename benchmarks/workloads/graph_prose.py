"""Texts and queries with the words of real prose: the docstrings of Python's standard library.

Sentences are drawn from a chain of word triples, so that any number of them has the vocabulary and
the word frequencies of the docstrings. The same seed and Python give the same texts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from workloads import prose

LEAST_CHARS, MOST_CHARS = 60, 200
# A docstring with fewer words holds no sentence.
LEAST_WORDS = 6
# A word of fewer letters is rarely what is asked for.
QUERY_LETTERS = 4
FUNCTION_WORDS = frozenset(
    """about also because been before between cannot could does each else from given have here into
    itself like more most must need never none once only other over same should since some such than
    that their them then there these they this those through under used uses using very were what
    when where whether which while will with within without would your""".split()
)
SIGNS = ".,;:!?()[]{}<>\"'`*"


class Prose:
    """A source of sentences of LEAST_CHARS to MOST_CHARS characters."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._starts, self._next = _chain()

    def sentence(self) -> str:
        """Return a text of one or more sentences."""
        text = self._drawn()
        while len(text) < LEAST_CHARS:
            text = f"{text} {self._drawn()}"
        if len(text) > MOST_CHARS:
            text = text[:MOST_CHARS].rpartition(" ")[0]
        return text

    def word(self) -> str:
        """Return a word that a name may hold."""
        while not (found := content_words(self._drawn())):
            pass
        return self._chance.choice(found)

    def _drawn(self) -> str:
        first, second = self._chance.choice(self._starts)
        drawn = [first]
        while second and len(drawn) < MOST_CHARS:
            drawn.append(second)
            first, second = second, self._chance.choice(self._next[first, second])
        return " ".join(drawn)


def content_words(text: str) -> list[str]:
    """Return the words of a text that a query may hold, in order and small letters."""
    bare = (word.strip(SIGNS).lower() for word in text.split())
    return [
        word
        for word in bare
        if len(word) >= QUERY_LETTERS and word.isalpha() and word not in FUNCTION_WORDS
    ]


def query(texts: Sequence[str], size: int, chance: random.Random) -> str:
    """Return a query of `size` words of one of these texts, as often neighbours as words apart.

    Words are as frequent among queries as they are in the texts.
    """
    while True:
        text = chance.choice(texts)
        held = list(dict.fromkeys(content_words(text)))
        if len(held) < size:
            continue
        if chance.random() < 0.5:
            neighbours = [run for run in _runs(held, size) if " ".join(run) in text.lower()]
            if neighbours:
                return " ".join(chance.choice(neighbours))
        return " ".join(chance.sample(held, size))


def holders(texts: Iterable[Sequence[str]]) -> Counter[str]:
    """Return the number of texts, each given in parts, that hold each word."""
    counted: Counter[str] = Counter()
    for parts in texts:
        counted.update({word for part in parts for word in content_words(part)})
    return counted


def _runs(held: Sequence[str], size: int) -> list[Sequence[str]]:
    return [held[at : at + size] for at in range(len(held) - size + 1)]


@cache
def _chain() -> tuple[list[tuple[str, str]], dict[tuple[str, str], list[str]]]:
    """Return the beginnings of sentences, and the words that follow a pair; '' ends a sentence."""
    starts: list[tuple[str, str]] = []
    following: dict[tuple[str, str], list[str]] = {}
    for sentence in _sentences():
        first, second, *rest = sentence
        starts.append((first, second))
        for word in (*rest, ""):
            following.setdefault((first, second), []).append(word)
            first, second = second, word
    return starts, following


def _sentences() -> Iterable[list[str]]:
    for sentence in prose.sentences():
        words = sentence.split()
        if len(words) >= LEAST_WORDS and _is_prose(words):
            yield words


def _is_prose(words: Sequence[str]) -> bool:
    # Our server redacts what looks like a password, and would hold other texts than the reference.
    if any("pass" in word.lower() for word in words):
        return False
    letters = sum(word.strip(SIGNS).isalpha() for word in words)
    return letters >= 0.8 * len(words) and all(word.isascii() for word in words)
