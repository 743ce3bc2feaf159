"""Records in what somebody said: decisions, constraints, preferences, problems and their kin.

Text -> sentences (segments) -> phrases that settle something (phrases) -> how they are meant
(modality) -> clause, reason and alternatives (clauses) -> records with a confidence. Precision
goes before recall: a question, a supposition, a request or a report of work leaves nothing.
"""

from __future__ import annotations

import re
from functools import cache

from memory_fabric.fabric import sections
from memory_fabric.fabric.clauses import (
    Parts,
    declined_in,
    named_after_use,
    parts_at,
    reason_of_next,
    without_lead_in,
)
from memory_fabric.fabric.confidence import confidence
from memory_fabric.fabric.extract import extract
from memory_fabric.fabric.modality import is_status, modality
from memory_fabric.fabric.phrases.phrase import PAIR, REASON, RULE, RULES, SUPPORT, Phrase
from memory_fabric.fabric.phrases.table import PHRASES
from memory_fabric.fabric.segments import segments
from memory_fabric.fabric.vocabulary import entity_type
from memory_fabric.fabric.worth.signs import signs, tokens
from memory_fabric.fabric.worth.weigh import chance, kind
from memory_fabric.models import (
    CANDIDATE_FROM,
    GENERALIZABLE_FROM,
    PROMOTED_FROM,
    STORED_FROM,
    Record,
)
from memory_fabric.text import name_key
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from memory_fabric.fabric.segments import Sentence
    from memory_fabric.models import Entity

MAX_RECORDS = 40
MAX_WHAT_CHARS = 320
# A sentence is kept from this chance on, one with a phrase that settles something from the lower.
KEPT_FROM, KEPT_FROM_HEARD = 0.8, 0.25
# From here on it waits as a candidate until somebody says it again.
WAITS_FROM = 0.5
# Below this chance nothing is so sure that it goes into every later session unasked.
PROMOTED_CHANCE = 0.7
_MAX_SENTENCES = 1500
_NO_PROBLEM = ("that ", "this worked", "it works", "it worked", "thanks", "works", "done")
_SHORT_REMARK_CHARS = 90

_FIX_LABELS = ("fix:", "fix —", "the fix", "solution:", "workaround:", "resolution:")
_LABEL = r"[\w`'./@()& -]{2,40}: (?=\w)"
_CONDITION = (
    r"(?:when|whenever|if|in|for|on|with|during|before|after|going forward|by default|where)\b"
    r"[^,;:]{2,90}, (?=\w)"
)
_SCOPE = (
    r"\b(?:all|every|each|any|always|never|only|default|everywhere|across|standard|globally|"
    r"both|single|consistent(?:ly)?|permanent(?:ly)?|unless|without|whenever|"
    r"anything|everything|in (?:this|our|the) (?:repo(?:sitory)?|project|code ?base|team))\b"
)


# What is found out, not chosen: it has no alternatives, and a report of work may hold it.
_FACTS = frozenset("problem solution antipattern blocker".split())
_BROKEN_TYPES = ("problem", "antipattern")
_FORBIDDEN = Phrase((), "constraint", "")


_BROKEN = Phrase((), "problem", "", explicit=False)
_UNDER_DECISION = Phrase((), "decision", "")
# So many sentences under "Decision" are it; the rest explains.
_DECIDING_SENTENCES = 2


class Around(Value):
    """What the text around a sentence tells: a problem was named before; it is one of rules."""

    problem: bool = False
    rules: bool = False
    earlier: int = 0
    paragraph: int = -1

    def after(self, one: Judged, sentence: Sentence) -> Around:
        """The same for the next sentence: how many settle something already, and where the last."""
        held = [h for h in one.heard if h.held]
        problem = any(h.phrase.type in _BROKEN_TYPES for h in held)
        return Around(
            self.problem or problem,
            self.rules,
            self.earlier + bool(held),
            sentence.paragraph if held else self.paragraph,
        )

    def signs(self, sentence: Sentence) -> tuple[str, ...]:
        """What stands before a sentence, as signs of it."""
        here = f"earlier here:{self.paragraph == sentence.paragraph:d}"
        return (f"earlier:{min(self.earlier, 3)}", here, *(("rules",) if self.rules else ()))


class _Found(Value):
    phrase: Phrase
    parts: Parts
    chance: float = 1.0
    waits: bool = False


class _Heard(Value):
    """A phrase in a sentence: what it would keep, how it is meant, whether it has what it needs."""

    phrase: Phrase
    parts: Parts
    meant: str = ""
    held: bool = True

    @property
    def signs(self) -> tuple[str, ...]:
        """The phrase as signs of the sentence."""
        said = f"heard:{self.phrase.type}:{self.phrase.explicit:d}:{self.phrase.needs or 'alone'}"
        if self.meant:
            return (f"{said}:meant", "heard:meant", f"heard:{self.meant}")
        reasoned = ("heard:reasoned",) if self.parts.why or self.parts.over else ()
        return (said, "heard", *((f"{said}:held", "heard:held") if self.held else ()), *reasoned)


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


def capture(text: str, *, speaker: str, known: Container[str] = ()) -> list[Record]:
    """The records that the text holds, in the order they were said, each once.

    `speaker` is `user`, `assistant`, `subagent` or `summary`. `known` holds the names (or
    `name_key`s) of existing entities; a mapping of key to name also resolves variants. Records
    come without id and provenance. Reads 64 KB; never raises on any text.
    """
    sentences = segments(text)[:_MAX_SENTENCES]
    names: Mapping[str, str] = known if isinstance(known, dict) else {}
    records: dict[str, Record] = {}
    around = Around(rules=sections.are_rules(sentences))
    spoken = [tokens(without_lead_in(sentence.text)) for sentence in sentences]
    for place in range(len(sentences)):
        one = _judged(sentences, spoken, place, speaker, names, around)
        every = _settled(one, sentences[place], speaker)
        every = [*_problem_before(every, sentences, place, around), *every]
        for found in every:
            record = _record(found, speaker, known, names)
            if record.confidence >= CANDIDATE_FROM:
                records.setdefault(name_key(record.what), record)
        if len(records) >= MAX_RECORDS:
            break
        around = around.after(one, sentences[place])
    return list(records.values())


class Judged(Value):
    """A sentence as capture sees it: its whole clause, the phrases in it, and all its signs."""

    parts: Parts
    heard: tuple[_Heard, ...] = ()
    signs: tuple[str, ...] = ()


def judged(text: str, speaker: str, names: Mapping[str, str] = {}) -> list[Judged]:
    """Every sentence of a text with its signs, which training reads as capture does."""
    sentences = segments(text)[:_MAX_SENTENCES]
    spoken = [tokens(without_lead_in(sentence.text)) for sentence in sentences]
    around = Around(rules=sections.are_rules(sentences))
    found = []
    for place in range(len(sentences)):
        one = _judged(sentences, spoken, place, speaker, names, around)
        around = around.after(one, sentences[place])
        found.append(one)
    return found


def _judged(
    sentences: Sequence[Sentence],
    spoken: Sequence[Sequence[str]],
    place: int,
    speaker: str,
    names: Mapping[str, str],
    around: Around,
) -> Judged:
    whole = _with_neighbours(
        parts_at(without_lead_in(sentences[place].text), 0, 0, whole=True), sentences, place
    )
    heard = tuple(_heard(sentences, place, speaker, names, around))
    told = [sign for one in heard for sign in one.signs]
    told += around.signs(sentences[place])
    return Judged(whole, heard, tuple(signs(sentences, spoken, place, speaker, whole, told)))


def _heard(
    sentences: Sequence[Sentence],
    place: int,
    speaker: str,
    names: Mapping[str, str],
    around: Around,
) -> Iterator[_Heard]:
    """The phrases in a sentence, in the order of the table, and whether each of them counts."""
    sentence = sentences[place]
    if sentence.question or sections.is_open(sentence) or sections.is_template(sentence.text):
        return
    if speaker == "user" and sentence.bullet and sections.forbids(sentence):
        found = _forbidden(sentences, place)
        if sentence.opens and _is_clause(found.parts.what) and not modality(sentence, "", "", ""):
            yield _Heard(found.phrase, found.parts)
        return
    spoken = without_lead_in(sentence.text)
    entities, _ = extract(spoken, known=names)
    following = sentences[place + 1].text if place + 1 < len(sentences) else ""
    for phrase, start, end, whole in _matches(spoken, speaker):
        parts = parts_at(spoken, start, end, whole=whole)
        if not _is_clause(parts.what):
            continue
        parts = _with_neighbours(parts, sentences, place)
        if phrase.type in _FACTS:
            parts = parts._replace(over=())
        elif not parts.over and place and sentence.text.lower().startswith("instead"):
            parts = parts._replace(over=declined_in(sentences[place - 1].text))
        meant = modality(sentence, _context(spoken, parts), following, phrase.type)
        held = not meant and _holds(phrase, parts, sentence, entities, speaker, around)
        yield _Heard(phrase, parts, meant, held)
    if sections.decides(sentence):
        before = sum(1 for other in sentences[:place] if other.heading == sentence.heading)
        parts = _with_neighbours(parts_at(spoken, 0, 0, whole=True), sentences, place)
        meant = modality(sentence, spoken, following, "decision")
        if before < _DECIDING_SENTENCES and _is_clause(parts.what):
            yield _Heard(_UNDER_DECISION, parts, meant, not meant)


def _settled(one: Judged, sentence: Sentence, speaker: str) -> list[_Found]:
    """What the sentence settles, no clause twice: by its phrases, else by its signs alone."""
    sure = chance(one.signs)
    found: list[_Found] = []
    for heard in one.heard:
        if not heard.held or any(_overlap(heard.parts.what, f.parts.what) for f in found):
            continue
        if sure >= KEPT_FROM_HEARD or heard.phrase.sure:
            found.append(_Found(heard.phrase, heard.parts, sure))
    if found or sure < WAITS_FROM or not _is_clause(one.parts.what) or _is_unmeant(one, sentence):
        return found
    if sure < KEPT_FROM and speaker not in ("user", "summary"):
        return found
    phrase = Phrase((), kind(one.signs), "", explicit=False)
    return [_Found(phrase, one.parts, sure, waits=sure < KEPT_FROM)]


def _is_unmeant(one: Judged, sentence: Sentence) -> bool:
    """Whether the sentence is no statement of its speaker, or one of work that was done."""
    if sentence.question or sections.is_open(sentence) or sections.is_template(sentence.text):
        return True
    return is_status(sentence.text) or any(sign.startswith("meant:") for sign in one.signs)


def _problem_before(
    every: list[_Found],
    sentences: Sequence[Sentence],
    place: int,
    around: Around,
) -> list[_Found]:
    """The problem that a "Fix: ..." names its remedy for: the sentence right before it."""
    if around.problem or place == 0 or not any(_is_labelled_fix(found) for found in every):
        return []
    before = sentences[place - 1]
    if before.question or before.paragraph != sentences[place].paragraph:
        return []
    start = before.text.find(": ") + 2 if ": " in before.text[:60] else 0
    parts = parts_at(before.text, start, start, whole=True)._replace(over=())
    if not _is_clause(parts.what) or modality(before, parts.what, "", "problem"):
        return []
    if parts.what.lower().startswith(_NO_PROBLEM):
        return []
    return [_Found(_BROKEN, parts)]


def _is_labelled_fix(found: _Found) -> bool:
    return found.phrase.type == "solution" and found.phrase.needs == PAIR


def _forbidden(sentences: Sequence[Sentence], place: int) -> _Found:
    """The rule of such a list item, behind the words that forbid: alone it says the reverse."""
    sentence = sentences[place]
    lead = sentence.lead if sentence.lead.startswith(sections.NEGATIVE_LEADS) else sentence.heading
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
    lowered, starts = spoken.lower(), _starts(spoken)
    for phrase in PHRASES:
        if speaker not in phrase.speakers or not any(t in lowered for t in phrase.triggers):
            continue
        expression = _pattern(phrase.pattern)
        match, at = expression.search(spoken), 0
        if not match and phrase.pattern.startswith("^"):
            for at in starts:
                match = expression.search(spoken[at:])
                if match:
                    break
        if not match:
            continue
        if match.groupdict().get("what"):
            yield phrase, at + match.start("what"), at + match.start("what"), True
        else:
            yield phrase, at + match.start(), at + match.end(), False


def _starts(spoken: str) -> list[int]:
    """Where a clause begins behind a label ("Tests: use") or a condition ("When X, never")."""
    found = (_pattern(expression).match(spoken) for expression in (_LABEL, _CONDITION))
    return [match.end() for match in found if match]


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
        if later.bullet and not here.bullet and sections.gives_reasons(later):
            return parts._replace(why=later.text.rstrip("."))
        if not here.bullet and later.heading != here.heading and sections.gives_reasons(later):
            return parts._replace(why=later.text.rstrip(".:"))
        if later.paragraph == here.paragraph and later is sentences[place + 1]:
            why = reason_of_next(later.text)
            if why:
                return parts._replace(why=why)
    return parts


def _holds(
    phrase: Phrase,
    parts: Parts,
    sentence: Sentence,
    entities: Sequence[Entity],
    speaker: str,
    around: Around,
) -> bool:
    """Whether the phrase has what it needs beside itself."""
    if phrase.needs == PAIR:
        after_another = not sentence.opens and sentence.text.lower().startswith(_FIX_LABELS)
        return around.problem or after_another
    reasoned = bool(parts.why or parts.over)
    is_fact = phrase.type in _FACTS
    done = not is_fact and speaker in ("assistant", "subagent") and is_status(sentence.text)
    if done and not reasoned:
        return False
    if phrase.needs == REASON:
        return reasoned
    ruled = sections.is_in_rules(sentence) or (around.rules and speaker == "user")
    if phrase.needs == RULES:
        return ruled
    if phrase.needs == RULE:
        general = sentence.bullet or bool(_pattern(_SCOPE).search(parts.what))
        return reasoned or general or ruled
    if phrase.needs == SUPPORT:
        named = any(entity_type(entity.name) for entity in entities)
        return reasoned or named or bool(_pattern(_SCOPE).search(parts.what))
    return True


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
    if found.waits:
        score = round(CANDIDATE_FROM + (STORED_FROM - CANDIDATE_FROM) * found.chance / 2, 2)
    elif found.chance < PROMOTED_CHANCE:
        score = min(score, PROMOTED_FROM - 0.01)
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
