"""Several names for one thing: aliases, and entities that are made one; found, shown, done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.models import Provenance
from memory_fabric.store import graph
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.text import name_key


@dataclass(frozen=True, slots=True)
class Part:
    """An entity that a merge is about: how much is said of it, and where it lies."""

    name: str
    type: str
    observations: int
    relations: int
    store: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a merge makes one: `into` takes over what the others have, and their names."""

    into: Part
    others: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Aliases:
    """The other names of one entity; `refused` are those that it was not given, and why."""

    entity: str
    names: tuple[str, ...]
    store: str
    refused: Mapping[str, str] = field(default_factory=dict)


def plan(memory: Memory, into: str, names: Sequence[str]) -> Plan:
    """What a merge would do; nothing is changed.

    Raises NotFound for a name that nobody bears, BadInput where the entities do not lie together.
    """
    target, database = _meant(memory, into)
    others = []
    for name in dict.fromkeys(names):
        found = _part(database, name)
        if found is None:
            elsewhere, _ = _meant(memory, name)
            if elsewhere.name == target.name:
                raise BadInput(
                    "names",
                    f"{name!r} is {target.name!r} already.",
                    remedy="Name another entity.",
                )
            found = _part(database, elsewhere.name)
        if found is None:
            raise BadInput(
                "names",
                f"{name!r} and {target.name!r} lie in different memories, the project's and yours.",
                remedy="State what you need of the one in the other, and forget the one.",
            )
        if found.name != target.name:
            others.append(found)
    if not others:
        raise BadInput("names", "There is nothing to merge.", remedy="Name another entity.")
    return Plan(target, tuple(others))


def merge(memory: Memory, planned: Plan, provenance: Provenance) -> dict[str, object]:
    """Do what was planned, as one operation; the names of the others are aliases afterwards.

    Raises StoreUnavailable, and NotFound when one of the entities is gone meanwhile.
    """
    payload = {"into": planned.into.name, "names": [part.name for part in planned.others]}
    return memory.write("merge", payload, provenance, store=planned.into.store)


def add_aliases(
    memory: Memory, entity: str, names: Sequence[str], provenance: Provenance
) -> Aliases:
    """Let an entity be found by other names, too; all that it has now, and which are not free.

    Raises NotFound without the entity, BadInput where each of the names belongs to another one.
    """
    part, database = _meant(memory, entity)
    payload = {"entity": part.name, "aliases": list(names)}
    result = memory.write("alias", payload, provenance, store=part.store)
    _must_be_done(result)
    return replace(_of(database, part.name), refused=result.get("refused", {}))


def remove_aliases(
    memory: Memory, entity: str, names: Sequence[str], provenance: Provenance
) -> Aliases:
    """Take other names from an entity; those that it has still.

    Raises NotFound without the entity, or when none of the names was one of its.
    """
    part, database = _meant(memory, entity)
    known = {name_key(name) for name in _of(database, part.name).names}
    if not any(name_key(name) in known for name in names):
        raise NotFound(
            names[0] if names else "",
            f"{part.name!r} is not called {' or '.join(map(repr, names))}.",
            remedy="memory-fabric alias shows all names.",
        )
    payload = {"entity": part.name, "aliases": list(names)}
    _must_be_done(memory.write("unalias", payload, provenance, store=part.store))
    return _of(database, part.name)


def all_aliases(memory: Memory, entity: str = "") -> list[Aliases]:
    """The other names of one entity, or of all that have some, by name."""
    if entity:
        part, database = _meant(memory, entity)
        return [_of(database, part.name)]
    return [
        _of(database, row[0])
        for database in memory.databases()
        for row in database.rows(
            "SELECT name FROM entities WHERE id IN (SELECT entity FROM aliases) ORDER BY name"
        )
    ]


def _meant(memory: Memory, name: str) -> tuple[Part, Database]:
    """The entity of exactly this name, else the one that the name means."""
    databases = memory.databases()
    for database in databases:
        part = _part(database, name)
        if part:
            return part, database
    for database in databases:
        for entity in graph.entities_by_key(database, [name]).values():
            part = _part(database, entity.name)
            if part:
                return part, database
    raise NotFound(
        name, f"There is no entity {name!r}.", remedy="memory-fabric recall finds names."
    )


def _part(database: Database, name: str) -> Part | None:
    row = database.row(
        "SELECT e.name, e.type, (SELECT count(*) FROM observations WHERE entity = e.id), "
        "(SELECT count(*) FROM relations WHERE source = e.id OR target = e.id) "
        "FROM entities AS e WHERE e.name = ?",
        (name,),
    )
    if row is None:
        return None
    name, kind, observations, relations = row
    return Part(name, kind, observations, relations, database.kind)


def _of(database: Database, name: str) -> Aliases:
    rows = database.rows(
        "SELECT a.alias FROM aliases AS a JOIN entities AS e ON e.id = a.entity "
        "WHERE e.name = ? ORDER BY a.key",
        (name,),
    )
    return Aliases(name, tuple(row[0] for row in rows), database.kind)


def _must_be_done(result: Mapping[str, object]) -> None:
    if result.get("queued"):
        raise StoreUnavailable(
            "",
            f"The change waits in the queue: {result.get('because')}",
            remedy="memory-fabric sync brings it in.",
        )
