"""Words of sentences about choices: keys of names, what a sentence is about, one line of it."""

from __future__ import annotations

from memory_fabric.capture.extract import extract
from memory_fabric.language.concepts import WEAK
from memory_fabric.language.patterns import pattern
from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES
from memory_fabric.text import STOPWORDS, name_key, stem, words

MAX_CHARS = 400
MAX_NAME_WORDS = 4

# A run that may be a name; a full stop only inside it (`Fly.io`).
NAME = r"(?:[^\s,;:!?().]|\.(?=\w))+(?: (?:[^\s,;:!?().]|\.(?=\w))+){0,5}?"
# Where a name ends.
END = (
    r"(?=$|[,;:!?()]|\.(?:\s|$)| (?:for|in|on|to|onto|over|as|at|with|by|from|when|where|because|"
    r"since|so|and|or|but|not|instead|rather|now|here|everywhere|across|throughout|again|any ?more|"
    r"any longer|entirely|completely|altogether|last|this|today|yesterday|is|are|we|everything|"
    r"due|out|after|before|during|while|if|unless|until)\b| — | - )"
)
_REASON = (
    r"(?:,? because\b|,? since (?!(?:last|then|\d))|,? due to\b|,? as (?:it|they|we|this|that)\b|"
    r" so that\b| — because\b|; | to (?:avoid|reduce|save|prevent|ensure|keep|make|get)\b|"
    r", (?:which|it|they|and (?:we|it)) )"
)
_BECAUSE = (
    r"(?:because|since (?!(?:last|then|\d))|due to|so that|"
    r"as (?:it|they|we|this|that)(?! (?:is|are|was|were)(?:$|[.,;!])))\b"
)
_BECAUSE_WITHIN = rf",? {_BECAUSE}"
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
    stored stores lives live backed powered built keep want now""".split()
)
# Where something holds without saying what it is for.
GENERIC = frozenset(
    """repo repository project projects codebase code app application team here everywhere all
    every week month year quarter sprint today yesterday last""".split()
)
# What says only how a thing is had: "managed Postgres" is Postgres.
_QUALIFIERS = frozenset("managed plain hosted local vanilla self based the our a an all".split())
_VAGUE = WEAK | STOPWORDS | _CHOICE_WORDS | GENERIC | frozenset(("managed", "plain", "vanilla"))
# A verb's stem may be a noun: "ported", but "the port".
_VAGUE_STEMS = frozenset(map(stem, WEAK | STOPWORDS | GENERIC))
# A pattern is mostly what something is for ("for rate limiting").
KINDS = ("technology", "tool")


def key_of(name: str) -> str:
    """The key under which all names of a known thing meet; a version stays behind it."""
    bare, _, last = name.rpartition(" ")
    if bare and last[:1].isdigit():
        return key_of(bare) + last
    key = name_key(name)
    known = TECHNOLOGIES.get(key) or PATTERNS.get(key)
    return name_key(known) if known else key


def keys_of(phrase: str, *, any_version: bool = False) -> frozenset[str]:
    """Keys of a name as somebody wrote it: whole, and the one known thing that it names.

    With `any_version` "MongoDB 6" is MongoDB, too: who leaves MongoDB leaves that.
    """
    parts = [word for word in phrase.split() if word.lower() not in _QUALIFIERS]
    if not parts or len(parts) > MAX_NAME_WORDS:
        return frozenset()
    bare = " ".join(parts).strip("\"'`*")
    keys = {key_of(bare)}
    if any_version and len(parts) > 1 and parts[-1][:1].isdigit():
        keys.add(key_of(" ".join(parts[:-1])))
    entities = extract(bare)[0]
    if len(entities) == 1:
        own = {stem(w) for w in words(entities[0].name)}
        if {stem(w) for w in words(bare)} - _QUALIFIERS <= own:
            keys.add(key_of(entities[0].name))
    return frozenset(keys)


def clauses(text: str) -> list[str]:
    """The clauses of a text, one line each, without those that give a reason."""
    line = _line(text)
    parts = pattern(r"; | — | - |: (?=[a-z])").split(line)
    kept = [part for part in parts if not pattern(_BECAUSE).match(part)]
    cut = (pattern(_BECAUSE_WITHIN).split(part, maxsplit=1)[0] for part in kept)
    return [part.rstrip(" .!") for part in cut]


def content_stems(text: str) -> frozenset[str]:
    """Stems of the words that say what a text is about."""
    return frozenset(
        stem(word) for word in words(text) if word not in _VAGUE and stem(word) not in _VAGUE_STEMS
    )


def plain(text: str) -> str:
    """The statement itself: one line, without its reason and without signs of writing."""
    text = _line(text)
    reason = pattern(_REASON).search(text, 8)
    return (text[: reason.start()] if reason else text).rstrip(" .!")


def _line(text: str) -> str:
    return " ".join(text[:MAX_CHARS].replace("`", "").replace("*", "").replace("’", "'").split())
