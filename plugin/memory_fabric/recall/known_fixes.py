"""Search for recorded fixes whose symptom is in a text: the output of a command, or a prompt. Only
distinctive words of a symptom identify a fix. Words of every failure ("error", "npm ERR!", "not
found") have no weight, ordinary words have little, names and error codes have most. A fix can match
in three ways, most reliable first: by the error line of the failure; by a phrase that the record
quotes; and by several distinctive words of the record that are close together in the text.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from memory_fabric import deadline
from memory_fabric.language.proper_names import is_ordinary
from memory_fabric.language.word_lists import words as listed
from memory_fabric.models import Record
from memory_fabric.patterns import pattern
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.conditions import marks
from memory_fabric.store.records import newest_fixes
from memory_fabric.text import STOPWORDS

# Trust levels of fixes that are shown after a failure; other fixes only answer questions.
TRUSTED = frozenset(("user", "assistant"))
# Limits: fixes to compare per database, fixes to show, and characters read of a symptom's text.
MAX_FIXES, MAX_TOLD, MAX_SAID_CHARS = 300, 2, 1500
MAX_HEAD_CHARS, MAX_TAIL_CHARS, MAX_LINES, MAX_LINE_CHARS = 6 << 10, 12 << 10, 400, 600
MAX_PLACES = 40  # words in more lines do not help to identify the failure
# Words are close together if they are within this many consecutive lines.
WINDOW_LINES = 3
ORDINARY, DISTINCTIVE, NAMED, CODE, PATH = 0.5, 1.0, 1.5, 0.7, 0.5  # weights by kind of word
TECHNOLOGY, TOOLS = 0.3, frozenset(("technology", "tool", "project"))
MAX_IDENTIFIER = 3.0
# Extra weight of two words that are adjacent in the symptom and the text; more with a number.
PAIR, PAIR_WITH_NUMBER = 0.5, 1.0
# A line matches an error if it has all names that the error quotes and, by weight, LINE_SHARE of
# the error's words. If the words found weigh less than LINE_WEIGHT, the line's other words must
# weigh little. An error whose words weigh less than SHORT_LINE_WEIGHT in total matches no line.
LINE_SHARE, LINE_WEIGHT, SHORT_LINE_WEIGHT = 0.8, 2.0, 1.0
CODE_WEIGHT = 1.5
PHRASE_WEIGHT, LONG_PHRASE_WEIGHT, LONG_PHRASE_WORDS, FURTHER_WORD = 2.0, 1.0, 3, 0.1
NEAR_WEIGHT, STRONG_WEIGHT, LEAST_DISTINCTIVE = 3.0, 1.5, 3
# Added to the weights, so that fixes found in a more reliable way come first.
BY_LINE, BY_PHRASE, BY_WORDS = 300.0, 200.0, 100.0
# A colon before a letter is part of a symbol: `notifications:listByUser`, `Ledger::post`.
_TOKEN = r"[^\W_](?:[\w.@/\\$+~#-]|::?(?=[A-Za-z_]))*[\w$]|[^\W_]"
_SEPARATORS = r"::?|[./\\#]"
_QUOTED = r"`([^`\n]{2,200})`|\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|«([^»\n]{2,200})»"
_NAME = r"['\"`‘“]([^\s'\"`’”]{2,80})['\"`’”]"
_CODE = r"[A-Za-z]{1,5}\d{2,5}"
_FILE = r".{1,80}\.(?:[a-z]{1,4}|toml|lock)"
_CAMEL = r"[a-z0-9][A-Z]|[A-Z][a-z]+[A-Z]"


class _Text(NamedTuple):
    """The distinct lines of a text, split into words, and an index of the words."""

    lines: tuple[tuple[str, ...], ...]
    places: Mapping[str, Sequence[int]]  # the line numbers of each word
    telling: Set[str]  # words not found in every failure; a fix must mention at least one
    rare: Set[str]  # words in at most MAX_PLACES lines, except those of the failed command


def matching(
    text: str, memory: Memory, *, wanted: Callable[[Record], bool], command: str = ""
) -> list[Record]:
    """Return at most two `wanted` fixes whose symptom is in a text, best match first; usually none.
    Words of the failed `command` have no weight, because every failure of it contains them.
    `wanted` is called with each matching fix. Raises StoreUnavailable, DeadlinePassed.
    """
    newest = newest_fixes(memory.databases(), memory.settings.session, MAX_FIXES)
    fixes = [record for record in newest if record.trust in TRUSTED]
    ids = [fix.id for fix in known_in(text, fixes, command=command) if wanted(fix)][:MAX_TOLD]
    records = memory.find_records(f"id IN ({marks(ids)})", tuple(ids)) if ids else []
    return sorted(records, key=lambda record: ids.index(record.id))


def known_in(text: str, fixes: Iterable[Record], *, command: str = "") -> list[Record]:
    """Return the fixes whose symptom is in the text, best match first. Raises DeadlinePassed."""
    typed = frozenset(_words(command))
    if len(text) > MAX_HEAD_CHARS + MAX_TAIL_CHARS:
        text = f"{text[:MAX_HEAD_CHARS]}\n{text[-MAX_TAIL_CHARS:]}"
    stated = [
        line[at : at + MAX_LINE_CHARS]
        for line in dict.fromkeys(text.splitlines())
        for at in range(0, len(line), MAX_LINE_CHARS)
    ]
    if len(stated) > MAX_LINES:
        stated = stated[: MAX_LINES // 3] + stated[-2 * MAX_LINES // 3 :]
    lines = tuple(filter(None, (tuple(_words(line)) for line in stated)))
    places: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        for word in dict.fromkeys(line):
            places.setdefault(word, []).append(place)
    rare = frozenset(word for word, at in places.items() if len(at) <= MAX_PLACES) - typed
    telling = frozenset(word for word in places if not _says_nothing(word))
    output = _Text(lines, places, telling, rare)
    weighted = []
    limit = deadline.current()
    for record in fixes:
        limit.check("fixes")
        if weight := _weight(record, output, typed):
            weighted.append((weight, record))
    weighted.sort(key=lambda pair: (pair[0], pair[1].created_at), reverse=True)
    return [record for _, record in weighted]


def _weight(record: Record, text: _Text, typed: frozenset[str]) -> float:
    evidence = record.evidence
    error = str(evidence.get("error") or "")[:MAX_LINE_CHARS]
    more = (str(evidence.get(key) or "") for key in ("also", "symptom"))
    texts = [symptom[:MAX_SAID_CHARS] for symptom in (record.what, *more) if symptom]
    if all(text.telling.isdisjoint(_words(symptom)) for symptom in (*texts, error)):
        return 0.0
    if error and (weight := _by_line(error, text)):
        return BY_LINE + weight
    if weight := _by_phrase(texts, text, typed):
        return BY_PHRASE + weight
    # If the text lacks a name that `error` quotes, it shows only a similar failure: no match.
    has_names = text.places.keys() >= _names(error)
    weight = _by_words(record, " ".join(texts), text) if has_names else 0.0
    return BY_WORDS + weight if weight else 0.0


def _by_line(error: str, text: _Text) -> float:
    """Return the weight of the words that `error` shares with the first matching line; else 0."""
    names = _names(error)
    if not text.places.keys() >= names:
        return 0.0
    weights = {w: max(x, NAMED) if w in names else x for w, x in _weighed(error).items()}
    all_of_it = sum(weights.values())
    present = {word: weight for word, weight in weights.items() if word in text.places}
    least = LINE_SHARE * all_of_it
    if all_of_it < SHORT_LINE_WEIGHT or sum(present.values()) < least:
        return 0.0
    for place in sorted({place for word in present for place in text.places[word]}):
        line = frozenset(text.lines[place])
        weight_in_line = sum(weight for word, weight in present.items() if word in line)
        if weight_in_line < least or not names <= line:
            continue
        weight_of_others = sum(_weight_of(word) for word in line if word not in weights)
        if weight_in_line >= LINE_WEIGHT or weight_of_others <= (1 - LINE_SHARE) * all_of_it:
            return weight_in_line
    return 0.0


def _by_phrase(stated: Iterable[str], text: _Text, typed: frozenset[str]) -> float:
    """Return the weight of a symptom's quoted phrase or error code that is in the text, else 0."""
    for symptom in stated:
        for groups in pattern(_QUOTED).findall(symptom):
            phrase = _words("".join(groups))
            if len(phrase) < 2 or not text.places.keys() >= set(phrase) or typed.issuperset(phrase):
                continue
            weight = sum(_weight_of(word) for word in set(phrase))
            if not weight:
                continue
            weight += PAIR if len(phrase) == 2 and weight > DISTINCTIVE else 0.0
            weight += FURTHER_WORD * (len(phrase) - 2)
            least = LONG_PHRASE_WEIGHT if len(phrase) >= LONG_PHRASE_WORDS else PHRASE_WEIGHT
            run = f" {' '.join(phrase)} "
            lines = (f" {' '.join(text.lines[place])} " for place in text.places[phrase[0]])
            if weight >= least and any(run in line for line in lines):
                return weight
        for word in pattern(_TOKEN).findall(symptom) if "_" in symptom else ():
            is_code = "_" in word and word.isupper() and word.lower() in text.places
            if is_code and _weight_of(word) >= CODE_WEIGHT:
                return _weight_of(word)
    return 0.0


def _by_words(record: Record, said: str, text: _Text) -> float:
    """Return the highest weight of distinctive words of `said` in WINDOW_LINES lines, or 0."""
    weights = _weighed(said, among=text.rare)
    for entity in record.entities:
        if entity.type in TOOLS and entity.name.lower() in weights:
            weights[entity.name.lower()] = TECHNOLOGY
    if sum(weights.values()) < NEAR_WEIGHT / 2:
        return 0.0
    pairs = {pair for pair in pairwise(_words(said)) if pair[0] in weights and pair[1] in weights}
    most = 0.0
    for place in {place for word in weights for place in text.places[word]}:
        lines = text.lines[place : place + WINDOW_LINES]
        near_words = {word for line in lines for word in line if word in weights}
        weight = sum(weights[word] for word in near_words)
        if weight < NEAR_WEIGHT / 2:
            continue
        for pair in pairs and {pair for line in lines for pair in pairwise(line)} & pairs:
            weight += PAIR_WITH_NUMBER if any(map(str.isdigit, pair)) else PAIR
        is_specific = any(weights[word] >= STRONG_WEIGHT or word.isdigit() for word in near_words)
        distinctive = sum(weights[word] >= DISTINCTIVE for word in near_words)
        is_sure = (is_specific and len(near_words) > 1) or distinctive >= LEAST_DISTINCTIVE
        most = max(most, weight if weight >= NEAR_WEIGHT and is_sure else 0.0)
    return most


def _names(error: str) -> set[str]:
    """Return the words in quoted names (of modules, keys, tables): quotations without spaces."""
    return {word for name in pattern(_NAME).findall(error) for word in _words(name)}


def _words(text: str) -> list[str]:
    """Return a text's words in lower case; `notifications/listByUser` also yields `listbyuser`."""
    return [low for _, low in _spelled(text)]


def _spelled(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word as written, and in the form in which words are compared."""
    for word in pattern(_TOKEN).findall(text):
        yield word, pattern(_SEPARATORS).sub(".", word).lower()
        symbol = _symbol(word)
        if symbol != word:
            yield symbol, symbol.lower()


@lru_cache(4096)
def _symbol(word: str) -> str:
    """Return a path's file name, or the function in a qualified name; other words unchanged."""
    parts = pattern(_SEPARATORS).split(word)
    if len(parts) < 2:
        return word
    last = parts[-1]
    if pattern(_FILE).fullmatch(word):
        return pattern(r"[/\\]").split(word)[-1]
    return last if "_" in last.strip("_") or pattern(_CAMEL, 0).search(last) else word


def _weighed(text: str, among: Set[str] | None = None) -> dict[str, float]:
    """Map the words of a text, or only those in `among`, to how well they identify a failure."""
    weights: dict[str, float] = {}
    for word, low in _spelled(text):
        if among is None or low in among:
            weight = _weight_of(word)
            if weight > weights.get(low, 0.0):
                weights[low] = weight
    return weights


@lru_cache(4096)
def _weight_of(word: str) -> float:
    """Return a weight from 0 to 3 for how well a word identifies a failure."""
    low = word.lower()
    if _says_nothing(low):
        return 0.0
    if low.isdigit():
        return DISTINCTIVE if len(low) > 3 else 0.0
    if pattern(_FILE).fullmatch(word):
        return PATH
    if _symbol(word) != word:
        return DISTINCTIVE
    if "/" in word or "\\" in word:
        return PATH
    if pattern(_CODE).fullmatch(word):
        return CODE
    parts = [part for part in low.replace(".", "_").replace("$", "_").split("_") if part]
    if len(parts) > 1:
        return min(MAX_IDENTIFIER, DISTINCTIVE + sum(map(_plain_weight, parts)) / 2)
    if pattern(_CAMEL, 0).search(word):
        return DISTINCTIVE if low.endswith(("error", "exception")) else 2 * DISTINCTIVE
    return _plain_weight(low)


def _plain_weight(word: str) -> float:
    return 0.0 if _says_nothing(word) else ORDINARY if is_ordinary(word) else DISTINCTIVE


def _says_nothing(word: str) -> bool:
    return len(word) < 2 or word in STOPWORDS or word in listed("failures")
