"""The graph as the nine graph tools show it: the databases of project and user combined, in pages.

A page contains as many entities as fit, each whole and with its relations. The page also states
where the next page starts. An entity that is too large for a page starts a new page, with the
observations that fit; its remaining relations follow on the next pages.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from memory_fabric.errors import BadInput
from memory_fabric.models import Entity, Graph, Relation
from memory_fabric.store.database import Database
from memory_fabric.store.queries import entity_search, graph
from memory_fabric.text import cut, name_key

# Entities, and a dict of relations from or to them; its keys are numbers in creation order.
Part = tuple[list[Entity], dict[int, Relation]]
Places = Iterable[tuple[int, str]]
Opener = Callable[[Sequence[str], Sequence[str]], list[Part]]
# (sort key, relation, size in characters). The key sorts by database, then by creation.
Numbered = tuple[int, Relation, int]
# The number of entities read at once: few at first, because most answers are short.
FIRST_CHUNK, CHUNK = 32, 96
# Limit of a first query for the relations of some entities; if reached, a second query reads all.
CHUNK_RELATIONS = 2000
# At least this many characters of an observation are shown, even if it is longer than a page.
LEAST_CHARS = 200
# Offset between the sort keys of two databases; no database has as many rows.
MOST_ROWS = 1 << 62
# Number of characters of JSON syntax around an entity, an observation and a relation.
ENTITY_CHARS, TEXT_CHARS, RELATION_CHARS = 46, 3, 38


class Start(NamedTuple):
    """The start of a page: an entity's position, and the number of its relations already shown."""

    place: int = 0
    relations: int = 0

    def __str__(self) -> str:
        return f"{self.place}.{self.relations}" if self.relations else str(self.place)


class Page(NamedTuple):
    """A part of the graph, the next page's start, and the names of entities that were shortened."""

    graph: Graph
    following: Start | None = None
    cut: tuple[str, ...] = ()


def read(databases: Sequence[Database], start: Start, max_chars: int) -> tuple[Page, str]:
    """Return a page of all entities in creation order, and a note if the graph has more pages."""
    everything = graph.read_if_small(databases) if start == Start() else None
    # Positions count entities per database: an entity in two databases takes up two positions.
    opener, ordered = in_databases(databases), _in_order(databases, start.place)
    if everything is not None and len(databases) == 1:
        if chars(everything) <= max_chars:
            return Page(everything), ""
        opener = in_memory(everything)
        ordered = ((place, entity.name) for place, entity in enumerate(everything.entities))
    found = page(_Filled(max_chars), opener, ordered, start, outgoing=True)
    if found.following is None:
        return found, ""
    counts = [graph.counts(db) for db in databases]
    entities, relations = (sum(column) for column in zip(*counts, strict=True))
    shown = f"{len(found.graph.entities)} of {entities} entities"
    return found, f"{shown} and {len(found.graph.relations)} of {relations} relations are shown"


def opened(
    databases: Sequence[Database], names: Sequence[str], start: Start, max_chars: int
) -> tuple[Page, str]:
    """Return a page of the entities with these names; a note reports omissions (MEM-07, MEM-08)."""
    existing_names = (name for db in databases for name in graph.existing(db, names))
    ordered = list(dict.fromkeys(existing_names))
    rest = enumerate(ordered[start.place :], start.place)
    found = page(_Filled(max_chars, whole_first=True), in_databases(databases), rest, start)
    if found.following is None:
        return found, ""
    missing = f"{len(ordered) - found.following.place} of the {len(ordered)} entities"
    return found, f"{missing} are not shown, or not with all relations"


def found(
    databases: Sequence[Database], query: str, enough: int, start: Start, max_chars: int
) -> tuple[Page, str]:
    """Return a page of the entities that match a query, best match first, and a note (MEM-07). An
    entity matches if it contains the query as a substring (as in the reference server), or all
    words of the query, or if it is named by a common alias of the query (Kubernetes for k8s). If
    fewer than `enough` entities match, entities that contain some of the words follow.
    """
    if not query:
        return read(databases, start, max_chars)
    best, is_cut = _best(databases, query, enough)
    everything = graph.read_if_small(databases)
    opener = in_databases(databases) if everything is None else in_memory(everything)
    names = _best_then_others(databases, query, best, is_cut)
    ordered = islice(enumerate(names), start.place, None)
    result = page(_Filled(max_chars), opener, ordered, start)
    if result.following is None:
        return result, ""
    last = result.following.place + bool(result.following.relations)  # the last one is in part
    more = len(best) - last
    count = "some" if more <= 0 else f"at least {more}" if is_cut else str(more)
    return result, f"the best {last} are shown, {count} more match"


def as_object(view: Graph) -> dict[str, Any]:
    """Return a graph as the JSON object that the graph tools return."""
    entities = [
        {"name": name, "entityType": kind, "observations": list(texts)}
        for name, kind, texts in view.entities
    ]
    relations = [{"from": r.source, "to": r.target, "relationType": r.type} for r in view.relations]
    return {"entities": entities, "relations": relations}


def _in_order(databases: Sequence[Database], place: int) -> Iterator[tuple[int, str]]:
    """Yield (position, name) of entities from `place` on; each name only at its first position."""
    before = 0
    for number, db in enumerate(databases):
        while names := graph.names_from(db, max(0, place - before), CHUNK):
            earlier_names = set()
            for earlier in databases[:number]:
                earlier_names.update(graph.existing(earlier, names))
            for name in names:
                if name not in earlier_names:
                    yield place, name
                place += 1
        before += graph.counts(db)[0]


def _best(databases: Sequence[Database], query: str, enough: int) -> tuple[list[str], bool]:
    from memory_fabric.language.vocabulary import PATTERNS, TECHNOLOGIES  # large and rarely needed

    key = name_key(query)
    usual_names = next((names for names in (TECHNOLOGIES, PATTERNS) if key in names), {})
    usual = usual_names.get(key)
    other_names = [other for other, name in usual_names.items() if name == usual and other != key]
    pools = [entity_search.find(db, query, other_names) for db in databases]
    matches = sorted(match for pool in pools for match in pool.best)
    full = [name for rank, name in matches if rank[1] == entity_search.ALL_WORDS]
    part = [name for rank, name in matches if rank[1] != entity_search.ALL_WORDS]
    names = dict.fromkeys([*full, *part[: max(0, enough - len(full))]])
    return list(names), any(pool.is_cut for pool in pools)


def _best_then_others(
    databases: Sequence[Database], query: str, best: Sequence[str], is_cut: bool
) -> Iterator[str]:
    yield from best
    best_names = set(best)
    for db in databases if is_cut else ():
        for name in entity_search.all_matching(db, query):
            if name not in best_names:
                best_names.add(name)
                yield name


def start_of(cursor: str) -> Start:
    """Decode a cursor as the start of a page; '' is the first page. Raises BadInput."""
    parts = [part or "0" for part in cursor.partition(".")[::2]]
    if all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        return Start(*map(int, parts))
    remedy = "Give the cursor of the note in the answer before, or none."
    raise BadInput("cursor", f"There is no page {cursor[:40]!r}.", remedy=remedy)


def in_databases(databases: Sequence[Database]) -> Opener:
    """Return a function that reads entities from these databases."""

    def part(db: Database, names: Sequence[str], ends: Sequence[str]) -> Part:
        entities, relations = graph.opened(db, names, CHUNK_RELATIONS, ends)
        if len(relations) >= CHUNK_RELATIONS:
            return graph.opened(db, names, ends=ends)
        return entities, relations

    return lambda names, ends: [part(db, names, ends) for db in databases]


def in_memory(view: Graph) -> Opener:
    """Return a function that reads entities from `view`; the one for the last `view` is cached."""
    cached = _KEPT.get("")
    if cached is not None and cached[0] is view:
        return cached[1]
    entities = {entity.name: entity for entity in view.entities}
    touching, leaving = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    for number, (source, _, target) in enumerate(view.relations):
        leaving[source].append(number)
        touching[source].append(number)
        touching[target].append(number)

    def opened(names: Sequence[str], ends: Sequence[str]) -> list[Part]:
        around = touching if len(ends) > 1 else leaving
        numbers = {number for name in names for number in around.get(name, ())}
        relations = {number: view.relations[number] for number in numbers}
        return [([entities[name] for name in names if name in entities], relations)]

    _KEPT[""] = view, opened
    return opened


_KEPT: dict[str, tuple[Graph, Opener]] = {}


def page(
    filled: "_Filled", opener: Opener, entities: Places, start: Start, *, outgoing: bool = False
) -> Page:
    """Fill the page `filled` with the entities that `entities` yields as (position, name) from
    `start` on. `opener` reads them with their relations; if `outgoing`, only relations from them.
    """
    skipped = start.relations
    entities_left = iter(entities)
    while chunk := list(islice(entities_left, filled.wanted())):
        known, around = _opened(opener, [name for _, name in chunk], outgoing)
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
    """Return the number of characters of a graph as JSON in a tool's answer."""
    return sum(map(_entity_chars, view.entities)) + sum(
        RELATION_CHARS + sum(map(len, relation)) for relation in view.relations
    )


class _Filled:
    """A page that is being filled; with `whole_first`, its first entity is never shortened."""

    def __init__(self, max_chars: int, *, whole_first: bool = False) -> None:
        self._max_chars = self._free = max_chars
        self._whole_first = whole_first
        self._entities: list[Entity] = []
        self._relations: dict[int, Relation] = {}
        self._cut: list[str] = []

    def wanted(self) -> int:
        """Return the number of entities to read next: as many as will probably fit, plus one."""
        if not self._entities:
            return FIRST_CHUNK
        used = self._max_chars - self._free
        return min(CHUNK, 1 + self._free * len(self._entities) // max(1, used))

    def add(self, entity: Entity, around: Sequence[Numbered]) -> int | None:
        """Add an entity and return how many of its relations do not fit. If the entity itself does
        not fit, add nothing and return None, except that the first entity is always added.
        """
        new_chars = sum([n for key, _, n in around if key not in self._relations])
        size, fitting = _entity_chars(entity) + new_chars, len(around)
        if size > self._free:
            if self._entities:
                return None
            if not self._whole_first:
                entity = self._shortened(entity)
            free, size, fitting = self._free - _entity_chars(entity), self._free, 0
            for _, _, relation_chars in around:
                free -= relation_chars
                if free < 0 and fitting:
                    break
                fitting += 1
        self._entities.append(entity)
        self._relations.update([(key, relation) for key, relation, _ in around[:fitting]])
        self._free -= size
        return len(around) - fitting

    def page(self, following: Start | None) -> Page:
        """Return the filled page, with its relations in the order in which they were created."""
        relations = [self._relations[key] for key in sorted(self._relations)]
        return Page(Graph(tuple(self._entities), tuple(relations)), following, tuple(self._cut))

    def _shortened(self, entity: Entity) -> Entity:
        """Return the entity with the observations that fit, or with the start of the first one."""
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


def _entity_chars(entity: Entity) -> int:
    name, kind, texts = entity
    return ENTITY_CHARS + len(name) + len(kind) + TEXT_CHARS * len(texts) + sum(map(len, texts))
