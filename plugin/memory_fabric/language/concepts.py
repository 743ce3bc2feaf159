"""The concepts of a query: its content words, each with all its spellings ("db", "database").
Recall searches for the spellings, and measures how much of the query a memory covers.
"""

from functools import cache, lru_cache
from typing import NamedTuple

from memory_fabric.language import word_lists
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES, is_agent
from memory_fabric.models import Query
from memory_fabric.text import STOPWORDS, index_words, name_key, stem, words

# Words that are common in prompts to a coding assistant: they name an action, not a topic.
WEAK = word_lists.words("weak_words")
# Function words of the major languages besides English; they say hardly anything about a topic.
FUNCTION_WORDS = word_lists.words("function_words")
WEAK_STRENGTH, NUMBER_STRENGTH, NAME_STRENGTH = 0.3, 0.5, 1.3
# Strength of a single word of an agent's name: low, as only the whole name shows that it is meant.
AGENT_WORD_STRENGTH = 0.5
# For each of these words, both its short and its long form are searched for.
SHORT_FORMS = {
    "db": "database", "auth": "authentication", "config": "configuration", "env": "environment",
    "docs": "documentation", "deps": "dependencies", "perf": "performance", "prod": "production",
    "infra": "infrastructure", "i18n": "internationalization", "a11y": "accessibility",
}  # fmt: skip
LONG_FORMS = {long: short for short, long in SHORT_FORMS.items()}
# At most this many spellings of a name are searched for.
MAX_SPELLINGS = 6
MAX_NAME_WORDS, MAX_NAMED_WORDS = 4, 400


class Concept(NamedTuple):
    """A content word of a query: `spellings` to search for, and `stems` of words that match it."""

    text: str
    spellings: tuple[str, ...]
    stems: frozenset[str]
    strength: float = 1.0


@lru_cache(8)  # every stage of a recall needs the concepts of the same query
def concepts(query: Query) -> tuple[Concept, ...]:
    """Return a query's concepts: first its terms, then the single words of agent names in it."""
    names = {hint.lower() for hint in query.entity_hints}
    by_stem: dict[str, Concept] = {}
    meanings = dict(query.meant)
    for term in query.terms:
        spellings = _spellings(term)
        if term in meanings:
            names.add(term)
            # If the term is an alias or misspelling of a one-word name, add this name's spellings.
            spoken = words(meanings[term])
            spellings += _spellings(spoken[0]) if len(spoken) == 1 else ()
        stems = frozenset(map(stem, spellings))
        by_stem.setdefault(stem(term), Concept(term, spellings, stems, _strength(term, names)))
    for hint in query.entity_hints:
        for word in words(hint) if is_agent(hint) else ():
            concept = Concept(word, (word,), frozenset((stem(word),)), AGENT_WORD_STRENGTH)
            by_stem.setdefault(stem(word), concept)
    return tuple(by_stem.values())


def stems_of(text: str) -> set[str]:
    """Return the stems of a text's words and CamelCase parts, and its pairs of CJK characters."""
    return {stem(word) for word in index_words(text)}


@lru_cache(8)  # several stages of recall need the keys of the same prompt
def name_keys(text: str) -> frozenset[str]:
    """Return the `name_key`s of all possible names in the text: any one to four adjacent words."""
    spoken = words(text)[:MAX_NAMED_WORDS]
    keys = set(spoken)
    for count in range(2, MAX_NAME_WORDS + 1):
        keys.update("".join(spoken[i : i + count]) for i in range(len(spoken) - count + 1))
    keys.update([name_key(name) for key in keys if (name := _known(key))])
    return frozenset(keys)


def _known(term: str) -> str:
    return TECHNOLOGIES.get(term) or PATTERNS.get(term) or ""


def _spellings(term: str) -> tuple[str, ...]:
    our_name = _known(term)
    if not our_name:
        short_or_long = SHORT_FORMS.get(term) or LONG_FORMS.get(term)
        return (term, short_or_long) if short_or_long else (term,)
    variants = [term, our_name.lower()]
    for table in (TECHNOLOGIES, PATTERNS):
        variants += [key for key, name in table.items() if name == our_name]
    return tuple(v for v in dict.fromkeys(variants) if v.isalnum())[:MAX_SPELLINGS] or (term,)


def _strength(term: str, named: set[str]) -> float:
    if len(term) == 1 and term.isascii():
        return NUMBER_STRENGTH
    if term in STOPWORDS or term in WEAK or stem(term) in WEAK or term in FUNCTION_WORDS:
        return WEAK_STRENGTH
    if term.isdigit():
        return NUMBER_STRENGTH
    return NAME_STRENGTH if term in named or _known(term) else 1.0


def near_words(concept: Concept) -> tuple[str, ...]:
    """Return a concept's synonyms whose stems do not match it already; most concepts have none."""
    near = _synonyms().get(stem(concept.text), ())
    return tuple(word for word in near if stem(word) not in concept.stems)


@cache
def _synonyms() -> dict[str, tuple[str, ...]]:
    """Map each stem to its synonyms: words of similar meaning, or examples of a kind of thing."""
    table = word_lists.sections("synonyms")
    kinds = (line.partition(" = ") for line in table["kinds"])
    rows = [(line, line) for line in table["alike"]]
    rows += [(kind, members) for kind, _, members in kinds]
    near: dict[str, dict[str, None]] = {}
    for spoken, others in rows:
        for word in spoken.split():
            near.setdefault(stem(word), {}).update(dict.fromkeys(others.split()))
    return {key: tuple(word for word in near[key] if stem(word) != key) for key in near}
