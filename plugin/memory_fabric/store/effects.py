"""What each kind of operation does to a database, and the operations that would take it back.

An effect runs inside the transaction of `write`; its payload has been redacted and has the shape
that `shapes` demands. It returns its result and its inverse: a list of `{"kind", "payload"}` that,
applied in order, restores what was. `touched` in a result names entities that may be orphans now.
"""

from __future__ import annotations

from memory_fabric.errors import NotFound
from memory_fabric.models import Provenance
from memory_fabric.store import record_effects, rows
from memory_fabric.text import index_extra

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping
    from typing import Any

    Result = tuple[dict[str, Any], list[dict[str, Any]]]
    Effect = Callable[[sqlite3.Connection, Mapping[str, Any], Provenance], Result]


def create_entities(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """New entities with their observations; an existing name gets the observations it lacks."""
    created, merged, adopted = [], [], rows.nothing()
    for item in payload["entities"]:
        name, texts = item["name"], item.get("observations") or ()
        id_ = rows.entity_id(c, name)
        if id_ is None:
            id_ = rows.add_entity(c, name, item["entityType"], by)
            added = rows.add_texts(c, id_, texts, by)
            created.append({"name": name, "entityType": item["entityType"], "observations": added})
        else:
            _adopt(c, adopted, id_, texts)
            added = rows.add_texts(c, id_, texts, by)
            if added:
                merged.append({"name": name, "observations": added})
    deletions = [
        {"entityName": item["name"], "observations": item["observations"]}
        for item in (*created, *merged)
    ]
    inverse = [_op("delete_observations", deletions=deletions)]
    inverse += [_op("remove_orphans", entityNames=[e["name"] for e in created])]
    return {"entities": created, "merged": merged}, inverse + _given_back(adopted)


def create_relations(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """New relations; an end that does not exist is created first with type `unknown` (BR-9)."""
    created, ends, adopted = [], [], rows.nothing()
    for item in payload["relations"]:
        ids = []
        for name in (item["from"], item["to"]):
            id_ = rows.entity_id(c, name)
            if id_ is None:
                id_ = rows.add_entity(c, name, rows.UNKNOWN_TYPE, by)
                ends.append(name)
            else:
                _adopt(c, adopted, id_, ())
            ids.append(id_)
        relation = {name: item[name] for name in ("from", "to", "relationType")}
        if rows.add_relation(c, ids[0], item["relationType"], ids[1], by):
            created.append(relation)
        else:
            _adopt_relation(c, adopted, relation)
    inverse = [_op("delete_relations", relations=created), _op("remove_orphans", entityNames=ends)]
    return {"relations": created, "created_ends": ends}, inverse + _given_back(adopted)


def add_observations(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Texts that their entity lacks. Raises NotFound for an unknown entity; nothing is changed."""
    results, adopted = [], rows.nothing()
    for item in payload["observations"]:
        name = item["entityName"]
        id_ = rows.entity_id(c, name)
        if id_ is None:
            raise NotFound(name, f"Entity with name {name} not found")
        _adopt(c, adopted, id_, item["contents"])
        added = rows.add_texts(c, id_, item["contents"], by)
        results.append({"entityName": name, "addedObservations": added})
    undo = [
        {"entityName": r["entityName"], "observations": r["addedObservations"]} for r in results
    ]
    return {"results": results}, [_op("delete_observations", deletions=undo), *_given_back(adopted)]


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
        gone["relations"] += _relation(c, item)
    gone["relations"] = list({row["id"]: row for row in gone["relations"]}.values())
    rows.remove(c, gone)
    touched = [row[end] for row in gone["relations"] for end in ("from", "to")]
    return {"deleted": len(gone["relations"]), "touched": touched}, [_op("restore", **gone)]


def restore(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Rows that were taken out, as they were: the inverse of a deletion."""
    new, changed = rows.put_back(c, payload, by)
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
    return {"restored": sum(map(len, new.values()))}, inverse + _given_back(changed)


def remove_orphans(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Those of the entities that have neither observations nor relations; the others stay."""
    gone = rows.nothing()
    gone["entities"] = rows.orphans(c, payload["entityNames"])
    rows.remove(c, gone)
    return {"deleted": len(gone["entities"])}, [_op("restore", **gone)]


def add_episodes(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Turns of a session, each once by its uuid."""
    added = 0
    for item in payload["episodes"]:
        cursor = c.execute(
            "INSERT OR IGNORE INTO episodes (uuid, session, role, text, extra, place, agent, "
            "domain, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                item["id"],
                item["session"],
                item["role"],
                item["text"],
                index_extra(item["text"]),
                str(item.get("place") or ""),
                str(item.get("agent") or ""),
                by.domain,
                item["created_at"],
            ),
        )
        added += cursor.rowcount
    return {"added": added}, []


EFFECTS: dict[str, Effect] = {
    "create_entities": create_entities,
    "create_relations": create_relations,
    "add_observations": add_observations,
    "delete_entities": delete_entities,
    "delete_observations": delete_observations,
    "delete_relations": delete_relations,
    "restore": restore,
    "remove_orphans": remove_orphans,
    "remember": record_effects.remember,
    "put_record": record_effects.put_record,
    "forget": record_effects.forget,
    "add_episodes": add_episodes,
}


def _adopt(c: sqlite3.Connection, adopted: rows.Rows, entity: int, texts: Any) -> None:
    """What a record had brought and somebody now states himself no longer goes with the record."""
    mine = rows.nothing()
    mine["entities"] = rows.entities(c, "e.id = ? AND e.record <> ''", (entity,))
    for text in dict.fromkeys(texts):
        id_ = rows.text_id(c, entity, text)
        if id_ is not None:
            mine["observations"] += rows.observations(c, "o.id = ? AND o.record <> ''", (id_,))
    _take(c, adopted, mine)


def _adopt_relation(c: sqlite3.Connection, adopted: rows.Rows, relation: Mapping[str, Any]) -> None:
    mine = rows.nothing()
    mine["relations"] = [row for row in _relation(c, relation) if row["record"]]
    _take(c, adopted, mine)


def _take(c: sqlite3.Connection, adopted: rows.Rows, mine: rows.Rows) -> None:
    rows.hand_to(c, mine, "")
    for table, some in mine.items():
        adopted[table] += some


def _given_back(adopted: rows.Rows) -> list[dict[str, Any]]:
    return [_op("restore", **adopted)] if any(adopted.values()) else []


def _relation(c: sqlite3.Connection, item: Mapping[str, Any]) -> list[dict[str, Any]]:
    return rows.relations(
        c,
        "s.name = ? AND r.type = ? AND t.name = ?",
        (item["from"], item["relationType"], item["to"]),
    )


def _op(kind: str, **payload: Any) -> dict[str, Any]:
    return {"kind": kind, "payload": payload}
