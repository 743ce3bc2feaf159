"""Operations that create entities, relations and observations, thousands of rows at once."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection
from typing import Any

from memory_fabric.errors import NotFound
from memory_fabric.models import Payload, Provenance
from memory_fabric.store.operations import kind, restore, rows, tombstones
from memory_fabric.store.operations.kind import Kind, Result, Steps, step
from memory_fabric.text import many

# Turns an entity that only other members of a team have stated so far into this user's own.
_TAKE_OVER = (
    "UPDATE entities SET said_by = '', type = ?, domain = ?, created_at = ? "
    "WHERE id = ? AND said_by <> ''"
)


def create_entities(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Create entities with their observations; add to existing entities the observations that they
    lack. If the payload has `apart`, an observation of another domain does not count as existing.
    """
    created, merged = [], []
    statement = _Statement(c, payload, by)
    ids = rows.entity_ids(c, [item["name"] for item in payload["entities"]])
    for item in payload["entities"]:
        name, texts = item["name"], item.get("observations") or ()
        if name in ids:
            c.execute(_TAKE_OVER, (item["entityType"], by.domain, by.at, ids[name]))
            if added := statement.add_texts(ids[name], name, texts):
                merged.append({"name": name, "observations": added})
        elif not statement.guard.refuse_entity(name):
            ids[name] = statement.new.add_entity(name, item["entityType"])
            refuses = statement.guard.refuse_text
            added = [text for text in dict.fromkeys(texts) if not refuses(name, text)]
            statement.new.add_texts(ids[name], name, added)
            created.append({"name": name, "entityType": item["entityType"], "observations": added})
    statement.new.insert()
    stated = ((item["name"], item["observations"]) for item in (*created, *merged))
    orphans = step("remove_orphans", entityNames=[item["name"] for item in created])
    result = {"entities": created, "merged": merged}
    return statement.finished(result, _removal(stated, statement.only), orphans)


def create_relations(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Create relations, and the entities missing at their ends with a type from `type_of_end`."""
    statement = _Statement(c, payload, by)
    wanted, ids, ends = statement.with_ends(payload["relations"])
    edges = [(ids[item["from"]], item["relationType"], ids[item["to"]]) for item in wanted]
    at_ends = dict.fromkeys(id_ for edge in edges for id_ in (edge[0], edge[2]))
    of_records = "SELECT id FROM entities WHERE record <> '' AND id IN ({})"
    for (id_,) in list(rows.among(c, of_records, at_ends)):
        statement.detach(id_)
    existing = rows.existing_relations(c, edges)
    new = {edge for edge in edges if edge not in existing}
    columns = "INSERT INTO relations (source, type, target, domain, created_at)"
    values = [(*edge, by.domain, by.at) for edge in dict.fromkeys(edges) if edge in new]
    c.executemany(f"{columns} VALUES (?, ?, ?, ?, ?)", values)
    created = []
    for item, edge in zip(wanted, edges, strict=True):
        relation = _relation(item)
        if edge in new or rows.add_relation(c, *edge, by):
            new.discard(edge)  # an edge listed twice is new only once
            created.append(relation)
        else:
            statement.detach_relation(relation)
    undo = step("delete_relations", relations=created), step("remove_orphans", entityNames=ends)
    return statement.finished({"relations": created, "created_ends": ends}, *undo)


def add_observations(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Add to each entity the observations that it lacks. Raises NotFound for an unknown entity."""
    results = []
    statement = _Statement(c, payload, by)
    for item in payload["observations"]:
        name = item["entityName"]
        id_ = rows.entity_id(c, name)
        if id_ is None:
            if by.source in tombstones.REPEATING and statement.guard.refuse_entity(name):
                continue
            raise NotFound(name, f"Entity with name {name} not found")
        added = statement.add_texts(id_, name, item["contents"])
        results.append({"entityName": name, "addedObservations": added})
    statement.new.insert()
    stated = ((item["entityName"], item["addedObservations"]) for item in results)
    return statement.finished({"results": results}, _removal(stated, statement.only))


class _Statement:
    """The effects of one operation: new rows, changed rows, and the steps that undo both. If the
    payload has `apart`, `only` is the caller's domain, and no other is changed; else it is None.
    """

    def __init__(self, c: Connection, payload: Payload, by: Provenance) -> None:
        self._c, self._by = c, by
        self.only = by.domain if payload.get("apart") is True else None
        self.guard = tombstones.StatementGuard(c, by)
        self.new = rows.NewRows(c, by)
        self._detached: list[restore.Group] = []

    def add_texts(self, entity: int, name: str, texts: Iterable[str]) -> list[str]:
        """Add texts that an entity lacks and the user has not forgotten; return the added ones."""
        c = self._c
        if entity in self.new.pending:  # the payload lists the entity twice
            self.new.insert()
        self.detach(entity, texts)
        is_refused = self.guard.refuse_text
        wanted = (t for t in texts if rows.text_id(c, entity, t) or not is_refused(name, t))
        added = rows.new_texts(c, entity, wanted, self._by, apart=self.only is not None)
        self.new.add_texts(entity, name, added)
        return added

    def with_ends(self, items: Sequence[Payload]) -> tuple[list[Any], dict[str, int], list[str]]:
        """Create the entities that are missing at the ends of relations, but skip relations with a
        forgotten end. Return the other relations, row numbers by entity name, and the new names.
        """
        ids = rows.entity_ids(self._c, [item[end] for item in items for end in ("from", "to")])
        wanted, created = [], []
        for item in items:
            missing = [n for n in dict.fromkeys((item["from"], item["to"])) if n not in ids]
            if any(map(self.guard.refuse_entity, missing)):
                continue
            for name in missing:
                ids[name] = self.new.add_entity(name, rows.type_of_end(name))
            created += missing
            wanted.append(item)
        self.new.insert()
        return wanted, ids, created

    def detach(self, entity: int, texts: Iterable[str] = ()) -> None:
        """Make an entity and these observations direct statements, which outlive their records."""
        c, only, mine = self._c, self.only or "", rows.nothing()
        of_records = "e.id = ?1 AND e.record <> '' AND (?2 = '' OR e.domain = ?2)"
        mine["entities"] = rows.entities(c, of_records, (entity, only))
        for text in dict.fromkeys(texts):
            id_ = rows.text_id(c, entity, text, only)
            if id_ is not None:
                mine["observations"] += rows.observations(c, "o.id = ? AND o.record <> ''", (id_,))
        self._detach(mine)

    def detach_relation(self, relation: Payload) -> None:
        """Make a relation independent of its record, because it is now stated directly."""
        of_records = [row for row in rows.relation_of(self._c, relation) if row["record"]]
        of_records = [row for row in of_records if not self.only or row["domain"] == self.only]
        self._detach(rows.nothing() | {"relations": of_records})

    def _detach(self, mine: rows.Rows) -> None:
        rows.hand_to(self._c, mine, "")
        for table, some in mine.items():
            changed = (([row | {"record": ""}], [row]) for row in some)
            self._detached += [restore.group(table, after, before) for after, before in changed]

    def finished(self, result: dict[str, Any], *inverse: dict[str, Any]) -> Result:
        """Return the result, with refused names as `forgotten`, and all steps of the inverse."""
        if self.guard.forgotten:
            result["forgotten"] = list(self.guard.forgotten)
        return result, [*inverse, *restore.op(self._detached), *tombstones.op(self.guard.lifted)]


def _relation(item: Payload) -> dict[str, str]:
    return {name: item[name] for name in kind.RELATION}


def _removal(stated: Iterable[tuple[str, Iterable[str]]], only: str | None = None) -> Any:
    deletions = [{"entityName": n, "observations": list(dict.fromkeys(ts))} for n, ts in stated]
    within = {} if only is None else {"only": [only]}
    return step("delete_observations", deletions=deletions, **within)


def _derive_entities(payload: Payload) -> Steps:
    items = payload["entities"]
    removal = _removal((item["name"], item.get("observations") or ()) for item in items)
    return [removal, step("remove_orphans", entityNames=[item["name"] for item in items])]


def _describe_entities(payload: Payload, inverse: Sequence[Payload]) -> str:
    new, added = set(kind.parts_of(inverse, "remove_orphans", "entityNames")), _added(inverse)
    created = ((i["name"], i["entityType"]) for i in payload["entities"] if i["name"] in new)
    parts = [f"created {name} ({type_}){kind.counted(added[name])}" for name, type_ in created]
    additions = _additions({name: added[name] for name in added if name not in new})
    about = kind.named(item["name"] for item in payload["entities"])
    return kind.joined(parts + additions) or f"nothing new about {about}"


def _describe_observations(payload: Payload, inverse: Sequence[Payload]) -> str:
    about = kind.named(item["entityName"] for item in payload["observations"])
    return kind.joined(_additions(_added(inverse))) or f"nothing new about {about}"


def _added(inverse: Sequence[Payload]) -> Counter[str]:
    items = kind.parts_of(inverse, "delete_observations", "deletions")
    return Counter(item["entityName"] for item in items for _ in item["observations"])


def _additions(counts: Mapping[str, int]) -> list[str]:
    return [f"added {many(n, 'observation')} to {name}" for name, n in counts.items()]


_APART = kind.options(apart=bool)
_ENTITY = {"name": str, "entityType": str, **kind.options(observations=[str])}
_CONTENTS = {"entityName": str, "contents": [str]}
KINDS = {
    "create_entities": Kind(
        {"entities": [_ENTITY], **_APART},
        create_entities,
        _describe_entities,
        _derive_entities,
        items=("entities", ("name",)),
        answers=("entities", ("name",)),
    ),
    "create_relations": Kind(
        {"relations": [kind.RELATION], **_APART},
        create_relations,
        lambda payload, _: f"related {kind.relation_phrases(payload['relations'])}",
        lambda change: [
            step("delete_relations", relations=[_relation(r) for r in change["relations"]]),
            step("remove_orphans", entityNames=[]),
        ],
        items=("relations", ("from", "to")),
        answers=("relations", ("from", "relationType", "to")),
    ),
    "add_observations": Kind(
        {"observations": [_CONTENTS], **_APART},
        add_observations,
        _describe_observations,
        lambda change: [_removal((o["entityName"], o["contents"]) for o in change["observations"])],
        items=("observations", ("entityName",)),
        answers=("results", ("entityName",)),
    ),
}
