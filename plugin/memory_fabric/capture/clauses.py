"""Parsing of a sentence: its clause, reason, rejected alternatives, denials and subject."""

import re
from typing import NamedTuple

from memory_fabric.language import negations
from memory_fabric.language.concepts import WEAK
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES
from memory_fabric.language.word_lists import either, phrases
from memory_fabric.language.word_lists import words as listed
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, name_key, stem, words

# Words that cannot be part of a name, for example verbs, pronouns, numerals and adverbs.
NO_NAME = STOPWORDS | listed("clauses", "no name")
# Pronouns with which no name begins, such as "eso" in "en vez de eso usa pnpm".
_PRONOUNS = frozenset(
    "me dessen das dem eso esto aquello ello ça cela ceci isso isto disso".split()
)
_NAMELESS = NO_NAME - {"go"}
# Opening words, such as "OK, so", that are not part of the statement.
_LEAD_IN = rf"(?:(?:{either('clauses', 'lead in, expressions')})(?:[\s,.!:…—-]+|$)){{1,5}}"
# First words of opening phrases. A sentence without any of them is not matched with `_LEAD_IN`.
_LEAD_WORDS = listed("clauses", "lead in")
# Expressions that end a clause.
_RIGHT = (
    r",? because$|; | — | – | - (?=[a-z])|, but |,? so (?=(?:we|i|it|that|the|this|let's|you|"
    r"they)\b)|, which |\.\.\.|…|, and (?=(?:we|i|it|the|that|this|let's|you|they)\b)|"
    r", (?=(?:ensuring|making|giving|allowing|meaning|where|located|named|called|defined)\b)"
)
_REASON = rf",? (?:{either('clauses', 'reason')})|{either('clauses', 'reason, anywhere')}"
# Words after which "to" does not introduce a purpose, as in "we decided to keep it".
_TAKES_TO = listed("clauses", "takes to")
_REASON_FIRST = (
    r"^(?:because|since|given(?: that)?|as|due to|weil|da|como|puesto que|puisque|comme|já que|"
    r"因为|由于)\s?(?P<why>[^,，]{6,200})[,，]\s?(?P<rest>\S.*)"
)
_NEXT_REASON = rf"^(?:{either('clauses', 'next reason')})\b,?\s*"
_MENDED = r"\b(?:fix(?:ed|es)|solv(?:ed|es)|resolv(?:ed|es)|cured|helped|did the trick)\b"
_KEPT_REASON_WORDS = ("this ", "it ", "they ", "that ", "these ", "we ")
_OVER = (
    r"(?:\binstead of|\brather than|\bas opposed to|\ban ?statt|\bstatt(?! ?dessen)|"
    r"\ben lugar de|\ben vez de|\bau lieu de|\bplutôt que|\bem vez de|而不是)\s?(?P<over>.{1,120})"
)
_OVER_CHOICE = (
    r"\b(?:cho(?:se|sen|ose)|prefer(?:s|red)?|favou?r(?:s|ed)?|picked|selected|go(?:ing)? with|"
    r"went with|use[ds]?|using|opted for|take|adopt(?:ed)?|settled on|it's)\b"
    # Skip "never" in a reason ("because it never …") and "do not": they reject no alternative.
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
# "Avoid X" rejects an alternative only if the sentence also says what to use instead.
_REJECTED_FOR = (
    r"(?<!to )\b(?:avoid|don't use|do not use|never use|won't use|will not use|"
    r"stop using)(?: using)? (?P<over>.{2,80}?)(?=[,;.:—](?: and| but)? use |.{0,80}\binstead\b)"
)
# Expressions that reject an alternative. Each is tried only if one of its words is in the text.
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
# `_SENTENCES` matches ends of sentences; `_SO` a reason at the start: "it times out, so we retry".
_SENTENCES = r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])|\n+"
_SO = r"^(?P<why>.{12,200}?),? so (?=(?:we|let's|i|use|always|never)\b)"
MAX_ALTERNATIVES = 4
_ARTICLES = r"^(?:the|a|an|our|having|using|just|de|le|la|el|die|der|das) "
# Denying clauses (`_DENIED`) yield no relation, abandoning ones (`_LEAVING`) only `replaces` and
# `chose_over`. A needless expression here loses relations; a missing one creates false ones.
# `_COMPARED` are no denials: "use X, not Y" compares, "No, we use X" denies an earlier statement.
_COMPARED = (
    r", (?:and |but )?(?:not|nicht|pas|não) (?!to\b|us(?:e|ing)\b)(?:the |a |an )?"
    r"[`\w.+#@/-]+(?: [`\w.+#@/-]+)?(?=\s*$|[,;.!](?:\s|$)| for\b| in\b)|而不是|"
    r"^\W*(?:no|nope|nah|nein|non|não|不|不对|いいえ|아니\w*)[,，、!.]\s"
)
_DENIED = rf"\b(?:{'|'.join(negations.ALL)})\b|{phrases('clauses', 'denying')}"
_LEAVING = phrases("clauses", "leaving")
_BORDERS = r"[;\n!?。！？]|\.(?:\s|$)|\b(?:because|since|weil|denn|porque|parce que|puisque)\b|因为"
# Words that never name a subject: places and times ("repo", "today"), words for choices ("use").
_GENERIC = listed("subject", "of a place")
_VAGUE = WEAK | STOPWORDS | listed("subject", "of a choice") | _GENERIC
# Stems of `_VAGUE` without words for choices: "ported" has the same stem as the noun "port".
_VAGUE_STEMS = frozenset(map(stem, WEAK | STOPWORDS | _GENERIC))


class Parts(NamedTuple):
    """The parts of a sentence to store: the statement, its reason, the rejected alternatives."""

    what: str
    why: str = ""
    over: tuple[str, ...] = ()


def without_lead_in(sentence: str) -> str:
    """Return the sentence without opening phrases such as "OK, so" and "Yes,"."""
    if sentence.partition(" ")[0].strip(".,!:;…—-").lower() not in _LEAD_WORDS:
        return sentence
    match = pattern(_LEAD_IN).match(sentence)
    sentence_proper = sentence[match.end() :] if match else sentence
    return sentence_proper if len(sentence_proper) >= 8 else sentence


def parts_of(sentence: str, end: int) -> Parts:
    """Split a sentence into clause, reason and rejected alternatives. The clause ends before the
    reason, or before the first border such as ", but" from the character index `end` on.
    """
    sentence, why = sentence.rstrip(" .。!"), ""
    border = pattern(_RIGHT).search(sentence, min(max(end, 8), len(sentence)))
    right = border.start() if border else len(sentence)
    reason = _reason_marker(sentence, 6)
    # A "because" after "unless" gives the reason for the exception, not for the rule.
    if reason and " unless " not in sentence[: reason.start()]:
        right, why = min(right, reason.start()), _reason(sentence, reason)
    clause = _trimmed(sentence[:right])
    return Parts(clause, why, tuple(name for name in over_in(sentence) if name != clause))


def reason_and_alternatives(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the reason that a text gives and the alternatives that it rejects."""
    why = ""
    over: dict[str, None] = {}
    sentences = [part for part in pattern(_SENTENCES).split(text.strip()) if part]
    for number, sentence in enumerate(sentences):
        why = why or _reason_of(sentence, is_first=number == 0)
        over |= dict.fromkeys(over_in(sentence.rstrip(" .。!")))
    return why, tuple(over)[:MAX_ALTERNATIVES]


def without_reason(text: str) -> str:
    """Return a text without the reasons given in its sentences."""
    clauses = []
    for sentence in pattern(_SENTENCES).split(text.strip()):
        first = pattern(_REASON_FIRST).match(sentence)
        sentence = first.group("rest") if first else sentence
        marker = _reason_marker(sentence, 6)
        clauses.append(sentence[: marker.start()] if marker else sentence)
    return " ".join(clauses)


def _reason_of(sentence: str, *, is_first: bool) -> str:
    if following := None if is_first else pattern(_NEXT_REASON).match(sentence):
        is_whole = sentence.lower().startswith(_KEPT_REASON_WORDS)
        if reason := _trimmed(sentence if is_whole else sentence[following.end() :]):
            return reason
    sentence = sentence.rstrip(" .。!")
    if first := pattern(_REASON_FIRST).match(sentence):
        return first.group("why").strip()
    marker = _reason_marker(sentence, 6)
    if marker and " unless " not in sentence[: marker.start()]:
        return _reason(sentence, marker)
    so = pattern(_SO).match(sentence)
    return _trimmed(without_lead_in(so.group("why"))) if so else ""


def _reason_marker(sentence: str, start: int) -> re.Match[str] | None:
    """Return the first "because" etc. from `start` on; skip "to" as in "decided to keep"."""
    for match in pattern(_REASON).finditer(sentence, start):
        before = sentence[: match.start()].rstrip(" ,").rpartition(" ")[2].lower()
        if match.group().strip(" ,").lower() != "to" or before not in _TAKES_TO:
            return match
    return None


def _reason(sentence: str, marker: re.Match[str]) -> str:
    """Return the reason after a marker such as "because"; a purpose keeps its marker "to"."""
    word = marker.group().strip(" ,").lower()
    start = marker.start() + marker.group().find("to") if word == "to" else marker.end()
    tail = sentence[start:]
    stop = pattern(r"; | — |, (?:but|and) (?:we|i|let's)\b|, so \w").search(tail)
    if stop and pattern(_MENDED).search(tail, stop.end()):
        return _trimmed(tail)  # keep a second clause such as ", but we raised it, which helped"
    return _trimmed(tail[: stop.start()] if stop else tail)


def over_in(clause: str) -> tuple[str, ...]:
    """Return the alternatives that a clause rejects, without articles and duplicates."""
    names: list[str] = []
    folded = clause.lower()
    for expression, signs in _OVER_FORMS:
        match = any(s in folded for s in signs) and pattern(expression).search(clause)
        text = next(filter(None, match.groups())) if match else ""
        end = pattern(_OVER_END).search(text)
        text = text[: end.start()] if end else text
        for name in pattern(r",? (?:or|and|oder|ou|y|e) |, ").split(text):
            name = _trimmed(pattern(_ARTICLES).sub("", name))
            parts = name.split()
            refers = parts and parts[0].lower() in _PRONOUNS
            if len(name) > 1 and len(parts) <= 8 and not refers and not _NAMELESS.issuperset(parts):
                names.append(name)
    return tuple(dict.fromkeys(names))[:MAX_ALTERNATIVES]


def _trimmed(text: str) -> str:
    text = text.strip(" \t.,;:。，；—–-")
    if text[:1] in "([" and text.count("(") + text.count("[") > text.count(")") + text.count("]"):
        text = text[1:]
    if text[-1:] in ")]" and text.count(")") + text.count("]") > text.count("(") + text.count("["):
        text = text[:-1]
    return text.strip(" .,;:") if text.count('"') != 1 else text.replace('"', "").strip(" .,;:")


def is_denied(clause: str) -> bool:
    """Return True if the clause denies or forbids something."""
    return bool(pattern(_DENIED).search(pattern(_COMPARED).sub(" ", clause)))


def is_left(clause: str) -> bool:
    """Return True if the clause says that something is rejected or no longer used."""
    return bool(pattern(_LEAVING).search(clause))


def clause_around(text: str, start: int, end: int) -> str:
    """Return the clause around `text[start:end]`, reading at most 400 characters on each side."""
    before = text[max(0, start - 400) : start]
    after = text[end : end + 400]
    borders = [match.end() for match in pattern(_BORDERS).finditer(before)]
    right = pattern(_BORDERS).search(after)
    after = after[: right.start()] if right else after
    return before[borders[-1] if borders else 0 :] + text[start:end] + after


def key_of(name: str) -> str:
    """Return a key that all names of a technology share: "postgresql16" for "Postgres 16"."""
    bare, _, last = name.rpartition(" ")
    if bare and last[:1].isdigit():
        return key_of(bare) + last
    key = name_key(name)
    our_name = TECHNOLOGIES.get(key) or PATTERNS.get(key)
    return name_key(our_name) if our_name else key


def subject(text: str) -> list[str]:
    """Return the stems of the words of a text's subject, in order and without duplicates."""
    keys = (key_of(word) for word in words(text) if word not in _VAGUE)
    stems = [stem(word) for key in keys for word in words(key)]
    return [one for one in dict.fromkeys(stems) if one not in _VAGUE_STEMS]
