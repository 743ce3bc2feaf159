"""Records that say the opposite of what a prompt asks for: a rule against it, a choice against it.

Few and certain: a sentence of the prompt, neither a question nor negated itself, does all that a
record says is not done, or uses by name what the record rejects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory_fabric.language import negations
from memory_fabric.language.vocabulary import TECHNOLOGIES
from memory_fabric.models import Hit
from memory_fabric.recall.parts import sentences
from memory_fabric.text import STOPWORDS, stem, words

# Types of records that say what is done, and the trust of those that count nothing against it.
KINDS = frozenset("constraint preference decision pattern note".split())
UNTRUSTED = frozenset(("tool", "foreign"))
MAX_SENTENCES = 40
# "Sin", "sans" and "sem" are left out: they deny a part of what is asked for, not all of it.
NEGATORS = negations.NEVER | negations.NOT | negations.CONTRACTED
NEGATORS |= frozenset("without без avoid stop mai".split())
# Words behind which a record names what it rejects.
_INSTEAD = (("instead", "of"), ("rather", "than"), ("in", "place", "of"), ("en", "lugar", "de"),
            ("en", "vez", "de"), ("em", "vez", "de"), ("au", "lieu", "de"), ("invece", "di"),
            ("statt",), ("anstatt",), ("anstelle", "von"), ("вместо",))  # fmt: skip
# Words of a clause that only say whether something is done.
_MODALS = STOPWORDS | frozenset(
    """use uses used using must shall should may can allowed forbidden longer please let always
    usar usa usen utiliser utilise utilisez verwenden verwende verwendet benutzen nutzen usare
    используй использовать gebruik gebruiken""".split()
)
# Verbs and prepositions right before what is used.
_USING = frozenset(
    """use uses using install add adopt switch migrate move run try with via through
    usa usar use usemos usá usando instala instalar con mit nutze nutzen benutze verwende
    verwenden installiere nimm utilise utiliser installe avec usare installa com instale
    используй использовать установи поставь gebruik met użyj""".split()
)
_BEFORE = 3
# Verbs of change may stand further before what is used: "move product photos over to Thumbor".
_CHANGING, _FAR_BEFORE = frozenset("switch move migrate port convert change".split()), 7
_SUBCOMMANDS = frozenset(
    "add audit build ci create exec init install publish remove run start test uninstall update "
    "upgrade".split()
)
# Words before what a choice is limited to; it is then no choice against others' use of the same.
_SCOPES = frozenset("for in on under at during für bei para pour per для".split())
_GENERIC = frozenset(
    "project projects repo repository code codebase app everything everywhere place all new".split()
)


class Sentence(NamedTuple):
    """A sentence of a prompt: its words in order, and their stems."""

    words: tuple[str, ...]
    stems: frozenset[str]


def requests(text: str) -> list[Sentence]:
    """Return the sentences of a prompt that ask for something to be done."""
    found = []
    for sentence, end in sentences(text):
        said = words(sentence)
        if said and end not in "?？" and NEGATORS.isdisjoint(said):
            found.append(Sentence(tuple(said), frozenset(map(stem, said))))
    return found[:MAX_SENTENCES]


def contradicts(hit: Hit, asked: Sequence[Sentence]) -> bool:
    """Return True if a record says that something these sentences ask for is not done."""
    about = hit.metadata
    if about.get("type") not in KINDS or about.get("trust") in UNTRUSTED:
        return False
    said = words(hit.text)
    rejected = [tuple(words(name)) for name in about.get("alternatives") or ()]
    rejected += _behind_instead(said)
    denied = []
    if not NEGATORS.isdisjoint(said):
        things = {part for name in hit.entities for part in words(name)}
        for clause in _denied_clauses(hit.text):
            if len(clause) > 1:
                denied.append(clause)
            elif clause[0] in things or clause[0] in TECHNOLOGIES:
                rejected.append(clause)
    stems = [frozenset(map(stem, clause)) for clause in denied]
    if any(clause <= sentence.stems for clause in stems for sentence in asked):
        return True
    subject = _subject(said, rejected) if _SCOPES & set(said) else frozenset()
    return any(
        _uses(sentence.words, name)
        for sentence in asked
        if not subject or subject & sentence.stems
        for name in rejected
        if name
    )


def _denied_clauses(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the content words behind the negation of each clause of a record."""
    for sentence, _ in sentences(text):
        for clause in sentence.replace(" — ", ", ").replace(" but ", ", ").split(", "):
            said = words(clause)
            at = next((i for i, word in enumerate(said) if word in NEGATORS), -1)
            if at < 0:
                continue
            # "is never seeded": what is not done stands before it, too.
            behind = [w for w in said[at + 1 :] if w not in _MODALS and w not in NEGATORS]
            before = [w for w in said[:at] if w not in _MODALS and w not in NEGATORS]
            content = tuple(dict.fromkeys([*before, *behind] if before else behind))
            if content and behind:
                yield content


def _behind_instead(said: Sequence[str]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for at in range(len(said)):
        for phrase in _INSTEAD:
            if tuple(said[at : at + len(phrase)]) == phrase:
                name = next((w for w in said[at + len(phrase) :] if w not in _MODALS), "")
                found.append((name,) if name else ())
    return found


def _subject(said: Sequence[str], rejected: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the stems of what a choice is about: GraphQL for the mobile API, and nothing else."""
    out = {word for name in rejected for word in name}.union(_MODALS, _GENERIC, _SCOPES)
    return frozenset(stem(word) for word in said if word not in out)


def _uses(said: Sequence[str], name: Sequence[str]) -> bool:
    """Return True if a sentence uses something by name: "use npm", "npm install"."""
    size = len(name)
    for at in range(len(said) - size + 1):
        if tuple(said[at : at + size]) == tuple(name):
            before = said[max(0, at - _BEFORE) : at]
            after = said[at + size : at + size + 1]
            changed = "to" in before and _CHANGING & set(said[max(0, at - _FAR_BEFORE) : at])
            if changed or _USING & set(before) or _SUBCOMMANDS & set(after):
                return True
    return False
