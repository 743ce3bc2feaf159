"""What a record says to take, to leave and to keep away from, what for, and which value it sets.

Read from its own sentence with bounded expressions; what cannot be read surely is left empty, so
that nothing is concluded from it. English only: in other languages nothing is read.
"""

from __future__ import annotations

import re
from functools import cache

from memory_fabric.fabric.concepts import WEAK
from memory_fabric.fabric.extract import extract
from memory_fabric.fabric.vocabulary import PATTERNS, TECHNOLOGIES
from memory_fabric.text import STOPWORDS, name_key, stem, words
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Record

MAX_CHARS = 400
MAX_NAME_WORDS = 4
# How far something is left behind.
WHOLLY, MOVED, COMPARED = "wholly", "moved", "compared"

# A run that may be a name; a full stop only inside it (`Fly.io`).
_N = r"(?:[^\s,;:!?().]|\.(?=\w))+(?: (?:[^\s,;:!?().]|\.(?=\w))+){0,5}?"
# Where a name ends.
_END = (
    r"(?=$|[,;:!?()]|\.(?:\s|$)| (?:for|in|on|to|onto|over|as|at|with|by|from|when|where|because|"
    r"since|so|and|or|but|not|instead|rather|now|here|everywhere|across|throughout|again|any ?more|"
    r"any longer|entirely|completely|altogether|last|this|today|yesterday|is|are|we|everything|"
    r"due|after|before|during|while|if|unless|until)\b| — | - )"
)
_LEFT = rf"(?:the |our |a |an |plain |just |using )?(?P<left>{_N}){_END}"
# How far, words without one of which it is not tried (and not compiled), the expression.
_LEAVINGS = (
    (MOVED, (" from ", " off "),
     r"\b(?:mov(?:e|ed|ing)|switch(?:ed|ing)?|migrat(?:e|ed|ing)|port(?:ed|ing)?|transition"
     r"(?:ed|ing)?|convert(?:ed|ing)?|chang(?:e|ed|ing)|went|revert(?:ed|ing)?)"
     rf"(?: (?!not\b|to\b)[^\s,;:]+){{0,7}}? (?:away from|off of|off|from) {_LEFT}"),
    (MOVED, ("replac", "swap"),
     rf"\b(?:replac(?:e|ed|ing)|swap(?:ped|ping)?(?: out)?) {_LEFT} (?:with|by|for)\b"),
    (MOVED, ("replac", "supersed"),
     rf"\b(?:replac(?:es|ed)|supersed(?:es|ed)) (?!by\b){_LEFT}"),
    (MOVED, ("replaced", "superseded", "swapped"),
     rf"^(?:the |our )?(?P<left>{_N}) (?:was|is|were|are|has been|have been|got)(?: now)?"
     r" (?:replaced|superseded|swapped out) (?:by|with)\b"),
    (MOVED, (" from ",),
     r"\b(?:went|gone|going|go|mov(?:ed|ing)|switch(?:ed|ing)?|migrated)(?: back)? to "
     rf".{{2,40}}? from {_LEFT}"),
    (MOVED, (" in favo",),
     rf"\b(?:dropp(?:ed|ing)|drop|ditch(?:ed|ing)?|retir(?:ed|ing)|abandon(?:ed|ing)?|"
     rf"remov(?:ed|ing)|swapp(?:ed|ing)) {_LEFT} in favou?r of\b"),
    (MOVED, (" for ",),
     rf"\b(?:ditch(?:ed|ing)|swapp(?:ed|ing)) {_LEFT} for\b"),
    (WHOLLY, ("no longer", "stop"),
     rf"\b(?:no longer|stopp?(?:ed|ing)?) (?:us(?:e|es|ing)|rely(?:ing)? on|run(?:ning)? "
     rf"on|deploy(?:ing)? (?:on|to|with)|host(?:ing)? on) {_LEFT}"),
    (WHOLLY, ("more", "longer"),
     rf"(?:\bnot|n't|\bnever) (?:us(?:e|ing)|rely(?:ing)? on|run(?:ning)? on) {_LEFT}"
     r"[^,;]{0,60}? (?:any ?more|any longer)\b"),
    (WHOLLY, ("dropped", "ditched", "retired", "abandoned", "decommissioned", "phased", "got rid"),
     rf"\b(?:dropped|ditched|retired|abandoned|decommissioned|phased out|got rid of) "
     rf"{_LEFT}"),
    (WHOLLY, ("retired", "dropped", "abandoned", "decommissioned", "phased"),
     rf"^(?:the |our )?(?P<left>{_N}) (?:was|is|were|are|has been|have been)(?: now)? "
     r"(?:retired|dropped|abandoned|decommissioned|phased out)\b"),
    (WHOLLY, ("decision", "choice", "rule"),
     r"\b(?:revers(?:ed|ing)|revok(?:ed|ing)|overturn(?:ed|ing)|undid|scrapped|withdrew|"
     r"cancell?ed|took back) (?:the |our |that )?(?:earlier |previous |old )?(?:decision|choice|"
     rf"rule) (?:to (?:use|adopt|go with|move to|switch to)|for|about|of) {_LEFT}"),
    (COMPARED, ("instead", "rather", "opposed", "in place"),
     rf"\b(?:instead of|rather than|as opposed to|in place of) {_LEFT}"),
    (COMPARED, (" over ", " not "),
     r"\b(?:cho(?:se|sen|ose)|prefer(?:s|red)?|picked|selected|go(?:ing)? with|went with|"
     r"us(?:e[ds]?|ing)|opted for|adopt(?:ed)?|settled on|favou?r)\b[^.;:]{1,80}?,? (?:over|not) "
     rf"{_LEFT}"),
)  # fmt: skip
_TAKING = (
    r"\b(?:us(?:e|es|ing)|chose|chosen|choose|pick(?:ed)?|select(?:ed)?|adopt(?:ed)?|go(?:ing)? "
    r"with|went with|settled? on|decided (?:on|for)|standardi[sz]ed? on|stick(?:ing)? (?:with|to)|"
    r"stay(?:ing)? (?:with|on)|rel(?:y|ies|ying) on|prefers?|favou?rs?|opt(?:ed)? for|runs? on|"
    r"running on|deploy(?:ed|s)? (?:to|on|with)|host(?:ed)? on|built (?:on|with)|lives? (?:in|on)|"
    r"stored in|backed by|powered by|in favou?r of)"
    rf" (?:(?:now|only|always|just|the|our|a|an|plain|managed|using) ){{0,3}}(?P<taken>{_N}){_END}"
)
# After a move: "from X to Y", "X with Y", "moved back to Y".
_TAKEN_AFTER = (
    r"\b(?:mov(?:e|ed|ing)|switch(?:ed|ing)?|migrat(?:e|ed|ing)|port(?:ed|ing)?|transition(?:ed)?|"
    r"convert(?:ed)?|chang(?:e|ed|ing)|went|revert(?:ed)?|replac(?:e|ed|ing)|swap(?:ped|ping)?|"
    r"ditch(?:ed|ing)?)\b(?:[^.;:]|\.(?=\w)){0,120}? "
    rf"(?:onto|to|with|by|for) (?:(?:the|our|a|an|plain|managed) )?(?P<taken>{_N}){_END}"
)
_NAMED_FIRST = (
    rf"^(?:the |our )?(?P<taken>{_N}) (?:(?:for|as) (?:the |our |all |every )?\w|(?:is|stays|"
    r"remains) (?:our|the) \w)"
)
_KEEPING_AWAY = (
    r"(?:\b(?:do not|don't|never|must not|mustn't|may not|should not|shouldn't|won't|will not|we "
    r"don't|we do not) (?:ever )?use|\bavoid(?: using)?|\bno longer allow) "
    rf"(?:the |any )?(?P<away>{_N}){_END}"
)
_COPULA = (
    r"^(?:the |our |my )?(?P<subject>[^,;:.?!]{3,60}?)(?: (?:is|are|must be|should be|will be)|\s?"
    r"[:=])(?: now| always| set to| still)? (?P<value>[^,;?!]{1,40}?)\.?$"
)
_REASON = (
    r"(?:,? because\b|,? since (?!(?:last|then|\d))|,? due to\b|,? as (?:it|they|we|this|that)\b|"
    r" so that\b| — because\b|; | to (?:avoid|reduce|save|prevent|ensure|keep|make|get)\b|"
    r", (?:which|it|they|and (?:we|it)) )"
)
# A leaving that is only thought of, told of others, partial, or said beside something that stays.
_UNSETTLED = (
    r"\?\s*$|\b(?:might|may(?! \d)|maybe|perhaps|could|would|should|considering|consider|proposed?|"
    r"propos(?:al|e)|plan(?:s|ned|ning)?|want(?:s|ed)? to|thinking|whether|probably|likely|need "
    r"to|have to|needs to|todo|eventually|some ?day|later|if|when|once|until|unless|next (?:week|"
    r"month|"
    r"quarter|year|sprint|release)|tomorrow|soon|for now|temporar\w*|experiment\w*|pilot|trial|"
    r"evaluat\w+|prototype|spike|(?:will|won't|going to|gonna) (?:move|migrate|switch|replace|drop|"
    r"retire|port|ditch))\b|'ll (?:move|migrate|switch|replace|drop|retire|port)\b"
)
_PARTIAL = (
    r"\b(?:but|except|apart from|keep(?:s|ing)?|kept|still|stays?|remains?|partly|partially|some|"
    r"half|most|many|few|several|both)\b"
)
_BESIDE = (
    r"\b(?:also|in addition|additionally|as well|besides|alongside|in parallel|on top of|next to|"
    r"plus|too)\b"
)
_OTHERS = (
    r"^(?:they|he|she|(?:the |our |a |one |another )?(?:customers?|clients?|vendors?|competitors?|"
    r"upstream|other teams?|article|docs?|documentation|blog|paper|book|community|maintainers?|"
    r"library|framework|example|tutorial|sample|google|netflix|github|uber)) "
)
_DENIED = r"(?:\bnot|n't|\bnever|\bwithout|\bagainst|\brejected|\bdeclined|\bavoid)(?: \w+){0,3} ?$"

_DENIED_CHOICE = r"(?:\bnever|\bnot|n't) \w+"

# Words of a sentence about a choice that do not say what it is for.
_CHOICE_WORDS = frozenset(
    """use using used uses choose chose chosen pick picked select selected adopt adopted go went
    decide decided decision settle settled standardize standardise standardized standardised stick
    stay rely prefer favor favour opt opted run runs running deploy deployed host hosted move moved
    moving switch switched switching migrate migrated migrating ported replace replaced
    replaces replacing swap swapped drop dropped ditch ditched retire retired abandon abandoned
    remove removed longer stop stopped anymore instead rather over back away transition
    transitioned convert converted revert reverted reverse reversed earlier previous default never
    always avoid agreed we team everywhere entirely completely altogether finally already store
    stored stores lives live backed powered built keep want now""".split()
)
# Where something holds without saying what it is for.
_GENERIC = frozenset(
    """repo repository project projects codebase code app application team here everywhere all
    every week month year quarter sprint today yesterday last""".split()
)
# What says only how a thing is had: "managed Postgres" is Postgres.
_QUALIFIERS = frozenset("managed plain hosted local vanilla self based the our a an all".split())
_VAGUE = WEAK | STOPWORDS | _CHOICE_WORDS | _GENERIC | frozenset(("managed", "plain", "vanilla"))
# A verb's stem may be a noun: "ported", but "the port".
_VAGUE_STEMS = frozenset(map(stem, WEAK | STOPWORDS | _GENERIC))
# Sentences about one of these set a single value.
_SLOT_NOUNS = frozenset(
    """port branch timeout limit region language timezone encoding license licence owner prefix
    version length width interval retention ttl format name directory folder path size indent
    indentation level locale currency theme schedule maximum minimum""".split()
)
_VALUE_BEFORE = frozenset("is are of at to for after every most least than within under".split())
_UNITS = frozenset(
    """ms s sec second seconds minute minutes min hour hours day days week weeks month months year
    years character characters columns lines spaces percent mb gb kb requests retries
    attempts""".split()
)
_ADDING = frozenset(
    "support supports allow allows accept accepts add adds include includes".split()
)
_DROPPED_IN_SLOTS = frozenset(
    "the a an our my now always we please just it s that currently still set".split()
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
    text = _plain(record.what)
    how, left, spans = _left(text)
    taken, taken_spans = _taken(text)
    taken = [one for one in taken if not any(one[0] & other for other in left)]
    away, away_spans = _found(_KEEPING_AWAY, "away", text) if how != WHOLLY else ([], [])
    away_keys = {key for one in away for key in one[0]}
    taken = [one for one in taken if not one[0] & away_keys]
    if not left and not away:
        left = [keys_of(name) for name in record.alternatives]
        how = COMPARED if left else ""
        spans += [found for name in record.alternatives for found in _places(text, name)]
    tail = text[max((end for _, end in [*taken_spans, *away_spans]), default=0) :]
    slot, value = _slot(text)
    return Reading(
        taken=tuple(one[0] for one in taken),
        away=tuple(one[0] for one in away),
        left=tuple(left),
        how=how,
        use=_use(text, [*spans, *taken_spans, *away_spans]),
        listed=bool(_pattern(r",| and | or | & ").search(tail)),
        named=frozenset(key_of(e.name) for e in extract(text)[0] if e.type in _KINDS),
        slot=slot,
        value=value,
        settled=is_settled(text)
        and not _pattern(_BESIDE).search(text)
        and not (left and _pattern(_PARTIAL).search(text)),
    )


def is_settled(text: str) -> bool:
    """Whether a sentence says what holds for us: not asked, supposed, planned, told of others."""
    return not _pattern(_UNSETTLED).search(text) and not _pattern(_OTHERS).match(text)


# A pattern is mostly what something is for ("for rate limiting").
_KINDS = ("technology", "tool")


def key_of(name: str) -> str:
    """The key under which all names of a known thing meet; a version stays behind it."""
    bare, _, last = name.rpartition(" ")
    if bare and last[:1].isdigit():
        return key_of(bare) + last
    key = name_key(name)
    known = TECHNOLOGIES.get(key) or PATTERNS.get(key)
    return name_key(known) if known else key


def keys_of(phrase: str, *, any_version: bool = False) -> frozenset[str]:
    """Keys of a name as somebody wrote it: whole, and the one known thing that it names.

    With `any_version` "MongoDB 6" is MongoDB, too: who leaves MongoDB leaves that.
    """
    parts = [word for word in phrase.split() if word.lower() not in _QUALIFIERS]
    if not parts or len(parts) > MAX_NAME_WORDS:
        return frozenset()
    bare = " ".join(parts).strip("\"'`*")
    keys = {key_of(bare)}
    if any_version and len(parts) > 1 and parts[-1][:1].isdigit():
        keys.add(key_of(" ".join(parts[:-1])))
    entities = extract(bare)[0]
    if len(entities) == 1:
        own = {stem(w) for w in words(entities[0].name)}
        if {stem(w) for w in words(bare)} - _QUALIFIERS <= own:
            keys.add(key_of(entities[0].name))
    return frozenset(keys)


def content_stems(text: str) -> frozenset[str]:
    """Stems of the words that say what a text is about."""
    return frozenset(
        stem(word)
        for word in words(text)
        if word not in _VAGUE and stem(word) not in _VAGUE_STEMS and len(word) > 1
    )


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


def _plain(text: str) -> str:
    """The statement itself: one line, without its reason and without signs of writing."""
    text = " ".join(text[:MAX_CHARS].replace("`", "").replace("*", "").replace("’", "'").split())
    reason = _pattern(_REASON).search(text, 8)
    return (text[: reason.start()] if reason else text).rstrip(" .!")


def _left(text: str) -> tuple[str, list[frozenset[str]], list[tuple[int, int]]]:
    """How far something is left behind, what, and where it is named; the surest form counts."""
    lowered = text.lower()
    for how, triggers, expression in _LEAVINGS:
        if not any(trigger in lowered for trigger in triggers):
            continue
        match = _pattern(expression).search(text)
        if not match:
            continue
        before = text[: match.start()]
        if how is not COMPARED and _pattern(_DENIED).search(before):
            continue
        if how is COMPARED and _pattern(_DENIED_CHOICE).search(before):
            continue
        span = match.span("left")
        left = [
            keys for keys in map(keys_of, re.split(r",? (?:and|or) |, ", match["left"])) if keys
        ]
        also = _pattern(r"\A(?: and|,) (?:the )?([\w.+#-]+)(?= (?:to|onto|with|by|for)\b|$)")
        more = also.search(text[span[1] :])
        if more:
            left.append(keys_of(more[1]))
        if left:
            since_now = how is COMPARED and _pattern(r"\bnow\b").search(text)
            return MOVED if since_now else how, left, [span]
    return "", [], []


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
    for match in _pattern(expression).finditer(text):
        if group == "taken" and _pattern(_DENIED).search(text[: match.start()]):
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


def _slot(text: str) -> tuple[tuple[str, ...], str]:
    """The subject and the value of a sentence that sets exactly one value."""
    return _number_slot(text) or _named_slot(text) or ((), "")


def _number_slot(text: str) -> tuple[tuple[str, ...], str] | None:
    tokens = re.findall(r"\d[\d._]*|[A-Za-z][\w-]*|[:=]", text.lower())
    tokens = ["is" if t in (":", "=", "are") else t for t in tokens if t not in _DROPPED_IN_SLOTS]
    tokens = [t for i, t in enumerate(tokens) if i == 0 or t != tokens[i - 1]]
    numbers = [i for i, t in enumerate(tokens) if t[0].isdigit()]
    if len(numbers) != 1 or set(tokens) & _ADDING or len(tokens) > 12:
        return None
    at = numbers[0]
    before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
    noun = any(t in _SLOT_NOUNS for t in tokens)
    if not (before in _VALUE_BEFORE and (after in _UNITS or (noun and not after))):
        return None
    if not [t for t in tokens if stem(t) not in _UNITS | _VALUE_BEFORE and not t[0].isdigit()]:
        return None
    template = tuple("#" if i == at else stem(t) for i, t in enumerate(tokens))
    return template, tokens[at]


def _named_slot(text: str) -> tuple[tuple[str, ...], str] | None:
    match = _pattern(_COPULA).match(text)
    if not match:
        return None
    subject, value = words(match["subject"]), match["value"].strip(" \"'")
    told = value.lower().split()
    if not told or len(told) > 3 or told[0] in ("not", "a", "an", "too", "very", "no", "that"):
        return None
    known = bool(extract(value)[0])
    slot = subject and subject[-1] in _SLOT_NOUNS
    if any(c.isdigit() for c in value) or not (known or slot):
        return None
    if not known and told[-1].endswith(("ed", "ing", "ly", "able", "en", "ic", "al")):
        return None
    if known and not slot and subject[0] not in ("default", "primary", "main", "only", "current"):
        return None
    stems = tuple(stem(w) for w in subject if w not in _DROPPED_IN_SLOTS)
    return (stems, key_of(value)) if stems else None
