"""The concepts of a question: one for each content word, with all its spellings.

`retrieve` searches for the spellings; `normalize` and `inject` measure how much of the question a
memory covers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from memory_fabric.language.function_words import FUNCTION_WORDS
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES, is_agent
from memory_fabric.models import Query
from memory_fabric.text import STOPWORDS, index_words, name_key, stem, words

# Common words of prompts to a coding assistant: they describe the action, hardly the topic.
WEAK = frozenset(
    """add adding added allow also always another answer app apply approach around ask avoid away
    back bad based basic best better big bit bring build building built call case cases change
    changed changes check clean code come comes common complete completely correct correctly could
    create created creating current currently day days default delete different directory do done
    easy edit either else end ensure entire error errors etc even every everything exactly example
    existing explain extra fail failed failing fails far feature features file files find fine first
    fix fixed fixing folder following found full function functions general give given giving good
    great handle handled happen happened happens happy help implement implementation implemented
    improve include including input instead issue issues keep kind know known last later least left
    let lets like line lines list little load long look looking looks lot made main make makes
    making many may maybe mean means method might missing modify month move much must name need
    needed needs never new next nice nothing number old one open option output part people per
    perform place point possible prefer problem problems project proper properly provide put
    question quick quickly quite rather read ready real really recommend refactor remember remove
    removed rename repo repository resolve result results return right run running runs said say
    see seem seems set setting several shall show side simple simply since single small something
    sort sound sounds source specific start started step steps still stop stuff sure take talk
    tell test tests thing things think three time times today together told top total tried true
    try trying turn two type understand update updated updates use used useful user users uses using
    value values want wanted wants way week well whole wise without word work working works worth
    would write writing wrong yeah year years yet""".split()
)
WEAK_STRENGTH, NUMBER_STRENGTH, NAME_STRENGTH = 0.3, 0.5, 1.3
# An agent's name says whose memory is meant; each of its words alone means little.
AGENT_WORD_STRENGTH = 0.5
# Short forms of words that are searched for in both forms.
SHORT_FORMS = {
    "db": "database",
    "auth": "authentication",
    "config": "configuration",
    "env": "environment",
    "docs": "documentation",
    "deps": "dependencies",
    "perf": "performance",
    "prod": "production",
    "infra": "infrastructure",
    "i18n": "internationalization",
    "a11y": "accessibility",
}
LONG_FORMS = {long: short for short, long in SHORT_FORMS.items()}
# The most spellings of a name.
MAX_SPELLINGS = 6
MAX_NAME_WORDS = 4
MAX_NAMED_WORDS = 400


class Concept(NamedTuple):
    """One content word of a question: `spellings` to search for, `stems` that count as a match."""

    text: str
    spellings: tuple[str, ...]
    stems: frozenset[str]
    strength: float = 1.0


@lru_cache(8)  # every stage of one recall needs those of the same query
def concepts(query: Query) -> tuple[Concept, ...]:
    """Return the concepts of a query: its terms, then the words of the agents it names."""
    named = {hint.lower() for hint in query.entity_hints}
    found: dict[str, Concept] = {}
    meant = dict(query.meant)
    for term in query.terms:
        spellings = _spellings(term)
        if term in meant:
            named.add(term)
            spellings = (*spellings, *_spellings_of_name(meant[term]))
        stems = frozenset(map(stem, spellings))
        found.setdefault(stem(term), Concept(term, spellings, stems, _strength(term, named)))
    for hint in query.entity_hints:
        for word in words(hint) if is_agent(hint) else ():
            concept = Concept(word, (word,), frozenset((stem(word),)), AGENT_WORD_STRENGTH)
            found.setdefault(stem(word), concept)
    return tuple(found.values())


def stems_of(text: str) -> set[str]:
    """Return the stems of all words of a text, with the parts of CamelCase words and CJK pairs."""
    return {stem(word) for word in index_words(text)}


@lru_cache(8)  # retrieval, relevance and the floor need those of the same prompt
def name_keys(text: str) -> frozenset[str]:
    """Return the keys of all possible names in the text: runs of one to four words."""
    found = words(text)[:MAX_NAMED_WORDS]
    keys = set(found)
    for count in range(2, MAX_NAME_WORDS + 1):
        keys.update("".join(found[i : i + count]) for i in range(len(found) - count + 1))
    for key in tuple(keys):
        known = TECHNOLOGIES.get(key) or PATTERNS.get(key)
        if known:
            keys.add(name_key(known))
    return frozenset(keys)


def _known(term: str) -> str:
    return TECHNOLOGIES.get(term) or PATTERNS.get(term) or ""


def _spellings(term: str) -> tuple[str, ...]:
    known = _known(term)
    if not known:
        other = SHORT_FORMS.get(term) or LONG_FORMS.get(term)
        return (term, other) if other else (term,)
    variants = [term, known.lower()]
    for table in (TECHNOLOGIES, PATTERNS):
        variants += [key for key, name in table.items() if name == known]
    single = [v for v in dict.fromkeys(variants) if v.isalnum()]
    return tuple(single[:MAX_SPELLINGS]) or (term,)


def _spellings_of_name(name: str) -> tuple[str, ...]:
    """Return the spellings of a name of one word; none of a longer one, which its entity has."""
    found = words(name)
    return _spellings(found[0]) if len(found) == 1 else ()


def _strength(term: str, named: set[str]) -> float:
    if len(term) == 1 and term.isascii():
        return NUMBER_STRENGTH
    if term in STOPWORDS or term in WEAK or stem(term) in WEAK or term in FUNCTION_WORDS:
        return WEAK_STRENGTH
    if term.isdigit():
        return NUMBER_STRENGTH
    return NAME_STRENGTH if term in named or _known(term) else 1.0
