"""The record of a text that was stated deliberately: by a command, a tool, a note or a file. A few
plain words in the text determine its type (BR-7, BR-11, BR-15, BR-16). Its reason and rejected
alternatives are parsed; no other field is guessed.
"""

from collections.abc import Mapping, Sequence

from memory_fabric.capture.clauses import reason_and_alternatives, without_reason
from memory_fabric.capture.extract import extract
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.language.word_lists import phrases, sections
from memory_fabric.models import GENERALIZABLE_FROM, RECORD_TYPES, Entity, Record, record_type
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, name_key

# Confidence by origin. PURPOSE: stated by a command, tool or file. USER_NOTE: note with the user's
# words. STATED: plain statement in a prompt. NOTE: other notes. CANDIDATE: not yet confirmed.
# Records are active from 0.5, shown in MEMORY.md from 0.7, and may hold for all projects from 0.8.
PURPOSE, USER_NOTE, STATED, NOTE, CANDIDATE = 0.9, 0.85, 0.75, 0.6, 0.4
# The confidence of records that hooks derive from events: fixes and session summaries.
BASE = 0.5
# A reason adds REASON_STEP; the sum stays LEAST_DISTANCE or more below the next higher confidence.
REASON_STEP, LEAST_DISTANCE = 0.05, 0.01
# The thing that failed precedes the verb: "Offset pagination caused timeouts".
_FAILED = (
    r"(?:(?:we (?:tried|used)|using|trying|the|a|an|our) )*(?P<name>\w[\w-]*(?: \w[\w-]*){0,4}?) "
    r"(?:(?:has|have|had|always|never|just|only|also|often) )*"
    r"(?:causes?|fail(?:s|ed)?|br(?:eaks?|oke)|le(?:ads?|d) to|ma(?:kes?|de)|does(?:n't| not)|"
    r"d(?:o|id)(?:n't| not)|was|were|is|are|took|takes|ran|runs|lost|loses|hangs?|hung|costs?|"
    r"crash(?:es)?|\w+ed)\b"
)


def with_reason(of_class: float, has_reason: bool) -> float:
    """Return the confidence `of_class` of an origin, raised by up to REASON_STEP for a reason."""
    above = [c for c in (PURPOSE, USER_NOTE, STATED, NOTE) if c > of_class]
    most = min(above) - LEAST_DISTANCE if above else 1.0
    return round(min(of_class + REASON_STEP * has_reason, most), 2)


def statement(
    text: str,
    *,
    type: str = "",
    why: str = "",
    alternatives: Sequence[str] = (),
    known: Mapping[str, str] = {},
    base: float = PURPOSE,
) -> Record:
    """Return the record of a text, without id and provenance. Arguments override the type, reason
    and alternatives in the text. `type` may be an alias (`rule`, `fact`, `fix`, `open`). `known`
    maps `name_key` values of existing entities to names. `base` is the confidence without a reason.
    """
    reason, over = reason_and_alternatives(text)
    why = why or reason
    whole = f"{text}. {why}" if why and why not in text else text
    entities, relations = extract(whole, known=known)
    kind = record_type(type) or stated_type(text, entities)
    entities = _with_antipattern(text, entities) if kind == "antipattern" else entities
    score = with_reason(base, bool(why))
    is_about_known = any(entity_type(e.name) in ("technology", "pattern") for e in entities)
    is_general = score >= GENERALIZABLE_FROM and bool(why) and is_about_known
    outcome = "failed" if kind == "antipattern" and not type else "neutral"
    record = Record(kind, text, why, tuple(alternatives) or over, outcome=outcome)
    record = record._replace(entities=entities, relations=relations)
    return record._replace(confidence=score, generalizable=is_general)


def _with_antipattern(text: str, entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
    """Mark or add what failed as an antipattern (BR-15); a technology or agent keeps its type."""
    match = pattern(_FAILED).match(text)
    spoken = match["name"].lower().split() if match else []
    name = "-".join(word for word in spoken if word not in STOPWORDS)
    for place, entity in enumerate(entities):
        if name_key(entity.name) == name_key(name) or (not name and entity.type == "pattern"):
            if entity.type in ("technology", "agent"):
                return entities
            return (*entities[:place], entity._replace(type="antipattern"), *entities[place + 1 :])
    return (*entities, Entity(name, "antipattern")) if name else entities


def stated_type(text: str, entities: Sequence[Entity] = ()) -> str:
    """Return the record type that a text's words indicate; `note` if they indicate none."""
    clause = without_reason(text).strip()
    if clause.endswith(("?", "？")):
        return "question"
    first, stated = len(clause) + 1, "note"
    for kind in (name for name in sections("statement") if name in RECORD_TYPES):
        match = pattern(phrases("statement", kind)).search(clause)
        if match and match.start() < first:
            first, stated = match.start(), kind
    has_thing = any(entity_type(entity.name) in ("technology", "pattern") for entity in entities)
    return "problem" if stated == "antipattern" and not has_thing else stated
