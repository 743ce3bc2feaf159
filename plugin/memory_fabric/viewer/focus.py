"""The entity of a picture that a person means by a name."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from memory_fabric.errors import NotFound
from memory_fabric.text import name_key

MAX_NEAR = 5
# Below, two names have little in common.
MIN_LIKENESS = 0.6
# Parts of names that are shorter stand in too many.
MIN_PART_CHARS = 3


def number_of(picture: Mapping[str, Any], name: str) -> int:
    """The number of the entity of this name, else of this other name, else in another spelling.

    Raises NotFound with the names that come near.
    """
    entities = picture["entities"]
    for spelled in (str, name_key):
        for names in (_own_name, _aliases):
            for number, entity in enumerate(entities):
                if spelled(name) in map(spelled, names(entity)):
                    return number
    near = ", ".join(repr(other) for other in _near(name, [e["name"] for e in entities]))
    raise NotFound(
        name,
        f"There is no entity {name!r}." + (f" Near to it: {near}." if near else ""),
        remedy="memory-fabric recall finds names.",
    )


def _own_name(entity: Mapping[str, Any]) -> Sequence[str]:
    return (entity["name"],)


def _aliases(entity: Mapping[str, Any]) -> Sequence[str]:
    aliases: Sequence[str] = entity["aliases"]
    return aliases


def _near(name: str, names: Sequence[str]) -> list[str]:
    wanted, by_folded = name.casefold(), {other.casefold(): other for other in reversed(names)}
    holding = [f for f in by_folded if wanted in f] if len(wanted) >= MIN_PART_CHARS else []
    holding.sort(key=len)
    alike = get_close_matches(wanted, by_folded, MAX_NEAR, MIN_LIKENESS)
    return [by_folded[f] for f in dict.fromkeys((*holding[:MAX_NEAR], *alike))][:MAX_NEAR]
