"""Mentions of entities in a text: known names, names in code and proper names, but not ordinary
words. Text in backticks is one name. Elsewhere, a name is a known name, looks like a name in code,
or is capitalised inside a sentence.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise, takewhile
from typing import NamedTuple

from memory_fabric.language import vocabulary
from memory_fabric.language.proper_names import GIVEN, kind_of
from memory_fabric.language.word_lists import words as listed
from memory_fabric.patterns import exact
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.graph import entities_by_key
from memory_fabric.text import STOPWORDS, name_key, words

MAX_NAME_BYTES, MAX_MENTIONS, MAX_NAME_WORDS = 512, 2000, 4
MAX_SPAN_WORDS, MAX_SPAN_CHARS = 5, 60
# Known names are looked up only in this many characters and words at the start of a text.
MAX_LOOKED_UP_CHARS, MAX_LOOKED_UP_WORDS = 16 << 10, 400
MAX_SHORT_CHARS = 12  # the maximum length of a short form in brackets
_listed = partial(listed, "mentions")
_HEADS = _listed("heads")
_VAGUE = STOPWORDS | _listed("vague")
# Capitalised words that are not names: section labels and common acronyms.
_CAPITALISED = _listed("labels", "letters")
OPENERS = _listed("openers")
_VERBS_OF_PARTS = frozenset("uses depends requires relies needs".split())
_EACH = frozenset(("all", "every", "each", "any"))
# Words of German, in which all nouns are capitalised, so that a capital does not indicate a name.
_GERMAN = frozenset(
    "und der die das nicht für wir mit ist ein eine einen statt auf auch wird".split()
)
_TOOL_VERBS = frozenset("use uses used using via through adopt adopted run runs running".split())
_LITERALS = frozenset("true false null none nil undefined nan yes no ok todo".split())
_WORD = r"[^\s,;:!?\"'“”‘’()\[\]{}<>`|*=…。，、：；！？（）「」]+"
# Names in CamelCase, snake_case or CONSTANT_CASE; ordinary words do not have this shape.
_SHAPE = (
    r"(?:[A-Z][a-z0-9]+){2,8}|[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*){1,8}"
    r"|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+){1,8}"
)
# A name in backticks: a symbol, a path, an option or a short command.
_SPAN = r"[\w@./~$%:#*+<>\[\]=-]+(?:\(\))?(?: [\w@./~$%:#*+<>\[\]=-]+)*"


class _Word(NamedTuple):
    text: str
    start: int
    end: int
    key: str
    first: bool  # the first word of a sentence
    span: int  # the index of the backtick span that contains the word, or -1


class Mention(NamedTuple):
    """A name in a text: its spelling in memory or in the vocabulary, its type and its offsets."""

    name: str
    type: str
    start: int
    end: int


def mentions(text: str, known: Mapping[str, str]) -> list[Mention]:
    """Return the names in a text, in order. `known` maps the `name_key` of entities to names."""
    spans: list[tuple[int, int]] = []  # offsets of the texts between two backticks in one line
    for line in exact(r"[^\n]+").finditer(text):
        marks = [line.start() + place for place, c in enumerate(line.group()) if c == "`"]
        spans += [(marks[k] + 1, marks[k + 1]) for k in range(0, len(marks) - 1, 2)]
    words: list[_Word] = []
    end = place = 0
    for match in exact(_WORD).finditer(text):
        word = match.group().rstrip(".-/&—–")
        gap = text[end : match.start()]
        while place < len(spans) and spans[place][1] <= match.start():
            place += 1
        inside = place < len(spans) and spans[place][0] <= match.start()
        first = not words or text[words[-1].end : words[-1].end + 1] in (".", "!", "?")
        first = first or any(sign in gap for sign in '\n:;(.!?"')
        end = match.end()
        if word and text[match.end() : match.end() + 3] != "://":
            start, span = match.start(), place if inside else -1
            words.append(_Word(word, start, start + len(word), name_key(word), first, span))
    is_german = len({word.text for word in words} & _GERMAN) > 1
    names: list[Mention] = []
    i = 0
    while i < len(words) and len(names) < MAX_MENTIONS:
        if words[i].span >= 0:
            mention, used = _span_at(text, words, i, spans, known)
        else:
            mention, used = _prose_at(words, i, known, proper=not is_german)
        names += [mention] if mention else []
        i += used
    return names


def _prose_at(
    words: list[_Word], i: int, known: Mapping[str, str], *, proper: bool
) -> tuple[Mention | None, int]:
    """Return a name at word `i` outside backticks, or None, and the number of words to skip."""
    name, used = _name_at(words, i, known) or _component_at(words, i) or ("", 0)
    if name:
        return _resolved(name, words[i].start, words[i + used - 1].end, known), used
    used = _proper_length(words, i) if proper else 0
    if not used:
        return None, 1
    run = [word.text for word in words[i : i + used]]
    mention = _resolved(" ".join(run), words[i].start, words[i + used - 1].end, known)
    kind = vocabulary.entity_type(" ".join(run)) or (
        "component" if run[-1].lower() in _HEADS else ""
    )
    if not kind:
        # The words before and after may show that this is the name of a person, company or place.
        before = [] if words[i].first else [word.text.lower() for word in words[max(0, i - 3) : i]]
        after = words[i + used].text.lower() if i + used < len(words) else ""
        kind = kind_of(run, before[::-1], after) or "technology"
    return mention._replace(type=kind), used


def _span_at(
    text: str, words: list[_Word], i: int, spans: list[tuple[int, int]], known: Mapping[str, str]
) -> tuple[Mention | None, int]:
    """Return the name in the backticks around word `i`, or None, and how many words to skip."""
    start, end = spans[words[i].span]
    used = sum(1 for word in words[i : i + MAX_SPAN_WORDS + 1] if word.span == words[i].span)
    inside = text[start:end].strip()
    name = known.get(name_key(inside)) or vocabulary.TECHNOLOGIES.get(name_key(inside))
    parts = inside.lower().split()
    is_name = (
        (used <= MAX_SPAN_WORDS and 2 <= len(inside) <= MAX_SPAN_CHARS)
        and not ("://" in inside or "[redacted" in inside or inside.lower() in _LITERALS)
        and (inside.isascii() and exact(_SPAN).fullmatch(inside) and any(map(str.isalpha, inside)))
        and (len(parts) == 1 or STOPWORDS.isdisjoint(parts[:2]))
    )
    if name or is_name:
        name = name or inside.removesuffix("()")
        mention = _resolved(name, start, end, known)
        return mention._replace(type="tool") if " " in name else mention, used
    return None, used


def _name_at(words: list[_Word], i: int, known: Mapping[str, str]) -> tuple[str, int] | None:
    """Return (name, number of words) of the longest name at word `i`; None if there is no name."""
    run = _run(words, i)
    for used in range(len(run), 1, -1):
        if all(word.text.lower() in STOPWORDS for word in run[:used]):
            continue  # "I am" is not IAM
        key = "".join(word.key for word in run[:used])
        name = known.get(key) or vocabulary.TECHNOLOGIES.get(key) or vocabulary.PATTERNS.get(key)
        if name:
            return name, used
    if len(run) > 1 and run[0].key.endswith("based") and run[1].key in vocabulary.PATTERN_HEADS:
        stem = run[0].text.lower().removesuffix("based").rstrip("-_")
        if stem and stem.replace("-", "").isalnum():
            return f"{stem}-{run[1].text.lower()}", 2  # from "token-based pagination"
    text, key = words[i].text, words[i].key
    if key in known and (len(key) > 3 or text == known[key]) and key not in STOPWORDS:
        return known[key], 1
    if vocabulary.is_agent(text):
        return text, 1
    name = vocabulary.TECHNOLOGIES.get(key) or vocabulary.PATTERNS.get(key)
    if name:
        is_name = key not in vocabulary.ORDINARY or _meant_as_name(words, i, name)
        return (name, 1) if is_name else None
    first, _, ending = text.partition("-")
    is_made = ending.rpartition("-")[2] in vocabulary.PATTERN_HEADS | _HEADS and text.islower()
    if is_made and len(first) > 2 and first not in _VAGUE and text.replace("-", "").isalnum():
        return text, 1  # a pattern or component: `token-caching`, `billing-service`
    return (text.removesuffix("()"), 1) if _is_identifier(text) else None


def _run(words: list[_Word], i: int) -> list[_Word]:
    """Return word `i` and up to three following words that are separated by single spaces."""
    run = [words[i]]
    for word in words[i + 1 : i + MAX_NAME_WORDS]:
        if word.start != run[-1].end + 1 or word.first or word.span != run[0].span:
            break
        run.append(word)
    return run


def _proper_length(words: list[_Word], i: int) -> int:
    """Return how many capitalised words from word `i` on form a proper name; 0 if none do."""
    if not _is_capital(words[i]):
        return 0
    shorts = ("ID", "API", "UI", "DB", "CI")
    run = list(takewhile(lambda w: _is_capital(w) or w.text in shorts, _run(words, i)))
    start = end = i
    while start > 0 and not words[start].first:
        start -= 1
    while end + 1 < len(words) and not words[end + 1].first:
        end += 1
    around = [w for w in words[start : end + 1] if w.span < 0 and w.text[0].isalpha()]
    capitals = sum(1 for w in around if w.text[0].isupper())
    if len(around) > 3 and capitals * 5 > len(around) * 3:
        return 0  # a title, in which most words are capitalised
    if not run[0].first:
        return len(run)
    opener = run[0].text
    if len(run) < 2:
        return int(opener.lower() in GIVEN)
    # The word may be capitalised only because it begins the sentence: "Use Redis", "Usamos Redis".
    opens = opener.lower() in OPENERS or opener.endswith("ing")
    opens = opens or run[1].key in vocabulary.TECHNOLOGIES
    return 0 if opens else len(run)


def _is_capital(word: _Word) -> bool:
    text, lower = word.text, word.text.lower()
    if not text[0].isupper() or not text.isascii() or len(text) < 2 or text[-1] == "'":
        return False
    if not _CAPITALISED.isdisjoint((lower, lower.removesuffix("s"))) or lower in STOPWORDS:
        return False
    if text.isupper() and lower in _listed("shouted"):
        return False
    return text.replace("-", "").replace(".", "").isalnum()


def _meant_as_name(words: list[_Word], i: int, name: str) -> bool:
    """Return True if an ordinary word is a name here: "poetry" after "use", "Go" mid-sentence."""
    word = words[i]
    if name.isupper() and word.text == name:
        return True
    follower = words[i + 1].text.lower() if i + 1 < len(words) else "is"
    if word.text.islower() and i and not name.isupper():
        # In lower case, the word is a name only as object of "use": "Use poetry for packages".
        ends = i + 1 == len(words) or words[i + 1].first or follower in _listed("after a tool")
        return words[i - 1].text.lower() in _TOOL_VERBS and ends and not word.first
    if name.isupper() or not word.text[0].isupper():
        return False
    return not word.first or follower in _listed("verbs after a name")


def _is_identifier(text: str) -> bool:
    """Return True for a file, a folder, an option, or a word that looks like a name in code."""
    text = text.removesuffix("()")
    if not 2 < len(text) <= 80 or "//" in text or not text.isascii():
        return False
    stem, dot, ending = text.rpartition(".")
    if dot and ending in _listed("file endings") and stem.strip("./") and not stem.endswith("e.g"):
        return True
    if text.startswith("--"):
        return text[2:3].isalpha() and text[2:].replace("-", "").isalnum()
    if text[0] in "./~" and text.lstrip("./~")[:1].isalpha():
        return "/" in text or (text[0] == "." and text[1:].islower() and len(text) > 4)
    return text[0].isalpha() and bool(exact(_SHAPE).fullmatch(text))


def _component_at(words: list[_Word], i: int) -> tuple[str, int] | None:
    """Return (name, word count) of a component at word `i`, as in "all list endpoints", or None."""
    opener = words[i].text.lower()
    # Word `i` must be the first of the component, and follow a word such as "all" or "the".
    if i == 0 or opener in _VAGUE or opener in _HEADS or not opener.isalpha():
        return None
    before = words[i - 1].text.lower()
    prior = words[i - 2].text.lower() if i > 1 else ""
    if before not in _EACH and before not in ("the", "our"):
        return None
    run = _run(words, i)
    for used in range(2, min(len(run), 3) + 1):
        parts = [word.text.lower() for word in run[:used]]
        if parts[-1] not in _HEADS:
            continue
        follower = run[used].text.lower() if used < len(run) else ""
        is_meant = before in _EACH or prior in ("for", "in", "on", "across")
        is_meant = is_meant or follower in _VERBS_OF_PARTS
        is_plain = all(part.isalpha() and part not in _VAGUE for part in parts)
        return ("-".join(parts), used) if is_meant and is_plain else None
    return None


def _resolved(name: str, start: int, end: int, known: Mapping[str, str]) -> Mention:
    kind = vocabulary.entity_type(name) or "component"
    name = known.get(name_key(name), name)
    name = name.encode("utf-8", "replace")[:MAX_NAME_BYTES].decode("utf-8", "ignore")
    return Mention(name, kind, start, end)


def aliases_in(text: str, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Map names to their other names in the text: `K8s` in "Kubernetes (K8s)" or "K8s
    (Kubernetes)", or a word that the vocabulary maps to the name. Names without others are omitted.
    """
    canonical = vocabulary.canonical
    spoken = {canonical(word): word for word in words(text) if canonical(word) != word}
    aliases: dict[str, tuple[str, ...]] = {}
    for name in names:
        _, behind, after = text.partition(f"{name} (")
        before, around, _ = text.partition(f" ({name})")
        shorts = [after.partition(")")[0]] if behind else []
        shorts += [before.rpartition(" ")[2]] if around else []
        shorts = [short.strip("\"'`.,;:") for short in shorts]
        forms = [*(short for short in shorts if _is_short(short, name)), spoken.get(name, "")]
        different = (form for form in forms if form and name_key(form) != name_key(name))
        aliases[name] = tuple(dict.fromkeys(different))
    return {name: forms for name, forms in aliases.items() if forms}


def _is_short(short: str, name: str) -> bool:
    """Return True if `short` abbreviates `name`: same first letter, and all letters in order."""
    letters = [c for c in short.lower() if c.isalpha()]
    if not letters or len(short) > MAX_SHORT_CHARS or len(short) >= len(name) or " " in short:
        return False
    of_name = iter(name.lower())
    return name[:1].lower() == letters[0] and all(letter in of_name for letter in letters)


class KnownNames(Mapping[str, str]):
    """The stored names of entities that a text mentions, by `name_key`; loaded on first use."""

    def __init__(self, memory: Memory, text: str) -> None:
        self._memory, self._text = memory, text
        self._looked_up: dict[str, str] | None = None

    def __getitem__(self, key: str) -> str:
        return self._names()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> dict[str, str]:
        if self._looked_up is None:
            keys, self._looked_up = self._keys(), {}
            for database in reversed(self._memory.databases()):
                entities = entities_by_key(database, keys)
                self._looked_up |= {key: entity.name for key, entity in entities.items()}
        return self._looked_up

    def _keys(self) -> list[str]:
        parts = words(self._text[:MAX_LOOKED_UP_CHARS])[:MAX_LOOKED_UP_WORDS]
        pairs = [one + other for one, other in pairwise(parts)]
        return [key for key in dict.fromkeys([*parts, *pairs]) if len(key) > 1]
