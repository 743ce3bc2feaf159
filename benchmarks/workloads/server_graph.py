"""A graph of a given size with texts of real prose, and the calls that are made on it.

Each entity has 3 observations of 60 to 200 characters and 2 relations.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from driver import Server
from workloads.graph_prose import Prose, holders, query

TYPES = ("service", "library", "person", "decision")
KINDS = ("before", "uses")
OBSERVATIONS = 3
# A rare word is in at most so many entities, a frequent one in such a share of them.
RARE, FREQUENT = 3, (0.05, 0.15)
BATCH, MANY = 1_000, 50
# Sizes of the queries of several words.
SIZES = (2, 3, 4)

RARE_WORD, FREQUENT_WORD = "search, rare word", "search, frequent word"
ONE_WORD, SEVERAL_WORDS = "search, one word", "search, 2 to 4 words"
OPEN, WHOLE = "open_nodes", "read_graph"
CREATE_ONE, CREATE_MANY = "create_entities, one", f"create_entities, {MANY}"
OBSERVE = "add_observations"

Call = tuple[str, dict[str, Any]]


class Graph:
    """A graph of a size, the same every time."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._chance, prose = random.Random(size), Prose(size)
        self.entities = [_entity(prose, number) for number in range(size)]
        self._prose = prose
        self._texts = [text for entity in self.entities for text in entity["observations"]]
        counts = holders(entity["observations"] for entity in self.entities)
        least, most = (share * size for share in FREQUENT)
        self._rare = sorted(word for word, count in counts.items() if count <= RARE)
        self._frequent = sorted(w for w, n in counts.items() if least <= n <= most)
        self._frequent = self._frequent or [counts.most_common(1)[0][0]]

    def write(self, path: str) -> None:
        """Write the graph as the reference server's file."""
        with open(path, "w", encoding="utf-8") as file:
            for item in self.entities:
                file.write(json.dumps({"type": "entity", **item}) + "\n")
            for item in self.relations():
                file.write(json.dumps({"type": "relation", **item}) + "\n")

    def tell(self, server: Server) -> None:
        """Create the graph through the server's own tools."""
        for batch in _batches(self.entities):
            server.call("create_entities", {"entities": batch})
        for batch in _batches(list(self.relations())):
            server.call("create_relations", {"relations": batch})

    def relations(self) -> Iterator[dict[str, str]]:
        """Yield two relations of each entity."""
        for number in range(self.size):
            for step, kind in zip((1, 7), KINDS, strict=True):
                other = self._name((number + step) % self.size)
                yield {"from": self._name(number), "to": other, "relationType": kind}

    def reads(self) -> dict[str, Callable[[], Call]]:
        """Return the reads by their rows: each a function that draws the next call."""
        return {
            RARE_WORD: lambda: _search(self._chance.choice(self._rare)),
            FREQUENT_WORD: lambda: _search(self._chance.choice(self._frequent)),
            ONE_WORD: lambda: _search(query(self._texts, 1, self._chance)),
            SEVERAL_WORDS: lambda: _search(
                query(self._texts, self._chance.choice(SIZES), self._chance)
            ),
            OPEN: lambda: ("open_nodes", {"names": [self._any()]}),
            WHOLE: lambda: ("read_graph", {}),
        }

    def writes(self) -> dict[str, Callable[[], Call]]:
        """Return the writes likewise."""
        return {
            CREATE_ONE: lambda: self._new(1),
            CREATE_MANY: lambda: self._new(MANY),
            OBSERVE: self._more,
        }

    def _new(self, count: int) -> Call:
        first = self._chance.randrange(1 << 40)
        made = [_entity(self._prose, first + number) for number in range(count)]
        return "create_entities", {"entities": made}

    def _more(self) -> Call:
        said = {"entityName": self._any(), "contents": [self._prose.sentence()]}
        return "add_observations", {"observations": [said]}

    def _any(self) -> str:
        return self._name(self._chance.randrange(self.size))

    def _name(self, number: int) -> str:
        name: str = self.entities[number]["name"]
        return name


def undone(call: Call) -> Call | None:
    """Return the call that removes what a call has created, so that the graph keeps its size."""
    tool, arguments = call
    if tool == "create_entities":
        return "delete_entities", {"entityNames": [e["name"] for e in arguments["entities"]]}
    if tool == "add_observations":
        deletions = [
            {"entityName": said["entityName"], "observations": said["contents"]}
            for said in arguments["observations"]
        ]
        return "delete_observations", {"deletions": deletions}
    return None


def _search(text: str) -> Call:
    return "search_nodes", {"query": text}


def _entity(prose: Prose, number: int) -> dict[str, Any]:
    texts = [prose.sentence() for _ in range(OBSERVATIONS)]
    name = f"{prose.word()}-{prose.word()}-{number}"
    return {"name": name, "entityType": TYPES[number % len(TYPES)], "observations": texts}


def _batches(items: Sequence[dict[str, Any]]) -> Iterator[Sequence[dict[str, Any]]]:
    for first in range(0, len(items), BATCH):
        yield items[first : first + BATCH]
