"""Loading of many entities and relations: few large operations, each one transaction.

Each operation is logged, journalled and undone like any other; its size is bounded, so that other
processes wait shortly for the lock and an undo step stays small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memory_fabric.models import Entity, Provenance, Relation

if TYPE_CHECKING:
    from memory_fabric.store.protocols import Memory

Item = Entity | Relation
Report = Callable[[int], object]

# The limits of one operation.
BATCH_ITEMS, BATCH_CHARS = 2000, 4 << 20


class Loaded(NamedTuple):
    """The numbers of new rows; `ends` counts entities created as the end of a relation.

    `variants` are new names next to existing ones that differ only in case, `-`, `_` or spaces;
    `forgotten` are names that were skipped because the user once forgot them. `queued` is true if
    an operation had to be queued.
    """

    entities: int = 0
    observations: int = 0
    relations: int = 0
    ends: int = 0
    queued: bool = False
    variants: Mapping[str, Sequence[str]] = {}
    forgotten: tuple[str, ...] = ()

    def after(self, result: Mapping[str, Any]) -> Loaded:
        """Return the numbers with those of one more operation."""
        new = result.get("entities", ())
        stated = [*new, *result.get("merged", ())]
        return Loaded(
            entities=self.entities + len(new),
            observations=self.observations + sum(len(e["observations"]) for e in stated),
            relations=self.relations + len(result.get("relations", ())),
            ends=self.ends + len(result.get("created_ends", ())),
            queued=self.queued or bool(result.get("queued")),
            variants={**self.variants, **result.get("variants", {})},
            forgotten=tuple(dict.fromkeys((*self.forgotten, *result.get("forgotten", ())))),
        )


def load(
    memory: Memory,
    entities: Iterable[Entity],
    relations: Iterable[Relation],
    by: Provenance,
    report: Report | None = None,
) -> Loaded:
    """Store the entities with their observations, then the relations; known ones are merged.

    Both may be generators: one operation at a time is held. `report` receives the number of items
    done after each operation. Raises StoreUnavailable if one can be neither stored nor queued; what
    was stored before stays, and loading the same again stores the rest.
    """
    loaded, done = Loaded(), 0
    for items in (entities, relations):
        for kind, payload in create_operations(items):
            loaded = loaded.after(memory.write(kind, payload, by))
            done += sum(map(len, payload.values()))
            if report:
                report(done)
    return loaded


def create_operations(items: Iterable[Item]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield operations (kind, payload) that create these items in order, each of bounded size."""
    for kind, batch in _batches(items):
        if kind is Entity:
            yield "create_entities", {"entities": [entity_object(e) for e in batch]}
        else:
            yield "create_relations", {"relations": [relation_object(r) for r in batch]}


def entity_object(entity: Entity) -> dict[str, Any]:
    """Return the entity as an item of `create_entities`."""
    return {
        "name": entity.name,
        "entityType": entity.type,
        "observations": list(entity.observations),
    }


def relation_object(relation: Relation) -> dict[str, Any]:
    """Return the relation as an item of `create_relations`."""
    return {"from": relation.source, "to": relation.target, "relationType": relation.type}


def _batches(items: Iterable[Item]) -> Iterator[tuple[type[Item], list[Any]]]:
    """Yield runs of items of one kind, each of bounded size."""
    batch: list[Item] = []
    chars = 0
    for item in items:
        full = len(batch) >= BATCH_ITEMS or chars >= BATCH_CHARS
        if batch and (full or type(item) is not type(batch[0])):
            yield type(batch[0]), batch
            batch, chars = [], 0
        batch.append(item)
        chars += sum(map(len, _texts(item)))
    if batch:
        yield type(batch[0]), batch


def _texts(item: Item) -> Iterable[str]:
    return (item.name, *item.observations) if isinstance(item, Entity) else item
