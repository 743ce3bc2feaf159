"""Operations on entity names: add and remove aliases, merge several entities into one.

The graph tools match names exactly; capture and recall also find an entity by its aliases.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import OTHERS, Provenance
from memory_fabric.store.operations import restore, rows, tombstones
from memory_fabric.text import name_key

Result = tuple[dict[str, Any], list[dict[str, Any]]]
Row = dict[str, Any]


def alias(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Add names to an entity. Names that it has already are skipped; names of another entity are
    refused, each with its reason.

    Raises NotFound if there is no such entity, BadInput if every name is refused.
    """
    name = payload["entity"]
    id_ = _existing(c, name)
    refused = {other: why for other in payload["aliases"] if (why := _refusal(c, id_, other))}
    if refused and len(refused) == len(set(payload["aliases"])):
        raise next(iter(refused.values()))
    wanted = [
        other
        for other in payload["aliases"]
        if other not in refused and name_key(other) != name_key(name)
    ]
    result, inverse = put_aliases(c, {"entity": name, "aliases": wanted}, by)
    return result | {"refused": {other: str(why) for other, why in refused.items()}}, inverse


def put_aliases(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Add the names that are still free: the inverse of `unalias`."""
    name = payload["entity"]
    id_ = rows.entity_id(c, name)
    pairs = [(name_key(other), other) for other in payload["aliases"]]
    added = rows.add_aliases(c, id_, pairs) if id_ is not None else []
    return {"aliases": [pair[1] for pair in added]}, _op("unalias", name, added)


def unalias(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Remove names of an entity; unknown ones are ignored."""
    name = payload["entity"]
    id_ = rows.entity_id(c, name)
    keys = map(name_key, payload["aliases"])
    removed = rows.remove_aliases(c, id_, keys) if id_ is not None else []
    return {"removed": [pair[1] for pair in removed]}, _op("put_aliases", name, removed)


def merge(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Merge entities: their observations and relations move, their names become aliases.

    Rows keep author, time and order; equal statements become one row, and relations between the
    merged entities are removed. Raises NotFound for an unknown name.
    """
    into = payload["into"]
    _existing(c, into)
    names = [name for name in dict.fromkeys(payload["names"]) if name != into]
    for name in names:
        _existing(c, name)
    groups = [
        _one_entity(c, into, names),
        *_observations(c, into, names),
        *_relations(c, into, names),
    ]
    lifted = _lift_tombstones(c, into, groups)
    latest = max(row["updated_at"] for row in groups[0]["out"]["entities"])
    back = restore.replace(c, groups, by)
    c.execute("UPDATE entities SET updated_at = ? WHERE name = ?", (latest, into))
    result = {"into": into, "merged": names, "observations": 0, "relations": 0}
    for group in groups[1:]:
        for table in ("observations", "relations"):
            result[table] += len(group["in"][table])
    return result, restore.op(back) + tombstones.op(lifted)


def replace_rows(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Replace groups of rows with others, as far as they still exist: the inverse of `merge`."""
    back = restore.replace(c, payload["groups"], by)
    return {"replaced": len(back)}, restore.op(back)


def _existing(c: sqlite3.Connection, name: str) -> int:
    id_ = rows.entity_id(c, name)
    if id_ is None:
        raise NotFound(
            name,
            f"There is no entity {name[:100]!r}.",
            remedy="memory-fabric recall shows how names are spelt.",
        )
    return id_


def _refusal(c: sqlite3.Connection, entity: int, other: str) -> BadInput | None:
    """Return the error why the entity cannot have this name; None if it can."""
    key = name_key(other)
    if not other.strip():
        return BadInput("alias", "An alias is empty.", remedy="Give a name.")
    owner = rows.entities(c, "e.key = ? AND e.id <> ?", (key, entity))
    if owner:
        return BadInput(
            "alias",
            f"{other!r} is the name of the entity {owner[0]['name']!r}.",
            remedy="Use memory-fabric merge to make one entity of both.",
        )
    taken = rows.entities(
        c, "e.id <> ? AND e.id IN (SELECT entity FROM aliases WHERE key = ?)", (entity, key)
    )
    if taken:
        return BadInput(
            "alias",
            f"{other!r} already means the entity {taken[0]['name']!r}.",
            remedy="Remove it there first, with memory-fabric alias --remove.",
        )
    return None


def _one_entity(c: sqlite3.Connection, into: str, names: Sequence[str]) -> restore.Group:
    """Return the group that makes one entity of several, with the names of all."""
    out = [row for name in (into, *names) for row in rows.entities(c, "e.name = ?", (name,))]
    aliases = [pair for row in out for pair in row["aliases"]]
    aliases += [[name_key(name), name] for name in names]
    record = "" if any(not row["record"] for row in out) else out[0]["record"]
    said_by = "" if any(not row["said_by"] for row in out) else out[0]["said_by"]
    unique = list({pair[0]: pair for pair in reversed(aliases)}.values())[::-1]
    one = out[0] | {"record": record, "said_by": said_by, "aliases": unique}
    return restore.group("entities", out, [one])


def _observations(c: sqlite3.Connection, into: str, names: Sequence[str]) -> list[restore.Group]:
    found = [row for n in (into, *names) for row in rows.observations(c, "e.name = ?", (n,))]
    return _moved(
        "observations", found, lambda row: row | {"entity": into}, lambda row: row["text"]
    )


def _relations(c: sqlite3.Connection, into: str, names: Sequence[str]) -> list[restore.Group]:
    ours = {into, *names}
    found: dict[int, Row] = {}
    for name in ours:
        found |= {r["id"]: r for r in rows.relations(c, "? IN (s.name, t.name)", (name,))}
    inner = [row for row in found.values() if row["from"] != row["to"] and _ends(row) <= ours]
    outer = [row for row in found.values() if row not in inner]

    def moved(row: Row) -> Row:
        return row | {end: into for end in ("from", "to") if row[end] in ours}

    def key(row: Row) -> Any:
        now = moved(row)
        return now["from"], now["relationType"], now["to"]

    removed = [restore.group("relations", [row], []) for row in inner]
    return removed + _moved("relations", outer, moved, key)


def _moved(
    table: str, found: Iterable[Row], moved: Callable[[Row], Row], key: Callable[[Row], Any]
) -> list[restore.Group]:
    """Return groups that move rows, equal ones into a single row; unchanged rows get no group."""
    alike: dict[Any, list[Row]] = {}
    for row in sorted(found, key=lambda row: int(row["id"])):
        alike.setdefault(key(row), []).append(row)
    groups = []
    for same in alike.values():
        # The row that the entity had already keeps its number.
        same.sort(key=_is_of_others)  # one's own statement comes first
        own = [row for row in same if not _is_of_others(row)] or same
        first = next((row for row in own if moved(row) == row), own[0])
        record = "" if any(not row["record"] for row in same) else first["record"]
        claims = sorted({id_ for row in same for id_ in row["claims"]})
        one = moved(first) | {"record": record, "claims": claims}
        if same != [one]:
            groups.append(restore.group(table, same, [one]))
    return groups


def _is_of_others(row: Row) -> bool:
    return row.get("source") == OTHERS or bool(row.get("said_by"))


def _lift_tombstones(
    c: sqlite3.Connection, into: str, groups: Iterable[restore.Group]
) -> list[list[Any]]:
    """Lift the tombstones of observations that the user now moves to this entity; return them."""
    lifted: list[list[Any]] = []
    if not c.execute("SELECT 1 FROM tombstones LIMIT 1").fetchone():
        return lifted
    for row in [row for group in groups for row in group["in"]["observations"]]:
        id_ = tombstones.of_observation(into, row["text"])
        lifted += [list(r) for r in c.execute("SELECT * FROM tombstones WHERE id = ?", (id_,))]
        c.execute("DELETE FROM tombstones WHERE id = ?", (id_,))
    return lifted


def _ends(row: Row) -> set[str]:
    return {row["from"], row["to"]}


def _op(kind: str, name: str, pairs: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    if not pairs:
        return []
    return [{"kind": kind, "payload": {"entity": name, "aliases": [pair[1] for pair in pairs]}}]
