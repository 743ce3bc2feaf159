"""Names in a note that nobody typed: commands, paths, addresses, packages and numbers."""

from __future__ import annotations

from itertools import pairwise

from memory_fabric.cache import Memo
from memory_fabric.notes import word_tables
from memory_fabric.notes.typed_text import tokens_of, typed_words
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, name_key, stem
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory_fabric.notes.grammar import Note

# The prompt of this turn and the one before it.
MAX_PROMPTS = 2
# The newest prompts of the session, in which names are looked for.
MAX_TYPED_CHARS = 256 << 10
# Words of a command may be typed with so many others between them.
COMMAND_GAP = 6
STRIPPED = ".,;:!?()[]{}<>\"'“”‘’„«»「」『』…。，、；：！？*"
_ABBREVIATIONS = frozenset(("e.g", "i.e", "z.b", "u.a", "d.h", "p.ej", "p.ex", "a.m", "p.m"))
_NUMBER = r"\d+(?:[.,'’ \u00a0\u202f]\d+)*"


class _Typed(Value):
    """A prompt as it is compared: its tokens, and all of them joined with the places of their ends.

    `joined` finds a name however it is separated: `Next.js` is `nextjs`, and `51 73` is `5173`.
    """

    tokens: tuple[str, ...]
    joined: str
    borders: frozenset[int]


def untyped_name(note: Note, prompts: Sequence[str], known: Sequence[str]) -> str:
    """Return the first name of the note that is in no prompt, newest first, and not known."""
    names = list(_names(note))
    for most in (MAX_PROMPTS, len(prompts)):  # most names are in the newest prompts
        if not names:
            return ""
        texts = [_index(text) for text in (*known, *_newest(prompts[:most]))]
        tokens = frozenset(token for text in texts for token in text.tokens)
        names = [name for name in names if not _is_typed(name, texts, tokens)]
    return names[0] if names else ""


def _newest(prompts: Sequence[str]) -> Iterator[str]:
    left = MAX_TYPED_CHARS
    for prompt in prompts:
        if left > 0:
            yield typed_words(prompt)
        left -= len(prompt)


def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(stem, words))


def _typed(text: str) -> _Typed:
    tokens = tuple(tokens_of(text))
    borders, at = {0}, 0
    for token in tokens:
        at += len(token)
        borders.add(at)
    return _Typed(tokens, "".join(tokens), frozenset(borders))


_STEMMED = Memo(_stems, 1)


# All notes of a turn are compared with the same prompts.
_INDEXED = Memo(_typed, 256)


def _index(text: str) -> _Typed:
    found: _Typed = _INDEXED[text]
    return found


def _names(note: Note) -> Iterator[str]:
    """Yield commands, paths, addresses, names of packages and numbers of the sentence.

    Addresses count in every field, since the reader may follow them.
    """
    for field in (note.why, note.instead_of, note.when, note.also):
        for word in field.split():
            bare = word.strip(STRIPPED + "`")
            if "://" in bare or bare.lower().startswith("www."):
                yield bare
    prose = note.text
    for found in pattern(r"`([^`]{1,200})`").finditer(note.text):
        yield found[1]
        prose = prose.replace(found[0], " ` ")
    words = prose.split()
    for at, word in enumerate(words):
        bare = word.strip(STRIPPED).removesuffix("'s").removesuffix("’s")
        if not any(map(str.isalnum, bare)):
            continue
        before = words[at - 1].strip(STRIPPED).lower() if at else ""
        behind = words[at + 1].strip(STRIPPED).lower() if at + 1 < len(words) else ""
        if _is_name(bare) or (bare.isascii() and _is_package(bare, before, behind)):
            yield bare
    rest = " ".join(word for word in words if not _is_name(word.strip(STRIPPED) or "."))
    for found in pattern(_NUMBER).finditer(rest):
        yield found[0]


def _is_name(word: str) -> bool:
    """Return True for a path, an address, an option, or a word in the form of a name in code."""
    lowered = word.lower()
    if lowered in _ABBREVIATIONS:
        return False
    if pattern(r"\d[\d.,'’]*[^\W\d_]{0,4}[%°$€£]?").fullmatch(word):
        return False  # a number, perhaps with its unit
    parts = word.split("/")
    if len(parts) == 2 and word[0].isupper() and all(map(str.isalpha, parts)):
        return False  # "Checkout/payment", "TCP/IP"
    inner = word[1:-1]
    if any(c in word for c in "/\\@_=$#~") or "." in inner or "::" in inner or word[0] == "-":
        return True
    if not word.isascii():
        return False
    letters = word.rstrip("s")
    mixed = any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    return (
        mixed
        or any(a.islower() and b.isupper() for a, b in pairwise(word))
        or (any(map(str.islower, letters)) and letters[:2].isupper())
    )


def _is_package(word: str, before: str, behind: str) -> bool:
    """Return True for a known technology or command, and for a rare word next to `package`."""
    lowered = word.lower()
    if lowered in word_tables.COMMANDS:
        return True
    from memory_fabric.language.vocabulary import ORDINARY, TECHNOLOGIES  # late: only with `From:`

    if name_key(word) in TECHNOLOGIES and lowered not in ORDINARY:
        return True
    named = before in word_tables.PACKAGE_BEFORE or behind in word_tables.PACKAGE_BEHIND
    if not (named or ("-" in word and word.islower())) or lowered in STOPWORDS:
        return False
    from memory_fabric.language.ordinary_words import WORDS  # late: a large table, rarely needed

    parts = [stem(part) for part in lowered.split("-")]
    if not named and parts[0] in word_tables.PREFIXES:
        return False
    return any(part not in STOPWORDS and part not in _STEMMED[WORDS] for part in parts)


def _is_typed(name: str, texts: Sequence[_Typed], typed: frozenset[str]) -> bool:
    """Return True if a text has the name; `typed` are the tokens of all texts."""
    tokens = tokens_of(name)
    joined = "".join(tokens)
    forms = (joined, joined.removesuffix("s")) if name[-1:] == "s" else (joined,)
    if not tokens or any(_holds(form, text) for form in forms for text in texts):
        return True
    if pattern(_NUMBER).fullmatch(name):
        spelled = word_tables.NUMBERS.get(joined, "").split()
        return not typed.isdisjoint(spelled) or (len(tokens) > 1 and typed.issuperset(tokens))
    if len(tokens) > 1 and " " in name.strip():
        return any(_in_order(tokens, text.tokens) for text in texts)
    parts = name.split("/")
    if len(parts) == 2 and all(map(str.isalpha, parts)):
        return typed.issuperset(tokens)
    from memory_fabric.language.vocabulary import TECHNOLOGIES  # late: only with `From:`

    same = TECHNOLOGIES.get(name_key(name))
    return same is not None and any(TECHNOLOGIES.get(token) == same for token in typed)


def _holds(joined: str, text: _Typed) -> bool:
    at = text.joined.find(joined)
    while at >= 0:
        if at in text.borders and at + len(joined) in text.borders:
            return True
        at = text.joined.find(joined, at + 1)
    return False


def _in_order(tokens: Sequence[str], typed: Sequence[str]) -> bool:
    """Return True if the tokens were typed in this order, with few words between them."""
    for start, token in enumerate(typed):
        if token != tokens[0]:
            continue
        rest = iter(typed[start : start + len(tokens) + COMMAND_GAP])
        if all(any(token == other for other in rest) for token in tokens):
            return True
    return False
