"""Other names that a text itself gives to its entities: `Kubernetes (k8s)`, `k8s` alone."""

from __future__ import annotations

from collections.abc import Iterable

from memory_fabric.language.vocabulary import canonical
from memory_fabric.text import name_key, words

MAX_SHORT_CHARS = 12
_OPEN, _CLOSE = " (", ")"
_TRIMMED = "\"'`.,;:"


def aliases_in(text: str, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return for each of the names the other names in the text; names without any are left out.

    A short form counts in brackets after the name, or if the vocabulary knows it and the text uses
    it.
    """
    spoken = {canonical(word): word for word in words(text) if canonical(word) != word}
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        other = [*_in_brackets(text, name), spoken.get(name, "")]
        own = name_key(name)
        kept = tuple(dict.fromkeys(alias for alias in other if alias and name_key(alias) != own))
        if kept:
            found[name] = kept
    return found


def _in_brackets(text: str, name: str) -> list[str]:
    """Return the short forms in `name (short)` and `short (name)`."""
    found = []
    _, there, after = text.partition(name + _OPEN)
    if there:
        found.append(after.partition(_CLOSE)[0])
    before, there, _ = text.partition(_OPEN + name + _CLOSE)
    if there:
        found.append(before.rpartition(" ")[2])
    return [short for short in (part.strip(_TRIMMED) for part in found) if _is_short(short, name)]


def _is_short(short: str, name: str) -> bool:
    """Return True if the letters of a shorter word occur in the name in order, first to first."""
    letters = [c for c in short.lower() if c.isalpha()]
    if not letters or len(short) > MAX_SHORT_CHARS or len(short) >= len(name) or " " in short:
        return False
    rest = iter(name.lower())
    return name[:1].lower() == letters[0] and all(letter in rest for letter in letters)
