"""The table of all kinds of operations, payload checks, undo, and the storage of inverses. Inverses
that can be derived from their payload are not stored, which saves a sixth of a large database.
"""

import json
from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any

from memory_fabric.models import Payload, Provenance
from memory_fabric.store.operations import (
    create,
    delete,
    ingest,
    learn,
    merge,
    others,
    remember,
    restore,
    tombstones,
)
from memory_fabric.store.operations.kind import Kind, Result, Steps, fits, options

# Stored in place of an inverse that can be derived from the payload. It has no letters, so that no
# word that a purge replaces can match it.
FOLLOWS = "[[]]"


def problem(kind: str, payload: Payload) -> str:
    """Return the reason why a payload is invalid, or an empty string."""
    if kind not in KINDS:
        return f"{kind!r} is not a known kind of operation."
    for name, shape in KINDS[kind].shape.items():
        if not fits(payload.get(name), shape):
            return f"{kind}: {name!r} is missing or has the wrong type."
    return ""


def stored_inverse(kind: str, payload: Payload, inverse: Sequence[Payload]) -> str:
    """Return the inverse as JSON, or `FOLLOWS` if it can be derived from the payload."""
    if (derive := KINDS[kind].derive) and list(inverse) == derive(payload):
        return FOLLOWS
    return json.dumps(inverse, ensure_ascii=False)


def read_inverse(kind: str, payload: Payload, text: str) -> Steps:
    """Return the steps of an inverse that was stored by `stored_inverse`."""
    if text == FOLLOWS and (derive := KINDS[kind].derive):
        return derive(payload)
    steps: Steps = json.loads(text)
    return steps


def _undo(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Apply the steps of an inverse in order. The undo's own inverse repeats the operation."""
    summary: dict[str, Any] = {"steps": len(payload["steps"]), "touched": []}
    back: Steps = []
    for step in payload["steps"]:
        result, inverse = KINDS[step["kind"]].apply(c, step["payload"], by)
        summary["touched"] += result.get("touched", ())
        back = inverse + back
    return summary, back


def _is_step(value: Any) -> bool:
    """Return True for a valid step of an inverse, but not for an undo: undos must not nest."""
    if not fits(value, {"kind": str, "payload": dict}) or problem(value["kind"], value["payload"]):
        return False
    return KINDS[value["kind"]].is_logged and value["kind"] != "undo"


KINDS: dict[str, Kind] = {
    **(create.KINDS | delete.KINDS | restore.KINDS | remember.KINDS | tombstones.KINDS),
    **(merge.KINDS | ingest.KINDS | learn.KINDS | others.KINDS),
    "undo": Kind(
        {"operation": str, "steps": [_is_step], **options(batch=str)},
        _undo,
        lambda *_: "undid a change",
    ),
    # A purged operation has lost its content, and applying it changes nothing.
    "purged": Kind({}, lambda *_: ({}, []), lambda *_: "a change that was purged"),
}
