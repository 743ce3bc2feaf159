"""Records that the user states on purpose, in so many words, with the subject in the sentence."""

from __future__ import annotations

from typing import NamedTuple

from memory_fabric.capture.clauses import Parts, parts_at, without_lead_in
from memory_fabric.capture.prompts.gate import may_hear
from memory_fabric.capture.prompts.stated_forms import FORMS, Form
from memory_fabric.capture.prompts.typed import is_specification, typed_ends
from memory_fabric.capture.segments import segments
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, one_line, terms, words

MAX_CHARS = 400
_SHORTEST_CLAUSE = 8
# Words that name nothing by themselves, and pronouns that need something before them.
_VAGUE = frozenset(
    """make use using used always never stop start try work works want need like good better best
    way thing things stuff one ones first second third last latter former next other another option
    approach solution idea version answer question please remember forward project projects decided
    agreed prefer goal everything anything something nothing here later today tomorrow yesterday
    hacer usar siempre nunca cosa cosas esto eso así machen immer nie das dies es so sache faire
    toujours jamais ça cela chose fazer sempre isso isto coisa coisas""".split()
)
_PRONOUNS = frozenset(
    """it this that these those them they he she das dies es diese esto eso esta este ella ello lo
    ça cela ceci isso isto ele ela""".split()
)
_WITH_NOUN = frozenset(
    """project repo repository codebase app application team company proyecto repositorio equipo
    projeto repositório equipe projet projekt""".split()
)
_DEICTIC = tuple("这样 那样 それ これ このよう そのよう 이렇게 그렇게 그것 이것".split())
_RULE = (
    r"\b(?:always|never|must|don't|do not|should|immer|nie|niemals|muss|nicht|siempre|nunca|debe|"
    r"no|toujours|jamais|doit|ne|sempre|deve|não)\b|不要|必须|始终|总是|禁止|必ず|常に|しない|항상|반드시|마"
)


class Statement(NamedTuple):
    """A record in the user's own words."""

    type: str  # "decision", "constraint", "preference", "note"
    text: str
    why: str = ""
    instead_of: tuple[str, ...] = ()
    scope: str = "team"  # "user" for what is about the person, in every project
    kind: str = ""  # "identity", "habit", "preference", "goal", "relationship", or ""
    form: str = ""  # the words in which it is stated, with "from now on" and the like


def stated(text: str) -> list[Statement]:
    """Return what the user says on purpose, in order; no question, quotation, paste or errand."""
    if not may_hear(text):
        return []
    sentences = segments(typed_ends(text))
    if is_specification(sentences):
        sentences = [s for s in sentences if not s.bullet and not s.heading]
    found = (
        statement_in(sentence.text, is_first=place == 0)
        for place, sentence in enumerate(sentences)
        if not sentence.question
    )
    return list(dict.fromkeys(statement for statement in found if statement))


def statement_in(sentence: str, *, is_first: bool = True) -> Statement | None:
    """Return what one sentence states by the first form that it has, if any."""
    for form in FORMS:
        made = stated_as(form, sentence) if is_first or not form.first else None
        if made:
            return made
    return None


def stated_as(form: Form, sentence: str) -> Statement | None:
    """Return what the sentence states by this form, if it has it and names its subject."""
    sentence = _without_opening(sentence)
    lowered = sentence.lower()
    if len(sentence) > MAX_CHARS or not any(word in lowered for word in form.words.split("|")):
        return None
    for expression in form.expressions:
        match = pattern(expression).match(sentence)
        if match:
            said = match.groupdict().get("said") or ""
            made = _made(form, said, match.group())
            return made and made._replace(form=match.group())
    return None


def _made(form: Form, said: str, matched: str) -> Statement | None:
    if said:
        inner = statement_in(said)
        if inner:
            return inner
    said = said or matched
    kind = form.type
    if form.first and pattern(_RULE).search(said):
        kind = "constraint"
    named = form.kind in ("identity", "relationship")
    if not named and not _names_something(said, form.content_words):
        return None
    what = one_line(said.rstrip(" .!。！"))
    parts = Parts(what) if named else parts_at(what, 0, len(form.name), whole=True)
    if len(parts.what) >= _SHORTEST_CLAUSE:
        what = parts.what
    over = tuple(name.removesuffix(" entschieden") for name in parts.over)
    return Statement(kind, what[:1].upper() + what[1:], parts.why, over, form.scope, form.kind)


def _names_something(said: str, at_least: int) -> bool:
    """Return True if enough words name something, and no pronoun points out of the sentence."""
    if any(word in said for word in _DEICTIC):
        return False
    naming = set(terms(said)) - STOPWORDS - _VAGUE - _PRONOUNS
    named = 0
    spoken = words(said)
    for place, word in enumerate(spoken):
        following = spoken[place + 1] if place + 1 < len(spoken) else ""
        if word in _PRONOUNS and named < 2 and following not in _WITH_NOUN:
            return False
        named += word in naming
    return len(naming) >= at_least


def _without_opening(sentence: str) -> str:
    sentence = without_lead_in(sentence.strip())
    opening = pattern(
        r"(?:(?:please|hey|hi|hello|just|bitte|por favor|oye|hola|s'il te plaît|bonjour|hallo|olá|"
        r"oi|claude)[,!.]? ){1,3}|请(?=记住)"
    ).match(sentence)
    return sentence[opening.end() :] if opening else sentence
