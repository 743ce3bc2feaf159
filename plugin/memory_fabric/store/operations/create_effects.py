"""Operations that create entities, relations and observations.

An operation may hold thousands of them: names are looked up and rows inserted for all at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric.errors import NotFound
from memory_fabric.models import Provenance
from memory_fabric.store.operations import deletions, restore, rows, tombstones
from memory_fabric.store.operations.new_rows import NewRows

Result = tuple[dict[str, Any], list[dict[str, Any]]]
Detached = list[restore.Group]


def create_entities(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Create entities with their observations; an existing one gets the observations it lacks.

    With `apart` only the caller's own domain counts: an observation of another domain does not make
    the same text a repeat.
    """
    created, merged = [], []
    apart = payload.get("apart") is True
    detached: Detached = []
    guard = tombstones.StatementGuard(c, by)
    known = rows.entity_ids(c, [item["name"] for item in payload["entities"]])
    new = NewRows(c, by)
    for item in payload["entities"]:
        name, texts = item["name"], item.get("observations") or ()
        id_ = known.get(name)
        if id_ is None:
            if guard.refuse_entity(name):
                continue
            known[name] = id_ = new.add_entity(name, item["entityType"])
            added = [t for t in dict.fromkeys(texts) if not guard.refuse_text(name, t)]
            created.append({"name": name, "entityType": item["entityType"], "observations": added})
        else:
            if id_ in new.pending:  # named twice
                new.insert()
            rows.take_over(c, id_, item["entityType"], by)
            _detach(c, detached, id_, texts, by.domain if apart else "")
            lacking = _lacking(c, id_, name, texts, guard)
            added = rows.new_texts(c, id_, lacking, by, apart=apart)
            if added:
                merged.append({"name": name, "observations": added})
        new.add_texts(id_, name, added)
    new.insert()
    stated = [
        {"entityName": item["name"], "observations": item["observations"]}
        for item in (*created, *merged)
    ]
    inverse = [_removal(stated, by, apart=apart)]
    inverse += [_op("remove_orphans", entityNames=[e["name"] for e in created])]
    inverse += [*restore.op(detached), *tombstones.op(guard.lifted)]
    return _with_forgotten({"entities": created, "merged": merged}, guard), inverse


def create_relations(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Create relations; an end that does not exist is created first, with the type that the
    vocabulary knows or `unknown` (BR-9)."""
    only = by.domain if payload.get("apart") is True else ""
    detached: Detached = []
    guard = tombstones.StatementGuard(c, by)
    wanted, known, ends = _with_ends(c, payload["relations"], by, guard)
    edges = [(known[i["from"]], i["relationType"], known[i["to"]]) for i in wanted]
    at_ends = dict.fromkeys(id_ for edge in edges for id_ in (edge[0], edge[2]))
    for id_ in rows.brought_by_records(c, at_ends):
        _detach(c, detached, id_, (), only)
    existing = rows.existing_relations(c, edges)
    new = dict.fromkeys(edge for edge in edges if edge not in existing)
    rows.add_relations(c, new, by)
    created = []
    for item, edge in zip(wanted, edges, strict=True):
        relation = {name: item[name] for name in ("from", "to", "relationType")}
        if edge in new:
            del new[edge]
            existing.add(edge)
            created.append(relation)
        elif rows.add_relation(c, *edge, by):
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
    new = NewRows(c, by)
    for item in payload["observations"]:
        name = item["entityName"]
        id_ = rows.entity_id(c, name)
        if id_ is None:
            if by.source in tombstones.REPEATING and guard.refuse_entity(name):
                continue
            raise NotFound(name, f"Entity with name {name} not found")
        if id_ in new.pending:  # named twice
            new.insert()
        _detach(c, detached, id_, item["contents"], only)
        lacking = _lacking(c, id_, name, item["contents"], guard)
        added = rows.new_texts(c, id_, lacking, by, apart=apart)
        new.add_texts(id_, name, added)
        results.append({"entityName": name, "addedObservations": added})
    new.insert()
    undo = [
        {"entityName": r["entityName"], "observations": r["addedObservations"]} for r in results
    ]
    inverse = [_removal(undo, by, apart=apart)]
    inverse += [*restore.op(detached), *tombstones.op(guard.lifted)]
    return _with_forgotten({"results": results}, guard), inverse


def _with_ends(
    c: sqlite3.Connection,
    items: Sequence[Mapping[str, Any]],
    by: Provenance,
    guard: tombstones.StatementGuard,
) -> tuple[list[Mapping[str, Any]], dict[str, int], list[str]]:
    """Create the missing ends of relations.

    Returns the relations of which no end was forgotten, the numbers of their ends, and the names of
    the ends that were created.
    """
    known = rows.entity_ids(c, [name for item in items for name in (item["from"], item["to"])])
    new = NewRows(c, by)
    wanted: list[Mapping[str, Any]] = []
    created: list[str] = []
    for item in items:
        missing = [n for n in dict.fromkeys((item["from"], item["to"])) if n not in known]
        if any(guard.refuse_entity(name) for name in missing):
            continue
        for name in missing:
            known[name] = new.add_entity(name, rows.type_of_end(name))
        created += missing
        wanted.append(item)
    new.insert()
    return wanted, known, created


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
