"""What each kind of operation does to a database, and the operations that would take it back.

An effect runs inside the transaction of `write`; its payload has been redacted and has the shape
that `shapes` demands. It returns its result and its inverse: a list of `{"kind", "payload"}` that,
applied in order, restores what was. `touched` in a result names entities that may be orphans now.
"""

from __future__ import annotations

from memory_fabric.errors import NotFound
from memory_fabric.models import Provenance
from memory_fabric.store.operations import (
    deletions,
    forget_effects,
    ingest_effects,
    merge_effects,
    others_effects,
    record_effects,
    restore,
    rows,
    supersede_effects,
    tombstones,
)
from memory_fabric.text import index_extra

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping
    from typing import Any

    Result = tuple[dict[str, Any], list[dict[str, Any]]]
    Effect = Callable[[sqlite3.Connection, Mapping[str, Any], Provenance], Result]
    Adopted = list[restore.Group]


def create_entities(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """New entities with their observations; an existing name gets the observations it lacks.

    With `apart` the speaker's domain alone counts as having said something.
    """
    created, merged = [], []
    apart = payload.get("apart") is True
    only = by.domain if apart else ""
    adopted: Adopted = []
    graves = tombstones.Graves(c, by)
    for item in payload["entities"]:
        name, texts = item["name"], item.get("observations") or ()
        id_ = rows.entity_id(c, name)
        if id_ is None:
            if graves.refuse_entity(name):
                continue
            id_ = rows.add_entity(c, name, item["entityType"], by)
            added = rows.add_texts(c, id_, _lacking(c, id_, name, texts, graves), by)
            created.append({"name": name, "entityType": item["entityType"], "observations": added})
        else:
            _adopt(c, adopted, id_, texts, only)
            lacking = _lacking(c, id_, name, texts, graves)
            added = rows.add_texts(c, id_, lacking, by, apart=apart)
            if added:
                merged.append({"name": name, "observations": added})
    said = [
        {"entityName": item["name"], "observations": item["observations"]}
        for item in (*created, *merged)
    ]
    inverse = [_unsaid(said, by, apart=apart)]
    inverse += [_op("remove_orphans", entityNames=[e["name"] for e in created])]
    inverse += [*restore.op(adopted), *tombstones.set_again(graves.lifted)]
    return _also({"entities": created, "merged": merged}, graves), inverse


def create_relations(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """New relations; an end that does not exist is created first with type `unknown` (BR-9)."""
    created, ends = [], []
    only = by.domain if payload.get("apart") is True else ""
    adopted: Adopted = []
    graves = tombstones.Graves(c, by)
    for item in payload["relations"]:
        both = (item["from"], item["to"])
        missing = [name for name in dict.fromkeys(both) if rows.entity_id(c, name) is None]
        if any(graves.refuse_entity(name) for name in missing):
            continue
        for name in missing:
            rows.add_entity(c, name, rows.UNKNOWN_TYPE, by)
        ends += missing
        ids = [rows.entity_id(c, name) or 0 for name in both]
        for name, id_ in zip(both, ids, strict=True):
            if name not in missing:
                _adopt(c, adopted, id_, (), only)
        relation = {name: item[name] for name in ("from", "to", "relationType")}
        if rows.add_relation(c, ids[0], item["relationType"], ids[1], by):
            created.append(relation)
        else:
            _adopt_relation(c, adopted, relation, only)
    inverse = [_op("delete_relations", relations=created), _op("remove_orphans", entityNames=ends)]
    inverse += [*restore.op(adopted), *tombstones.set_again(graves.lifted)]
    return _also({"relations": created, "created_ends": ends}, graves), inverse


def add_observations(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Texts that their entity lacks. Raises NotFound for an unknown entity; nothing is changed."""
    results = []
    apart = payload.get("apart") is True
    only = by.domain if apart else ""
    adopted: Adopted = []
    graves = tombstones.Graves(c, by)
    for item in payload["observations"]:
        name = item["entityName"]
        id_ = rows.entity_id(c, name)
        if id_ is None:
            if by.source in tombstones.REPEATING and graves.refuse_entity(name):
                continue
            raise NotFound(name, f"Entity with name {name} not found")
        _adopt(c, adopted, id_, item["contents"], only)
        lacking = _lacking(c, id_, name, item["contents"], graves)
        added = rows.add_texts(c, id_, lacking, by, apart=apart)
        results.append({"entityName": name, "addedObservations": added})
    undo = [
        {"entityName": r["entityName"], "observations": r["addedObservations"]} for r in results
    ]
    inverse = [_unsaid(undo, by, apart=apart)]
    inverse += [*restore.op(adopted), *tombstones.set_again(graves.lifted)]
    return _also({"results": results}, graves), inverse


def add_episodes(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Turns of a session, each once by its uuid; those that were forgotten stay away."""
    added = 0
    for item in payload["episodes"]:
        if tombstones.is_set(c, tombstones.of_turn(item["id"])):
            continue
        cursor = c.execute(
            "INSERT OR IGNORE INTO episodes (uuid, session, role, text, extra, place, agent, "
            "domain, project, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                item["id"],
                item["session"],
                item["role"],
                item["text"],
                index_extra(item["text"]),
                str(item.get("place") or ""),
                str(item.get("agent") or ""),
                by.domain,
                str(item.get("project") or ""),
                item["created_at"],
            ),
        )
        added += cursor.rowcount
    return {"added": added}, []


def undo(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """What takes back an operation, step by step; its own inverse does that operation again."""
    told: dict[str, Any] = {"steps": len(payload["steps"]), "touched": []}
    back: list[dict[str, Any]] = []
    for step in payload["steps"]:
        result, inverse = EFFECTS[step["kind"]](c, step["payload"], by)
        told["touched"] += result.get("touched", ())
        back = inverse + back
    return told, back


def purged(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Nothing: what this operation once did was erased, and is not to be done again."""
    return {}, []


EFFECTS: dict[str, Effect] = {
    "create_entities": create_entities,
    "create_relations": create_relations,
    "add_observations": add_observations,
    "delete_entities": deletions.delete_entities,
    "delete_observations": deletions.delete_observations,
    "delete_relations": deletions.delete_relations,
    "restore": deletions.restore,
    "remove_orphans": deletions.remove_orphans,
    "remember": record_effects.remember,
    "put_record": record_effects.put_record,
    "supersede": supersede_effects.supersede,
    "forget": forget_effects.forget,
    "tombstones": tombstones.tombstones,
    "alias": merge_effects.alias,
    "unalias": merge_effects.unalias,
    "put_aliases": merge_effects.put_aliases,
    "merge": merge_effects.merge,
    "replace_rows": merge_effects.replace_rows,
    "undo": undo,
    "purged": purged,
    "add_episodes": add_episodes,
    "take_in": others_effects.take_in,
    "let_go": others_effects.let_go,
    "ingest": ingest_effects.ingest,
    "ingested": ingest_effects.ingested,
    "drop_ingests": ingest_effects.drop_ingests,
}


def _adopt(c: sqlite3.Connection, adopted: Adopted, entity: int, texts: Any, only: str) -> None:
    """What a record had brought and somebody now states himself no longer goes with the record;
    `only` what lies in this domain, where one is given.
    """
    mine = rows.nothing()
    brought = "e.id = ?1 AND e.record <> '' AND (?2 = '' OR e.domain = ?2)"
    mine["entities"] = rows.entities(c, brought, (entity, only))
    for text in dict.fromkeys(texts):
        id_ = rows.text_id(c, entity, text, only)
        if id_ is not None:
            mine["observations"] += rows.observations(c, "o.id = ? AND o.record <> ''", (id_,))
    _take(c, adopted, mine)


def _adopt_relation(
    c: sqlite3.Connection, adopted: Adopted, relation: Mapping[str, Any], only: str
) -> None:
    known = [row for row in deletions.relation(c, relation) if row["record"]]
    known = [row for row in known if not only or row["domain"] == only]
    _take(c, adopted, rows.nothing() | {"relations": known})


def _take(c: sqlite3.Connection, adopted: Adopted, mine: rows.Rows) -> None:
    rows.hand_to(c, mine, "")
    for table, some in mine.items():
        adopted += [restore.group(table, [row | {"record": ""}], [row]) for row in some]


def _lacking(
    c: sqlite3.Connection, entity: int, name: str, texts: Any, graves: tombstones.Graves
) -> list[str]:
    """Those of the texts that may be said of the entity."""
    return [
        text
        for text in texts
        if rows.text_id(c, entity, text) is not None or not graves.refuse_text(name, text)
    ]


def _unsaid(said: list[dict[str, Any]], by: Provenance, *, apart: bool) -> dict[str, Any]:
    """What takes these observations out again; others may have said the same words."""
    only = {"only": [by.domain]} if apart else {}
    return _op("delete_observations", deletions=said, **only)


def _also(result: dict[str, Any], graves: tombstones.Graves) -> dict[str, Any]:
    """The result, and names of what was left away because it had been forgotten."""
    return result | ({"forgotten": list(graves.forgotten)} if graves.forgotten else {})


def _op(kind: str, **payload: Any) -> dict[str, Any]:
    return {"kind": kind, "payload": payload}
