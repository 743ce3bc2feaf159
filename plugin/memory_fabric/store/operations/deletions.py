"""Operations that delete entities, observations and relations, and the one that restores them.

The inverse of a deletion is `restore` with whole rows; rows forgotten since then are not restored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric.models import Provenance
from memory_fabric.store.operations import restore as restoring
from memory_fabric.store.operations import rows

Result = tuple[dict[str, Any], list[dict[str, Any]]]


def delete_entities(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Delete entities with their observations and relations; unknown names are ignored.

    With `only` rows of these domains are deleted; an entity that others describe is kept for them.
    """
    if payload.get("only") is not None:
        return _delete_in(c, payload["entityNames"], payload["only"])
    removed = rows.nothing()
    for name in dict.fromkeys(payload["entityNames"]):
        for entity in rows.entities(c, "e.name = ?", (name,)):
            at_it = (entity["id"],)
            mine = rows.nothing()
            mine["entities"] = [entity]
            mine["observations"] = rows.observations(c, "o.entity = ?", at_it)
            mine["relations"] = rows.relations(c, "r.source = ? OR r.target = ?", at_it * 2)
            rows.remove(c, mine)
            for table, some in mine.items():
                removed[table] += some
    touched = [r[end] for r in removed["relations"] for end in ("from", "to")]
    result = {"deleted": len(removed["entities"]), "relations": len(removed["relations"])}
    return result | {"touched": touched}, [_op("restore", **removed)]


def delete_observations(
    c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance
) -> Result:
    """Delete exactly these texts of these entities, with `only` in these domains; unknown ones are
    ignored.
    """
    removed, (where, domains) = rows.nothing(), _within(payload, "o")
    said = f"o.entity = ? AND substr(o.text, 1, 48) = substr(?, 1, 48) AND o.text = ? AND {where}"
    for item in payload["deletions"]:
        entity = rows.entity_id(c, item["entityName"])
        for text in dict.fromkeys(item["observations"] if entity is not None else ()):
            removed["observations"] += rows.observations(c, said, (entity, text, text, *domains))
    # The same entity may be in the list twice.
    removed["observations"] = list({row["id"]: row for row in removed["observations"]}.values())
    left = _leave_to_others(c, removed, payload.get("only"))
    rows.remove(c, removed)
    touched = [row["entity"] for row in removed["observations"]]
    result = {"deleted": len(touched), "touched": touched}
    return result, [_op("restore", **removed), *restoring.op(left)]


def delete_relations(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Delete exactly these relations, with `only` in these domains; unknown ones are ignored. Their
    ends stay.
    """
    removed, only = rows.nothing(), payload.get("only")
    for item in payload["relations"]:
        removed["relations"] += [
            row for row in relation(c, item) if only is None or row["domain"] in only
        ]
    removed["relations"] = list({row["id"]: row for row in removed["relations"]}.values())
    left = _leave_to_others(c, removed, only)
    rows.remove(c, removed)
    touched = [row[end] for row in removed["relations"] for end in ("from", "to")]
    result = {"deleted": len(removed["relations"]), "touched": touched}
    return result, [_op("restore", **removed), *restoring.op(left)]


def restore(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Restore deleted rows as they were: the inverse of a deletion."""
    new, changed = restoring.put_back(c, payload, by)
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
    return {"restored": sum(map(len, new.values()))}, [*restoring.op(changed), *inverse]


def remove_orphans(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Delete those of the entities that have neither observations nor relations."""
    removed = rows.nothing()
    removed["entities"] = rows.orphans(c, payload["entityNames"])
    rows.remove(c, removed)
    return {"deleted": len(removed["entities"])}, [_op("restore", **removed)]


def relation(c: sqlite3.Connection, item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the whole row of exactly this relation in a list; empty if there is none."""
    return rows.relations(
        c,
        "s.name = ? AND r.type = ? AND t.name = ?",
        (item["from"], item["relationType"], item["to"]),
    )


def _delete_in(c: sqlite3.Connection, names: Sequence[str], only: Sequence[str]) -> Result:
    """Delete what these domains state about the entities, and the entities that then have no
    statement.
    """
    removed = rows.nothing()
    left: list[restoring.Group] = []
    (of_said, domains), (of_related, _) = _within({"only": only}, "o"), _within({"only": only}, "r")
    for name in dict.fromkeys(names):
        for entity in rows.entities(c, "e.name = ?", (name,)):
            at_it, mine = entity["id"], rows.nothing()
            said = f"o.entity = ? AND {of_said}"
            mine["observations"] = rows.observations(c, said, (at_it, *domains))
            touching = f"(r.source = ? OR r.target = ?) AND {of_related}"
            mine["relations"] = rows.relations(c, touching, (at_it, at_it, *domains))
            left += _leave_to_others(c, mine, only)
            rows.remove(c, mine)
            if entity["domain"] in only and rows.orphans(c, (name,)):
                rows.remove(c, rows.nothing() | {"entities": [entity]})
                mine["entities"] = [entity]
            for table, some in mine.items():
                removed[table] += some
    touched = [r[end] for r in removed["relations"] for end in ("from", "to")]
    touched += [row["entity"] for row in removed["observations"]]
    result = {"deleted": len(removed["entities"]), "relations": len(removed["relations"])}
    return result | {"touched": touched}, [_op("restore", **removed), *restoring.op(left)]


def _leave_to_others(
    c: sqlite3.Connection, removed: rows.Rows, only: Sequence[str] | None
) -> list[restoring.Group]:
    """Keep rows that a record of another domain states, too, and attribute them to that record.

    Removes these rows from `gone`; returns the groups that take this back.
    """
    groups: list[restoring.Group] = []
    for table in ("observations", "relations") if only is not None else ():
        for row in list(removed[table]):
            other = next((id_ for id_ in row["claims"] if _is_outside(c, id_, only or ())), "")
            if other:
                rows.hand_to(c, rows.nothing() | {table: [row]}, other)
                groups.append(
                    restoring.group(table, restoring.by_number(c, table, row["id"]), [row])
                )
                removed[table].remove(row)
    return groups


def _is_outside(c: sqlite3.Connection, record: str, only: Sequence[str]) -> bool:
    row = c.execute("SELECT domain FROM records WHERE id = ?", (record,)).fetchone()
    return row is not None and row[0] not in only


def _within(payload: Mapping[str, Any], alias: str) -> tuple[str, tuple[str, ...]]:
    """Return the condition that a row is in the domains of the payload, with its values."""
    only = payload.get("only")
    if only is None:
        return "1", ()
    return f"{alias}.domain IN ({', '.join('?' * len(only))})", tuple(only)


def _op(kind: str, **payload: Any) -> dict[str, Any]:
    return {"kind": kind, "payload": payload}
