"""Capture of records from a text: decisions, constraints, preferences, problems and others.

Text -> sentences (segments) -> phrases that settle something, and how they are meant (hearing) -> a
classifier over all features of the sentence (worth) -> records with a confidence. Precision is more
important than recall: a question, a supposition, a request or a report of work yields nothing; a
statement without support becomes a candidate.
"""

from __future__ import annotations

from memory_fabric import deadline
from memory_fabric.capture import sections
from memory_fabric.capture.clauses import Parts, parts_at
from memory_fabric.capture.extract import extract
from memory_fabric.capture.global_scope import is_generalizable
from memory_fabric.capture.hearing import FACTS, Judged, is_certain, is_clause, judged
from memory_fabric.capture.modality import is_status, modality
from memory_fabric.capture.phrases.phrase import PAIR, Phrase
from memory_fabric.capture.unreadable import Unread
from memory_fabric.capture.worth.weigh import chance, kind
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.models import CANDIDATE_FROM, PROMOTED_FROM, Record
from memory_fabric.text import name_key, same_form
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory_fabric.models import Entity

MAX_RECORDS = 40
# Thresholds of the classifier for a sentence, for one with a phrase that settles something, and for
# one whose paragraph has settled something before.
KEPT_FROM, KEPT_FROM_HEARD, KEPT_FROM_BESIDE = 0.8, 0.25, 0.75
# From this probability a sentence becomes a candidate until it is said again.
WAITS_FROM, WAITS_FROM_HEARD = 0.6, 0.4
# Below this probability a record is not certain enough for the start of every later session.
PROMOTED_CHANCE = 0.7
_NO_PROBLEM = ("that ", "this worked", "it works", "it worked", "thanks", "works", "done")
_BROKEN = Phrase((), "problem", "", explicit=False)


class _Found(Value):
    phrase: Phrase
    parts: Parts
    chance: float = 1.0
    waits: bool = False


def capture(
    text: str, *, speaker: str, known: Mapping[str, str] = {}, unread: Unread | None = None
) -> list[Record]:
    """Return the records in the text, in order, each once.

    `speaker` is `user`, `assistant`, `subagent` or `summary`. `known` maps the `name_key`s of
    existing entities to their names. Records have no id and no provenance yet. Reads 64 KB. Raises
    only DeadlinePassed, between two sentences; a sentence that fails is counted in `unread`, and
    the rest is read.
    """
    records: dict[str, Record] = {}
    unread, limit = unread or Unread(), deadline.current()
    for one in judged(text, speaker, known, unread=unread):
        limit.check("the last sentence")
        for record in unread.attempt([], _records_of, one, speaker, known):
            records.setdefault(same_form(record.what), record)
        if len(records) >= MAX_RECORDS:
            break
    return list(records.values())


def _records_of(one: Judged, speaker: str, known: Mapping[str, str]) -> list[Record]:
    """Return the records of one sentence, and of the problem before it that it solves."""
    found = _settled(one, speaker)
    every = (_record(each, speaker, known) for each in (*_problem_before(found, one), *found))
    return [record for record in every if record.confidence >= CANDIDATE_FROM]


def _settled(one: Judged, speaker: str) -> list[_Found]:
    """Return what the sentence settles, once per clause: by its phrases, else by its features."""
    certain = is_certain(one.heard)
    if not (one.signs or certain):
        return []
    sure = 1.0 if certain else chance(one.signs)
    found: list[_Found] = []
    for heard in one.heard:
        if not heard.held or any(_overlap(heard.parts.what, f.parts.what) for f in found):
            continue
        elaborates = heard.phrase.type not in FACTS and _elaborates(one)
        least = KEPT_FROM_BESIDE if elaborates else KEPT_FROM_HEARD
        if sure >= least:
            found.append(_Found(heard.phrase, heard.parts, sure))
    if found or not is_clause(one.whole.what) or _is_unmeant(one):
        return found
    if sure >= KEPT_FROM:
        return [_Found(Phrase((), kind(one.signs), "", explicit=False), one.whole, sure)]
    if speaker not in ("user", "summary"):
        return []
    for heard in one.heard:
        if heard.phrase.needs != PAIR and sure >= WAITS_FROM_HEARD:
            return [_Found(heard.phrase, heard.parts, sure, waits=True)]
    if sure >= WAITS_FROM:
        phrase = Phrase((), kind(one.signs), "", explicit=False)
        return [_Found(phrase, one.whole, sure, waits=True)]
    return []


def _elaborates(one: Judged) -> bool:
    """Return True if the paragraph has settled something already, so this mostly explains it."""
    return not one.sentence.bullet and one.around.paragraph == one.sentence.paragraph


def _is_unmeant(one: Judged) -> bool:
    """Return True if the sentence is not its speaker's own statement, or reports finished work."""
    sentence = one.sentence
    if sentence.question or sections.is_open(sentence) or sections.is_template(sentence.text):
        return True
    return is_status(sentence.text) or any(sign.startswith("meant:") for sign in one.signs)


def _problem_before(every: Sequence[_Found], one: Judged) -> list[_Found]:
    """Return the problem in the sentence right before a remedy such as "Fix: ..."."""
    before = one.before
    if before is None or one.around.problem or not any(_is_labelled_fix(found) for found in every):
        return []
    if before.question or before.paragraph != one.sentence.paragraph:
        return []
    start = before.text.find(": ") + 2 if ": " in before.text[:60] else 0
    parts = parts_at(before.text, start, start, whole=True)._replace(over=())
    if not is_clause(parts.what) or modality(before, parts.what, "", "problem"):
        return []
    if parts.what.lower().startswith(_NO_PROBLEM):
        return []
    return [_Found(_BROKEN, parts)]


def _is_labelled_fix(found: _Found) -> bool:
    return found.phrase.type == "solution" and found.phrase.needs == PAIR


def _overlap(left: str, right: str) -> bool:
    left, right = f" {left} ", f" {right} "
    return left in right or right in left


def _record(found: _Found, speaker: str, known: Mapping[str, str]) -> Record:
    phrase, parts = found.phrase, found.parts
    said = f"{parts.what}. {parts.why}" if parts.why else parts.what
    entities, relations = extract(said, known=known)
    record_type = _settled_type(phrase, entities)
    known_names = sum(1 for entity in entities if _is_known(entity, known))
    by_user = speaker in ("user", "summary")
    if found.waits:
        score = of_candidate(explicit=phrase.explicit, known_entities=known_names, by_user=by_user)
    else:
        score = confidence(
            explicit=phrase.explicit,
            reason=bool(parts.why),
            alternative=bool(parts.over),
            known_entities=known_names,
            by_user=by_user,
        )
        if found.chance < PROMOTED_CHANCE:
            score = min(score, PROMOTED_FROM - 0.01)
    return Record(
        type=record_type,
        what=parts.what,
        why=parts.why,
        alternatives=parts.over,
        entities=entities,
        relations=relations,
        outcome=phrase.outcome if record_type in ("antipattern", "pattern") else "neutral",
        confidence=score,
        generalizable=is_generalizable(score, parts.why, entities),
    )


def _settled_type(phrase: Phrase, entities: Sequence[Entity]) -> str:
    """Return the type; a failure becomes an antipattern only if its subject is a known thing."""
    named = bool(entities) and entity_type(entities[0].name) in ("technology", "pattern")
    if phrase.type == "antipattern" and "anti" not in phrase.triggers[0] and not named:
        return "problem"
    return phrase.type


def _is_known(entity: Entity, known: Mapping[str, str]) -> bool:
    return bool(entity_type(entity.name)) or name_key(entity.name) in known


BASE = 0.5
EXPLICIT = 0.2  # a first-person decision or a lasting rule, stated as such
REASON = 0.15
ALTERNATIVE = 0.1  # a rejected alternative is named
KNOWN_ENTITY = 0.05  # for the first and for a second one
STATED_BY_USER = 0.05
CANDIDATE_BASE, CANDIDATE_STEP = 0.3, 0.05


def confidence(
    *,
    explicit: bool = False,
    reason: bool = False,
    alternative: bool = False,
    known_entities: int = 0,
    by_user: bool = False,
) -> float:
    """Return the confidence of one record, 0.5 to 1.0, rounded to two places."""
    total = BASE
    total += EXPLICIT * explicit + REASON * reason + ALTERNATIVE * alternative
    total += KNOWN_ENTITY * min(2, max(0, known_entities)) + STATED_BY_USER * by_user
    return round(min(1.0, total), 2)


def of_candidate(
    *, explicit: bool = False, known_entities: int = 0, by_user: bool = False
) -> float:
    """Return the confidence of a statement without the support that a record needs: 0.3 to 0.45."""
    steps = explicit + by_user + min(1, max(0, known_entities))
    return round(CANDIDATE_BASE + CANDIDATE_STEP * steps, 2)
