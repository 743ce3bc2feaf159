"""The table of effects: the function that applies each kind of operation to a database.

An effect runs inside the transaction of `write`; its payload has been redacted and has the shape
that `shapes` demands. It returns its result and its inverse: a list of `{"kind", "payload"}` that,
applied in order, restores the former state. `touched` in a result names entities that may have
become orphans.
"""

from __future__ import annotations

from memory_fabric.errors import NotFound
from memory_fabric.models import Provenance
from memory_fabric.store.operations import (
    deletions,
    forget_effects,
    ingest_effects,
    learn_effects,
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
    Detached = list[restore.Group]


def create_entities(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Create entities with their observations; an existing one gets the observations it lacks.

    With `apart` only the caller's own domain counts: an observation of another domain does not make
    the same text a repeat.
    """
    created, merged = [], []
    apart = payload.get("apart") is True
    only = by.domain if apart else ""
    detached: Detached = []
    guard = tombstones.StatementGuard(c, by)
    for item in payload["entities"]:
        name, texts = item["name"], item.get("observations") or ()
        id_ = rows.entity_id(c, name)
        if id_ is None:
            if guard.refuse_entity(name):
                continue
            id_ = rows.add_entity(c, name, item["entityType"], by)
            added = rows.add_texts(c, id_, _lacking(c, id_, name, texts, guard), by)
            created.append({"name": name, "entityType": item["entityType"], "observations": added})
        else:
            rows.take_over(c, id_, item["entityType"], by)
            _detach(c, detached, id_, texts, only)
            lacking = _lacking(c, id_, name, texts, guard)
            added = rows.add_texts(c, id_, lacking, by, apart=apart)
            if added:
                merged.append({"name": name, "observations": added})
    said = [
        {"entityName": item["name"], "observations": item["observations"]}
        for item in (*created, *merged)
    ]
    inverse = [_removal(said, by, apart=apart)]
    inverse += [_op("remove_orphans", entityNames=[e["name"] for e in created])]
    inverse += [*restore.op(detached), *tombstones.op(guard.lifted)]
    return _with_forgotten({"entities": created, "merged": merged}, guard), inverse


def create_relations(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Create relations; an end that does not exist is created first with type `unknown` (BR-9)."""
    created, ends = [], []
    only = by.domain if payload.get("apart") is True else ""
    detached: Detached = []
    guard = tombstones.StatementGuard(c, by)
    for item in payload["relations"]:
        both = (item["from"], item["to"])
        missing = [name for name in dict.fromkeys(both) if rows.entity_id(c, name) is None]
        if any(guard.refuse_entity(name) for name in missing):
            continue
        for name in missing:
            rows.add_entity(c, name, rows.UNKNOWN_TYPE, by)
        ends += missing
        ids = [rows.entity_id(c, name) or 0 for name in both]
        for name, id_ in zip(both, ids, strict=True):
            if name not in missing:
                _detach(c, detached, id_, (), only)
        relation = {name: item[name] for name in ("from", "to", "relationType")}
        if rows.add_relation(c, ids[0], item["relationType"], ids[1], by):
            created.append(relation)
        else:
            _detach_relation(c, detached, relation, only)
    inverse = [_op("delete_relations", relations=created), _op("remove_orphans", entityNames=ends)]
    inverse += [*restore.op(detached), *tombstones.op(guard.lifted)]
    return _with_forgotten({"relations": created, "created_ends": ends}, guard), inverse


def add_observations(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Add the texts that their entity lacks.

    Raises NotFound for an unknown entity; nothing is changed then.
    """
    results = []
    apart = payload.get("apart") is True
    only = by.domain if apart else ""
    detached: Detached = []
    guard = tombstones.StatementGuard(c, by)
    for item in payload["observations"]:
        name = item["entityName"]
        id_ = rows.entity_id(c, name)
        if id_ is None:
            if by.source in tombstones.REPEATING and guard.refuse_entity(name):
                continue
            raise NotFound(name, f"Entity with name {name} not found")
        _detach(c, detached, id_, item["contents"], only)
        lacking = _lacking(c, id_, name, item["contents"], guard)
        added = rows.add_texts(c, id_, lacking, by, apart=apart)
        results.append({"entityName": name, "addedObservations": added})
    undo = [
        {"entityName": r["entityName"], "observations": r["addedObservations"]} for r in results
    ]
    inverse = [_removal(undo, by, apart=apart)]
    inverse += [*restore.op(detached), *tombstones.op(guard.lifted)]
    return _with_forgotten({"results": results}, guard), inverse


def add_episodes(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Add turns of a session, each once by its uuid; forgotten turns are skipped.

    A `batch` is the run that reads past sessions: undoing it deletes the turns.
    """
    added = []
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
        added += [item["id"]] if cursor.rowcount > 0 else []
    if payload.get("batch"):
        learn_effects.mark_turns(c, payload["batch"], added)
    return {"added": len(added)}, []


def undo(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Apply the steps of an inverse in order; the inverse of this repeats the original
    operation.
    """
    summary: dict[str, Any] = {"steps": len(payload["steps"]), "touched": []}
    back: list[dict[str, Any]] = []
    for step in payload["steps"]:
        result, inverse = EFFECTS[step["kind"]](c, step["payload"], by)
        summary["touched"] += result.get("touched", ())
        back = inverse + back
    return summary, back


def purged(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Do nothing: the content of this operation was erased and must not be applied again."""
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
    "take_in": others_effects.store_others,
    "let_go": others_effects.drop_others,
    "ingest": ingest_effects.ingest,
    "ingested": ingest_effects.ingested,
    "drop_ingests": ingest_effects.drop_ingests,
    "learn": learn_effects.learn,
    "unlearn": learn_effects.unlearn,
}


def _detach(c: sqlite3.Connection, detached: Detached, entity: int, texts: Any, only: str) -> None:
    """Detach an entity and these texts from the record that brought them, since they are now stated
    directly: they no longer disappear with the record. `only` limits this to one domain.
    """
    mine = rows.nothing()
    of_records = "e.id = ?1 AND e.record <> '' AND (?2 = '' OR e.domain = ?2)"
    mine["entities"] = rows.entities(c, of_records, (entity, only))
    for text in dict.fromkeys(texts):
        id_ = rows.text_id(c, entity, text, only)
        if id_ is not None:
            mine["observations"] += rows.observations(c, "o.id = ? AND o.record <> ''", (id_,))
    _detach_rows(c, detached, mine)


def _detach_relation(
    c: sqlite3.Connection, detached: Detached, relation: Mapping[str, Any], only: str
) -> None:
    known = [row for row in deletions.relation(c, relation) if row["record"]]
    known = [row for row in known if not only or row["domain"] == only]
    _detach_rows(c, detached, rows.nothing() | {"relations": known})


def _detach_rows(c: sqlite3.Connection, detached: Detached, mine: rows.Rows) -> None:
    rows.hand_to(c, mine, "")
    for table, some in mine.items():
        detached += [restore.group(table, [row | {"record": ""}], [row]) for row in some]


def _lacking(
    c: sqlite3.Connection, entity: int, name: str, texts: Any, guard: tombstones.StatementGuard
) -> list[str]:
    """Return the texts that the entity has already or that were not forgotten."""
    return [
        text
        for text in texts
        if rows.text_id(c, entity, text) is not None or not guard.refuse_text(name, text)
    ]


def _removal(said: list[dict[str, Any]], by: Provenance, *, apart: bool) -> dict[str, Any]:
    """Return the operation that removes these observations; with `apart`, only in the caller's
    domain.
    """
    only = {"only": [by.domain]} if apart else {}
    return _op("delete_observations", deletions=said, **only)


def _with_forgotten(result: dict[str, Any], guard: tombstones.StatementGuard) -> dict[str, Any]:
    """Add to the result the names of everything that was skipped because it had been forgotten."""
    return result | ({"forgotten": list(guard.forgotten)} if guard.forgotten else {})


def _op(kind: str, **payload: Any) -> dict[str, Any]:
    return {"kind": kind, "payload": payload}
