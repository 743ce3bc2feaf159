"""Several names for one entity: aliases, and planned merges of entities."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.models import Provenance
from memory_fabric.store.database import Database
from memory_fabric.store.history import resolve
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.text import name_key


class Part(NamedTuple):
    """An entity in a merge, with the counts of its observations and relations, and its database."""

    name: str
    type: str
    observations: int
    relations: int
    store: str


class Plan(NamedTuple):
    """A planned merge: `into` gets the observations, relations and names of the other entities."""

    into: Part
    others: tuple[Part, ...]


class Aliases(NamedTuple):
    """The aliases of an entity; `refused` maps each name that could not be added to the reason."""

    entity: str
    names: tuple[str, ...]
    store: str
    refused: Mapping[str, str] = {}


def plan(memory: Memory, into: str, names: Sequence[str]) -> Plan:
    """Plan a merge. Raises NotFound, or BadInput if the entities are in different databases."""
    target, database = _find_entity(memory, into)
    parts = []
    for name in dict.fromkeys(names):
        if (part := _part(database, name)) is None:
            elsewhere, _ = _find_entity(memory, name)
            if elsewhere.name == target.name:
                problem = f"{name!r} is {target.name!r} already."
                raise BadInput("names", problem, remedy="Name another entity.")
            part = _part(database, elsewhere.name)
        if part is None:
            where = "in different memories, the project's and yours"
            problem = f"{name!r} and {target.name!r} are {where}."
            remedy = "Add what you need to the other memory and forget it here."
            raise BadInput("names", problem, remedy=remedy)
        parts += [part] if part.name != target.name else []
    if not parts:
        raise BadInput("names", "There is nothing to merge.", remedy="Name another entity.")
    return Plan(target, tuple(parts))


def merge(memory: Memory, planned: Plan, by: Provenance) -> dict[str, object]:
    """Carry out a merge; the other names become aliases. Raises StoreUnavailable, NotFound."""
    payload = {"into": planned.into.name, "names": [part.name for part in planned.others]}
    return memory.write("merge", payload, by, store=planned.into.store)


def change_aliases(
    memory: Memory, entity: str, names: Sequence[str], by: Provenance, *, remove: bool = False
) -> Aliases:
    """Add or remove aliases; return the entity's aliases and the refused names. Raises BadInput,
    StoreUnavailable, and NotFound if the entity is missing or has none of the aliases to remove.
    """
    part, database = _find_entity(memory, entity)
    keys = {name_key(name) for name in _aliases_of(database, part.name).names}
    if remove and keys.isdisjoint(map(name_key, names)):
        problem = f"{part.name!r} is not called {' or '.join(map(repr, names))}."
        remedy = "memory-fabric alias shows all names."
        raise NotFound(names[0] if names else "", problem, remedy=remedy)
    payload = {"entity": part.name, "aliases": list(names)}
    result = memory.write("unalias" if remove else "alias", payload, by, store=part.store)
    if result.get("queued"):
        problem = f"The change waits in the queue: {result.get('because')}"
        raise StoreUnavailable("", problem, remedy="memory-fabric sync applies it.")
    return _aliases_of(database, part.name)._replace(refused=result.get("refused", {}))


def all_aliases(memory: Memory, entity: str = "") -> list[Aliases]:
    """Return the aliases of one entity, or of all entities that have any, sorted by entity name."""
    if entity:
        part, database = _find_entity(memory, entity)
        return [_aliases_of(database, part.name)]
    query = "SELECT name FROM entities WHERE id IN (SELECT entity FROM aliases) ORDER BY name"
    return [_aliases_of(db, name) for db in memory.databases() for (name,) in db.rows(query)]


def _find_entity(memory: Memory, name: str) -> tuple[Part, Database]:
    databases = memory.databases()
    by_key = ((db, graph.entities_by_key(db, [name]).values()) for db in databases)
    alike = ((db, entity.name) for db, entities in by_key for entity in entities)
    for database, called in (*((db, name) for db in databases), *alike):
        if part := _part(database, called):
            return part, database
    raise resolve.no_such_entity(name)


def _part(database: Database, name: str) -> Part | None:
    row = database.row(
        "SELECT e.name, e.type, (SELECT count(*) FROM observations WHERE entity = e.id), "
        "(SELECT count(*) FROM relations WHERE source = e.id OR target = e.id) "
        "FROM entities AS e WHERE e.name = ?",
        (name,),
    )
    return Part._make((*row, database.kind)) if row else None


def _aliases_of(database: Database, name: str) -> Aliases:
    return Aliases(name, tuple(resolve.aliases_of(database, name)), database.kind)
