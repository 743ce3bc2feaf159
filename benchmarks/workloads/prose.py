"""Real prose for benchmarks: sentences of this Python's own documentation, and questions on them.

The docstrings of the standard library are read at run time, so the texts have the vocabulary, the
frequent words and the lengths of prose that people wrote. The same Python gives the same texts.
"""

from __future__ import annotations

import os
import random
import re
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

# A docstring, and its sentences: of 6 to 40 words, mostly letters.
_DOCSTRING = re.compile(r'^\s+[rR]?"""(.*?)"""|^[rR]?"""(.*?)"""', re.DOTALL | re.MULTILINE)
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n")
_NAME = re.compile(r"\b(?:[a-z]+_[a-z_]+|[A-Z][a-z]+[A-Z]\w+|[a-z]+\.[a-z]{3,})\b")
MIN_WORDS, MAX_WORDS, MIN_LETTERS = 6, 40, 0.75
MAX_ASKED_WORDS = 20
PER_ENTITY = 10
# Forms of questions: {name} is a name in a text, {part} are a few of its words in a row.
_FORMS = (
    "how does {name} deal with {part}",
    "what did we say about {part} in {name}",
    "why is it that {part}",
    "when I call {name} and {part}, what happens",
    "is it right that {part}, or was that changed since",
    "can you remind me where we noted that {part}",
    "I think {name} had a problem because {part}",
    "which one of them is for {part}",
    "please look at {name} again and tell me if {part}",
    "{part}?",
)
# What no docstring of the standard library is about.
_UNKNOWN = (
    "grandmother sourdough oven harvest tomatoes bicycle mountain orchestra violin weather holiday "
    "kitchen garden tulips ferry lighthouse sailing pottery marathon blanket cinnamon mushrooms "
    "hallway carpet neighbour birthday concert museum painter sculpture river bridge castle dragon"
).split()
_FRAMES = (
    "what do we know about the {} and the {} by the {}",
    "did anybody ever tell you how the {} should be kept in the {} when there is a {}",
    "where is the {} with the {} that we wanted for the {}",
)
# Of ten questions so many are about nothing that is known.
UNKNOWN_OF_TEN = 1


@cache
def sentences(files: int | None = None) -> tuple[str, ...]:
    """Return the distinct sentences of the standard library's docstrings, in a fixed order.

    With `files`, only those of its first files are read.
    """
    found: dict[str, None] = {}
    for path in islice(_sources(sysconfig.get_paths()["stdlib"]), files):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for match in _DOCSTRING.finditer(text):
            for part in _ENDS.split(match.group(1) or match.group(2) or ""):
                sentence = " ".join(part.split())
                if _is_prose(sentence):
                    found[sentence] = None
    ordered = list(found)
    random.Random("sentences").shuffle(ordered)
    return tuple(ordered)


def texts(number: int) -> Iterator[str]:
    """Yield so many distinct texts: each sentence alone first, then pairs of them."""
    known = sentences()
    yield from known[:number]
    chance = random.Random(number)
    seen: set[tuple[str, str]] = set()
    while len(known) + len(seen) < number:
        pair = (chance.choice(known), chance.choice(known))
        if pair not in seen:
            seen.add(pair)
            yield " ".join(pair)


def entities(number: int) -> Iterator[dict[str, object]]:
    """Yield entities that hold so many texts together, ten each, named by a word of theirs."""
    group: list[str] = []
    for position, text in enumerate(texts(number), 1):
        group.append(text)
        if len(group) == PER_ENTITY or position == number:
            name = f"{_longest_word(group)} {position // PER_ENTITY}"
            yield {"name": name, "entityType": "subject", "observations": group}
            group = []


def questions(number: int, seed: int) -> list[str]:
    """Return so many distinct questions on the texts, and some on nothing that is known."""
    chance = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < number:
        found[_question(chance, sentences())] = None
    return list(found)


def _question(chance: random.Random, known: Sequence[str]) -> str:
    if chance.randrange(10) < UNKNOWN_OF_TEN:
        return chance.choice(_FRAMES).format(*chance.sample(_UNKNOWN, 3))
    while True:
        words = chance.choice(known).split()
        length = min(len(words), chance.randint(4, 11))
        begin = chance.randint(0, len(words) - length)
        part = " ".join(words[begin : begin + length]).strip(".,;:()\"'`").lower()
        other = chance.choice(known)
        names = _NAME.findall(other) or [_longest_word([other])]
        asked = chance.choice(_FORMS).format(name=chance.choice(names), part=part)
        if MIN_WORDS <= len(asked.split()) <= MAX_ASKED_WORDS:
            return asked


def _sources(folder: str) -> Iterator[str]:
    for here, below, names in os.walk(folder):
        below[:] = sorted(n for n in below if n not in ("site-packages", "test", "__pycache__"))
        yield from (os.path.join(here, name) for name in sorted(names) if name.endswith(".py"))


def _is_prose(sentence: str) -> bool:
    letters = sum(c.isalpha() or c == " " for c in sentence)
    fits = MIN_WORDS <= len(sentence.split()) <= MAX_WORDS
    return fits and sentence.isascii() and letters >= MIN_LETTERS * len(sentence)


def _longest_word(group: Sequence[str]) -> str:
    return max(re.findall(r"[A-Za-z]+", " ".join(group)), key=len, default="subject")
