"""The relevance of a candidate, 1 − e^(−1.3 · raw). The raw value is a sum with weights measured on
long conversations. It rates the question's words by bm25 and by `covered`: the share of these words
in the text, weighted by rarity. It also rates the context (neighbouring turns, the best text of the
session or entity), and what was requested (a name, a time, a kind of answer). Only `covered` always
ranges from 0 to 1, so relevance floors use it: bm25 is about 0 in stores of a few rows.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise

from memory_fabric.language import concepts, times
from memory_fabric.language.concepts import Concept, near_words
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import Query
from memory_fabric.recall.parse import split
from memory_fabric.store.queries.search import Candidate
from memory_fabric.text import mask_reader, name_key, stem, words

# Tuned on development conversations. Half or double a weight costs at most a percentage point.
BM25_WEIGHT, COVERAGE_WEIGHT = 0.4, 0.4
NEAR_SHARE = 0.6  # the weight of a synonym relative to the word in the question
# The weights of neighbouring turns. A turn that follows a question is its answer, so it gets more.
BEFORE_WEIGHT, BEFORE_QUESTION_WEIGHT, AFTER_WEIGHT = 0.35, 0.3, 0.4
PARENT_WEIGHT = 0.3
# Added, not multiplied, if a requested name or time matches: bm25 is almost 0 for common names.
ENTITY_BOOST, TIME_BOOST = 0.45, 0.6
ANSWER_BOOST, MAX_QUESTION_CHARS = 0.2, 500
QUESTION_PENALTY, UNASKED_PENALTY = 0.1, 0.3
STEEPNESS = 1.3
# A longer turn is divided into passages, of which the best determines its relevance.
LONG_TURN_CHARS, PASSAGE_CHARS = 900, 600
# If a question continues sessions, a turn gets its session's score plus this share of its own.
TURN_SHARE = 0.05
PRIOR_CANDIDATES = 3.0  # added to the number of candidates, to smooth the rarity of words
_DATE_WORDS = listed("questions", "dates").union(times.MONTHS, times.WEEKDAYS)


class Measured:
    """A candidate with the parts of its relevance. `mask` has a bit for each concept (word of the
    question) that the candidate contains. `before` and `after` are the masks of its neighbouring
    turns, `passages` those of a long turn's parts. `replaces` is the id of an older record that
    this one replaces; its words count, too. If `is_exact`, the question is the entity's name.
    """

    before = after = 0
    passages: tuple[int, ...] = ()
    replaces, is_exact = "", False
    share = focus = 1.0
    bm25 = covered = around = group = session = 0.0
    name = time = answer = question = unasked = 0.0

    def __init__(self, candidate: Candidate, entities: tuple[str, ...], mask: int) -> None:
        self.candidate, self.entities, self.mask = candidate, entities, mask

    @property
    def words(self) -> float:
        """The weight of the words in the text itself, without its context."""
        return self.bm25 + COVERAGE_WEIGHT * self.covered

    @property
    def relevance(self) -> float:
        """The relevance, from 0 to less than 1."""
        asked_for = self.name + self.time + self.answer + self.question + self.unasked
        raw = self.session + self.share * (self.words + self.around + self.group + asked_for)
        return max(0.0, 1 - math.exp(-STEEPNESS * raw))

    def parts(self) -> dict[str, float]:
        """Return the summands of the raw relevance that are not 0, by name."""
        own = {
            "bm25": self.bm25,
            "words held": COVERAGE_WEIGHT * self.covered,
            "turns beside it": self.around,
            "its session or entity": self.group,
            "names asked for": self.name,
            "time asked for": self.time,
            "kind of answer": self.answer,
            "is a question": self.question,
            "names what is not asked for": self.unasked,
        }
        parts = {"session carried on": self.session}
        parts |= {name: self.share * value for name, value in own.items()}
        return {name: round(value, 4) for name, value in parts.items() if value}


def measure(
    candidates: Sequence[Candidate],
    query: Query,
    now: str,
    *,
    wide: bool = False,
    sessions: Mapping[str, float] = {},
) -> list[Measured]:
    """Measure all parts of each candidate's relevance; keep the order of the candidates. `now` (ISO
    8601) resolves times such as "last week". If `wide`, synonyms of the question's words count.
    `sessions` has the scores of earlier sessions if the question continues one. If it is not empty,
    a turn's relevance depends mostly on the score of its session.
    """
    wanted = concepts.concepts(query)
    measured = _with_concepts(candidates, wanted, wide)
    weights = weights_of(wanted, [item.mask for item in measured])
    succeeded = () if query.past else inherit(measured, now)
    sentences, is_long = split(query.asked)
    masks = [*map(_mask_reader(wanted), sentences)] if is_long else []
    places = [[at for at, mask in enumerate(masks) if mask >> i & 1] for i in range(len(wanted))]
    _add_words(measured, weights, succeeded, places if is_long else [])
    _add_groups(measured)
    for old, successor in succeeded:
        successor.around = max(successor.around, old.around)
        successor.group = max(successor.group, old.group)
    _add_what_was_asked(measured, query, now)
    for item in measured if sessions else ():
        if item.candidate.source == "episodes":
            session = str(item.candidate.metadata.get("session") or "")
            item.share, item.session = TURN_SHARE, sessions.get(session, 0.0)
    return measured


def entities_of(candidate: Candidate) -> tuple[str, ...]:
    """Return a candidate's entities: first the one that it belongs to, then those it mentions."""
    names = candidate.metadata.get("entities")
    own = (candidate.entity,) if candidate.entity else ()
    return tuple(dict.fromkeys((*own, *names))) if names else own


def _with_concepts(
    candidates: Sequence[Candidate], wanted: Sequence[Concept], wide: bool
) -> list[Measured]:
    mask_of = _mask_reader(wanted, [near_words(concept) for concept in wanted] if wide else ())
    measured = []
    for candidate in candidates:
        mask, entities = mask_of(candidate.text), entities_of(candidate)
        for name in entities:
            mask |= mask_of(name)
        if why := candidate.metadata.get("why"):
            mask |= mask_of(why)
        item = Measured(candidate, entities, mask)
        if candidate.source == "episodes":
            item.before, item.after = mask_of(candidate.before), mask_of(candidate.after)
            # No passages for prompts: their recall must be fast, and few turns are injected.
            if wide and len(candidate.text) > LONG_TURN_CHARS:
                item.passages = tuple({mask_of(part) for part in passages(candidate.text)})
        measured.append(item)
    return measured


def passages(text: str) -> list[str]:
    """Split a text into overlapping parts of PASSAGE_CHARS, each beginning with a whole word."""
    parts = []
    at = 0
    while at < len(text):
        parts.append(text[at : at + PASSAGE_CHARS])
        at = text.find(" ", at + PASSAGE_CHARS // 2) + 1 or len(text)
    return parts


def _mask_reader(
    wanted: Sequence[Concept], near: Sequence[Sequence[str]] = ()
) -> Callable[[str], int]:
    """Return a function that maps a text to a mask: a bit per concept, then one per `near` list."""
    by_stem: dict[str, int] = {}
    for i, concept in enumerate(wanted):
        for one in concept.stems:
            by_stem[one] = by_stem.get(one, 0) | 1 << i
    for i, neighbours in enumerate(near):
        for word in neighbours:
            by_stem[stem(word)] = by_stem.get(stem(word), 0) | 1 << len(wanted) + i
    return mask_reader(by_stem)


def weights_of(wanted: Sequence[Concept], masks: Sequence[int]) -> list[float]:
    """Return each concept's weight (strength × rarity in `masks`) as a share of the total."""
    count = len(masks) + PRIOR_CANDIDATES
    held = [sum(1 for mask in masks if mask >> i & 1) for i in range(len(wanted))]
    raw = [c.strength * math.log(1 + count / (n + 0.5)) for c, n in zip(wanted, held, strict=True)]
    total = sum(raw) or 1.0
    return [weight / total for weight in raw]


def _add_words(
    measured: Sequence[Measured],
    weights: Sequence[float],
    succeeded: Sequence[tuple[Measured, Measured]],
    places: Sequence[Sequence[int]],
) -> None:
    """Set `covered`, `bm25` and `around`; of a long question, the best matching sentence counts."""
    shares: dict[int, float] = {0: 0.0}
    heaviest = 1.0

    def share(mask: int) -> float:
        if mask not in shares:
            held, by_sentence = mask | mask >> len(weights), dict[int, float]()
            for i, weight in enumerate(weights):
                if held >> i & 1:
                    part = weight if mask >> i & 1 else NEAR_SHARE * weight
                    for place in places[i] if places else (0,):
                        by_sentence[place] = by_sentence.get(place, 0.0) + part
            shares[mask] = max(by_sentence.values(), default=0.0) / heaviest
        return shares[mask]

    heaviest = share((1 << len(weights)) - 1) or 1.0
    shares = {0: 0.0}

    for item in measured:
        item.covered = share(item.mask)
        if item.passages and item.covered:
            whole, item.covered = item.covered, max(map(share, item.passages))
            item.focus = item.covered / whole
    scales = _bm25_scales(measured)
    for item in measured:
        bm25, place = max(0.0, item.candidate.bm25), (item.candidate.source, item.candidate.store)
        item.bm25 = item.focus * bm25 * scales[place]
    for old, successor in succeeded:
        successor.bm25 = max(successor.bm25, old.bm25)
        successor.replaces = record_of(old.candidate)
    bm25_of = {item.candidate.id: item.bm25 for item in measured}
    for item in measured:
        candidate = item.candidate
        if item.before:
            is_answer = candidate.before.rstrip().endswith("?")
            neighbour = bm25_of.get(candidate.before_id, 0.0) + COVERAGE_WEIGHT * share(item.before)
            item.around += (BEFORE_WEIGHT + is_answer * BEFORE_QUESTION_WEIGHT) * neighbour
        if item.after:
            neighbour = bm25_of.get(candidate.after_id, 0.0) + COVERAGE_WEIGHT * share(item.after)
            item.around += AFTER_WEIGHT * neighbour


def _bm25_scales(measured: Sequence[Measured]) -> dict[tuple[str, str], float]:
    """Return a factor per (source, store) that makes bm25 comparable between them: the best bm25 of
    each becomes proportional to its best coverage of the question.
    """
    best: dict[tuple[str, str], float] = {}
    covered: dict[tuple[str, str], float] = {}
    for item in measured:
        key = (item.candidate.source, item.candidate.store)
        best[key] = max(best.get(key, 0.0), item.candidate.bm25)
        covered[key] = max(covered.get(key, 0.0), item.covered)
    most = max(covered.values(), default=0.0) or 1.0
    return {k: BM25_WEIGHT * covered[k] / most / c if c > 0 else 0.0 for k, c in best.items()}


def _add_groups(measured: Sequence[Measured]) -> None:
    """Raise the relevance of candidates whose session or entity has another good hit."""
    best: dict[tuple[str, str], float] = {}
    keys = []
    for item in measured:
        session = item.candidate.metadata.get("session")
        key = ("session", str(session)) if session else ("entity", item.candidate.entity)
        best[key] = max(best.get(key, 0.0), item.words + item.around)
        keys.append(key)
    most = max((value for key, value in best.items() if key[1]), default=0.0)
    for item, key in zip(measured, keys, strict=True) if most > 0 else ():
        if key[1] and best[key] > 0:
            item.group = PARENT_WEIGHT * best[key] / most


def _add_what_was_asked(measured: Sequence[Measured], query: Query, now: str) -> None:
    names = concepts.name_keys(query.asked) | {name_key(hint) for hint in query.entity_hints}
    spans = times.ranges(query.asked, now) if times.may_name_time(query.asked) else ()
    spans = (*spans, *query.spans)
    unasked = frozenset(map(stem, query.unasked))
    # A long text is not a question just because it contains "who" or "when".
    answer_type = query.answer_type if len(query.asked) <= MAX_QUESTION_CHARS else ""

    @cache
    def is_named(name: str) -> bool:
        return bool(name) and name_key(name) in names and name.lower() not in concepts.WEAK

    for item in measured:
        candidate = item.candidate
        # An imported turn has the form `Name: text`, where `Name` is the speaker.
        name, colon, _ = candidate.text[:32].partition(":")
        speaks = candidate.source == "episodes" and colon and name.istitle() and is_named(name)
        if speaks or any(map(is_named, item.entities)):
            item.name = ENTITY_BOOST
        day = candidate.timestamp[:10]
        if spans and any(first <= day < after for first, after in spans):
            item.time = TIME_BOOST
        if answer_type and _answers(answer_type, candidate):
            item.answer = ANSWER_BOOST
        if candidate.text.endswith("?"):
            item.question = -QUESTION_PENALTY
        if unasked and not unasked.isdisjoint(concepts.stems_of(candidate.text)):
            item.unasked = -UNASKED_PENALTY


def _answers(kind: str, candidate: Candidate) -> bool:
    if kind == "who":  # a capitalised word inside a sentence may be a name
        return any(
            word[:1].isupper()
            and word[1:2].islower()
            and (before[-1:].islower() or before[-1:] == ",")
            for before, word in pairwise(candidate.text.split(" "))
        )
    text_words = words(candidate.text)
    if kind == "when":
        return any(
            word in _DATE_WORDS or (len(word) == 4 and word.isdigit() and word[:2] in ("19", "20"))
            for word in text_words
        )
    return any(word in listed("questions", "numbers") or word.isdigit() for word in text_words)


# The maximum number of steps along a chain of replacements.
MAX_STEPS = 3


def missing(candidates: Sequence[Candidate], now: str) -> list[str]:
    """Return the ids of records that replaced a candidate but are not among the candidates."""
    present = {record_of(candidate) for candidate in candidates}
    newer = (successor_of(candidate, now) for candidate in candidates)
    return list(dict.fromkeys(id_ for id_ in newer if id_ and id_ not in present))


def inherit(measured: Sequence[Measured], now: str) -> list[tuple[Measured, Measured]]:
    """Add the concepts of each replaced record to its successor; return (old, successor) pairs."""
    by_record: dict[str, list[Measured]] = {}
    for item in measured:
        by_record.setdefault(record_of(item.candidate), []).append(item)
    by_record.pop("", None)
    pairs: list[tuple[Measured, Measured]] = []
    step = [item for item in measured if successor_of(item.candidate, now)]
    for _ in range(MAX_STEPS):
        newer = [(old, by_record.get(successor_of(old.candidate, now), ())) for old in step]
        links = [(old, successor) for old, found in newer for successor in found]
        for old, successor in links:
            successor.mask |= old.mask
        pairs += links
        step = [successor for _, successor in links if successor_of(successor.candidate, now)]
    return pairs


def successor_of(candidate: Candidate, now: str) -> str:
    """Return the id of the record that had replaced the candidate by `now`, or ''."""
    until = str(candidate.metadata.get("valid_to") or "")
    return "" if until > now else str(candidate.metadata.get("superseded_by") or "")


def record_of(candidate: Candidate) -> str:
    """Return the id of the candidate's record, or '' if it belongs to none."""
    return str(candidate.metadata.get("record") or "")
