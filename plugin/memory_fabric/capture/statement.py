"""The record of one text that was said on purpose: by command, tool, note or ingest.

A few plain words tell its type (BR-7, BR-11, BR-15, BR-16); nothing is guessed beyond them. The
text stays whole: its reason and the rejected alternatives are read from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory_fabric.capture.clauses import reason_and_alternatives, without_reason
from memory_fabric.capture.confidence import PURPOSE, with_reason
from memory_fabric.capture.extract import extract
from memory_fabric.capture.global_scope import is_generalizable
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.models import Entity, Record, record_type
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, name_key

# The marker that comes first in the text decides; of two at one place, the upper one.
_PREFERENCE = (
    r"\bprefer(?:s|red|ence)?\b|\bi(?:'d| would) rather\b|"
    r"\bi (?:really )?(?:like|love|hate|dislike)\b|"
    r"\b(?:bevorzug\w+|ich mag|prefier[oe]\w*|preferimos|je préfère|préf[éè]r\w+|prefiro)\b|"
    r"喜欢|偏好|が好き|好みます|선호|좋아"
)
_DECISION = (
    r"\b(?:decided?|decision|chose|chosen|agreed (?:on|to|that)|settled on|picked|opted for|"
    r"adopted|standardi[sz]ed? on|going with|go(?:es)? with|went with|will (?:now )?use|'ll use|"
    r"(?:we|let's) (?:now )?use|(?:moved|switched|migrated) (?:\S+ ){0,4}?to|replaced)\b|"
    r"^(?:use|adopt|choose|pick|switch to|move to|replace)\b|"
    r"\b(?:entschieden|beschlossen|wir (?:nehmen|verwenden|nutzen)|decidi(?:mos|do|ó|u)|"
    r"elegi(?:mos|do)|usaremos|usamos|(?:avons|a) (?:décidé|choisi)|on (?:utilise|prend)|"
    r"nous utilis\w+|escolhe(?:mos|u)|vamos usar)\b|^(?:verwende|nutze|usar?|utilise[rz]?)\b|"
    r"决定|选择了?|选用|采用|选定|決定|選択|採用|使用することに|に決め|하기로|결정|채택|사용한다"
)
_CONSTRAINT = (
    r"\b(?:always|never|must(?:n't)?|shall|do not|don't|will not|won't|may not|not allowed|"
    r"forbidden|required|no longer|at most|at least|avoid|nie|niemals|immer|muss|müssen|dürfen|"
    r"darf|siempre|nunca|jamás|debe[ns]?|hay que|toujours|jamais|doit|doivent|il faut|sempre|"
    r"devem?)\b|^(?:only|no)\b|"
    r"必须|总是|永远|从不|不要|禁止|不得|必ず|いつも|常に|絶対|してはいけない|しないで|"
    r"항상|절대|반드시|하지 마"
)
# What failed stands before the verb that says so: "Offset pagination caused timeouts".
_FAILED = (
    r"(?:(?:we (?:tried|used)|using|trying|the|a|an|our) )*(?P<name>\w[\w-]*(?: \w[\w-]*){0,4}?) "
    r"(?:(?:has|have|had|always|never|just|only|also|often) )*"
    r"(?:causes?|fail(?:s|ed)?|br(?:eaks?|oke)|le(?:ads?|d) to|ma(?:kes?|de)|does(?:n't| not)|"
    r"d(?:o|id)(?:n't| not)|was|were|is|are|took|takes|ran|runs|lost|loses|hangs?|hung|costs?|"
    r"crash(?:es)?|\w+ed)\b"
)
_MARKERS = (
    ("preference", _PREFERENCE),
    ("decision", _DECISION),
    ("constraint", _CONSTRAINT),
    ("solution", r"\b(?:fixed by|the fix (?:is|was)|solved by|resolved by|workaround)\b"),
    ("blocker", r"\bblocked (?:by|on|until)\b|\bwaiting (?:for|on)\b|^blocker\b|\bblocker is\b"),
    (
        "antipattern",
        r"\b(?:failed|fails|did(?:n't| not) (?:work|scale)|do(?:es)?(?:n't| not) (?:work|scale))\b",
    ),
    (
        "problem",
        r"\b(?:broken|crash(?:es|ed)?|bug in)\b|^(?:known )?(?:problem|issue|bug)s?:|"
        r"\b(?:an?|the|known|main|another) (?:problem|issue|bug) (?:with|in|is|was)\b|"
        r"\b(?:has|have|had|there(?:'s| is| was)) an? (?:\w+ )?(?:problem|issue|bug)\b",
    ),
)


def statement(
    text: str,
    *,
    type: str = "",
    why: str = "",
    alternatives: Sequence[str] = (),
    known: Mapping[str, str] = {},
    base: float = PURPOSE,
) -> Record:
    """Return the record of a text; what is stated beside it counts before what it says itself.

    `type` may be an alias (`rule`, `fact`, `fix`, `open`). `known` maps the `name_key`s of existing
    entities to their names. `base` is its class of confidence. It has no id and no provenance yet.
    """
    reason, over = reason_and_alternatives(text)
    why = why or reason
    said = f"{text}. {why}" if why and why not in text else text
    entities, relations = extract(said, known=known)
    kind = record_type(type) or stated_type(text, entities)
    if kind == "antipattern":
        entities = _with_antipattern(text, entities)
    score = with_reason(base, bool(why))
    return Record(
        type=kind,
        what=text,
        why=why,
        alternatives=tuple(alternatives) or over,
        entities=entities,
        relations=relations,
        outcome="failed" if kind == "antipattern" and not type else "neutral",
        confidence=score,
        generalizable=is_generalizable(score, why, entities),
    )


def _with_antipattern(text: str, entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
    """Add what failed as an antipattern, or mark the pattern that it is (BR-15)."""
    match = pattern(_FAILED).match(text)
    said = match["name"].lower().split() if match else []
    name = "-".join(word for word in said if word not in STOPWORDS)
    for place, entity in enumerate(entities):
        if name_key(entity.name) == name_key(name) or (not name and entity.type == "pattern"):
            if entity.type in ("technology", "agent"):
                return entities
            failed = entity._replace(type="antipattern")
            return (*entities[:place], failed, *entities[place + 1 :])
    return (*entities, Entity(name, "antipattern")) if name else entities


def stated_type(text: str, entities: Sequence[Entity] = ()) -> str:
    """Return the type of record that a text states by its words; a fact is a note."""
    clause = without_reason(text).strip()
    if clause.endswith(("?", "？")):
        return "question"
    first, found = len(clause) + 1, "note"
    for kind, expression in _MARKERS:
        match = pattern(expression).search(clause)
        if match and match.start() < first:
            first, found = match.start(), kind
    if found == "antipattern" and not any(
        entity_type(entity.name) in ("technology", "pattern") for entity in entities
    ):
        return "problem"
    return found
