"""What a user says to correct an assistant, where it holds beyond the edit in hand.

"No, we use pnpm here", "don't commit .env files again", "I told you to run the linter first" become
rules. "No, make the button blue" is an edit, "no, I meant the other file" a pointer: they leave
nothing. A sentence is read in two steps: how it corrects (a bare "no", or the words of somebody who
says it again), and whether what follows is a rule. A bare "no" asks more of the rule.
"""

from __future__ import annotations

from memory_fabric import deadline
from memory_fabric.capture.capture import confidence
from memory_fabric.capture.clauses import parts_at
from memory_fabric.capture.correction_cues import CATEGORY, CUES, WORLD_CUES, may_correct
from memory_fabric.capture.correction_forms import (
    DEICTIC,
    EDIT,
    FORBIDDEN,
    GENERAL,
    HOUSE,
    HOUSE_FIRST,
    KEEP,
    LEFT_OFF,
    LITERAL_AGAIN,
    LOCAL,
    MARK,
    NO_THINGS,
    NOT_THAT,
    OTHERS,
    OVER,
    OWN,
    PLACE,
    SAYING,
    STOP,
    TOLD,
    USE,
    VAGUE_STOP,
    WANT_NOT,
    WORLD,
)
from memory_fabric.capture.extract import extract
from memory_fabric.capture.global_scope import is_generalizable
from memory_fabric.capture.modality import modality
from memory_fabric.capture.segments import segments
from memory_fabric.language.patterns import pattern
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.models import Record
from memory_fabric.text import STOPWORDS, name_key, same_form, stem, words
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memory_fabric.capture.segments import Sentence

__all__ = ["CATEGORY", "CUES", "WORLD_CUES", "corrections", "joined", "may_correct"]

MAX_CORRECTIONS = 6
MIN_WHAT_CHARS, MAX_WHAT_CHARS = 8, 240
_MAX_SENTENCES = 300
# So much of the shorter text stands in the longer one: both speak of the same.
_SAME_SHARE = 0.6
# How far a correction was marked as one.
UNMARKED, DENIED, REPEATED = 0, 1, 2


class _Rule(Value):
    """A rule as it was found: its words, its reason, and what it rejects."""

    what: str
    why: str = ""
    over: tuple[str, ...] = ()


def corrections(text: str, known: Mapping[str, str] = {}) -> list[Record]:
    """The rules that a user's text states by correcting, in order, each once.

    Constraints with a confidence of 0.85 or more: an explicit rule, by the user, against what was
    just done; `alternatives` name what it rejects, where the text does. `known` as in `capture`.
    Records come without id and provenance. Raises nothing on any text but DeadlinePassed.
    """
    if not may_correct(text):
        return []
    found: dict[str, Record] = {}
    sentences = segments(text)[:_MAX_SENTENCES]
    for place in range(len(sentences)):
        deadline.current().check("the last correction")
        rule = _rule(sentences, place, known)
        if rule:
            found.setdefault(same_form(rule.what), _record(rule, known))
        if len(found) >= MAX_CORRECTIONS:
            break
    return list(found.values())


def joined(found: Sequence[Record], corrected: Sequence[Record]) -> list[Record]:
    """Captured records and corrections, where both read the same sentence only the correction.

    It keeps the reason and what was rejected, where only the other has them.
    """
    own = [_enriched(c, [f for f in found if _speak_alike(c, f)]) for c in corrected]
    rest = [f for f in found if not any(_speak_alike(c, f) for c in corrected)]
    return [*own, *rest]


def _enriched(record: Record, others: Iterable[Record]) -> Record:
    for other in others:
        record = record._replace(
            why=record.why or other.why,
            alternatives=record.alternatives or other.alternatives,
            confidence=max(record.confidence, other.confidence),
            generalizable=record.generalizable or other.generalizable,
        )
    return record


def _speak_alike(a: Record, b: Record) -> bool:
    left, right = (_stems(f"{r.what} {' '.join(r.alternatives)}") for r in (a, b))
    if any(word[-1].isdigit() for word in left ^ right):
        return False
    return len(left & right) >= _SAME_SHARE * max(1, min(len(left), len(right)))


def _stems(text: str) -> set[str]:
    return {stem(w) for w in words(text) if w not in STOPWORDS}


def _rule(sentences: Sequence[Sentence], place: int, names: Mapping[str, str]) -> _Rule | None:
    sentence = sentences[place]
    text = sentence.text
    said = pattern(SAYING).match(text)
    if sentence.question and not (said and not text.rstrip().endswith("?")):
        return None
    following = sentences[place + 1].text if place + 1 < len(sentences) else ""
    if modality(sentence._replace(question=False), text, following, "constraint"):
        return None
    mark, body = _marked(text)
    if mark == UNMARKED and place and _is_bare_denial(sentences[place - 1], sentence):
        mark = DENIED
    for clause in _clauses(body):
        rule = _read(clause, mark, names)
        if rule and MIN_WHAT_CHARS <= len(rule.what) <= MAX_WHAT_CHARS:
            what = rule.what[:1].upper() + rule.what[1:]
            return rule._replace(what=what, over=rule.over or _over(body))
        if clause is not body and pattern(OTHERS).match(clause):
            mark = max(mark, DENIED)  # "you are using npm again, we use pnpm": the first corrects
    return _abroad(text)


def _marked(text: str) -> tuple[int, str]:
    """How the sentence corrects, and what it says without that."""
    mark, body = UNMARKED, text
    for _ in range(4):
        match = pattern(TOLD).match(body) or pattern(SAYING).match(body)
        if match:
            mark, body = REPEATED, body[match.end() :]
            continue
        match = pattern(MARK).match(body)
        if not match:
            break
        mark, body = max(mark, DENIED), body[match.end() :]
    return mark, body.strip()


def _is_bare_denial(before: Sentence, sentence: Sentence) -> bool:
    """Whether the sentence before is nothing but "Nope." or "That's wrong."."""
    if before.question or before.paragraph != sentence.paragraph:
        return False
    mark, rest = _marked(before.text.rstrip(" .!…") + ", ")
    return mark == DENIED and not rest


def _clauses(body: str) -> Iterator[str]:
    """The whole, then what stands behind a comma or a colon where a rule may begin."""
    yield body
    for match in pattern(r"(?:,|;|:| -| —| –) (?=(?:so |but |and )?(?:we|here|our|use|never|always"
                          r"|don't|do not)\b)").finditer(body):  # fmt: skip
        yield body[: match.start()]
        yield body[match.end() :]
    colon = body.find(": ")
    if colon > 0:
        yield body[:colon]
        yield body[colon + 2 :]


def _read(clause: str, mark: int, names: Mapping[str, str]) -> _Rule | None:
    clause = clause.strip(" ,;:.!—–-")
    if not clause or pattern(LOCAL).search(clause) or pattern(DEICTIC).search(clause):
        return None
    for reader in (_stopped, _kept_on, _forbidden, _of_the_house, _placed, _named, _imperative):
        rule = reader(clause, mark, names)
        if rule:
            return rule
    return None


def _stopped(clause: str, mark: int, names: Mapping[str, str]) -> _Rule | None:
    """ "Stop adding comments to every line"."""
    match = pattern(STOP).match(clause)
    if not match or pattern(VAGUE_STOP).match(match["rest"]) or not _says(match["rest"], 2):
        return None
    return _cut(f"Stop {match['rest']}")


def _kept_on(clause: str, mark: int, names: Mapping[str, str]) -> _Rule | None:
    """ "You keep adding type: ignore comments"."""
    match = pattern(KEEP).match(clause)
    if not match or not _says(match["rest"], 2):
        return None
    forgotten = pattern(r"forget(?:ting)? to (?P<what>.+)").match(match["rest"])
    if forgotten:
        return _cut(f"Don't forget to {forgotten['what']}")
    if pattern(VAGUE_STOP).match(match["rest"]) or not match["rest"].split()[0].endswith("ing"):
        return None
    return _cut(f"Stop {match['rest']}")


def _forbidden(clause: str, mark: int, names: Mapping[str, str]) -> _Rule | None:
    """ "Don't delete migrations again", "never push to main" behind a mark, "no inline styles"."""
    want = pattern(WANT_NOT).match(clause)
    clause = f"Don't {clause[want.end() :]}" if want else clause
    match = pattern(FORBIDDEN).match(clause)
    if match:
        forever = pattern(r"\b(?:again|ever|never)\b").search(clause)
        again = pattern(r"\bagain\b").search(clause)
        never = pattern(r"\b(?:never|ever)\b").search(clause)
        literal = pattern(LITERAL_AGAIN).match(match["rest"]) and not never
        strong = mark == REPEATED or (mark == DENIED and (never or _general(clause)))
        if not _says(match["rest"], 2) or not (strong or (again and not literal)):
            return None
        return _cut(clause) if forever or mark else None
    if mark == REPEATED and pattern(NO_THINGS).match(clause):
        return _cut(clause)
    return None


def _of_the_house(clause: str, mark: int, names: Mapping[str, str]) -> _Rule | None:
    """ "We use pnpm here", "our convention is kebab-case", "this project uses Poetry"."""
    owned = pattern(OWN).match(clause)
    if owned and mark:
        return _cut(clause)
    match = pattern(HOUSE).match(clause) or pattern(HOUSE_FIRST).match(clause)
    if not match:
        return None
    rest = clause[match.end() :].strip()
    bare = bool(
        pattern(r"(?!(?:the|a|an|it|them|his|her|my|your|its|what|both|some)\b)\S").match(rest)
    )
    here = bool(pattern(r"\bhere\b|\bin (?:this|our) ").search(clause))
    strict = bool(pattern(r"\b(?:never|don't|do not|only|always)\b").search(match[0]))
    if not _says(rest, 1):
        return None
    if mark and (bare or _general(clause) or _over(clause)):
        return _cut(clause)
    return _cut(clause) if here and strict else None


def _placed(clause: str, mark: int, names: Mapping[str, str]) -> _Rule | None:
    """ "The config lives in config/app.toml", "the default branch is develop, not main"."""
    match = pattern(PLACE).match(clause)
    if not mark or not match:
        return None
    what = match["what"].lower()
    weak = what in ("it", "that", "this", "they", "these", "those")
    if match["lives"] and not weak:
        return _cut(clause)
    named = bool(_over(clause)) and (mark == REPEATED or not weak or _is_named(clause, names))
    universal = what.startswith(("all ", "every ", "each "))
    if universal or _general(clause) or (named and (not weak or _is_named(clause, names))):
        return _cut(clause)
    return None


def _named(clause: str, mark: int, names: Mapping[str, str]) -> _Rule | None:
    """ "Not npm, pnpm": at least one of them must be known."""
    match = pattern(NOT_THAT).match(clause)
    if not match or not _is_named(clause, names):
        return None
    return _Rule(f"Use {match['taken'].strip()}, not {match['left']}", "", (match["left"],))


def _imperative(clause: str, mark: int, names: Mapping[str, str]) -> _Rule | None:
    """ "Use X, not Y", "run the linter before each commit"; general, or said again."""
    match = pattern(USE).match(clause)
    if not match:
        return None
    rest = match["rest"]
    general, standing = _general(clause), bool(match["standing"])
    if pattern(EDIT).match(match["verb"] + " " + rest) and not general:
        return None
    if not _says(rest, 1):
        return None
    if mark == REPEATED or (mark == DENIED and general) or standing:
        return _cut(clause)
    bare = not pattern(r"(?:the|a|an|my|your|some|one)\b").match(rest)
    compared = bool(_over(clause)) and bare and _is_named(rest, names)
    lasting = bool(pattern(r"\b(?:from now on|going forward|in future|next time)\b").search(clause))
    return _cut(clause) if (mark and compared) or lasting else None


def _abroad(text: str) -> _Rule | None:
    """The few forms of other languages."""
    for cue, expression in WORLD:
        if cue in text.lower():
            match = pattern(expression).search(text)
            if match:
                what = match["what"].strip(" ,，.。!！、")
                over = match.groupdict().get("over") or ""
                return _Rule(what, "", (over.strip(" ,，.。!！了"),) if over else ())
    return None


def _cut(clause: str) -> _Rule:
    """The rule with its reason apart."""
    parts = parts_at(clause, 0, min(len(clause), 12), whole=True)
    what = parts.what
    if what.lower().startswith("not to "):
        what = f"Do not {what[7:]}"
    left_off = pattern(LEFT_OFF).match(what)  # "stop using X instead of Y" rejects X
    over = (left_off["over"],) if left_off else _over(clause) or parts.over
    return _Rule(what, parts.why, over)


def _over(clause: str) -> tuple[str, ...]:
    """What is rejected: "not Y", "instead of Y", "you keep using Y"."""
    match = pattern(OVER).search(clause)
    if not match:
        return ()
    name = next(filter(None, match.groups())).strip().rstrip(".,;:!")
    return (name,) if 0 < len(name.split()) <= 6 else ()


def _general(clause: str) -> bool:
    return bool(pattern(GENERAL).search(clause))


def _is_named(clause: str, names: Mapping[str, str]) -> bool:
    """Whether something known is named: a technology, a pattern, an entity of the memory."""
    if any(name_key(word) in names for word in words(clause) if word not in STOPWORDS):
        return True
    return any(
        entity_type(word.strip("`'\".,;:!")) in ("technology", "pattern", "tool")
        for word in clause.split()
    ) or any(entity_type(entity.name) for entity in extract(clause)[0])


def _says(rest: str, least: int) -> bool:
    """Whether enough is said that somebody else could follow it."""
    return sum(1 for word in words(rest) if word not in STOPWORDS or not word.isascii()) >= least


def _record(rule: _Rule, known: Mapping[str, str]) -> Record:
    entities, relations = extract(
        f"{rule.what}. {rule.why}" if rule.why else rule.what, known=known
    )
    named = [e for e in entities if entity_type(e.name) or name_key(e.name) in known]
    sure = confidence(
        explicit=True,
        reason=bool(rule.why),
        alternative=True,  # what was just done is rejected, named or not
        known_entities=len(named),
        by_user=True,
    )
    return Record(
        type="constraint",
        what=rule.what,
        why=rule.why,
        alternatives=rule.over,
        entities=entities,
        relations=relations,
        category=CATEGORY,
        confidence=sure,
        generalizable=is_generalizable(sure, rule.why, entities),
    )
