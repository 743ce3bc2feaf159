"""Past turns that answer nothing: those without content, and the question itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_fabric.language.concepts import WEAK
from memory_fabric.models import Query
from memory_fabric.text import STOPWORDS, same_form, words

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


def without_empty_turns(
    candidates: Sequence[Candidate], query: Query, session: str = ""
) -> list[Candidate]:
    """Drop turns without content, and questions that the user asked in this `session`.

    A search for an exact phrase finds every turn that holds it.
    """
    if query.phrases:
        return list(candidates)
    asked = same_form(query.text)
    return [one for one in candidates if not _is_empty(one, asked, session)]


def _is_empty(candidate: Candidate, asked: str, session: str) -> bool:
    if candidate.source != "episodes":
        return False
    text = candidate.text.strip()
    is_question = text.endswith(("?", "？"))
    if is_question and candidate.metadata.get("role") == "user":
        is_here = bool(session) and candidate.metadata.get("session") == session
        if is_here or same_form(text) == asked:
            return True
    return len(text) <= MAX_EMPTY_CHARS and not says_something(text)


def says_something(text: str) -> bool:
    """Return True if the text has a word besides assents and words of every conversation."""
    return any(word not in _ASSENTS and word not in _EMPTY for word in words(text))
