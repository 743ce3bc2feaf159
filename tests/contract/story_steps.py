"""Steps of stories: one call each, and the things that most stories are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One call. Where ours may differ: the manifest's key, and our structure but for its note.

    Without `ours` the structure is the reference's, and the difference is the note.
    """

    tool: str
    arguments: Mapping[str, Any]
    differs: str = ""
    ours: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """Steps on an empty graph, and the behaviours that they show."""

    about: str
    behaviours: tuple[str, ...]
    steps: tuple[Step, ...]


def entity(name: str, *observations: str, kind: str = "thing") -> dict[str, Any]:
    """An entity in the tools' form."""
    return {"name": name, "entityType": kind, "observations": list(observations)}


def relation(source: str, kind: str, target: str) -> dict[str, str]:
    """A relation in the tools' form."""
    return {"from": source, "to": target, "relationType": kind}


def graph(*things: dict[str, Any]) -> dict[str, Any]:
    """A read's structure of these entities and relations."""
    return {
        "entities": [thing for thing in things if "name" in thing],
        "relations": [thing for thing in things if "from" in thing],
    }


def create(*entities: dict[str, Any], **differing: Any) -> Step:
    """Create entities."""
    return Step("create_entities", {"entities": list(entities)}, **differing)


def relate(*relations: dict[str, str], **differing: Any) -> Step:
    """Create relations."""
    return Step("create_relations", {"relations": list(relations)}, **differing)


def add(*pairs: tuple[str, list[str]], **differing: Any) -> Step:
    """Add observations, given as (entity, texts)."""
    listed = [{"entityName": name, "contents": texts} for name, texts in pairs]
    return Step("add_observations", {"observations": listed}, **differing)


def forget(*names: str) -> Step:
    """Delete entities."""
    return Step("delete_entities", {"entityNames": list(names)})


def unsay(*pairs: tuple[str, list[str]]) -> Step:
    """Delete observations, given as (entity, texts)."""
    listed = [{"entityName": name, "observations": texts} for name, texts in pairs]
    return Step("delete_observations", {"deletions": listed})


def unrelate(*relations: dict[str, str]) -> Step:
    """Delete relations."""
    return Step("delete_relations", {"relations": list(relations)})


def read(**differing: Any) -> Step:
    """Read the graph."""
    return Step("read_graph", {}, **differing)


def search(query: str, **differing: Any) -> Step:
    """Search."""
    return Step("search_nodes", {"query": query}, **differing)


def opened(*names: str, **differing: Any) -> Step:
    """Open nodes."""
    return Step("open_nodes", {"names": list(names)}, **differing)


def calls(tool: str, *arguments: Any) -> tuple[Step, ...]:
    """The same tool with each of the arguments."""
    return tuple(Step(tool, each) for each in arguments)


ADA = entity("ada", "on call on Mondays", "writes Go", kind="person")
BEN = entity("ben", "leads the shop", kind="person")
API = entity("api", "listens on 8080", kind="service")
TEAM = (ADA, BEN, API)
OWNS, USES = relation("ada", "owns", "api"), relation("ben", "uses", "api")
KNOWS = relation("ada", "knows", "ben")

LONG = "x" * 100_000
ODD = (
    "a b",
    " ",
    "line\none",
    "tab\tand\\",
    'quo"te',
    "nul\0in",
    "\u2028\u007f",
    "🎉",
    "naïve",
    "名前",
)
