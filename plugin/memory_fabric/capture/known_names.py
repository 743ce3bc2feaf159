"""The known entities that a text may mention, looked up when the first name is met."""

from __future__ import annotations

from _collections_abc import Mapping  # the package `collections` loads more
from collections.abc import Iterator

from memory_fabric.store.graph import entities_by_key
from memory_fabric.store.memory import Memory
from memory_fabric.text import words

# The most words of a text that are looked up; further known names are optional.
MAX_TEXT_CHARS = 16 << 10
MAX_WORDS_LOOKED_UP = 400


class KnownNames(Mapping[str, str]):
    """A mapping from `name_key` to the name of known entities; most texts need no lookup."""

    def __init__(self, memory: Memory, text: str) -> None:
        self._memory, self._text = memory, text
        self._found: dict[str, str] | None = None

    def __getitem__(self, key: str) -> str:
        return self._names()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> dict[str, str]:
        if self._found is None:
            self._found = {}
            for database in reversed(self._memory.databases()):
                entities = entities_by_key(database, self._keys())
                self._found |= {key: entity.name for key, entity in entities.items()}
        return self._found

    def _keys(self) -> list[str]:
        parts = words(self._text[:MAX_TEXT_CHARS])[:MAX_WORDS_LOOKED_UP]
        pairs = [parts[i] + parts[i + 1] for i in range(len(parts) - 1)]
        return [key for key in dict.fromkeys([*parts, *pairs]) if len(key) > 1]
