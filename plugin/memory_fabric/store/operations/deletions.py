"""What deletions do to the graph, and what puts back what they took.

The inverse of a deletion is `restore` with the whole rows; what was forgotten meanwhile stays away.
"""

from __future__ import annotations

from memory_fabric.store.operations import returns, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from typing import Any

    from memory_fabric.models import Provenance

    Result = tuple[dict[str, Any], list[dict[str, Any]]]


def delete_entities(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Entities, their observations and every relation at either end; unknown names are silent."""
    gone = rows.nothing()
    for name in dict.fromkeys(payload["entityNames"]):
        for entity in rows.entities(c, "e.name = ?", (name,)):
            at_it = (entity["id"],)
            mine = rows.nothing()
            mine["entities"] = [entity]
            mine["observations"] = rows.observations(c, "o.entity = ?", at_it)
            mine["relations"] = rows.relations(c, "r.source = ? OR r.target = ?", at_it * 2)
            rows.remove(c, mine)
            for table, some in mine.items():
                gone[table] += some
    touched = [r[end] for r in gone["relations"] for end in ("from", "to")]
    result = {"deleted": len(gone["entities"]), "relations": len(gone["relations"])}
    return result | {"touched": touched}, [_op("restore", **gone)]


def delete_observations(
    c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance
) -> Result:
    """Exactly these texts of these entities; what does not exist is silent."""
    gone = rows.nothing()
    for item in payload["deletions"]:
        entity = rows.entity_id(c, item["entityName"])
        for text in dict.fromkeys(item["observations"] if entity is not None else ()):
            id_ = rows.text_id(c, entity or 0, text)
            gone["observations"] += [] if id_ is None else rows.observations(c, "o.id = ?", (id_,))
    # The same entity may stand in the list twice.
    gone["observations"] = list({row["id"]: row for row in gone["observations"]}.values())
    rows.remove(c, gone)
    touched = [row["entity"] for row in gone["observations"]]
    return {"deleted": len(touched), "touched": touched}, [_op("restore", **gone)]


def delete_relations(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Exactly these relations; what does not exist is silent. Their ends stay."""
    gone = rows.nothing()
    for item in payload["relations"]:
        gone["relations"] += relation(c, item)
    gone["relations"] = list({row["id"]: row for row in gone["relations"]}.values())
    rows.remove(c, gone)
    touched = [row[end] for row in gone["relations"] for end in ("from", "to")]
    return {"deleted": len(gone["relations"]), "touched": touched}, [_op("restore", **gone)]


def restore(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Rows that were taken out, as they were: the inverse of a deletion."""
    new, changed = returns.put_back(c, payload, by)
    inverse = [
        _op("delete_relations", relations=new["relations"]),
        _op(
            "delete_observations",
            deletions=[
                {"entityName": row["entity"], "observations": [row["text"]]}
                for row in new["observations"]
            ],
        ),
        _op("remove_orphans", entityNames=[row["name"] for row in new["entities"]]),
    ]
    return {"restored": sum(map(len, new.values()))}, [*returns.op(changed), *inverse]


def remove_orphans(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Those of the entities that have neither observations nor relations; the others stay."""
    gone = rows.nothing()
    gone["entities"] = rows.orphans(c, payload["entityNames"])
    rows.remove(c, gone)
    return {"deleted": len(gone["entities"])}, [_op("restore", **gone)]


def relation(c: sqlite3.Connection, item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The whole row of exactly this relation, in a list; empty without one."""
    return rows.relations(
        c,
        "s.name = ? AND r.type = ? AND t.name = ?",
        (item["from"], item["relationType"], item["to"]),
    )


def _op(kind: str, **payload: Any) -> dict[str, Any]:
    return {"kind": kind, "payload": payload}
