"""What capture hears in a text: sentence by sentence the phrases that settle something, how they
are meant, and whether they have what they need beside themselves.
"""

from __future__ import annotations

from memory_fabric.capture import sections
from memory_fabric.capture.clauses import (
    Parts,
    declined_in,
    named_after_use,
    parts_at,
    reason_of_next,
    without_lead_in,
)
from memory_fabric.capture.cues import has_cue
from memory_fabric.capture.extract import extract
from memory_fabric.capture.modality import is_status, modality
from memory_fabric.capture.phrases.phrase import PAIR, REASON, RULE, RULES, SUPPORT, Phrase
from memory_fabric.capture.phrases.table import PHRASES
from memory_fabric.capture.segments import segments
from memory_fabric.capture.unreadable import Unread
from memory_fabric.capture.worth.signs import Spoken, signs
from memory_fabric.language.patterns import pattern
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memory_fabric.capture.segments import Sentence

MAX_SENTENCES = 1500
_SHORT_REMARK_CHARS = 90
MAX_WHAT_CHARS = 320
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
FACTS = frozenset("problem solution antipattern blocker".split())
BROKEN_TYPES = ("problem", "antipattern")
_FORBIDDEN = Phrase((), "constraint", "")
_UNDER_DECISION = Phrase((), "decision", "")
# So many sentences under "Decision" are it; the rest explains.
_DECIDING_SENTENCES = 2


class Around(Value):
    """What the text around a sentence tells: a problem was named before; it is one of rules."""

    problem: bool = False
    rules: bool = False
    earlier: int = 0
    paragraph: int = -1

    def after(self, one: Judged) -> Around:
        """The same for the next sentence: how many settle something already, and where the last."""
        held = [h for h in one.heard if h.held]
        problem = any(h.phrase.type in BROKEN_TYPES for h in held)
        return Around(
            self.problem or problem,
            self.rules,
            self.earlier + bool(held),
            one.sentence.paragraph if held else self.paragraph,
        )

    def signs(self, sentence: Sentence) -> tuple[str, ...]:
        """What stands before a sentence, as signs of it."""
        here = f"earlier here:{self.paragraph == sentence.paragraph:d}"
        return (f"earlier:{min(self.earlier, 3)}", here, *(("rules",) if self.rules else ()))


class Heard(Value):
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


class Judged(Value):
    """A sentence as capture sees it: the phrases in it; where it is in doubt, also its signs and
    itself as one clause.
    """

    sentence: Sentence
    before: Sentence | None
    around: Around
    heard: tuple[Heard, ...] = ()
    signs: tuple[str, ...] = ()
    whole: Parts = Parts("")


def is_certain(heard: Sequence[Heard]) -> bool:
    """Whether a phrase was heard that needs no second opinion."""
    return any(one.held and one.phrase.sure for one in heard)


def judged(
    text: str,
    speaker: str,
    names: Mapping[str, str] = {},
    *,
    every: bool = False,
    unread: Unread | None = None,
) -> Iterator[Judged]:
    """Every sentence of a text, as capture and training read it; what fails goes to `unread`.

    Signs are costly: without `every` only sentences have them that are neither certain nor
    hopeless, which an assistant's is in which nothing was heard, and anybody's in a text without a
    cue.
    """
    unread = unread or Unread()
    sentences = unread.attempt([], segments, text)[:MAX_SENTENCES]
    spoken = Spoken(sentences)
    hopeful = speaker in ("user", "summary") and has_cue(text)
    around = Around(rules=unread.attempt(False, sections.are_rules, sentences))
    before = None

    def judge(place: int) -> Judged:
        sentence = sentences[place]
        heard = tuple(_heard(sentences, place, speaker, names, around))
        one = Judged(sentence, before, around, heard)
        doubtful = (heard or hopeful) and not is_certain(heard) and not sentence.question
        if every or doubtful:
            whole = _whole(sentences, place)
            told = [*(sign for each in heard for sign in each.signs), *around.signs(sentence)]
            found = signs(sentences, spoken, place, speaker, whole, told)
            one = one._replace(whole=whole, signs=tuple(found))
        return one

    for place, sentence in enumerate(sentences):
        one = unread.attempt(None, judge, place)
        if one is not None:
            yield one
            around = around.after(one)
        before = sentence


def _heard(
    sentences: Sequence[Sentence],
    place: int,
    speaker: str,
    names: Mapping[str, str],
    around: Around,
) -> Iterator[Heard]:
    """The phrases in a sentence, in the order of the table, and whether each of them counts."""
    sentence = sentences[place]
    if sentence.question or sections.is_open(sentence) or sections.is_template(sentence.text):
        return
    if speaker == "user" and sentence.bullet and sections.forbids(sentence):
        parts = _forbidden(sentences, place)
        if sentence.opens and is_clause(parts.what) and not modality(sentence, "", "", ""):
            yield Heard(_FORBIDDEN, parts)
        return
    spoken = without_lead_in(sentence.text)
    following = sentences[place + 1].text if place + 1 < len(sentences) else ""
    for phrase, start, end, whole in _matches(spoken, speaker):
        parts = parts_at(spoken, start, end, whole=whole)
        if not is_clause(parts.what):
            continue
        parts = _with_neighbours(parts, sentences, place)
        if phrase.type in FACTS:
            parts = parts._replace(over=())
        elif not parts.over and place and sentence.text.lower().startswith("instead"):
            parts = parts._replace(over=declined_in(sentences[place - 1].text))
        meant = modality(sentence, _context(spoken, parts), following, phrase.type)
        held = not meant and _holds(phrase, parts, sentence, names, speaker, around)
        yield Heard(phrase, parts, meant, held)
    if sections.decides(sentence):
        before = sum(1 for other in sentences[:place] if other.heading == sentence.heading)
        parts = _whole(sentences, place)
        meant = modality(sentence, spoken, following, "decision")
        if before < _DECIDING_SENTENCES and is_clause(parts.what):
            yield Heard(_UNDER_DECISION, parts, meant, not meant)


def _whole(sentences: Sequence[Sentence], place: int) -> Parts:
    """The sentence as one clause."""
    parts = parts_at(without_lead_in(sentences[place].text), 0, 0, whole=True)
    return _with_neighbours(parts, sentences, place)


def _forbidden(sentences: Sequence[Sentence], place: int) -> Parts:
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
    return Parts(what, why, parts.over or named_after_use(parts.what))


def _matches(spoken: str, speaker: str) -> Iterator[tuple[Phrase, int, int, bool]]:
    """The phrases that the sentence holds, with where they were found."""
    lowered, starts = spoken.lower(), _starts(spoken)
    for phrase in PHRASES:
        if speaker not in phrase.speakers or not any(t in lowered for t in phrase.triggers):
            continue
        expression = pattern(phrase.pattern)
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
    found = (pattern(expression).match(spoken) for expression in (_LABEL, _CONDITION))
    return [match.end() for match in found if match]


def is_clause(what: str) -> bool:
    if len(what) > MAX_WHAT_CHARS:
        return False
    if not what.isascii() and len(what.split()) < 3:
        return len(what) >= 5
    return len(what.split()) >= 2 and len(what) >= 8


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
    names: Mapping[str, str],
    speaker: str,
    around: Around,
) -> bool:
    """Whether the phrase has what it needs beside itself."""
    if phrase.needs == PAIR:
        after_another = not sentence.opens and sentence.text.lower().startswith(_FIX_LABELS)
        return around.problem or after_another
    reasoned = bool(parts.why or parts.over)
    is_fact = phrase.type in FACTS
    done = not is_fact and speaker in ("assistant", "subagent") and is_status(sentence.text)
    if done and not reasoned:
        return False
    if phrase.needs == REASON:
        return reasoned
    ruled = sections.is_in_rules(sentence) or (around.rules and speaker == "user")
    if phrase.needs == RULES:
        return ruled
    if phrase.needs == RULE:
        general = sentence.bullet or bool(pattern(_SCOPE).search(parts.what))
        return reasoned or general or ruled
    if phrase.needs == SUPPORT:
        if reasoned or pattern(_SCOPE).search(parts.what):
            return True
        entities, _ = extract(without_lead_in(sentence.text), known=names)
        return any(entity_type(entity.name) for entity in entities)
    return True
