"""Names of entities and ids of records that a change affects, from its payload and inverse."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory_fabric.store.history.changes import Change

# Fields of payloads that hold the name of an entity, or a list of names.
_NAMES = frozenset(("name", "names", "entity", "entityName", "entityNames", "into", "from", "to"))
# The ends of a relation's row; elsewhere `source` is the channel of a statement.
_ENDS = ("source", "target")


def names(change: Change) -> tuple[str, ...]:
    """Return possible names of entities, each once; such a field may hold other words, too."""
    parts = (change.payload, *(step["payload"] for step in change.inverse))
    return tuple(dict.fromkeys(name for part in parts for name in _names(part)))


def record_ids(change: Change) -> tuple[str, ...]:
    """Return ids of the records that a change stored, changed, closed or deleted, each once."""
    parts = (change.payload, *(step["payload"] for step in change.inverse))
    return tuple(dict.fromkeys(id_ for part in parts for id_ in _record_ids(part)))


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if all(end in value for end in _ENDS):
            yield from _texts([value[end] for end in _ENDS])
        for field, part in value.items():
            if field in _NAMES:
                yield from _texts(part)
            elif field in ("entities", "relations"):
                yield from _named(part, field)
            if isinstance(part, Mapping | list | tuple):
                yield from _names(part)
    elif isinstance(value, list | tuple):
        for part in value:
            if isinstance(part, Mapping):
                yield from _names(part)


def _named(value: Any, field: str) -> Iterator[str]:
    """Yield names in the lists of a record: entities as [name, type], relations as triples."""
    for part in value if isinstance(value, list | tuple) else ():
        if isinstance(part, list | tuple) and part:
            yield from _texts(part[:1] if field == "entities" else (part[0], part[-1]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        yield from (part for part in value if isinstance(part, str))


def _record_ids(payload: Mapping[str, Any]) -> Iterator[str]:
    record = payload.get("record")
    if isinstance(record, Mapping):
        yield str(record.get("id", ""))
    yield from _texts(payload.get("ids"))
    for link in payload.get("links") or ():
        yield from _texts([link.get("id"), link.get("by")])
