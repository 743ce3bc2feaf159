"""Choice of the database for graph changes: the one with the entities, else the project's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_fabric.errors import DeadlinePassed, NotFound, StoreUnavailable
from memory_fabric.store.graph import existing

if TYPE_CHECKING:
    from memory_fabric.store.protocols import Memory


# For each kind: the list in its payload, and the fields of an item that name entities.
_ITEMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "create_entities": ("entities", ("name",)),
    "create_relations": ("relations", ("from", "to")),
    "add_observations": ("observations", ("entityName",)),
    "delete_entities": ("entityNames", ()),
    "delete_observations": ("deletions", ("entityName",)),
    "delete_relations": ("relations", ("from", "to")),
}
# For each kind with a list in its result: the list, and the fields that identify an item.
_ANSWERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "create_entities": ("entities", ("name",)),
    "create_relations": ("relations", ("from", "relationType", "to")),
    "add_observations": ("results", ("entityName",)),
}


def split(
    memory: Memory, kind: str, payload: Mapping[str, Any]
) -> list[tuple[str, dict[str, Any]]]:
    """Split a payload by database; return pairs of database and part.

    Deletions apply to every database, also to those that cannot be opened now, where they are
    queued. An observation of an unknown entity is meant for a database that cannot be opened; if
    all can be opened, NotFound is raised and nothing changes.
    """
    field, name_fields = _ITEMS[kind]
    if not memory.project:
        return [("user", dict(payload))]
    items = payload[field]
    names = [item[name] for item in items for name in name_fields]
    living = _stored_in(memory, names)
    if kind.startswith("delete_"):
        stores = [s for s in ("project", "user") if s in living or s in memory.unavailable]
        return [(store, dict(payload)) for store in stores]
    parts: dict[str, list[Any]] = {}
    for item in items:
        mine = {item[name] for name in name_fields}
        parts.setdefault(_store_of(memory, kind, mine, living), []).append(item)
    return [(store, {**payload, field: part}) for store, part in (parts or {"project": []}).items()]


def combine(
    kind: str, payload: Mapping[str, Any], results: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Combine the results of the parts: lists in the requested order, counts added.

    `queued` and `because` are set if any part was queued.
    """
    whole: dict[str, Any] = {}
    for result in results:
        for name, value in result.items():
            if isinstance(value, bool | str) or name not in whole:
                whole[name] = whole.get(name) or value
            elif isinstance(value, list | int):
                whole[name] = whole[name] + value
            elif isinstance(value, dict):
                whole[name] = {**whole[name], **value}
    if kind.startswith("delete_"):
        return {"deleted": 0} | whole
    return _in_order(kind, payload, whole) if len(results) > 1 else whole


def _in_order(kind: str, payload: Mapping[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    field, fields = _ANSWERS[kind]
    places: dict[tuple[str, ...], list[int]] = {}
    for place, item in enumerate(payload[_ITEMS[kind][0]]):
        places.setdefault(tuple(item[f] for f in fields), []).append(place)
    for waiting in places.values():
        waiting.reverse()
    found = whole.get(field, [])
    placed = [(places[tuple(item[f] for f in fields)].pop(), item) for item in found]
    whole[field] = [item for _, item in sorted(placed, key=lambda pair: pair[0])]
    return whole


def _stored_in(memory: Memory, names: Sequence[str]) -> dict[str, set[str]]:
    """Return, for each readable database, those of the names that it has."""
    found: dict[str, set[str]] = {}
    for db in memory.databases():
        try:
            found[db.kind] = existing(db, names)
        except (StoreUnavailable, DeadlinePassed) as error:
            memory.fail(f"graph ({db.kind}): {error}")
            memory.unavailable.add(db.kind)
    return found


def _store_of(memory: Memory, kind: str, names: set[str], living: Mapping[str, set[str]]) -> str:
    in_project, in_user = living.get("project", set()), living.get("user", set())
    if names <= in_user and not names & in_project:
        return "user"
    if kind == "add_observations" and not names & (in_project | in_user):
        name = next(iter(names))
        if not memory.unavailable:
            raise NotFound(name, f"Entity with name {name} not found")
        return "user" if "project" not in memory.unavailable else "project"
    return "project"
