"""The class `Kind`; checks of payloads, which anyone may have edited; phrases about operations."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.ids import short_id
from memory_fabric.models import Payload, Provenance, shown_type
from memory_fabric.text import first_of, many

MAX_NAMES = 4

Steps = list[dict[str, Any]]
Result = tuple[dict[str, Any], Steps]
Check = Callable[[Any], bool]


class Kind(NamedTuple):
    """One kind of operation. `shape` describes the payload's fields, in the format of `fits`.
    `apply` runs inside the transaction of `write`, with a redacted payload of this shape. It
    returns a result and an inverse: steps `{"kind", "payload"}` that restore the former state if
    applied in order. The list `touched` in the result names entities that may have become orphans.
    `describe` returns a phrase for a payload and its inverse. `derive`, if given, returns the
    inverse that an operation has if everything in its payload was new. With `is_logged=False`, an
    operation is not logged, and may not be a step of an inverse.

    If `items` is set, each item of the payload changes the database that contains its entities;
    otherwise, an operation changes only one database. `items` names the list in the payload, and an
    item's fields with names of entities. `answers` names the list in the result, and the fields
    that identify an item there. If a payload has `apart`, the operation adds only to the caller's
    domain; if it has `only`, the operation deletes only in the domains listed there.
    """

    shape: Payload
    apply: Callable[[sqlite3.Connection, Payload, Provenance], Result]
    describe: Callable[[Payload, Sequence[Payload]], str]
    derive: Callable[[Payload], Steps] | None = None
    is_logged: bool = True
    items: tuple[str, tuple[str, ...]] = ("", ())
    answers: tuple[str, tuple[str, ...]] = ("", ())


def step(kind: str, **payload: Any) -> dict[str, Any]:
    """Return one step of an inverse: an operation of this kind with this payload."""
    return {"kind": kind, "payload": payload}


def fits(value: Any, shape: Any) -> bool:
    """Return True if a value fits a type, predicate, list `[shape]`, or object {name: shape}."""
    if isinstance(shape, type):
        return type(value) is int if shape is int else isinstance(value, shape)
    if isinstance(shape, dict):
        is_object = isinstance(value, dict)
        return is_object and all(fits(value.get(name), part) for name, part in shape.items())
    if isinstance(shape, list):
        return isinstance(value, list | tuple) and all(fits(part, shape[0]) for part in value)
    return bool(shape(value))


def options(**shapes: Any) -> dict[str, Check]:
    """Return `shapes` for `fits` in which each field is optional, i.e. may be None or missing."""

    def optional(shape: Any) -> Check:
        return lambda value: value is None or fits(value, shape)

    return {name: optional(shape) for name, shape in shapes.items()}


RECORD = {"type": str, "what": str, "id": str}
# The fields have the reference server's order, which the answers of the graph tools keep.
RELATION = {"from": str, "to": str, "relationType": str}
TEXTS = {"entityName": str, "observations": [str]}
ROWS = {
    "entities": [{"name": str, "type": str}],
    "observations": [{"entity": str, "text": str}],
    "relations": [RELATION],
}


def joined(parts: Sequence[str], by: str = "; ") -> str:
    """Join the first few of these phrases into one text, for the description of a change."""
    return first_of(parts, MAX_NAMES, by)


def named(names: Iterable[str]) -> str:
    """Return the first few of these names, separated by commas, or "nothing" if there are none."""
    return joined(list(names), ", ") or "nothing"


def relation_phrases(relations: Iterable[Mapping[str, str]]) -> str:
    """Return the first few of these relations as phrases, joined into one text."""
    return joined([f"{r['from']} {r['relationType']} {r['to']}" for r in relations])


def record_phrase(record: Payload) -> str:
    """Return the type, short id and statement of a record, formatted for people."""
    kind = shown_type(record["type"])
    return f"{kind} {short_id(str(record.get('id', '')))}: {record['what']}"


def counted(observations: int, relations: int = 0) -> str:
    """Return a phrase such as " with 2 observations and 1 relation", without counts of zero."""
    numbers = ((observations, "observation"), (relations, "relation"))
    parts = [many(number, what) for number, what in numbers if number]
    return f" with {' and '.join(parts)}" if parts else ""


def parts_of(inverse: Iterable[Payload], kind: str, field: str) -> list[Any]:
    """Collect the items of the payload field `field` from all steps of this kind in an inverse."""
    return [item for s in inverse if s["kind"] == kind for item in s["payload"][field]]


def former_records(inverse: Iterable[Payload]) -> list[Any]:
    """Return the records that a change altered or deleted, in their former state."""
    return [s["payload"]["record"] for s in inverse if s["kind"] == "put_record"]
