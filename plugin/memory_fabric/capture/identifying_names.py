"""Removal of names of people, companies and places from statements for all projects.

Certain names are replaced by a neutral word. A capitalised word of unknown kind makes the statement
refused, with that word in the message: replacing it would turn "Run Zephyr first" into nonsense in
every project; keeping it could name a customer. In backticks a word is a technical term. In scripts
without capitals nothing is found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.errors import BadInput
from memory_fabric.language.ordinary_words import WORDS
from memory_fabric.language.proper_names import (
    AMBIGUOUS,
    COMPANY_CUES,
    GIVEN,
    LONG_PLACES,
    PERSON_CUES,
    PLACES,
    SAYING,
    SUFFIXES,
)
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES
from memory_fabric.models import Record
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers.anonymise import COMMON_USERS, IDENTIFYING_TYPES, anonymised
from memory_fabric.text import name_key

SOMEONE, COMPANY, PLACE = "someone", "a company", "a place"
# A token is a term in backticks, a word with what joins its parts, or a sign.
_TOKEN = re.compile(r"`[^`\n]{0,200}`|\w(?:[\w'’&+#/.@-]{0,60}[\w+#])?|\S")
_STARTS = frozenset(".!?:;*•>|#\"“”‘'«»([{—–-→")
_ACRONYM = re.compile(r"[A-Z0-9&/+.#-]{1,12}s?")
_NAMED = frozenset(
    """pattern patterns principle principles law laws rule theorem algorithm notation
    architecture""".split()
)
_PARTICLES = frozenset("van von de der den da di la le bin al".split())
# Vendors, calendars and languages, which may be named.
_COMMON = frozenset(
    """amazon android anthropic apache apple azure chrome cloud edge excel facebook firefox
    google hetzner intel linux mac meta microsoft mozilla nvidia openai oracle safari unicode
    unix windows monday tuesday wednesday thursday friday saturday sunday january february
    march april june july august september october november december english german french
    spanish italian chinese japanese korean arabic latin greek cyrillic roman boolean bayesian
    gaussian euclidean cartesian fibonacci pareto dockerfile makefile jenkinsfile internet
    christmas bash posix agile scrum kanban lambda""".split()
)
_GERMAN = frozenset("der die das und ist nicht ein eine für mit immer den dem von zu auf".split())

_ENGLISH = frozenset(
    "the a an to is are and or for of in on with not never always use about we by before".split()
)
_ENDINGS = (
    ("s", ""),
    ("es", ""),
    ("ies", "y"),
    ("ed", "e"),
    ("ied", "y"),
    ("d", ""),
    ("ing", "e"),
    ("er", "e"),
    ("ers", "e"),
    ("ation", "e"),
    ("ness", ""),
    ("ment", ""),
    ("able", "e"),
    ("ion", "e"),
    ("n't", ""),
    ("'t", ""),
    ("'re", ""),
)
# "our a place office" becomes "our place office".
_DOUBLED = re.compile(
    r"\b(the|an?|our|my|your|their|this|that|every|each|customer|client|jump) "
    r"an? (place|host|company)\b",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """A word or sign of a text, from `at` to `end`, and a flag if a sentence may begin with it."""

    text: str
    at: int
    end: int
    begins: bool = False


def for_everybody(record: Record, memory: Memory) -> Record:
    """Return the record without names of people, companies and places, and anonymised.

    Raises BadInput for words that may or may not be such a name.
    """
    record = anonymised(record, memory)
    unsure: list[str] = []

    def clean(text: str) -> str:
        cleaned, words = without_names(text)
        unsure.extend(words)
        return cleaned

    def is_harmless(name: str) -> bool:
        return without_names(f"about {name}") == (f"about {name}", [])

    record = record._replace(
        what=clean(record.what),
        why=clean(record.why),
        alternatives=tuple(clean(a) for a in record.alternatives),
        constraints=tuple(clean(c) for c in record.constraints),
        tradeoffs=tuple(clean(t) for t in record.tradeoffs),
        category=clean(record.category),
        entities=tuple(
            e for e in record.entities if e.type not in IDENTIFYING_TYPES and is_harmless(e.name)
        ),
    )
    if unsure:
        named = ", ".join(dict.fromkeys(unsure))
        raise BadInput(
            "text",
            f"What is global is shown in every project, and this may name somebody: {named}.",
            remedy="Leave it out, or write a term of the trade in backticks: "
            f"`{unsure[0]}`. In any other scope it may stay.",
        )
    kept = {e.name for e in record.entities}
    relations = tuple(r for r in record.relations if r.source in kept and r.target in kept)
    return record._replace(relations=relations)


def without_names(text: str) -> tuple[str, list[str]]:
    """Return the text with neutral words for certain names, and the words that may be names.

    In German, whose nouns have capitals, no word is uncertain; in other languages than English only
    those within a sentence.
    """
    tokens = _tokens(text)
    said = {t.text.lower() for t in tokens}
    plain = [t.text for t in tokens if t.text.isalpha() and t.text.islower()]
    is_german = len(said & _GERMAN) >= 2
    is_foreign = len(plain) > 1 and sum(map(_is_ordinary, plain)) <= len(plain) / 2
    is_english = bool(said & _ENGLISH) or not is_foreign
    pieces: list[str] = []
    unsure: list[str] = []
    done = at = 0
    while at < len(tokens):
        end = _run_end(text, tokens, at)
        if end == at:
            if _is_account(tokens, at):
                pieces += [text[done : tokens[at].at], SOMEONE]
                done = tokens[at].end
            at += 1
            continue
        run, after = tokens[at:end], tokens[end].text.lower() if end < len(tokens) else ""
        spans = _names(run, _cue(tokens, at), after)
        for first, last, instead in spans:
            pieces += [text[done : run[first].at], instead, _ending(run[last].text)]
            done = run[last].end
        named = {i for first, last, _ in spans for i in range(first, last + 1)}
        if not is_german:
            unsure += _unsure(run, named, after, is_english)
        at = end
    return _DOUBLED.sub(r"\1 \2", "".join(pieces) + text[done:]), unsure


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    before = "."
    end = 0
    for match in _TOKEN.finditer(text):
        begins = before in _STARTS or "\n" in text[end : match.start()] or before.endswith(".")
        found.append(Token(match.group(), match.start(), match.end(), begins))
        before, end = match.group(), match.end()
    return found


def _run_end(text: str, tokens: Sequence[Token], at: int) -> int:
    """Return the end of the run of capitalised words that begins here."""
    end = at
    while end < len(tokens) and (end == at or not tokens[end].begins):
        word = tokens[end].text
        is_inner = word in _PARTICLES or word == "&"
        after = tokens[end + 1].text if end + 1 < len(tokens) else ""
        if not (word[:1].isupper() or (end > at and is_inner and after[:1].isupper())):
            break
        if end > at and text[tokens[end - 1].end : tokens[end].at].strip(" "):
            break
        end += 1
    return end


def _cue(tokens: Sequence[Token], at: int) -> str:
    """Return the word before a name, "dr" for "Dr." too."""
    if at > 1 and tokens[at - 1].text == ".":
        return tokens[at - 2].text.lower()
    return tokens[at - 1].text.lower() if at else ""


def _is_account(tokens: Sequence[Token], at: int) -> bool:
    """Return True for the lower-case name of an account: "user rkapoor"."""
    word = tokens[at].text
    return (
        _cue(tokens, at) in ("user", "username")
        and word.isalpha()
        and word not in COMMON_USERS
        and not (_is_ordinary(word) or _is_known(word))
    )


def _names(run: Sequence[Token], cue: str, after: str) -> list[tuple[int, int, str]]:
    """Return the certain names in these words: first, last, and the replacement."""
    words = [_plain(token.text) for token in run]
    last = len(words) - 1
    skips = int(run[0].begins and last > 1 and _is_ordinary(words[0]))
    for i in range(last, 0, -1):
        if words[i].rstrip(".") in SUFFIXES and not all(map(_is_known, words[skips:i])):
            return [(skips, i, COMPANY)]
    if not _is_known(words[0]):
        if cue in COMPANY_CUES:
            return [(0, last, COMPANY)]
        if cue in PERSON_CUES and (not _is_ordinary(words[0]) or words[0].lower() in AMBIGUOUS):
            return [(0, last, SOMEONE)]
    if last and words[0].lower().rstrip(".") in PERSON_CUES and not _is_known(words[1]):
        return [(1, last, SOMEONE)]  # "Dr Okafor", "Ask Bob"
    found = _people(words) or _places(words)
    if not found and after in SAYING and not any(map(_is_placed, words)):
        return [(0, last, SOMEONE)]
    return found


def _people(words: Sequence[str]) -> list[tuple[int, int, str]]:
    for i, word in enumerate(words):
        given, end = word.split("-")[0].lower(), i
        while end + 1 < len(words) and not _is_known(words[end + 1]):
            end += 1
        follows = end > i
        if given in GIVEN and (follows or not _is_known(word)):
            return [(i, end, SOMEONE)]
        if given in AMBIGUOUS and follows and not _is_ordinary(words[i + 1]):
            return [(i, end, SOMEONE)]
    return []


def _places(words: Sequence[str]) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    for i, word in enumerate(words):
        if any(first <= i <= last for first, last, _ in found):
            continue
        pair = f"{word} {words[i + 1]}".lower() if i + 1 < len(words) else ""
        if pair in LONG_PLACES:
            found.append((i, i + 1, PLACE))
        elif word.lower() in PLACES and name_key(word) not in TECHNOLOGIES:
            found.append((i, i, PLACE))
    return found


def _unsure(run: Sequence[Token], named: set[int], after: str, is_english: bool) -> list[str]:
    """Return the words that may be names, neighbouring ones joined."""
    words = [_plain(token.text) for token in run]
    if after in _NAMED or any(word.lower() in _NAMED for word in words):
        return []  # "the Strangler Fig pattern", "Conway's Law"
    if name_key("".join(words)) in TECHNOLOGIES or name_key("".join(words)) in PATTERNS:
        return []
    found: list[list[str]] = []
    before = False
    for i, (token, word) in enumerate(zip(run, words, strict=True)):
        # A word after a known name is part of that product: "Redis Cluster".
        ok = i in named or before or _is_known(word) or word in _PARTICLES or word == "&"
        if token.begins:
            ok = ok or not is_english or _is_ordinary(word)
        else:
            ok = ok or (_is_ordinary(word) and word.lower() not in AMBIGUOUS)
        if not ok and found and found[-1] and i and words[i - 1] == found[-1][-1]:
            found[-1].append(word)
        elif not ok:
            found.append([word])
        before = i not in named and (name_key(word) in TECHNOLOGIES or word.lower() in _COMMON)
    return [" ".join(words) for words in found]


def _is_placed(word: str) -> bool:
    return _is_known(word) or _is_ordinary(word)


def _is_known(word: str) -> bool:
    """Return True for technologies, acronyms, and words written as only code or a header is."""
    if name_key(word) in TECHNOLOGIES or name_key(word) in PATTERNS or word.lower() in _COMMON:
        return True
    if _ACRONYM.fullmatch(word) or not word[:1].isalpha():
        return True
    parts = word.split("-")
    if len(parts) > 1:
        return not any(part.lower() in GIVEN or part.lower() in PLACES for part in parts) and (
            all(part[:1].isupper() for part in parts) or _is_ordinary(parts[0])
        )
    return any(not c.isalpha() for c in word) or not word[1:].islower()


def _is_ordinary(word: str) -> bool:
    """Return True for a common English word in any of its regular forms."""
    word = word.lower().split("-")[0]
    if len(word) < 2 or word in WORDS or word in PERSON_CUES:
        return True
    for ending, instead in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1:
            doubled = stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem
            if not WORDS.isdisjoint((stem + instead, stem, doubled)):
                return True
    return False


def _plain(word: str) -> str:
    """Return the word without its possessive: "Bob's" is Bob."""
    return word.replace("’", "'").removesuffix("'s").removesuffix("'")


def _ending(word: str) -> str:
    return word[len(_plain(word)) :]
