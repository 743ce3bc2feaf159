"""Records in what somebody said: decisions, constraints, preferences, problems and their kin.

Text -> sentences (segments) -> phrases that settle something (phrases) -> how they are meant
(modality) -> clause, reason and alternatives (clauses) -> records with a confidence. Precision
goes before recall: a question, a supposition, a request or a report of work leaves nothing.
"""

from __future__ import annotations

import re
from functools import cache

from memory_fabric.fabric.clauses import (
    Parts,
    declined_in,
    named_after_use,
    parts_at,
    reason_of_next,
    without_lead_in,
)
from memory_fabric.fabric.confidence import confidence
from memory_fabric.fabric.cues import has_cue
from memory_fabric.fabric.extract import extract
from memory_fabric.fabric.modality import is_status, modality
from memory_fabric.fabric.phrases.phrase import PAIR, REASON, RULE, RULES, SUPPORT, Phrase
from memory_fabric.fabric.phrases.table import PHRASES
from memory_fabric.fabric.segments import segments
from memory_fabric.fabric.vocabulary import entity_type
from memory_fabric.models import CANDIDATE_FROM, GENERALIZABLE_FROM, Record
from memory_fabric.text import name_key
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from memory_fabric.fabric.segments import Sentence
    from memory_fabric.models import Entity

MAX_RECORDS = 40
MAX_WHAT_CHARS = 320
_MAX_SENTENCES = 1500
_SHORT_REMARK_CHARS = 90

_NEGATIVE_LEADS = (
    "do not", "don't", "never", "avoid", "not allowed", "forbidden", "prohibited", "must not",
    "anti-pattern", "antipattern",
)  # fmt: skip
_RULE_LEADS = (
    "rule", "convention", "guideline", "constraint", "standard", "requirement", "code style",
    "coding style", "always", "must", "principle", "do's", "best practice",
)  # fmt: skip
_OPEN_LEADS = (
    "option", "alternative", "considered", "open question", "todo", "next step", "to do",
    "question", "proposal", "proposed", "future", "pending", "ideas", "example", "template",
    "pros", "cons", "recommended", "recommendation", "out of scope", "summary of changes",
)  # fmt: skip
_FIX_LABELS = ("fix:", "fix —", "the fix", "solution:", "workaround:", "resolution:")
_REASON_LEADS = ("because", "reason", "rationale", "advantage", "benefit", "justification", "why")
_SCOPE = (
    r"\b(?:all|every|each|any|always|never|only|default|everywhere|across|standard|globally|"
    r"both|single|consistent(?:ly)?|permanent(?:ly)?|unless|without|whenever)\b"
)
_TEMPLATE = (
    r"\[[^\]]{0,40}(?:option|justification|name|title|describe|insert|your|e\.g)|\{\{|<your|\bxxx\b"
)


# What is found out, not chosen: it has no alternatives, and a report of work may hold it.
_FACTS = frozenset("problem solution antipattern blocker".split())
_FORBIDDEN = Phrase((), "constraint", "")


_BROKEN = Phrase((), "problem", "", explicit=False)


class _Found(Value):
    phrase: Phrase
    parts: Parts


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


def capture(text: str, *, speaker: str, known: Container[str] = ()) -> list[Record]:
    """The records that the text holds, in the order they were said, each once.

    `speaker` is `user`, `assistant`, `subagent` or `summary`. `known` holds the names (or
    `name_key`s) of existing entities; a mapping of key to name also resolves variants. Records
    come without id and provenance. Reads 64 KB; never raises on any text.
    """
    if speaker == "user" and not has_cue(text):
        return []
    sentences = segments(text)[:_MAX_SENTENCES]
    names: Mapping[str, str] = known if isinstance(known, dict) else {}
    records: dict[str, Record] = {}
    problem_seen = False
    for place in range(len(sentences)):
        every = [*_found_in(sentences, place, speaker, names, problem_seen)]
        every = [*_problem_before(every, sentences, place, problem_seen), *every]
        for found in every:
            record = _record(found, speaker, known, names)
            problem_seen |= record.type in ("problem", "antipattern")
            if record.confidence >= CANDIDATE_FROM:
                records.setdefault(name_key(record.what), record)
        if len(records) >= MAX_RECORDS:
            break
    return list(records.values())


def _found_in(
    sentences: Sequence[Sentence],
    place: int,
    speaker: str,
    names: Mapping[str, str],
    problem_seen: bool,
) -> Iterator[_Found]:
    """What the sentence settles: phrases in the order of the table, no clause twice."""
    sentence = sentences[place]
    if sentence.question or _is_open(sentence) or _is_template(sentence.text):
        return
    if speaker == "user" and sentence.bullet and _forbids(sentence):
        found = _forbidden(sentences, place)
        if sentence.opens and _is_clause(found.parts.what) and not modality(sentence, "", "", ""):
            yield found
        return
    spoken = without_lead_in(sentence.text)
    taken: list[str] = []
    for phrase, start, end, whole in _matches(spoken, speaker):
        parts = parts_at(spoken, start, end, whole=whole)
        if not _is_clause(parts.what) or any(_overlap(parts.what, other) for other in taken):
            continue
        parts = _with_neighbours(parts, sentences, place)
        if phrase.type in _FACTS:
            parts = parts._replace(over=())
        elif not parts.over and place and sentence.text.lower().startswith("instead"):
            parts = parts._replace(over=declined_in(sentences[place - 1].text))
        following = sentences[place + 1].text if place + 1 < len(sentences) else ""
        if modality(sentence, _context(spoken, parts), following, phrase.type):
            continue
        entities, _ = extract(spoken, known=names)
        if _holds(phrase, parts, sentence, entities, speaker, problem_seen):
            taken.append(parts.what)
            yield _Found(phrase, parts)


def _problem_before(
    every: list[_Found],
    sentences: Sequence[Sentence],
    place: int,
    problem_seen: bool,
) -> list[_Found]:
    """The problem that a "Fix: ..." names its remedy for: the sentence right before it."""
    if problem_seen or place == 0 or not any(_is_labelled_fix(found) for found in every):
        return []
    before = sentences[place - 1]
    if before.question or before.paragraph != sentences[place].paragraph:
        return []
    start = before.text.find(": ") + 2 if ": " in before.text[:60] else 0
    parts = parts_at(before.text, start, start, whole=True)._replace(over=())
    if not _is_clause(parts.what) or modality(before, parts.what, "", "problem"):
        return []
    return [_Found(_BROKEN, parts)]


def _is_labelled_fix(found: _Found) -> bool:
    return found.phrase.type == "solution" and found.phrase.needs == PAIR


def _forbids(sentence: Sentence) -> bool:
    """Whether the list the sentence stands in says what not to do: "## Do NOT"."""
    return any(lead.startswith(_NEGATIVE_LEADS) for lead in (sentence.lead, sentence.heading))


def _forbidden(sentences: Sequence[Sentence], place: int) -> _Found:
    """The rule of such a list item, behind the words that forbid: alone it says the reverse."""
    sentence = sentences[place]
    lead = sentence.lead if sentence.lead.startswith(_NEGATIVE_LEADS) else sentence.heading
    parts = parts_at(sentence.text, 0, 0, whole=True)
    what = f"{lead.rstrip(': ').capitalize()}: {parts.what}"
    why = parts.why
    if not why and place + 1 < len(sentences) and not sentences[place + 1].opens:
        more = sentences[place + 1].text.rstrip(".")
        why = reason_of_next(more)
        what = what if why or len(more) > _SHORT_REMARK_CHARS else f"{what}. {more}"
    return _Found(_FORBIDDEN, Parts(what, why, parts.over or named_after_use(parts.what)))


def _matches(spoken: str, speaker: str) -> Iterator[tuple[Phrase, int, int, bool]]:
    """The phrases that the sentence holds, with where they were found."""
    lowered = spoken.lower()
    for phrase in PHRASES:
        if speaker not in phrase.speakers or not any(t in lowered for t in phrase.triggers):
            continue
        match = _pattern(phrase.pattern).search(spoken)
        if not match:
            continue
        if match.groupdict().get("what"):
            yield phrase, match.start("what"), match.start("what"), True
        else:
            yield phrase, match.start(), match.end(), False


def _is_open(sentence: Sentence) -> bool:
    """Whether the sentence stands among options, examples or things still to be done."""
    return any(
        word in lead
        for lead in (sentence.lead, sentence.heading)
        if lead and len(lead) <= 60
        for word in _OPEN_LEADS
    )


def _is_template(sentence: str) -> bool:
    return bool(_pattern(_TEMPLATE).search(sentence))


def _is_clause(what: str) -> bool:
    if len(what) > MAX_WHAT_CHARS:
        return False
    if not what.isascii() and len(what.split()) < 3:
        return len(what) >= 5
    return len(what.split()) >= 2 and len(what) >= 8


def _overlap(left: str, right: str) -> bool:
    return left in right or right in left


def _context(spoken: str, parts: Parts) -> str:
    """What the modality is read from: the clause and what stands before it."""
    end = spoken.find(parts.what)
    return spoken[: end + len(parts.what)] if end >= 0 else spoken


def _with_neighbours(parts: Parts, sentences: Sequence[Sentence], place: int) -> Parts:
    """The parts with a reason from the sentences after, where the own sentence gives none."""
    if parts.why:
        return parts
    here = sentences[place]
    for later in sentences[place + 1 : place + 3]:
        if later.question:
            break
        if later.bullet and not here.bullet and _gives_reasons(later):
            return parts._replace(why=later.text.rstrip("."))
        if not here.bullet and later.heading != here.heading and _gives_reasons(later):
            return parts._replace(why=later.text.rstrip(".:"))
        if later.paragraph == here.paragraph and later is sentences[place + 1]:
            why = reason_of_next(later.text)
            if why:
                return parts._replace(why=why)
    return parts


def _gives_reasons(sentence: Sentence) -> bool:
    return any(word in lead for lead in (sentence.lead, sentence.heading) for word in _REASON_LEADS)


def _holds(
    phrase: Phrase,
    parts: Parts,
    sentence: Sentence,
    entities: Sequence[Entity],
    speaker: str,
    problem_seen: bool,
) -> bool:
    """Whether the phrase has what it needs beside itself."""
    if phrase.needs == PAIR:
        after_another = not sentence.opens and sentence.text.lower().startswith(_FIX_LABELS)
        return problem_seen or after_another
    reasoned = bool(parts.why or parts.over)
    is_fact = phrase.type in _FACTS
    done = not is_fact and speaker in ("assistant", "subagent") and is_status(sentence.text)
    if done and not reasoned:
        return False
    if phrase.needs == REASON:
        return reasoned
    if phrase.needs == RULES:
        return _in_rules(sentence)
    if phrase.needs == RULE:
        general = sentence.bullet or bool(_pattern(_SCOPE).search(parts.what))
        return reasoned or general or _in_rules(sentence)
    if phrase.needs == SUPPORT:
        named = any(entity_type(entity.name) for entity in entities)
        return reasoned or named or bool(_pattern(_SCOPE).search(parts.what))
    return True


def _in_rules(sentence: Sentence) -> bool:
    return any(word in lead for lead in (sentence.lead, sentence.heading) for word in _RULE_LEADS)


def _record(found: _Found, speaker: str, known: Container[str], names: Mapping[str, str]) -> Record:
    phrase, parts = found.phrase, found.parts
    said = f"{parts.what}. {parts.why}" if parts.why else parts.what
    entities, relations = extract(said, known=names)
    record_type = _settled_type(phrase, entities)
    score = confidence(
        explicit=phrase.explicit,
        reason=bool(parts.why),
        alternative=bool(parts.over),
        known_entities=sum(1 for entity in entities if _is_known(entity, known)),
        by_user=speaker in ("user", "summary"),
    )
    named = any(entity_type(entity.name) in ("technology", "pattern") for entity in entities)
    return Record(
        type=record_type,
        what=parts.what,
        why=parts.why,
        alternatives=parts.over,
        entities=entities,
        relations=relations,
        outcome=phrase.outcome if record_type in ("antipattern", "pattern") else "neutral",
        confidence=score,
        generalizable=score >= GENERALIZABLE_FROM and bool(parts.why) and named,
    )


def _settled_type(phrase: Phrase, entities: Sequence[Entity]) -> str:
    """The type; a failure speaks against a pattern only where a known thing is its subject."""
    named = bool(entities) and entity_type(entities[0].name) in ("technology", "pattern")
    if phrase.type == "antipattern" and "anti" not in phrase.triggers[0] and not named:
        return "problem"
    return phrase.type


def _is_known(entity: Entity, known: Container[str]) -> bool:
    if entity_type(entity.name):
        return True
    return entity.name in known or name_key(entity.name) in known
