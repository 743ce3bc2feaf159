"""From candidates to hits in normal form (BR-2), with a relevance measured on long conversations.

Relevance = 1 − e^(−1.3 · raw): raw adds what the question's words say (lexical part), what stands
around the text (turn before, best of its session or entity), and what the question asks for (a
name, a time, a kind of answer). It rises with raw, lies in 0–1, and is 1.0 for an exact name only.

`metadata["coverage"]` is the absolute part alone: the share of the question's weight that the text
holds. It does not depend on bm25, which is about 0 in stores of a few rows; floors stand on it.
"""

from __future__ import annotations

import math
from itertools import pairwise

from memory_fabric.fabric import concepts as asked
from memory_fabric.fabric import moments
from memory_fabric.models import Hit
from memory_fabric.text import name_key, stem, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from memory_fabric.fabric.concepts import Concept
    from memory_fabric.models import Query
    from memory_fabric.store.search import Candidate

# Tuned on development conversations; doubling or halving any of them costs about a point.
BM25_WEIGHT = 0.6
COVERAGE_WEIGHT = 0.4
# The turn before: what it says belongs to what is answered, the more so when it is a question.
BEFORE_WEIGHT, BEFORE_QUESTION_WEIGHT = 0.3, 0.4
PARENT_WEIGHT, PARENT_HITS = 0.3, 3
# Additive: names that stand everywhere in a store get almost no weight from bm25.
ENTITY_BOOST = 0.45
TIME_BOOST = 0.4
ANSWER_BOOST = 0.2
QUESTION_PENALTY = 0.1
STEEPNESS = 1.3
MOST = 0.99  # below an exact name
MAX_NAME_CHARS = 200
# Smooths the rarity of words where a store has only a handful of candidates.
PRIOR_CANDIDATES = 3.0

_DATE_WORDS = frozenset(
    "yesterday today tomorrow tonight week weekend month year ago last next morning".split()
).union(moments.MONTHS, moments.WEEKDAYS)
_NUMBER_WORDS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million
    once twice couple several""".split()
)


class _Measured:
    """A candidate with what was measured on it, while its relevance is being added up."""

    __slots__ = ("before", "candidate", "covered", "mask", "raw")

    def __init__(self, candidate: Candidate, mask: int, before: int) -> None:
        self.candidate, self.mask, self.before = candidate, mask, before
        self.covered = self.raw = 0.0


def normalize(candidates: Sequence[Candidate], query: Query, now: str) -> list[Hit]:
    """Hits in normal form, most relevant first; candidates that miss an exact phrase are left out.

    `now` (ISO 8601) gives "last week" its meaning.
    """
    candidates = _worth_measuring(candidates, query)
    wanted = asked.concepts(query)
    measured = _measure(candidates, wanted)
    weights = _weights(wanted, measured)
    _add_words(measured, weights)
    _add_parents(measured)
    _add_what_was_asked(measured, query, now)
    exact = _exact_names(query)
    hits = [_hit(one, wanted, exact) for one in measured]
    return most_relevant_first(hits)


def most_relevant_first(hits: Sequence[Hit]) -> list[Hit]:
    """The hits by relevance; of equal ones the newer first, then by id: the order is settled."""
    ordered = sorted(hits, key=lambda hit: hit.id)
    ordered.sort(key=lambda hit: hit.timestamp, reverse=True)
    ordered.sort(key=lambda hit: hit.relevance, reverse=True)
    return ordered


def _worth_measuring(candidates: Sequence[Candidate], query: Query) -> list[Candidate]:
    """Without those that miss a phrase, and without entities that observations speak for."""
    spoken = {
        (c.store, c.entity)
        for c in candidates
        if c.source == "graph" and not c.metadata.get("whole_entity")
    }
    kept = [
        c
        for c in candidates
        if not c.metadata.get("whole_entity") or (c.store, c.entity) not in spoken
    ]
    for phrase in query.phrases:
        held = words(phrase)
        kept = [c for c in kept if _holds(words(_whole_text(c)), held)]
    return kept


def _holds(text: list[str], phrase: list[str]) -> bool:
    first, size = phrase[0], len(phrase)
    return any(w == first and text[i : i + size] == phrase for i, w in enumerate(text))


def _whole_text(candidate: Candidate) -> str:
    why = candidate.metadata.get("why") or ""
    return f"{candidate.text} {why} {' '.join(_entities(candidate))}"


def _entities(candidate: Candidate) -> tuple[str, ...]:
    named = candidate.metadata.get("entities") or ()
    return tuple(dict.fromkeys([*([candidate.entity] if candidate.entity else []), *named]))


def _measure(candidates: Sequence[Candidate], wanted: Sequence[Concept]) -> list[_Measured]:
    """Every candidate with the concepts that it and its turn before hold, as bits."""
    mask_of = _mask_reader(wanted)
    measured = []
    for candidate in candidates:
        mask = mask_of(candidate.text)
        for part in (candidate.metadata.get("why"), *_entities(candidate)):
            if part:
                mask |= mask_of(part)
        before = mask_of(candidate.context) if candidate.context else 0
        measured.append(_Measured(candidate, mask, before))
    return measured


def _mask_reader(wanted: Sequence[Concept]) -> Callable[[str], int]:
    """A function from a text to the concepts in it, as bits; every text and word is read once."""
    by_stem: dict[str, int] = {}
    for i, concept in enumerate(wanted):
        for one in concept.stems:
            by_stem[one] = by_stem.get(one, 0) | 1 << i
    # A stem keeps the first three letters of its word: most words need no stemming to be ruled out.
    beginnings = {one[:3] for one in by_stem}
    of_word: dict[str, int] = {}
    of_text: dict[str, int] = {}

    def mask_of(text: str) -> int:
        mask = of_text.get(text)
        if mask is not None:
            return mask
        mask = 0
        for word in asked.index_words(text):
            bits = of_word.get(word)
            if bits is None:
                known = word[:3] in beginnings
                bits = of_word[word] = by_stem.get(stem(word), 0) if known else 0
            mask |= bits
        of_text[text] = mask
        return mask

    return mask_of


def _weights(wanted: Sequence[Concept], measured: Sequence[_Measured]) -> list[float]:
    """What each concept counts: its strength times its rarity among the candidates; sum 1."""
    count = len(measured) + PRIOR_CANDIDATES
    raw = []
    for i, concept in enumerate(wanted):
        holding = sum(1 for one in measured if one.mask >> i & 1)
        raw.append(concept.strength * math.log(1 + count / (holding + 0.5)))
    total = sum(raw) or 1.0
    return [weight / total for weight in raw]


def _add_words(measured: Sequence[_Measured], weights: Sequence[float]) -> None:
    """Score the words of each candidate, and of the turn before it."""
    shares: dict[int, float] = {0: 0.0}

    def share(mask: int) -> float:
        if mask not in shares:
            shares[mask] = sum(w for i, w in enumerate(weights) if mask >> i & 1)
        return shares[mask]

    for one in measured:
        one.covered = share(one.mask)
    scales = _bm25_scales(measured)
    for one in measured:
        candidate = one.candidate
        one.raw = max(0.0, candidate.bm25) * scales[candidate.source, candidate.store]
        one.raw += COVERAGE_WEIGHT * one.covered
        if one.before:
            question = candidate.context.rstrip().endswith("?")
            one.raw += (BEFORE_WEIGHT + question * BEFORE_QUESTION_WEIGHT) * share(one.before)


def _bm25_scales(measured: Sequence[_Measured]) -> dict[tuple[str, str], float]:
    """What a point of bm25 is worth in each source of each store.

    The best row of a source gets BM25_WEIGHT where the source covers the question as well as any;
    in one that knows little of it even the best row is not worth much.
    """
    best: dict[tuple[str, str], float] = {}
    covered: dict[tuple[str, str], float] = {}
    for one in measured:
        key = (one.candidate.source, one.candidate.store)
        best[key] = max(best.get(key, 0.0), one.candidate.bm25)
        covered[key] = max(covered.get(key, 0.0), one.covered)
    most = max(covered.values(), default=0.0) or 1.0
    return {
        key: BM25_WEIGHT * covered[key] / most / ceiling if ceiling > 0 else 0.0
        for key, ceiling in best.items()
    }


def _add_parents(measured: Sequence[_Measured]) -> None:
    """Raise what stands among other good hits of its session or entity."""
    groups: dict[tuple[str, str], list[float]] = {}
    for one in measured:
        groups.setdefault(_parent(one.candidate), []).append(one.raw)
    sums = {key: sum(sorted(raws)[-PARENT_HITS:]) for key, raws in groups.items() if key[1]}
    most = max(sums.values(), default=0.0)
    if most <= 0:
        return
    for one in measured:
        one.raw += PARENT_WEIGHT * sums.get(_parent(one.candidate), 0.0) / most


def _parent(candidate: Candidate) -> tuple[str, str]:
    session = str(candidate.metadata.get("session") or "")
    return ("session", session) if session else ("entity", candidate.entity)


def _add_what_was_asked(measured: Sequence[_Measured], query: Query, now: str) -> None:
    names = asked.name_keys(query.text) | {name_key(hint) for hint in query.entity_hints}
    spans = (*_spans(query.text, now), *query.spans)
    for one in measured:
        candidate = one.candidate
        if any(_is_named(name, names) for name in (*_entities(candidate), _speaker(candidate))):
            one.raw += ENTITY_BOOST
        day = candidate.timestamp[:10]
        if spans and any(first <= day < after for first, after in spans):
            one.raw += TIME_BOOST
        if query.answer_type and _answers(query.answer_type, candidate):
            one.raw += ANSWER_BOOST
        if candidate.text.endswith("?"):
            one.raw -= QUESTION_PENALTY


def _spans(text: str, now: str) -> Sequence[tuple[str, str]]:
    """The stretches of time that the question names, as days."""
    if not moments.may_name_time(text):
        return ()
    from memory_fabric.fabric import times  # only where a time may be named

    return times.ranges(text, now)


def _is_named(name: str, names: frozenset[str] | set[str]) -> bool:
    return bool(name) and name_key(name) in names and name.lower() not in asked.WEAK


def _speaker(candidate: Candidate) -> str:
    """Who speaks in an imported turn of the form `Name: text`."""
    if candidate.source != "episodes":
        return ""
    name, colon, _ = candidate.text[:32].partition(":")
    return name if colon and name.istitle() else ""


def _answers(kind: str, candidate: Candidate) -> bool:
    if kind == "who":
        return _names_somebody(candidate.text)
    found = words(candidate.text)
    if kind == "when":
        return any(word in _DATE_WORDS or _is_year(word) for word in found)
    return any(word in _NUMBER_WORDS or word.isdigit() for word in found)


def _names_somebody(text: str) -> bool:
    """Whether a capitalised word stands where no sentence begins."""
    parts = text.split(" ")
    return any(
        word[:1].isupper() and word[1:2].islower() and (before[-1:].islower() or before[-1:] == ",")
        for before, word in pairwise(parts)
    )


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdigit() and word[:2] in ("19", "20")


def _exact_names(query: Query) -> tuple[str, ...]:
    """The keys of the one name that is the whole question; none for a question of more."""
    if len(query.text) > MAX_NAME_CHARS:
        return ()
    return name_key(query.text.strip(" ?!.\n\t")), name_key("".join(words(query.text)))


def _hit(one: _Measured, wanted: Sequence[Concept], exact: tuple[str, ...]) -> Hit:
    candidate = one.candidate
    name = name_key(candidate.entity) if candidate.source == "graph" else ""
    is_exact = bool(name) and name in exact
    relevance = 1.0 if is_exact else min(MOST, max(0.0, 1 - math.exp(-STEEPNESS * one.raw)))
    metadata: Mapping[str, Any] = {
        **candidate.metadata,
        "store": candidate.store,
        "coverage": round(1.0 if is_exact else one.covered, 4),
        "matched": [c.text for i, c in enumerate(wanted) if one.mask >> i & 1],
    }
    return Hit(
        id=candidate.id,
        text=candidate.text,
        source=candidate.source,
        timestamp=candidate.timestamp,
        relevance=relevance,
        entities=_entities(candidate),
        metadata=metadata,
    )
