"""Past turns that answer nothing: those without content, errands, and the question itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_fabric.language.concepts import WEAK, concepts
from memory_fabric.models import Query
from memory_fabric.text import STOPWORDS, stem, words

if TYPE_CHECKING:
    from memory_fabric.store.search import Candidate

# Assents and calls to go on, in which nothing is said about a subject.
_EMPTY = WEAK | STOPWORDS
_ASSENTS = frozenset(
    """absolutely acknowledged agreed ahead alright cheers confirmed continue continued continuing
    cool finished go got great hello hey hi iterate iterating no noted nope ok okay onwards perfect
    please proceed proceeding right roger sorry sounds sure thank thanks understood welcome yep yes
    yup""".split()
)
# A longer text says something.
MAX_EMPTY_CHARS = 80
# An errand without an object: "undo", "push it".
MAX_ERRAND_WORDS = 2
_ASKING = ("?", "？")


def without_empty_turns(
    candidates: Sequence[Candidate], query: Query, session: str = ""
) -> list[Candidate]:
    """Drop turns without content, and questions of the user that ask nothing else than this one or
    were asked in this `session`.

    A search for an exact phrase finds every turn that holds it.
    """
    if query.phrases:
        return list(candidates)
    from memory_fabric.language.synonyms import near_words  # late: prompts have no turns

    asked = {
        word
        for concept in concepts(query)
        for word in (*concept.stems, *map(stem, near_words(concept)))
    }
    return [one for one in candidates if not _is_empty(one, asked, session)]


def _is_empty(candidate: Candidate, asked: set[str], session: str) -> bool:
    if candidate.source != "episodes":
        return False
    text = candidate.text.strip()
    said = {stem(word) for word in words(text) if word not in _EMPTY}
    if text.endswith(_ASKING) and candidate.metadata.get("role") == "user":
        is_here = bool(session) and candidate.metadata.get("session") == session
        if is_here or said <= asked:
            return True
    if len(text) > MAX_EMPTY_CHARS:
        return False
    # A turn that is found only beside others may answer a question in one word.
    is_errand = text.isascii() and len(text.split()) <= MAX_ERRAND_WORDS and said.isdisjoint(asked)
    is_answer = candidate.before.rstrip().endswith(_ASKING)
    return not says_something(text) or (is_errand and not is_answer)


def says_something(text: str) -> bool:
    """Return True if the text has a word besides assents and words of every conversation."""
    return any(word not in _ASSENTS and word not in _EMPTY for word in words(text))
