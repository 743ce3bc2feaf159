"""Forgetting as an operation: records, entities, observations, turns, with their tombstones."""

from __future__ import annotations

from memory_fabric.store.operations import deletions, record_effects, rows, tombstones

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from typing import Any

    from memory_fabric.models import Provenance

    Result = tuple[dict[str, Any], list[dict[str, Any]]]


def forget(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Records with what they brought into the graph, entities, single observations, and turns.

    They come back when this is undone, or when somebody states them again; nothing older brings
    them back. A turn never does: no operation holds its text. With `only` what lies in these
    domains.
    """
    told, inverse = record_effects.forget(c, payload, by)
    told["deleted"] += _forget_turns(c, payload, by)
    only = {"only": payload["only"]} if payload.get("only") is not None else {}
    said, names = payload.get("deletions") or (), payload.get("entityNames") or ()
    if not said and not names:
        return told, inverse
    graves = [
        tombstones.of_observation(item["entityName"], text)
        for item in said
        for text in item["observations"]
    ]
    for name in names:
        graves += _graves_of(c, name)
    if only:  # they have no domain: others may say the same
        graves = []
    single, undo_single = deletions.delete_observations(c, {"deletions": said, **only}, by)
    whole, undo_whole = deletions.delete_entities(c, {"entityNames": names, **only}, by)
    new = [row for id_ in dict.fromkeys(graves) for row in tombstones.put(c, id_, 0, by.at)]
    told["deleted"] += single["deleted"] + whole["deleted"]
    told["touched"] += [*single["touched"], *whole["touched"]]
    return told, [*tombstones.set_again([], new), *undo_whole, *undo_single, *inverse]


def _forget_turns(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> int:
    """Delete turns; a tombstone keeps them away when their transcript is read again."""
    deleted, only = 0, payload.get("only")
    for uuid in dict.fromkeys(payload.get("turns") or ()):
        row = c.execute("SELECT domain FROM episodes WHERE uuid = ?", (uuid,)).fetchone()
        if row and (only is None or row[0] in only):
            deleted += c.execute("DELETE FROM episodes WHERE uuid = ?", (uuid,)).rowcount
            tombstones.put(c, tombstones.of_turn(uuid), 0, by.at)
    return deleted


def _graves_of(c: sqlite3.Connection, name: str) -> list[str]:
    """Tombstones for an entity under all its names, and for each of its observations."""
    others = [pair[1] for e in rows.entities(c, "e.name = ?", (name,)) for pair in e["aliases"]]
    said = rows.observations(c, "e.name = ?", (name,))
    graves = [tombstones.of_entity(other) for other in (name, *others)]
    return graves + [tombstones.of_observation(name, row["text"]) for row in said]
