"""The subject of a statement: the words that say what it is about, with things under one name."""

from __future__ import annotations

from memory_fabric.language.concepts import WEAK
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES
from memory_fabric.text import STOPWORDS, name_key, stem, words

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
    stored stores lives live backed powered built keep want now must shall forbidden allowed
    required""".split()
)
# Where something holds without saying what it is for.
_GENERIC = frozenset(
    """repo repository project projects codebase code app application team here everywhere all
    every week month year quarter sprint today yesterday last""".split()
)
_VAGUE = WEAK | STOPWORDS | _CHOICE_WORDS | _GENERIC | frozenset(("managed", "plain", "vanilla"))
# A verb's stem may be a noun: "ported", but "the port".
_VAGUE_STEMS = frozenset(map(stem, WEAK | STOPWORDS | _GENERIC))


def key_of(name: str) -> str:
    """Return the key under which all names of a known thing meet; a version stays behind it."""
    bare, _, last = name.rpartition(" ")
    if bare and last[:1].isdigit():
        return key_of(bare) + last
    key = name_key(name)
    known = TECHNOLOGIES.get(key) or PATTERNS.get(key)
    return name_key(known) if known else key


def subject(text: str) -> list[str]:
    """Return the stems of the words that say what a text is about, in order, each once."""
    found = (key_of(word) for word in words(text) if word not in _VAGUE)
    stems = (stem(word) for key in found for word in words(key))
    return list(dict.fromkeys(one for one in stems if one not in _VAGUE_STEMS))
