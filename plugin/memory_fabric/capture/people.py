"""Names of people, companies and places. In memories about the user, they become entities ("works
for Contoso" states an employer). In memories for all projects, neutral words replace them, and
other unknown capitalised words raise an error: replacing one could turn "Run Zephyr first" into
nonsense, and keeping it could reveal a customer. A word in backticks counts as a technical term.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory_fabric.errors import BadInput
from memory_fabric.language import proper_names
from memory_fabric.language.proper_names import AMBIGUOUS, GIVEN, PERSON_CUES, PLACES, SAYING
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES, entity_type
from memory_fabric.language.word_lists import filled
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import Entity, Record
from memory_fabric.patterns import pattern
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers.anonymise import COMMON_USERS, IDENTIFYING_TYPES, anonymised
from memory_fabric.text import cut, name_key, one_line

MAX_CHARS, MAX_GOAL_CHARS = 2000, 80
SOMEONE, COMPANY, PLACE = "someone", "a company", "a place"
# A token is a term in backticks, a word (perhaps with hyphens, dots, etc. inside), or a character.
_TOKEN = re.compile(r"`[^`\n]{0,200}`|\w(?:[\w'’&+#/.@-]{0,60}[\w+#])?|\S")
_STARTS = frozenset(".!?:;*•>|#\"“”‘'«»([{—–-→")
_ACRONYM = re.compile(r"[A-Z0-9&/+.#-]{1,12}s?")
_PARTICLES = frozenset("van von de der den da di la le bin al".split())
# Names that need not be replaced: vendors, weekdays and months, and languages.
_COMMON = listed("identifying_names", "common")
_ENDINGS = (
    ("s", ""), ("es", ""), ("ies", "y"), ("ed", "e"), ("ied", "y"), ("d", ""), ("ing", "e"),
    ("er", "e"), ("ers", "e"), ("ation", "e"), ("ness", ""), ("ment", ""), ("able", "e"),
    ("ion", "e"), ("n't", ""), ("'t", ""), ("'re", ""),
)  # fmt: skip
# After words like "our", a replacement loses its article: not "our a place", but "our place".
_DOUBLED = re.compile(
    r"\b(the|an?|our|my|your|their|this|that|every|each|customer|client|jump) "
    r"an? (place|host|company)\b",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """A word or character of a text, with offsets. `begins` is True if it may begin a sentence."""

    text: str
    at: int
    end: int
    begins: bool = False


def of_person(text: str, entities: Sequence[Entity]) -> tuple[Entity, ...]:
    """Add people, organisations, places and goals to a text's `entities`; remove wrong guesses."""
    text = one_line(text[:MAX_CHARS])
    personal: dict[str, Entity] = {}
    for kind in ("place", "person", "organisation", "goal"):
        for name in _matches(text, kind):
            is_place = name.lower() in PLACES or name.lower() in proper_names.LONG_PLACES
            entity = Entity(name, "place" if is_place and kind == "organisation" else kind)
            if kind == "goal":
                end = _expression("end of a goal").search(name)
                name = (name[: end.start()] if end else name).strip(" ,:")
                entity = Entity(cut(name, MAX_GOAL_CHARS), kind)
            is_phrase = len(name.split()) > 1 or not name.isascii()
            if (len(name) > 3 and is_phrase) if kind == "goal" else not entity_type(name):
                personal[name_key(entity.name)] = entity
    keys = {key for key, entity in personal.items() if entity.type != "goal"}
    keys.update(map(name_key, _matches(text, "unsure")))
    has_tools = _expression("of tools").search(text) is not None
    by_key = {}
    for entity in entities:
        if _expression("common").fullmatch(entity.name):
            continue
        key = name_key(entity.name)
        # The type may be guessed from a capital letter; a guess that looks like a name is dropped.
        if entity_type(entity.name) or entity.type not in ("technology", "component"):
            by_key[key] = personal.get(key, entity) if entity.type == "unknown" else entity
        elif (has_tools or entity.type != "technology") and not any(
            key in longer or longer in key for longer in keys
        ):
            by_key[key] = entity
    return (*by_key.values(), *(entity for key, entity in personal.items() if key not in by_key))


def _expression(name: str) -> re.Pattern[str]:
    return pattern(filled("person")[name][0])


def _matches(text: str, kind: str) -> Iterator[str]:
    for expression in filled("person")[kind]:
        for match in pattern(expression).finditer(text):
            for group in match.groupdict().values():
                if name := (group or "").strip(" '’-&").removesuffix("'s").removesuffix("’s"):
                    yield name


def for_everybody(record: Record, memory: Memory) -> Record:
    """Replace people, companies and places in a record. Raises BadInput if a word may be a name."""
    record = anonymised(record, memory)
    unsure: list[str] = []

    def clean(text: str) -> str:
        cleaned, words = without_names(text)
        unsure.extend(words)
        return cleaned

    others = (e for e in record.entities if e.type not in IDENTIFYING_TYPES)
    harmless = (e for e in others if without_names(f"about {e.name}") == (f"about {e.name}", []))
    record = record._replace(
        what=clean(record.what),
        why=clean(record.why),
        alternatives=tuple(clean(a) for a in record.alternatives),
        constraints=tuple(clean(c) for c in record.constraints),
        tradeoffs=tuple(clean(t) for t in record.tradeoffs),
        category=clean(record.category),
        entities=tuple(harmless),
    )
    if unsure:
        names = ", ".join(dict.fromkeys(unsure))
        message = f"What is global is shown in every project, and this may name somebody: {names}."
        remedy = f"Leave it out, or write a term of the trade in backticks: `{unsure[0]}`. "
        raise BadInput("text", message, remedy=remedy + "In any other scope it may stay.")
    things = {e.name for e in record.entities}
    relations = tuple(r for r in record.relations if r.source in things and r.target in things)
    return record._replace(relations=relations)


def without_names(text: str) -> tuple[str, list[str]]:
    """Replace recognised names by neutral words; return the text, and words that may be names."""
    tokens: list[Token] = []
    before, last_end = ".", 0
    for match in _TOKEN.finditer(text):
        begins = before in _STARTS or "\n" in text[last_end : match.start()] or before.endswith(".")
        tokens.append(Token(match.group(), match.start(), match.end(), begins))
        before, last_end = match.group(), match.end()
    spoken = {t.text.lower() for t in tokens}
    plain = [t.text for t in tokens if t.text.isalpha() and t.text.islower()]
    is_german = len(spoken & listed("identifying_names", "german")) >= 2
    is_foreign = len(plain) > 1 and sum(map(_is_ordinary, plain)) <= len(plain) / 2
    is_english = bool(spoken & listed("identifying_names", "english")) or not is_foreign
    pieces: list[str] = []
    unsure: list[str] = []
    end_of_last = at = 0
    while at < len(tokens):
        end = _run_end(text, tokens, at)
        if end == at:
            # The word may be the name of an account: "user rkapoor".
            word = tokens[at].text
            is_account = _cue(tokens, at) in ("user", "username") and word not in COMMON_USERS
            if is_account and word.isalpha() and not (_is_ordinary(word) or _is_known(word)):
                pieces += [text[end_of_last : tokens[at].at], SOMEONE]
                end_of_last = tokens[at].end
            at += 1
            continue
        run, after = tokens[at:end], tokens[end].text.lower() if end < len(tokens) else ""
        spans = _names(run, _cue(tokens, at), after)
        for first, last, instead in spans:
            word = run[last].text
            pieces += [text[end_of_last : run[first].at], instead, word[len(_plain(word)) :]]
            end_of_last = run[last].end
        replaced = {i for first, last, _ in spans for i in range(first, last + 1)}
        if not is_german:
            unsure += _unsure(run, replaced, after, is_english)
        at = end
    return _DOUBLED.sub(r"\1 \2", "".join(pieces) + text[end_of_last:]), unsure


def _run_end(text: str, tokens: Sequence[Token], at: int) -> int:
    """Return the index of the token after the capitalised words from token `at` (`at` if none)."""
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
    """Return the word before a name, in lower case and without a full stop: "dr" for "Dr."."""
    if at > 1 and tokens[at - 1].text == ".":
        return tokens[at - 2].text.lower()
    return tokens[at - 1].text.lower() if at else ""


def _names(run: Sequence[Token], cue: str, after: str) -> list[tuple[int, int, str]]:
    """Return recognised names among capitalised words as (first index, last index, replacement)."""
    words = [_plain(token.text) for token in run]
    last = len(words) - 1
    skip = int(run[0].begins and last > 1 and _is_ordinary(words[0]))
    for i in range(last, 0, -1):
        if words[i].rstrip(".") in proper_names.SUFFIXES and not all(map(_is_known, words[skip:i])):
            return [(skip, i, COMPANY)]
    if not _is_known(words[0]):
        if cue in proper_names.COMPANY_CUES:
            return [(0, last, COMPANY)]
        if cue in PERSON_CUES and (not _is_ordinary(words[0]) or words[0].lower() in AMBIGUOUS):
            return [(0, last, SOMEONE)]
    if last and words[0].lower().rstrip(".") in PERSON_CUES and not _is_known(words[1]):
        return [(1, last, SOMEONE)]  # as in "Dr Okafor" or "Ask Bob"
    spans = _people(words) or _places(words)
    if not spans and after in SAYING and not any(_is_known(w) or _is_ordinary(w) for w in words):
        return [(0, last, SOMEONE)]
    return spans


def _people(words: Sequence[str]) -> list[tuple[int, int, str]]:
    for i, word in enumerate(words):
        first_name, end = word.split("-")[0].lower(), i
        while end + 1 < len(words) and not _is_known(words[end + 1]):
            end += 1
        follows = end > i
        if first_name in GIVEN and (follows or not _is_known(word)):
            return [(i, end, SOMEONE)]
        if first_name in AMBIGUOUS and follows and not _is_ordinary(words[i + 1]):
            return [(i, end, SOMEONE)]
    return []


def _places(words: Sequence[str]) -> list[tuple[int, int, str]]:
    spans: list[tuple[int, int, str]] = []
    for i, word in enumerate(words):
        if any(first <= i <= last for first, last, _ in spans):
            continue
        pair = f"{word} {words[i + 1]}".lower() if i + 1 < len(words) else ""
        if pair in proper_names.LONG_PLACES:
            spans.append((i, i + 1, PLACE))
        elif word.lower() in PLACES and name_key(word) not in TECHNOLOGIES:
            spans.append((i, i, PLACE))
    return spans


def _unsure(run: Sequence[Token], named: set[int], after: str, is_english: bool) -> list[str]:
    """Return the words not in `named` (by index) that may be names; adjacent words are joined."""
    words = [_plain(token.text) for token in run]
    if not listed("identifying_names", "terms").isdisjoint((after, *map(str.lower, words))):
        return []  # for example "the Strangler Fig pattern"
    if _is_term("".join(words)):
        return []
    unsure: list[list[str]] = []
    before = False
    for i, (token, word) in enumerate(zip(run, words, strict=True)):
        # A word after the name of a known product belongs to the name: "Redis Cluster".
        ok = i in named or before or _is_known(word) or word in _PARTICLES or word == "&"
        if token.begins:
            ok = ok or not is_english or _is_ordinary(word)
        else:
            ok = ok or (_is_ordinary(word) and word.lower() not in AMBIGUOUS)
        if not ok and unsure and i and words[i - 1] == unsure[-1][-1]:
            unsure[-1].append(word)
        elif not ok:
            unsure.append([word])
        before = i not in named and (name_key(word) in TECHNOLOGIES or word.lower() in _COMMON)
    return [" ".join(names) for names in unsure]


def _is_term(word: str) -> bool:
    return name_key(word) in TECHNOLOGIES or name_key(word) in PATTERNS


def _is_known(word: str) -> bool:
    """Return True if a word is a technology, an acronym, or spelled like code or an HTTP header."""
    if _is_term(word) or word.lower() in _COMMON:
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
    word = word.lower().split("-")[0]
    ordinary = listed("ordinary_words")
    if len(word) < 2 or word in ordinary or word in PERSON_CUES:
        return True
    for ending, instead in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1:
            doubled = stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem
            if not ordinary.isdisjoint((stem + instead, stem, doubled)):
                return True
    return False


def _plain(word: str) -> str:
    """Return the word without a possessive ending: "Bob" for "Bob's"."""
    return word.replace("’", "'").removesuffix("'s").removesuffix("'")
