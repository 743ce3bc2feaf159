"""The past sessions that a long message carries on.

A message of many words ("Hi, I am back. The invoices went out as you proposed, so what is next for
the payment reminders?") repeats no single turn: its subject is a conversation. So whole sessions
are ranked: by bm25 of the message, by likeness to the best few of them (their rare words), and
among like ones by how recent they are (figures: docs/benchmarks.md, "Long conversations"). Short
questions ask for one statement; nothing is done for these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.language import concepts
from memory_fabric.models import Query
from memory_fabric.store.memory import Memory
from memory_fabric.text import STOPWORDS, stem, words

if TYPE_CHECKING:
    from memory_fabric.language.concepts import Concept
    from memory_fabric.store.protocols import Reader
    from memory_fabric.store.search import Candidate

Counts = dict[str, int]
Vector = dict[str, float]

# One sentence of fewer content words asks for one statement.
LEAST_CONCEPTS = 16
# A shorter word before a full stop is mostly an abbreviation: `Dr.`, `U.S.`
LEAST_LAST_WORD = 5
# Sessions that are read whole, those first found added as candidates, and turns of each.
MAX_SESSIONS, ADDED_SESSIONS, TURNS_OF_EACH = 100, 20, 3
SATURATION, LENGTH_SHARE = 2.0, 0.75
# Likeness to the best few sessions, by so many words; those of a session that describe it.
LIKENESS_WEIGHT, BEST_FEW, WORDS_OF_BEST, WORDS_OF_EACH = 2.0, 5, 40, 100
# The newest session counts this much more than the oldest; it fades over so many sessions.
NEWNESS_WEIGHT, NEWNESS_SESSIONS = 1.0, 20


class Continued(NamedTuple):
    """Scores (0-1) of sessions by id, candidates from the best ones, and failures by store."""

    scores: Mapping[str, float] = {}
    candidates: tuple[Candidate, ...] = ()
    failures: tuple[str, ...] = ()


def is_message(query: Query) -> bool:
    """Return True if a query is about a conversation: several sentences, or many words."""
    if any(map(_ends_a_sentence, query.asked.split()[:-1])):
        return True
    return len(concepts.concepts(query)) >= LEAST_CONCEPTS


def _ends_a_sentence(word: str) -> bool:
    return word[-1] in "!?。！？" or (word[-1] == "." and len(word) >= LEAST_LAST_WORD)


def continued(query: Query, memory: Memory, known: Sequence[Candidate]) -> Continued:
    """Rank the sessions that the message may carry on; nothing for a short question.

    `known` are the candidates that need not be added. Raises DeadlinePassed.
    """
    if query.phrases or not is_message(query):
        return Continued()
    wanted = concepts.concepts(query)
    held = {candidate.id for candidate in known}
    scores: dict[str, float] = {}
    added: list[Candidate] = []
    failures: list[str] = []
    for reader in memory.readers():
        try:
            found = _turns(reader, query, wanted)
            some = scored(reader.session_texts(list(found)[:MAX_SESSIONS], query.filters), wanted)
            best = sorted(some, key=lambda one: some[one], reverse=True)[:ADDED_SESSIONS]
            rows = [row for session in best for row in found[session][:TURNS_OF_EACH]]
            added += reader.turns_at(rows, query.filters)
        except DeadlinePassed:
            raise
        except FabricError as error:
            failures.append(f"episodes ({reader.kind}): {error}")
            continue
        scores |= some
    new = tuple(candidate for candidate in added if candidate.id not in held)
    return Continued(scores, new, tuple(failures))


def _turns(
    reader: Reader, query: Query, wanted: Sequence[Concept]
) -> dict[str, list[tuple[int, float]]]:
    """Return the best matching turns (row, bm25) of sessions, those with the best sum first."""
    groups = [concept.spellings for concept in wanted]
    found = reader.turns_by_session(groups, query.filters)
    return dict(
        sorted(found.items(), key=lambda pair: -sum(score for _, score in pair[1][:TURNS_OF_EACH]))
    )


def scored(texts: Mapping[str, str], wanted: Sequence[Concept]) -> dict[str, float]:
    """Return the score of each session, the best 1; the texts are in the order of time."""
    counts = {session: _counts(text) for session, text in texts.items()}
    matched = _share_of_best(_bm25(counts, wanted))
    likeness = _likeness(counts, matched)
    newest = len(texts) - 1
    return _share_of_best(
        {
            session: (matched[session] + LIKENESS_WEIGHT * likeness[session])
            * (1 + NEWNESS_WEIGHT * math.exp((i - newest) / NEWNESS_SESSIONS))
            for i, session in enumerate(texts)
        }
    )


def _counts(text: str) -> Counts:
    """Return how often each stem stands in the text."""
    by_word: dict[str, int] = {}
    for word in words(text):
        by_word[word] = by_word.get(word, 0) + 1
    counts: Counts = {}
    for word, count in by_word.items():
        if word not in STOPWORDS:
            found = stem(word)
            counts[found] = counts.get(found, 0) + count
    return counts


def _bm25(counts: Mapping[str, Counts], wanted: Sequence[Concept]) -> dict[str, float]:
    lengths = {session: sum(held.values()) for session, held in counts.items()}
    mean = sum(lengths.values()) / len(lengths) if lengths else 1.0
    long = {
        s: SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * n / mean) for s, n in lengths.items()
    }
    total = dict.fromkeys(counts, 0.0)
    for concept in wanted:
        often = {s: sum(held.get(one, 0) for one in concept.stems) for s, held in counts.items()}
        often = {session: count for session, count in often.items() if count}
        rarity = math.log(1 + (len(counts) - len(often) + 0.5) / (len(often) + 0.5))
        for session, count in often.items():
            total[session] += rarity * count * (SATURATION + 1) / (count + long[session])
    return total


def _likeness(counts: Mapping[str, Counts], matched: Mapping[str, float]) -> dict[str, float]:
    """Return the cosine of each session to the rare words of the best few."""
    holding: dict[str, int] = {}
    for held in counts.values():
        for word in held:
            holding[word] = holding.get(word, 0) + 1
    vectors = {session: _vector(held, holding, len(counts)) for session, held in counts.items()}
    subject: Vector = {}
    for session in sorted(matched, key=lambda one: matched[one], reverse=True)[:BEST_FEW]:
        for word, weight in vectors[session].items():
            subject[word] = subject.get(word, 0.0) + weight * matched[session] ** 2
    subject = _heaviest(subject, WORDS_OF_BEST)
    return {
        session: sum(weight * vector.get(word, 0.0) for word, weight in subject.items())
        for session, vector in vectors.items()
    }


def _vector(held: Counts, holding: Mapping[str, int], sessions: int) -> Vector:
    weights = {
        word: (1 + math.log(count)) * math.log(1 + sessions / holding[word])
        for word, count in held.items()
        if holding[word] > 1 and len(word) > 2
    }
    return _heaviest(weights, WORDS_OF_EACH)


def _heaviest(weights: Vector, most: int) -> Vector:
    """Return the heaviest words as a vector of length 1."""
    heavy = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    length = math.sqrt(sum(weight * weight for _, weight in heavy)) or 1.0
    return {word: weight / length for word, weight in heavy}


def _share_of_best(scores: Mapping[str, float]) -> dict[str, float]:
    best = max(scores.values(), default=0.0) or 1.0
    return {session: score / best for session, score in scores.items()}
