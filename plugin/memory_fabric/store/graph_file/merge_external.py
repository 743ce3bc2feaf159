"""Merge changes that others made to a mirrored file into its database.

A graph is a mapping from digests of a file's lines to redacted lines; a line that is not of the
graph is empty. `before` is the last agreed state: what is in neither `before` nor the change is the
database's own and is kept, as are own changes so recent that the writer may not have seen them.
This module reads no files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from memory_fabric.models import Entity, Graph, Relation
from memory_fabric.store import graph
from memory_fabric.store.bulk_load import create_operations, relation_object
from memory_fabric.store.database import Database
from memory_fabric.store.graph_file import exchange, own_writes
from memory_fabric.store.graph_file.own_writes import Ours
from memory_fabric.store.operations import rows

Lines = Mapping[bytes, bytes]
Apply = Callable[[str, dict[str, Any]], Mapping[str, Any]]

CHUNK = 500
NOTHING = Ours()


def merge_changes(
    db: Database,
    apply: Apply,
    before: Lines,
    now: Lines,
    about_to_replace: Callable[[], object],
    ours: Ours = NOTHING,
) -> bool:
    """Apply the difference of two graphs to the database, except for what is `ours`.

    Returns True if anything was, so that file and database differ now. `apply` runs one operation;
    `about_to_replace` is called before an entity is deleted and restored, which are two. An entity
    that the file lacks is kept while own rows refer to it.
    """
    differs = False
    were = [_item(line) for mark, line in before.items() if line and mark not in now]
    stated = [_item(line) for mark, line in now.items() if line and mark not in before]
    ours = ours._replace(removed=ours.removed | _removed_since(db, were, stated))
    removed = _Parts(were)
    if removed:
        removed.exclude(filter(None, now.values()))
        differs = removed.exclude_own(ours)
        _remove(apply, removed)
    relations = [r for r in stated if isinstance(r, Relation) and not _is_gone(r, ours)]
    ends = {name for r in relations for name in (r.source, r.target)}
    remaining = [_without_removed(e, ends, ours) for e in stated if isinstance(e, Entity)]
    entities = [entity for entity in remaining if entity is not None]
    fresh = not db.row("SELECT 1 FROM entities LIMIT 1")
    for some in _chunks(entities):
        known = {} if fresh else _by_name(db, some)
        _create(apply, some)
        for name, entity in _first_of_each(some).items():
            if name in known:
                differs |= not _agree(db, apply, entity, about_to_replace, ours)
    _create(apply, relations)
    return differs or [*entities, *relations] != _in_kinds(stated)


def _removed_since(
    db: Database, were: Sequence[Entity | Relation], stated: Sequence[Entity | Relation]
) -> frozenset[str]:
    """Return digests of what both graphs state but the database lacks: it was removed there.

    If both sides have changed a type since, the file wins.
    """
    removed = own_writes.parts_of(were)
    both = removed & own_writes.parts_of(stated) if removed else set()
    if not both:
        return frozenset()
    held: set[str] = set()
    for some in _chunks([item for item in stated if isinstance(item, Entity)]):
        known = _by_name(db, some)
        held |= own_writes.parts_of(known.values())
        held |= {own_writes.of_entity(e.name, e.type) for e in some if e.name in known}
    held |= own_writes.parts_of(r for r in stated if isinstance(r, Relation) and _holds(db, r))
    return frozenset(both - held)


def _holds(db: Database, relation: Relation) -> bool:
    row = db.row(
        "SELECT 1 FROM relations AS r JOIN entities AS s ON s.id = r.source "
        "JOIN entities AS t ON t.id = r.target WHERE s.name = ? AND r.type = ? AND t.name = ?",
        relation,
    )
    return row is not None


def _without_removed(entity: Entity, ends: set[str], ours: Ours) -> Entity | None:
    """Return the entity without parts that were removed here; None if nothing else is remaining."""
    if not ours.removed:
        return entity
    texts = tuple(
        text
        for text in entity.observations
        if own_writes.of_observation(entity.name, text) not in ours.removed
    )
    if not texts and entity.name not in ends and _is_gone(entity, ours):
        return None
    return entity._replace(observations=texts)


def _is_gone(item: Entity | Relation, ours: Ours) -> bool:
    if isinstance(item, Entity):
        return own_writes.of_entity(item.name, item.type) in ours.removed
    return own_writes.of_relation(item) in ours.removed


def _in_kinds(items: Sequence[Entity | Relation]) -> list[Entity | Relation]:
    """Sort entities before relations, as they are created."""
    return sorted(items, key=lambda item: isinstance(item, Relation))


class _Parts:
    """The parts of items: entities with their observations, and relations."""

    def __init__(self, items: Iterable[Entity | Relation]) -> None:
        self.texts: dict[str, dict[str, None]] = {}
        self.relations: dict[Relation, None] = {}
        # Each with its type.
        self.names: dict[str, str] = {}
        for item in items:
            if isinstance(item, Entity):
                self.names[item.name] = item.type
                self.texts.setdefault(item.name, {}).update(dict.fromkeys(item.observations))
            else:
                self.relations[item] = None

    def __bool__(self) -> bool:
        return bool(self.names or self.relations)

    def exclude(self, lines: Iterable[bytes]) -> None:
        """Remove the parts that these lines contain, too."""
        for item in map(_item, lines):
            if isinstance(item, Relation):
                self.relations.pop(item, None)
            elif item.name in self.texts:
                self.names.pop(item.name, None)
                for text in item.observations:
                    self.texts[item.name].pop(text, None)

    def exclude_own(self, ours: Ours) -> bool:
        """Remove own additions; return True if there were any."""
        if not ours.added:
            return False
        spared = 0
        for name, kind in list(self.names.items()):
            if own_writes.of_entity(name, kind) in ours.added:
                del self.names[name]
                spared += 1
        for name, texts in self.texts.items():
            for text in list(texts):
                if own_writes.of_observation(name, text) in ours.added:
                    del texts[text]
                    spared += 1
        for relation in list(self.relations):
            if own_writes.of_relation(relation) in ours.added:
                del self.relations[relation]
                spared += 1
        return spared > 0


def _remove(apply: Apply, removed: _Parts) -> None:
    for relations in _chunks(list(removed.relations)):
        apply("delete_relations", {"relations": [relation_object(r) for r in relations]})
    for entities in _chunks(
        [(name, list(texts)) for name, texts in removed.texts.items() if texts]
    ):
        deletions = [{"entityName": name, "observations": texts} for name, texts in entities]
        apply("delete_observations", {"deletions": deletions})
    for names in _chunks(list(removed.names)):
        apply("remove_orphans", {"entityNames": names})


def _create(apply: Apply, items: Sequence[Entity | Relation]) -> None:
    for kind, payload in create_operations(items):
        apply(kind, payload)


def _agree(
    db: Database,
    apply: Apply,
    stated: Entity,
    about_to_replace: Callable[[], object],
    ours: Ours,
) -> bool:
    """Give an entity the type and the order of observations that the file states.

    Both are part of its rows: it is deleted and restored under its number. Returns False if it kept
    another type than stated, which was changed here.
    """
    found = _by_name(db, [stated]).get(stated.name)
    if found is None:
        return True
    type_ = found.type if _is_gone(stated, ours) else stated.type
    if found.type == type_ and _in_order(found, stated):
        return type_ == stated.type
    about_to_replace()
    with db.transaction() as c:
        entities = rows.entities(c, "e.name = ?", (stated.name,))
        observations = rows.observations(c, "e.name = ?", (stated.name,))
        relations = rows.relations(c, "s.name = ?1 OR t.name = ?1", (stated.name,))
    place = {text: number for number, text in enumerate(stated.observations)}
    observations.sort(key=lambda row: place.get(row["text"], len(place)))
    apply("delete_entities", {"entityNames": [stated.name]})
    apply(
        "restore",
        {
            "entities": [row | {"type": type_} for row in entities],
            "observations": [row | {"id": None} for row in observations],
            "relations": relations,
        },
    )
    return type_ == stated.type


def _in_order(found: Entity, stated: Entity) -> bool:
    theirs = set(stated.observations)
    return [text for text in found.observations if text in theirs] == list(stated.observations)


def _first_of_each(entities: Sequence[Entity]) -> dict[str, Entity]:
    """Keep the first of several lines that describe one entity, as the reference server does."""
    found: dict[str, Entity] = {}
    for entity in entities:
        found.setdefault(entity.name, entity)
    return found


def _by_name(db: Database, entities: Sequence[Entity]) -> dict[str, Entity]:
    opened: Graph = graph.open_nodes(db, [entity.name for entity in entities])
    return {entity.name: entity for entity in opened.entities}


def _item(line: bytes) -> Entity | Relation:
    item = exchange.read(line)
    assert item is not None  # the caller passes only lines of the graph
    return item


def _chunks(values: Sequence[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(values), CHUNK):
        yield list(values[start : start + CHUNK])
