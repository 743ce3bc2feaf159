"""What a record says to take, to leave and to keep away from, what for, and which value it sets.

Read from its own sentence with bounded expressions; what cannot be read surely is left empty, so
that nothing is concluded from it. English only: in other languages nothing is read.
"""

from __future__ import annotations

from memory_fabric.cache import Memo
from memory_fabric.capture.closing.leavings import COMPARED, DENIED, WHOLLY, left_behind
from memory_fabric.capture.closing.slots import slot_of
from memory_fabric.capture.closing.wording import (
    END,
    KINDS,
    NAME,
    content_stems,
    key_of,
    keys_of,
    plain,
)
from memory_fabric.capture.extract import extract
from memory_fabric.language.patterns import pattern
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Record

_TAKING = (
    r"\b(?:us(?:e|es|ing)|chose|chosen|choose|pick(?:ed)?|select(?:ed)?|adopt(?:ed)?|go(?:ing)? "
    r"with|went with|settled? on|decided (?:on|for)|standardi[sz]ed? on|stick(?:ing)? (?:with|to)|"
    r"stay(?:ing)? (?:with|on)|rel(?:y|ies|ying) on|prefers?|favou?rs?|opt(?:ed)? for|runs? on|"
    r"running on|deploy(?:ed|s)? (?:to|on|with)|host(?:ed)? on|built (?:on|with)|lives? (?:in|on)|"
    r"stored in|backed by|powered by|in favou?r of)"
    rf" (?:(?:now|only|always|just|the|our|a|an|plain|managed|using) ){{0,3}}(?P<taken>{NAME}){END}"
)
# After a move: "from X to Y", "X with Y", "moved back to Y".
_TAKEN_AFTER = (
    r"\b(?:mov(?:e|ed|ing)|switch(?:ed|ing)?|migrat(?:e|ed|ing)|port(?:ed|ing)?|transition(?:ed)?|"
    r"convert(?:ed)?|chang(?:e|ed|ing)|went|revert(?:ed)?|replac(?:e|ed|ing)|swap(?:ped|ping)?|"
    r"ditch(?:ed|ing)?)\b(?:[^.;:]|\.(?=\w)){0,120}? "
    rf"(?:onto|to|with|by|for) (?:(?:the|our|a|an|plain|managed) )?(?P<taken>{NAME}){END}"
)
_NAMED_FIRST = (
    rf"^(?:the |our )?(?P<taken>{NAME}) (?:(?:for|as) (?:the |our |all |every )?\w|(?:is|stays|"
    r"remains) (?:our|the) \w)"
)
_KEEPING_AWAY = (
    r"(?:\b(?:do not|don't|never|must not|mustn't|may not|should not|shouldn't|won't|will not|we "
    r"don't|we do not) (?:ever )?use|\bavoid(?: using)?|\bno longer allow) "
    rf"(?:the |any )?(?P<away>{NAME}){END}"
)
# A leaving that is only thought of, told of others, partial, or said beside something that stays.
_UNSETTLED = (
    r"\?\s*$|\b(?:might|may(?! \d)|maybe|perhaps|could|would|should|considering|consider|proposed?|"
    r"propos(?:al|e)|plan(?:s|ned|ning)?|want(?:s|ed)? to|thinking|whether|probably|likely|need "
    r"to|have to|needs to|todo|eventually|some ?day|later|if|when|once|until|unless|next (?:week|"
    r"month|"
    r"quarter|year|sprint|release)|tomorrow|soon|for now|temporar\w*|experiment\w*|pilot|trial|"
    r"evaluat\w+|prototype|spike|goal|aims?|aiming|hop(?:e|es|ing)|wish|myth|rumou?r|false|untrue|"
    r"had (?:we|i)|blocked|stuck|half ?way|by mistake|by accident|accidentally|in progress|ongoing|"
    r"under ?way|roll(?:ed|ing)? back|backed out|gave up|undid|undone|aborted|postponed|paused|"
    r"(?:start(?:s|ed|ing)?|beg[aiu]n\w*|"
    r"tr(?:y|ied|ying)|work(?:ed|ing)?)(?: to| on| with)?(?: the)? "
    r"(?:mov|switch|migrat|replac|port|convert|transition|dropp?|retir|remov)\w*|"
    r"(?:will|won't|going to|gonna) (?:move|migrate|switch|replace|drop|"
    r"retire|port|ditch|be))\b|"
    r"^(?:mov|switch|migrat|port|replac|swapp|dropp|chang|convert|remov|retir|transition)ing\b|"
    r"'ll (?:move|migrate|switch|replace|drop|retire|port)\b"
)
_PARTIAL = (
    r"\b(?:but|except|apart from|keep(?:s|ing)?|(?<!is )(?<!are )(?<!now )kept|still|stays?|"
    r"remains?|partly|partially|some|half|most|many|few|several|both|locally)\b|"
    # Of what is new, first or counted: the rest stays as it was.
    r"(?:^|\b(?:in|for|on) )(?:(?:the|all|our|any) )*"
    r"(?:new|newer|newest|first|next|other|one|two|three|four|five|\d+) "
)
_BESIDE = (
    r"\b(?:also|in addition|additionally|as well|besides|alongside|in parallel|on top of|next to|"
    r"plus|too)\b"
)
_OTHERS = (
    r"^(?:they|he|she|(?:the |our |a |one |another )(?:customer|client|vendor|competitor)|"
    r"(?:the |our |a |one |another )?(?!(?:the|our) )\w+ (?:teams?|squad|department)|"
    r"(?:the |our |a |one |another )?(?:customers|clients|vendors|competitors|upstream|"
    r"article|docs?|documentation|blog|paper|book|community|maintainers?|"
    r"library|framework|example|tutorial|sample|google|netflix|github|uber)) "
)


class Reading(Value):
    """What one sentence says about choices.

    `taken`, `away` and `left` are sets of name keys, one set for each name (all its spellings);
    `how` is how far `left` is left; `use` are stems of what it is for, `listed` tells that these
    are several uses; `named` are keys of all known things in it. `slot` and `value` are the subject
    and value of a sentence that sets one value; both empty for others.
    """

    taken: tuple[frozenset[str], ...] = ()
    away: tuple[frozenset[str], ...] = ()
    left: tuple[frozenset[str], ...] = ()
    how: str = ""
    use: frozenset[str] = frozenset()
    listed: bool = False
    named: frozenset[str] = frozenset()
    slot: tuple[str, ...] = ()
    value: str = ""
    settled: bool = True


def reading(record: Record) -> Reading:
    """What a record says; its alternatives count as what it was compared with."""
    read: Reading = _READINGS[record.what, record.alternatives]
    return read


def _read(said: tuple[str, tuple[str, ...]]) -> Reading:
    text, alternatives = plain(said[0]), said[1]
    how, left, spans = left_behind(text)
    taken, taken_spans = _taken(text)
    taken = [one for one in taken if not any(one[0] & other for other in left)]
    away, away_spans = _found(_KEEPING_AWAY, "away", text) if how != WHOLLY else ([], [])
    away_keys = {key for one in away for key in one[0]}
    taken = [one for one in taken if not one[0] & away_keys]
    if not left and not away:
        left = [keys_of(name) for name in alternatives]
        how = COMPARED if left else ""
        spans += [found for name in alternatives for found in _places(text, name)]
    tail = text[max((end for _, end in [*taken_spans, *away_spans]), default=0) :]
    slot, value = slot_of(text)
    return Reading(
        taken=tuple(one[0] for one in taken),
        away=tuple(one[0] for one in away),
        left=tuple(left),
        how=how,
        use=_use(text, [*spans, *taken_spans, *away_spans]),
        listed=bool(pattern(r",| and | or | & ").search(tail)),
        named=frozenset(key_of(e.name) for e in extract(text)[0] if e.type in KINDS),
        slot=slot,
        value=value,
        settled=is_settled(text) and not is_beside(text) and not (left and is_partial(text)),
    )


# Every new record is held against the same older ones.
_READINGS = Memo(_read, 4096)


def is_settled(text: str) -> bool:
    """Whether a sentence says what holds for us: not asked, supposed, planned, told of others."""
    return not pattern(_UNSETTLED).search(text) and not pattern(_OTHERS).match(text)


def is_beside(text: str) -> bool:
    """Whether something is said to come beside what is there."""
    return bool(pattern(_BESIDE).search(text))


def is_partial(text: str) -> bool:
    """Whether something is said of a part only."""
    return bool(pattern(_PARTIAL).search(text))


def _taken(text: str) -> tuple[list[tuple[frozenset[str], int]], list[tuple[int, int]]]:
    found, spans = _found(_TAKING, "taken", text)
    for expression in (_TAKEN_AFTER, _NAMED_FIRST):
        if not found:
            found, spans = _found(expression, "taken", text)
    return found, spans


def _found(
    expression: str, group: str, text: str
) -> tuple[list[tuple[frozenset[str], int]], list[tuple[int, int]]]:
    """Names that an expression finds, not behind a denial unless it is one itself."""
    found, spans = [], []
    for match in pattern(expression).finditer(text):
        if group == "taken" and pattern(DENIED).search(text[: match.start()]):
            continue
        keys = keys_of(match[group], any_version=group == "taken")
        if keys:
            found.append((keys, match.start(group)))
            spans.append(match.span(group))
    return found, spans


def _places(text: str, name: str) -> list[tuple[int, int]]:
    at = text.lower().find(name.lower())
    return [(at, at + len(name))] if at >= 0 else []


def _use(text: str, spans: list[tuple[int, int]]) -> frozenset[str]:
    """Stems of what remains beside the names and the verbs of choice."""
    kept = list(text)
    for start, end in spans:
        kept[start:end] = " " * (end - start)
    return content_stems("".join(kept))
