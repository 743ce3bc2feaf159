"""Order of an answer: what was settled before talk about it, the user's turns before long answers.

A turn is measured with the turns beside it, a record alone, so that relevance favours talk. Who
asks what the assistant said gets the turns as they are ranked.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.language.past_talk import asks_for_the_assistant
from memory_fabric.models import Hit, Query
from memory_fabric.recall.dedupe import coverage, is_superseded
from memory_fabric.recall.rank import TRUST_FACTORS

# A memory with so much of the question's weight answers it.
MUCH = 0.4
# Further memories that are settled, beside the most relevant hits.
MOST_SETTLED = 10
# The turns that are ordered by speaker; answers are long, on average, with so many characters and
# so much longer than what is typed: talk of two people is neither.
MOST_TURNS, LONG_CHARS, LONGER, HALF = 20, 400, 2.0, 0.5
ASKING = ("?", "？")


def worth_ranking(hits: Sequence[Hit], most: int) -> list[Hit]:
    """Return the first `most` hits, and those behind them that were settled and hold the question,
    so that many turns on a subject do not hide what it came to.
    """
    settled = [hit for hit in hits[most:] if _is_settled(hit)]
    return [*hits[:most], *settled[:MOST_SETTLED]]


def settled_first(hits: Sequence[Hit], query: Query, found: Sequence[Hit]) -> list[Hit]:
    """Return the ranked hits with each settled one before talk: statements of the user that hold no
    more of the question, and questions and proposals that hold at most twice as much. A moved hit
    has the score of its place.

    `found` are all hits, which tell if an assistant's long answers are among them.
    """
    if asks_for_the_assistant(query.text):
        return list(hits)
    settled = [hit for hit in hits if _is_settled(hit)]
    placed: dict[str, Hit] = {}
    for hit in _users_first(hits) if _has_long_answers(found) else hits:
        needed = coverage(hit) * (1.0 if _is_users(hit) and not _asks(hit) else HALF)
        for one in settled if hit.source == "episodes" or _asks(hit) else ():
            if coverage(one) >= needed:
                placed.setdefault(one.id, one._replace(score=max(one.score, hit.score)))
        placed.setdefault(hit.id, hit)
    return list(placed.values())


def _users_first(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with each statement of the user before the assistant's turns that hold at
    most twice as much of the question.
    """
    places = [i for i, hit in enumerate(hits) if hit.source == "episodes"][:MOST_TURNS]
    ordered: list[Hit] = []
    for turn in (hits[place] for place in places):
        place = len(ordered)
        while place and _is_users(turn) and not _asks(turn):
            before = ordered[place - 1]
            if _is_users(before) or coverage(turn) < HALF * coverage(before):
                break
            place -= 1
        ordered.insert(place, turn)
    moved = list(hits)
    for place, turn in zip(places, ordered, strict=True):
        moved[place] = turn._replace(score=hits[place].score)
    return moved


def _has_long_answers(hits: Sequence[Hit]) -> bool:
    """Return True if answers are much longer than what is typed, as an assistant's are."""
    turns = [hit for hit in hits if hit.source == "episodes"]
    typed = [len(hit.text) for hit in turns if _is_users(hit)]
    answers = [len(hit.text) for hit in turns if not _is_users(hit)]
    if not typed or not answers:
        return False
    mean = sum(answers) / len(answers)
    return mean >= max(LONG_CHARS, LONGER * sum(typed) / len(typed))


def _is_users(turn: Hit) -> bool:
    return turn.metadata.get("role") == "user"


def _is_settled(hit: Hit) -> bool:
    """Return True for a current memory in own words that holds much of the question."""
    if hit.source not in ("records", "graph") or coverage(hit) < MUCH or _asks(hit):
        return False
    is_edge = hit.metadata.get("entityType") == "relation"
    return not (is_edge or is_superseded(hit) or hit.metadata.get("trust") in TRUST_FACTORS)


def _asks(hit: Hit) -> bool:
    """Return True for an open point, and for a text of one sentence that is a question."""
    text = hit.text.strip()
    is_question = text.endswith(ASKING) and not any(end in text for end in (". ", "! ", "\n", "。"))
    return is_question or hit.metadata.get("type") == "question"
