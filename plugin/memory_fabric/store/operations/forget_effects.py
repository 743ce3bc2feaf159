"""The operation that forgets records, entities, observations and turns, and sets their
tombstones.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from memory_fabric.models import Provenance
from memory_fabric.store.operations import deletions, record_effects, rows, tombstones

Result = tuple[dict[str, Any], list[dict[str, Any]]]


def forget(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Forget records with the graph rows that they brought, entities, observations and turns.

    Undo restores them, and so does a later statement of the same; a replay of an older one does
    not. A turn cannot be restored: no operation holds its text. `only` limits this to some domains.
    """
    result, inverse = record_effects.forget(c, payload, by)
    result["deleted"] += _forget_turns(c, payload, by)
    only = {"only": payload["only"]} if payload.get("only") is not None else {}
    said, names = payload.get("deletions") or (), payload.get("entityNames") or ()
    if not said and not names:
        return result, inverse
    tombs = [
        tombstones.of_observation(item["entityName"], text)
        for item in said
        for text in item["observations"]
    ]
    for name in names:
        tombs += _tombstones_of(c, name)
    if only:  # tombstones have no domain and would bind other domains, too
        tombs = []
    single, undo_single = deletions.delete_observations(c, {"deletions": said, **only}, by)
    whole, undo_whole = deletions.delete_entities(c, {"entityNames": names, **only}, by)
    new = [row for id_ in dict.fromkeys(tombs) for row in tombstones.put(c, id_, 0, by.at)]
    result["deleted"] += single["deleted"] + whole["deleted"]
    result["touched"] += [*single["touched"], *whole["touched"]]
    return result, [*tombstones.op([], new), *undo_whole, *undo_single, *inverse]


def _forget_turns(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> int:
    """Delete turns; a tombstone keeps them from coming back when their transcript is read again."""
    deleted, only = 0, payload.get("only")
    for uuid in dict.fromkeys(payload.get("turns") or ()):
        row = c.execute("SELECT domain FROM episodes WHERE uuid = ?", (uuid,)).fetchone()
        if row and (only is None or row[0] in only):
            deleted += c.execute("DELETE FROM episodes WHERE uuid = ?", (uuid,)).rowcount
            tombstones.put(c, tombstones.of_turn(uuid), 0, by.at)
    return deleted


def _tombstones_of(c: sqlite3.Connection, name: str) -> list[str]:
    """Return ids of tombstones for an entity under all its names, and for each of its
    observations.
    """
    others = [pair[1] for e in rows.entities(c, "e.name = ?", (name,)) for pair in e["aliases"]]
    said = rows.observations(c, "e.name = ?", (name,))
    tombs = [tombstones.of_entity(other) for other in (name, *others)]
    return tombs + [tombstones.of_observation(name, row["text"]) for row in said]
