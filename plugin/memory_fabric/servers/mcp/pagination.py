"""Parts of a graph that fit into an answer, entity by entity, and the place where the next begins.

A page holds whole entities with their relations; of one that is longer than a page, those of its
observations are shown that fit, and its further relations come on the next pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from memory_fabric.errors import BadInput
from memory_fabric.models import Entity, Graph, Relation
from memory_fabric.store import graph
from memory_fabric.store.database import Database
from memory_fabric.text import cut

# Entities of some names, and the relations at some of their ends, by numbers in creation order.
Part = tuple[list[Entity], dict[int, Relation]]
Opener = Callable[[Sequence[str], Sequence[str]], list[Part]]

# A key that sorts relations in creation order, database by database; the relation; its size.
Numbered = tuple[int, Relation, int]

# Entities asked of the store at once: few first, for most answers are short.
FIRST_CHUNK, CHUNK = 32, 96
# More relations than this around one chunk: one of its entities is a hub, and is asked for alone.
CHUNK_RELATIONS = 2000
# Of a text that no page holds at least so much is shown, whatever page was asked for.
LEAST_CHARS = 200
# No database has so many rows.
MOST_ROWS = 1 << 62
# What JSON adds around the texts of an entity, of an observation, of a relation.
ENTITY_CHARS, TEXT_CHARS, RELATION_CHARS = 46, 3, 38


class Start(NamedTuple):
    """The start of a page: the position of its first entity, and how many relations were shown.

    Its text, the cursor of a call, is `<place>` or `<place>.<relations>`.
    """

    place: int = 0
    relations: int = 0

    def __str__(self) -> str:
        return f"{self.place}.{self.relations}" if self.relations else str(self.place)


class Page(NamedTuple):
    """A part of the graph that fits, the start of the next page, and names that were cut."""

    graph: Graph
    following: Start | None = None
    cut: tuple[str, ...] = ()


def start_of(cursor: str) -> Start:
    """The start that a cursor names; an empty one names the first page. Raises BadInput."""
    parts = [part or "0" for part in cursor.partition(".")[::2]]
    if all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        return Start(*map(int, parts))
    raise BadInput(
        "cursor",
        f"There is no page {cursor[:40]!r}.",
        remedy="Give the cursor of the note in the answer before, or none.",
    )


def in_databases(databases: Sequence[Database]) -> Opener:
    """Return the reader of entities from these databases."""
    return lambda names, ends: [_part(db, names, ends) for db in databases]


def in_memory(view: Graph) -> Opener:
    """Return the reader of entities from a graph that was read whole; kept for the next call."""
    cached = _KEPT.get("")
    if cached is None or cached[0] is not view:
        cached = _KEPT[""] = view, _reader_of(view)
    return cached[1]


_KEPT: dict[str, tuple[Graph, Opener]] = {}


def _reader_of(view: Graph) -> Opener:
    entities = {entity.name: entity for entity in view.entities}
    touching: dict[str, list[int]] = {}
    leaving: dict[str, list[int]] = {}
    for number, (source, _, target) in enumerate(view.relations):
        leaving.setdefault(source, []).append(number)
        touching.setdefault(source, []).append(number)
        touching.setdefault(target, []).append(number)

    def opened(names: Sequence[str], ends: Sequence[str]) -> list[Part]:
        around = touching if len(ends) > 1 else leaving
        numbers = {number for name in names for number in around.get(name, ())}
        relations = {number: view.relations[number] for number in numbers}
        return [([entities[name] for name in names if name in entities], relations)]

    return opened


def page(
    opener: Opener,
    entities: Iterable[tuple[int, str]],
    start: Start,
    *,
    max_chars: int,
    outgoing: bool = False,
    whole_first: bool = False,
) -> Page:
    """The entities (place, name) in order, from the start on, with relations at either end.

    `opener` reads them. With `outgoing` a relation comes with its source only: each once over all
    pages. `whole_first` keeps the observations of a first entity that is too long. Relations are in
    creation order.
    """
    filled = _Filled(max_chars, whole_first)
    skipped = start.relations
    entities_left = iter(entities)
    while chunk := list(islice(entities_left, filled.wanted())):
        names = [name for _, name in chunk]
        known, around = _opened(opener, names, outgoing)
        for place, name in chunk:
            if name in known:
                relations = around.get(name, [])[skipped:]
                did_fit = filled.add(known[name], relations)
                if did_fit is None:
                    return filled.page(Start(place))
                if did_fit:
                    return filled.page(Start(place, skipped + len(relations) - did_fit))
            skipped = 0
    return filled.page(None)


def chars(view: Graph) -> int:
    """The size of a graph in an answer, in characters of JSON."""
    return sum(map(_entity_chars, view.entities)) + sum(map(_relation_chars, view.relations))


class _Filled:
    """A page while it is being filled."""

    def __init__(self, max_chars: int, whole_first: bool) -> None:
        self._max_chars = self._free = max_chars
        self._whole_first = whole_first
        self._entities: list[Entity] = []
        self._relations: dict[int, Relation] = {}
        self._cut: list[str] = []

    def wanted(self) -> int:
        """The number of entities to read next: as many as are likely to fit, and one more."""
        if not self._entities:
            return FIRST_CHUNK
        used = self._max_chars - self._free
        return min(CHUNK, 1 + self._free * len(self._entities) // max(1, used))

    def add(self, entity: Entity, around: Sequence[Numbered]) -> int | None:
        """Add an entity; return how many of its relations did not fit, or None if it did not fit.

        The first entity is always in, with as many of its relations as fit.
        """
        relations = self._relations
        size = _entity_chars(entity) + sum([n for key, _, n in around if key not in relations])
        if size <= self._free:
            self._put(entity, around, size)
            return 0
        if self._entities:
            return None
        if not self._whole_first:
            entity = self._shortened(entity)
        free, fitting = self._free - _entity_chars(entity), 0
        for _, _, size in around:
            free -= size
            if free < 0 and fitting:
                break
            fitting += 1
        self._put(entity, around[:fitting], self._free)
        return len(around) - fitting

    def page(self, following: Start | None) -> Page:
        """Return the filled page, with relations in creation order."""
        relations = [self._relations[key] for key in sorted(self._relations)]
        return Page(Graph(tuple(self._entities), tuple(relations)), following, tuple(self._cut))

    def _put(self, entity: Entity, around: Iterable[Numbered], size: int) -> None:
        self._entities.append(entity)
        self._relations.update([(key, relation) for key, relation, _ in around])
        self._free -= size

    def _shortened(self, entity: Entity) -> Entity:
        """The entity with as many of its observations as fit; of the first a part, if none does."""
        texts: list[str] = []
        free = self._free - _entity_chars(entity._replace(observations=()))
        for text in entity.observations:
            size = TEXT_CHARS + len(text)
            if size <= free:
                texts.append(text)
                free -= size
        if entity.observations and not texts:
            texts = [cut(entity.observations[0], max(LEAST_CHARS, free - TEXT_CHARS))]
        if tuple(texts) != entity.observations:
            self._cut.append(entity.name)
        return entity._replace(observations=tuple(texts))


def _opened(
    opener: Opener, names: Sequence[str], outgoing: bool
) -> tuple[dict[str, Entity], dict[str, list[Numbered]]]:
    """The entities, and their relations in creation order, each with the first of its ends here.

    With `outgoing` each with its source.
    """
    parts = opener(names, graph.ENDS[:1] if outgoing else graph.ENDS)
    by_name = graph.by_name(entities for entities, _ in parts)
    places = {name: place for place, name in enumerate(names)}
    around: dict[str, list[Numbered]] = {}
    relations_given: set[Relation] = set()
    last = len(names)
    for number, (_, relations) in enumerate(parts):
        for id_, relation in sorted(relations.items()):
            if len(parts) > 1:
                if relation in relations_given:
                    continue
                relations_given.add(relation)
            source, kind, target = relation
            owner = source
            if not outgoing and places.get(target, last) < places.get(source, last):
                owner = target
            size = RELATION_CHARS + len(source) + len(kind) + len(target)
            around.setdefault(owner, []).append((number * MOST_ROWS + id_, relation, size))
    return by_name, around


def _part(db: Database, names: Sequence[str], ends: Sequence[str]) -> Part:
    entities, relations = graph.opened(db, names, CHUNK_RELATIONS, ends)
    if len(relations) >= CHUNK_RELATIONS:
        entities, relations = graph.opened(db, names, ends=ends)
    return entities, relations


def _entity_chars(entity: Entity) -> int:
    name, kind, texts = entity
    own = ENTITY_CHARS + len(name) + len(kind)
    return own + TEXT_CHARS * len(texts) + sum(map(len, texts))


def _relation_chars(relation: Relation) -> int:
    return RELATION_CHARS + sum(map(len, relation))
