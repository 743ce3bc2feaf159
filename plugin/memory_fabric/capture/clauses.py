"""The parts of a sentence that a record keeps: the clause, its reason, what it was chosen over."""

from __future__ import annotations

import re
from typing import NamedTuple

from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS

# Words that are no part of a name: they refer, count, describe how or when, or are verbs.
NO_NAME = STOPWORDS | frozenset(
    """everything something anything nothing everyone someone anyone nobody people one ones two
    three us now example instance free good ever today tomorrow yesterday time times while day days
    week weeks month months year years reason reasons sure use using used uses run runs must should
    could would will may might need needs new old first last next many few several much more most
    less least other another such same different also already still currently always never often
    usually really very too so quite later lot lots kind sort way ways thing things stuff what which
    whatever whoever how well better best making doing getting being having found given is are was
    were be been depends requires""".split()
)
# Pronouns that no name begins with: "en vez de eso usa pnpm".
_PRONOUNS = frozenset(
    "me dessen das dem eso esto aquello ello ça cela ceci isso isto disso".split()
)
_NAMELESS = NO_NAME - {"go"}
# What opens a sentence without belonging to it.
_LEAD_IN = (
    r"(?:(?:ok(?:ay)?|yes|yep|yup|yeah|nope|no(?=[,!])|right|sure|so|and|but|also|well|agreed?|good|great|"
    r"perfect|cool|hmm+|mmk|alright|actually|lastly|finally|fine|thanks|oh|uh+|note(?: that)?|"
    r"never mind|i changed my mind|fyi|please|btw|for the record|to be clear|in general|generally|"
    r"instead(?! of\b)|therefore|thus|additionally|however|of course|nah)(?:[\s,.!:…—-]+|$)){1,5}"
)
# The first words of all of these: most sentences have none, and compile nothing.
_LEAD_WORDS = frozenset(
    """ok okay yes yep yup yeah nope no right sure so and but also well agree agreed good great
    perfect cool hm hmm hmmm mmk alright actually lastly finally fine thanks oh uh uhh uhhh note
    never i fyi please btw for to in generally instead therefore thus additionally however of
    nah""".split()
)
# Where one clause ends and another begins, to the left of what was found and to its right.
# The colon in the mark of a removed secret introduces nothing.
_LEFT = (
    r"; | — | – |, but |,? so (?!that\b)|, and (?=(?:we|i|the|let's|use)\b)|(?<!\[redacted): |"
    r"… ?|\.\.\. ?|\) "
)
_RIGHT = (
    r",? because$|; | — | – | - (?=[a-z])|, but |,? so (?=(?:we|i|it|that|the|this|let's|you|"
    r"they)\b)|, which |\.\.\.|…|, and (?=(?:we|i|it|the|that|this|let's|you|they)\b)|"
    r", (?=(?:ensuring|making|giving|allowing|meaning|where|located|named|called|defined)\b)"
)
_REASON = (
    r",? (?:(?:because(?! of)|since(?! (?:then|last|v?\d|yesterday|the (?:last|beginning|start)))|"
    r"cause|'cause|given that|so that|in order to|due to|because of|otherwise|weil|damit|denn|"
    r"porque|ya que|para que|puesto que|parce que|car|afin (?:de|que)|puisque|pois|já que)\s+|"
    r"as (?=(?:it|this|that|they|we|there)\b)|so (?=(?:we|it|they|users?|nothing|no one) (?:can|"
    r"could|don't|doesn't|won't|never|stay|keep|always)\b)|to (?=(?:avoid|prevent|keep|reduce|"
    r"ensure|make|improve|simplify|minimi[sz]e|allow|guarantee|save|protect|shrink|stop)\b)|"
    r"da (?=(?:wir|es|das|die|der|sie)\b)|para (?=(?:evitar|que|não)\b))|"
    r"[，,]?\s?(?:因为|以避免|以便|"
    r"，由于)|때문에 |왜냐하면 |なぜなら"
)
_TAKES_TO = frozenset(
    """decided want wants wanted going agreed chose chosen prefer prefers like likes need needs
    opted committed ought have has try plan planned able allowed required hate ready is are was were
    not you me us them him her everyone continue started how meant supposed free easy
    hard""".split()
)
_REASON_FIRST = (
    r"^(?:because|since|given(?: that)?|as|due to|weil|da|como|puesto que|puisque|comme|já que|"
    r"因为|"
    r"由于)\s?(?P<why>[^,，]{6,200})[,，]\s?(?P<rest>\S.*)"
)
_NEXT_REASON = (
    r"^(?:because|cause|since|otherwise|that way|this way|the (?:main |only )?reason(?: is| being|"
    r":)|reason(?:ing|s)?:|rationale:|why:|(?:this|it|they|that|these)(?: also| just| only|"
    r" really)? (?:gives?|makes?|keeps?|avoids?|prevents?|allows?|lets?|means|ensures?|breaks?|"
    r"causes?|saves?|reduces?|simplifies|provides?|defeats?|hides?|leaks?|fails?|gets?|ends? up|"
    r"doesn't|isn't|aren't|don't)|that's because|it's because|we need|we had|weil|denn|porque|"
    r"parce que|因为)\b,?\s*"
)
_MENDED = r"\b(?:fix(?:ed|es)|solv(?:ed|es)|resolv(?:ed|es)|cured|helped|did the trick)\b"
_KEPT_REASON_WORDS = ("this ", "it ", "they ", "that ", "these ", "we ")
_OVER = (
    r"(?:\binstead of|\brather than|\bas opposed to|\ban ?statt|\bstatt(?! ?dessen)|"
    r"\ben lugar de|\ben vez de|\bau lieu de|\bplutôt que|\bem vez de|而不是)\s?(?P<over>.{1,120})"
)
_OVER_CHOICE = (
    r"\b(?:cho(?:se|sen|ose)|prefer(?:s|red)?|favou?r(?:s|ed)?|picked|selected|go(?:ing)? with|"
    r"went with|use[ds]?|using|opted for|take|adopt(?:ed)?|settled on|it's)\b"
    # A "never" in the reason rejects nothing, nor does the "not" of "do not".
    r"(?:(?!\b(?:because|since|so that|as it|weil|denn|porque|parce)\b).){1,80}?(?: over|"
    r"(?<! do)(?<! does)(?<! is)(?<! are)(?<! was)(?<! will)(?<! must)(?<! should)(?<! can)"
    r"(?<! may)(?<! it)(?<! we)(?<! they) (?:not|never)) (?P<over>.{1,100})"
)
_FROM_TO = (
    r"\b(?:mov|switch|migrat|chang|convert|port|transition|upgrad|go(?:ing|es)? |went|away|off)\w*"
    r"(?: \S+){0,4}? (?:from|off(?: of)?) (?P<over>(?:\S+ ){1,6}?)(?:on)?to (?=\S)"
)
_REPLACED = r"\breplac(?:e|ed|ing) (?P<over>(?:\S+ ){1,6}?)(?:with|by) (?=\S)"
_REJECTED = (
    r"\b(?:rejected|ruled out|decided against|no longer use|stopped using)(?: using)? "
    r"(?P<over>.{2,80})|\b(?:don't|do not) use (?P<gone>.{2,80}?) any ?(?:more|longer)\b|"
    r"\b(?:dropped|ditched|retired|abandoned|removed) (?P<dropped>.{2,60}?) in favou?r of\b"
)
# "Avoid X" names an alternative only where the sentence also says what to take.
_REJECTED_FOR = (
    r"(?<!to )\b(?:avoid|don't use|do not use|never use|won't use|will not use|"
    r"stop using)(?: using)? (?P<over>.{2,80}?)(?=[,;.:—](?: and| but)? use |.{0,80}\binstead\b)"
)
# Each way of rejecting, and words of which one stands in all that it matches.
_OVER_FORMS = (
    (_OVER, ("instead", "rather", "opposed", "statt", "lugar", "vez", "lieu", "plutôt", "而不是")),
    (_OVER_CHOICE, (" over ", " not ", " never ")),
    (_FROM_TO, ("from", "off")),
    (_REPLACED, ("replac",)),
    (_REJECTED, ("reject", "ruled", "against", "longer", "stopped", "more", "favo")),
    (_REJECTED_FOR, ("avoid", "use ", "using")),
)
_OVER_END = (
    r"[,;:()。，；]|\.(?:\s|$)| — | – | - | (?:because|since|as|so|we|to avoid|to keep|to prevent|"
    r"for|in|when|where|if|on|at|which|that|due|unless|with|weil|porque|pour|para|parce|car)\b|因为|$"
)


# Sentences of a text, and a reason before its consequence: "offsets time out, so we use cursors".
_SENTENCES = r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])|\n+"
_SO = r"^(?P<why>.{12,200}?),? so (?=(?:we|let's|i|use|always|never)\b)"
MAX_ALTERNATIVES = 4


class Parts(NamedTuple):
    """The parts of a sentence that a record keeps."""

    what: str
    why: str = ""
    over: tuple[str, ...] = ()


def without_lead_in(sentence: str) -> str:
    """The sentence without "OK, so", "Yes," and their kin at its beginning."""
    if sentence.partition(" ")[0].strip(".,!:;…—-").lower() not in _LEAD_WORDS:
        return sentence
    match = pattern(_LEAD_IN).match(sentence)
    rest = sentence[match.end() :] if match else sentence
    return rest if len(rest) >= 8 else sentence


def parts_at(sentence: str, start: int, end: int, *, whole: bool) -> Parts:
    """The clause around `start:end` of the sentence, its reason and its rejected alternatives.

    With `whole` the clause begins at `start`; else it reaches back to where the clause begins.
    """
    sentence, why = sentence.rstrip(" .。!"), ""
    first = pattern(_REASON_FIRST).match(sentence)
    if first and first.start("rest") <= start:
        left, why = first.start("rest"), first.group("why").strip()
    else:
        left = start if whole else _left(sentence, start)
    right = _right(sentence, max(end, left + 8))
    reason = _reason_marker(sentence, max(left + 6, start))
    # A "because" after "unless" gives the reason of the exception, not of the rule.
    if reason and " unless " not in sentence[left : reason.start()]:
        right = min(right, reason.start())
        why = why or _reason(sentence, reason)
    if not why and not whole:
        why = _consequence(sentence, left)
    what = _trimmed(sentence[left:right])
    over = over_in(sentence[left:]) or (over_in(sentence) if whole else ())
    return Parts(what, why, tuple(name for name in over if name != what))


def reason_and_alternatives(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the reason that a text gives for what it states, and what it rejects."""
    why = ""
    over: dict[str, None] = {}
    sentences = [part for part in pattern(_SENTENCES).split(text.strip()) if part]
    for number, sentence in enumerate(sentences):
        if number == 0 or not why:
            why = why or _reason_of(sentence, is_first=number == 0)
        over |= dict.fromkeys(over_in(sentence.rstrip(" .。!")))
    return why, tuple(over)[:MAX_ALTERNATIVES]


def without_reason(text: str) -> str:
    """Return a text without the reasons in its sentences."""
    kept = []
    for sentence in pattern(_SENTENCES).split(text.strip()):
        first = pattern(_REASON_FIRST).match(sentence)
        sentence = first.group("rest") if first else sentence
        marker = _reason_marker(sentence, 6)
        kept.append(sentence[: marker.start()] if marker else sentence)
    return " ".join(kept)


def _reason_of(sentence: str, *, is_first: bool) -> str:
    if not is_first:
        found = _reason_of_next(sentence)
        if found:
            return found
    sentence = sentence.rstrip(" .。!")
    first = pattern(_REASON_FIRST).match(sentence)
    if first:
        return first.group("why").strip()
    marker = _reason_marker(sentence, 6)
    if marker and " unless " not in sentence[: marker.start()]:
        return _reason(sentence, marker)
    so = pattern(_SO).match(sentence)
    return _trimmed(without_lead_in(so.group("why"))) if so else ""


def _left(sentence: str, start: int) -> int:
    left = 0
    for match in pattern(_LEFT).finditer(sentence, 0, start + 1):
        if match.end() <= start:
            left = match.end()
    return left


def _right(sentence: str, end: int) -> int:
    match = pattern(_RIGHT).search(sentence, min(end, len(sentence)))
    return match.start() if match else len(sentence)


def _reason_marker(sentence: str, start: int) -> re.Match[str] | None:
    """The first marker of a reason; the "to" of "decided to keep" opens no purpose."""
    for match in pattern(_REASON).finditer(sentence, start):
        before = sentence[: match.start()].rstrip(" ,").rpartition(" ")[2].lower()
        if match.group().strip(" ,").lower() != "to" or before not in _TAKES_TO:
            return match
    return None


def _reason(sentence: str, marker: re.Match[str]) -> str:
    """Return what follows the marker; a purpose keeps its "to", since it cannot stand without."""
    word = marker.group().strip(" ,").lower()
    start = marker.start() + marker.group().find("to") if word == "to" else marker.end()
    tail = sentence[start:]
    stop = pattern(r"; | — |, (?:but|and) (?:we|i|let's)\b|, so \w").search(tail)
    if stop and pattern(_MENDED).search(tail, stop.end()):
        return _trimmed(tail)  # what helped belongs to the reason
    return _trimmed(tail[: stop.start()] if stop else tail)


def _consequence(sentence: str, left: int) -> str:
    """`X, so let's use Y`: what stands before the "so" is the reason."""
    head = sentence[:left].rstrip().lower()
    if not head.endswith((" so", ",so")) or len(head) < 15:
        return ""
    before = without_lead_in(sentence[: len(head) - 2].rstrip(" ,"))
    return _trimmed(before) if len(before.split()) >= 3 else ""


def _reason_of_next(sentence: str) -> str:
    """The reason, where the sentence after a decision gives one, else empty."""
    match = pattern(_NEXT_REASON).match(sentence)
    if not match:
        return ""
    keeps = sentence.lower().startswith(_KEPT_REASON_WORDS)
    return _trimmed(sentence if keeps else sentence[match.end() :])


def over_in(clause: str) -> tuple[str, ...]:
    """The rejected alternatives that a clause names, shortest form, each once."""
    found: list[str] = []
    folded = clause.lower()
    for expression, words in _OVER_FORMS:
        if not any(word in folded for word in words):
            continue
        match = pattern(expression).search(clause)
        if match:
            found += _names(next(filter(None, match.groups())))
    return tuple(dict.fromkeys(found))[:4]


def _names(text: str) -> list[str]:
    end = pattern(_OVER_END).search(text)
    text = text[: end.start()] if end else text
    names = []
    for name in pattern(r",? (?:or|and|oder|ou|y|e) |, ").split(text):
        name = pattern(r"^(?:the|a|an|our|having|using|just|de|le|la|el|die|der|das) ").sub(
            "", name
        )
        name = _trimmed(name)
        parts = name.split()
        refers = parts and parts[0].lower() in _PRONOUNS
        if len(name) > 1 and len(parts) <= 8 and not refers and not _NAMELESS.issuperset(parts):
            names.append(name)
    return names


def _trimmed(text: str) -> str:
    """The text without blanks, stops and unpaired signs at its ends."""
    text = text.strip(" \t.,;:。，；—–-")
    if text[:1] in "([" and text.count("(") + text.count("[") > text.count(")") + text.count("]"):
        text = text[1:]
    if text[-1:] in ")]" and text.count(")") + text.count("]") > text.count("(") + text.count("["):
        text = text[:-1]
    return text.strip(" .,;:") if text.count('"') != 1 else text.replace('"', "").strip(" .,;:")
