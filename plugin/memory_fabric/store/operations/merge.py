"""Operations on entity names: add and remove aliases, merge several entities into one."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from sqlite3 import Connection
from typing import Any

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import OTHERS, Payload, Provenance
from memory_fabric.store import records
from memory_fabric.store.operations import kind, remember, restore, rows, tombstones
from memory_fabric.store.operations.kind import Kind, Result, Steps, step
from memory_fabric.store.operations.rows import Row
from memory_fabric.text import name_key

_CLAIMING = (
    "SELECT c.record FROM observations AS o CROSS JOIN claims AS c "
    "ON c.kind = 'observations' AND c.row = o.id WHERE o.entity = ? UNION "
    "SELECT c.record FROM relations AS r CROSS JOIN claims AS c "
    "ON c.kind = 'relations' AND c.row = r.id WHERE ? IN (r.source, r.target)"
)


def alias(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Add aliases, except names of other entities. Raises NotFound, or BadInput if none is free."""
    name = payload["entity"]
    id_ = _existing(c, name)
    of_alias, refused = "e.id IN (SELECT entity FROM aliases WHERE key = ?)", {}
    for name_ in payload["aliases"]:
        values, problem = (name_key(name_), id_), ""
        if not name_.strip():
            problem, remedy = "An alias is empty.", "Give a name."
        elif owner := rows.entities(c, "e.key = ? AND e.id <> ?", values):
            problem = f"{name_!r} is the name of the entity {owner[0]['name']!r}."
            remedy = "Use memory-fabric merge to make one entity of both."
        elif owner := rows.entities(c, f"{of_alias} AND e.id <> ?", values):
            problem = f"{name_!r} already means the entity {owner[0]['name']!r}."
            remedy = "Remove it there first, with memory-fabric alias --remove."
        if problem:
            refused[name_] = BadInput("alias", problem, remedy=remedy)
    if refused and len(refused) == len(set(payload["aliases"])):
        raise next(iter(refused.values()))
    free = [name_ for name_ in payload["aliases"] if name_ not in refused]
    names = [name_ for name_ in free if name_key(name_) != name_key(name)]
    result, inverse = put_aliases(c, {"entity": name, "aliases": names}, by)
    return result | {"refused": {name_: str(why) for name_, why in refused.items()}}, inverse


def put_aliases(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Add aliases, except those that another entity now has: the inverse of `unalias`."""
    name = payload["entity"]
    id_ = rows.entity_id(c, name)
    pairs = [(name_key(other), other) for other in payload["aliases"]]
    added = rows.add_aliases(c, id_, pairs) if id_ is not None else []
    return {"aliases": [pair[1] for pair in added]}, _op("unalias", name, added)


def unalias(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Remove aliases. Records' statements about these names move to entities of these names."""
    name = payload["entity"]
    id_ = rows.entity_id(c, name)
    keys = map(name_key, payload["aliases"])
    removed = rows.remove_aliases(c, id_, keys) if id_ is not None else []
    inverse, gone = _op("put_aliases", name, removed), {pair[0] for pair in removed}
    for record, seen_in in records.find(c, f"id IN ({_CLAIMING})", (id_, id_), -1) if gone else ():
        if not gone.isdisjoint(map(name_key, remember.names_of(record))):
            inverse = [*remember.restate(c, record, seen_in), *inverse]
    return {"removed": [pair[1] for pair in removed]}, inverse


def merge(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Merge entities into one: rows keep their author, time and order, and equal rows become one.
    Relations among these entities are removed, and old names become aliases. Raises NotFound.
    """
    into = payload["into"]
    _existing(c, into)
    names = [name for name in dict.fromkeys(payload["names"]) if name != into]
    for name in names:
        _existing(c, name)
    texts = [row for n in (into, *names) for row in rows.observations(c, "e.name = ?", (n,))]
    out = [row for n in (into, *names) for row in rows.entities(c, "e.name = ?", (n,))]
    aliases = [pair for row in out for pair in row["aliases"]]
    aliases += [[name_key(name), name] for name in names]
    unique = list({pair[0]: pair for pair in reversed(aliases)}.values())[::-1]
    # If any entity has no record, or no `said_by` (it is this user's), the merged one has none.
    origin = {f: out[0][f] if all(row[f] for row in out) else "" for f in ("record", "said_by")}
    groups = [
        restore.group("entities", out, [out[0] | origin | {"aliases": unique}]),
        *_moved("observations", texts, lambda row: row | {"entity": into}, ("text",)),
        *_relations(c, into, names),
    ]
    # The observations that the merge adds to the entity are no longer forgotten.
    texts_in = [row["text"] for group in groups for row in group["in"]["observations"]]
    ids = json.dumps([tombstones.of_observation(into, text) for text in texts_in])
    of_ids = "SELECT * FROM tombstones WHERE id IN (SELECT value FROM json_each(?))"
    lifted = [list(row) for row in c.execute(of_ids, (ids,)).fetchall()]
    c.executemany("DELETE FROM tombstones WHERE id = ?", [row[:1] for row in lifted])
    latest = max(row["updated_at"] for row in groups[0]["out"]["entities"])
    back = restore.replace(c, groups, by)
    c.execute("UPDATE entities SET updated_at = ? WHERE name = ?", (latest, into))
    result = {"into": into, "merged": names, "observations": 0, "relations": 0}
    for group in groups[1:]:
        for table in ("observations", "relations"):
            result[table] += len(group["in"][table])
    return result, restore.op(back) + tombstones.op(lifted)


def _existing(c: Connection, name: str) -> int:
    if (id_ := rows.entity_id(c, name)) is None:
        problem = f"There is no entity {name[:100]!r}."
        raise NotFound(name, problem, remedy="memory-fabric recall shows how names are spelt.")
    return id_


def _relations(c: Connection, into: str, names: Sequence[str]) -> list[restore.Group]:
    ours, at_ends = {into, *names}, "? IN (s.name, t.name)"
    related = {r["id"]: r for name in ours for r in rows.relations(c, at_ends, (name,))}

    def is_inner(row: Row) -> bool:
        return row["from"] != row["to"] and {row["from"], row["to"]} <= ours

    def moved(row: Row) -> Row:
        return row | {end: into for end in ("from", "to") if row[end] in ours}

    outer = [row for row in related.values() if not is_inner(row)]
    removed = [restore.group("relations", [r], []) for r in related.values() if is_inner(r)]
    return removed + _moved("relations", outer, moved, ("from", "relationType", "to"))


def _moved(
    table: str, some: Iterable[Row], moved: Callable[[Row], Row], content: Sequence[str]
) -> list[restore.Group]:
    """Return groups that replace each row by `moved(row)`, which belongs to the merged entity. Rows
    that are then equal in the fields `content` become a single row.
    """
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(some, key=lambda row: int(row["id"])):
        now = moved(row)
        alike.setdefault(tuple(now[name] for name in content), []).append(row)
    groups = []
    for same in alike.values():
        # Keep a row of this user, if any, and preferably one that already belongs to the target.
        same.sort(key=_is_of_others)
        own = [row for row in same if not _is_of_others(row)] or same
        first = next((row for row in own if moved(row) == row), own[0])
        record = "" if any(not row["record"] for row in same) else first["record"]
        claims = sorted({id_ for row in same for id_ in row["claims"]})
        single = moved(first) | {"record": record, "claims": claims}
        if same != [single]:
            groups.append(restore.group(table, same, [single]))
    return groups


def _is_of_others(row: Row) -> bool:
    return row.get("source") == OTHERS or bool(row.get("said_by"))


def _op(kind: str, name: str, pairs: Sequence[Sequence[str]]) -> Steps:
    return [step(kind, entity=name, aliases=[pair[1] for pair in pairs])] if pairs else []


def _describe(verb: str, payload: Payload, _: Sequence[Payload]) -> str:
    return f"{payload['entity']} is {verb} called {kind.named(payload['aliases'])}"


_NAMES, _ALSO = {"entity": str, "aliases": [str]}, partial(_describe, "also")
KINDS = {
    "alias": Kind({**_NAMES, **kind.options(batch=str)}, alias, _ALSO),
    "put_aliases": Kind(_NAMES, put_aliases, _ALSO),
    "unalias": Kind(_NAMES, unalias, partial(_describe, "no longer")),
    "merge": Kind(
        {"into": str, "names": [str]},
        merge,
        lambda payload, _: f"merged {kind.named(payload['names'])} into {payload['into']}",
    ),
}
