"""Other names for an entity, and several entities made one, as operations.

The graph tools keep names exactly; capture and recall find an entity by its aliases, too.
"""

from __future__ import annotations

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.store.operations import restore, rows
from memory_fabric.store.operations.tombstones import of_observation, set_again
from memory_fabric.text import name_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from memory_fabric.models import Provenance

    Result = tuple[dict[str, Any], list[dict[str, Any]]]
    Row = dict[str, Any]


def alias(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """New names of an entity; those that mean it already are left out, and those that belong to
    another one are refused: each with its reason.

    Raises NotFound without such an entity, BadInput where each of the names is refused.
    """
    name = payload["entity"]
    id_ = _existing(c, name)
    refused = {other: why for other in payload["aliases"] if (why := _taken(c, id_, other))}
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
    """Those of the names that nobody has meanwhile: what takes back `unalias`."""
    name = payload["entity"]
    id_ = rows.entity_id(c, name)
    pairs = [(name_key(other), other) for other in payload["aliases"]]
    added = rows.add_aliases(c, id_, pairs) if id_ is not None else []
    return {"aliases": [pair[1] for pair in added]}, _op("unalias", name, added)


def unalias(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Names taken from an entity; what is no name of it is silent."""
    name = payload["entity"]
    id_ = rows.entity_id(c, name)
    keys = map(name_key, payload["aliases"])
    gone = rows.remove_aliases(c, id_, keys) if id_ is not None else []
    return {"removed": [pair[1] for pair in gone]}, _op("put_aliases", name, gone)


def merge(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Several entities become one: what they said and their relations move, their names stay.

    Rows keep who said them, when, and their order; what is said twice is one row afterwards, and
    relations among the merged ones vanish. Raises NotFound for a name that nobody bears.
    """
    into = payload["into"]
    _existing(c, into)
    names = [name for name in dict.fromkeys(payload["names"]) if name != into]
    for name in names:
        _existing(c, name)
    groups = [_one_entity(c, into, names), *_sayings(c, into, names), *_edges(c, into, names)]
    lifted = _lifted(c, into, groups)
    latest = max(row["updated_at"] for row in groups[0]["out"]["entities"])
    back = restore.replace(c, groups, by)
    c.execute("UPDATE entities SET updated_at = ? WHERE name = ?", (latest, into))
    told = {"into": into, "merged": names, "observations": 0, "relations": 0}
    for group in groups[1:]:
        for table in ("observations", "relations"):
            told[table] += len(group["in"][table])
    return told, restore.op(back) + set_again(lifted)


def replace_rows(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Rows in the place of others: what takes back `merge`, as far as they are still there."""
    back = restore.replace(c, payload["groups"], by)
    return {"replaced": len(back)}, restore.op(back)


def _existing(c: sqlite3.Connection, name: str) -> int:
    id_ = rows.entity_id(c, name)
    if id_ is None:
        raise NotFound(
            name,
            f"There is no entity {name[:100]!r}.",
            remedy="memory-fabric recall shows names as they are spelt.",
        )
    return id_


def _taken(c: sqlite3.Connection, entity: int, other: str) -> BadInput | None:
    """Why the entity cannot have this name, too; None where it can."""
    key = name_key(other)
    if not other.strip():
        return BadInput("alias", "An alias is empty.", remedy="Say a name.")
    owner = rows.entities(c, "e.key = ? AND e.id <> ?", (key, entity))
    if owner:
        return BadInput(
            "alias",
            f"{other!r} is the name of the entity {owner[0]['name']!r}.",
            remedy="To make the two one, use memory-fabric merge.",
        )
    taken = rows.entities(
        c, "e.id <> ? AND e.id IN (SELECT entity FROM aliases WHERE key = ?)", (entity, key)
    )
    if taken:
        return BadInput(
            "alias",
            f"{other!r} already means the entity {taken[0]['name']!r}.",
            remedy="Take it from there first, with memory-fabric alias --remove.",
        )
    return None


def _one_entity(c: sqlite3.Connection, into: str, names: Sequence[str]) -> restore.Group:
    """The group that leaves one entity of several, which bears the names of all."""
    out = [row for name in (into, *names) for row in rows.entities(c, "e.name = ?", (name,))]
    aliases = [pair for row in out for pair in row["aliases"]]
    aliases += [[name_key(name), name] for name in names]
    record = "" if any(not row["record"] for row in out) else out[0]["record"]
    unique = list({pair[0]: pair for pair in reversed(aliases)}.values())[::-1]
    return restore.group("entities", out, [out[0] | {"record": record, "aliases": unique}])


def _sayings(c: sqlite3.Connection, into: str, names: Sequence[str]) -> list[restore.Group]:
    found = [row for n in (into, *names) for row in rows.observations(c, "e.name = ?", (n,))]
    return _moved(
        "observations", found, lambda row: row | {"entity": into}, lambda row: row["text"]
    )


def _edges(c: sqlite3.Connection, into: str, names: Sequence[str]) -> list[restore.Group]:
    ours = {into, *names}
    found: dict[int, Row] = {}
    for name in ours:
        found |= {r["id"]: r for r in rows.relations(c, "? IN (s.name, t.name)", (name,))}
    inner = [row for row in found.values() if row["from"] != row["to"] and _ends(row) <= ours]
    outer = [row for row in found.values() if row not in inner]

    def moved(row: Row) -> Row:
        return row | {end: into for end in ("from", "to") if row[end] in ours}

    def sense(row: Row) -> Any:
        now = moved(row)
        return now["from"], now["relationType"], now["to"]

    gone = [restore.group("relations", [row], []) for row in inner]
    return gone + _moved("relations", outer, moved, sense)


def _moved(
    table: str, found: Iterable[Row], moved: Callable[[Row], Row], sense: Callable[[Row], Any]
) -> list[restore.Group]:
    """Groups that move rows, those of one sense into one row; what stays as it is has none."""
    alike: dict[Any, list[Row]] = {}
    for row in sorted(found, key=lambda row: int(row["id"])):
        alike.setdefault(sense(row), []).append(row)
    groups = []
    for same in alike.values():
        # What the entity had already keeps its place.
        first = next((row for row in same if moved(row) == row), same[0])
        record = "" if any(not row["record"] for row in same) else first["record"]
        claims = sorted({id_ for row in same for id_ in row["claims"]})
        one = moved(first) | {"record": record, "claims": claims}
        if same != [one]:
            groups.append(restore.group(table, same, [one]))
    return groups


def _lifted(c: sqlite3.Connection, into: str, groups: Iterable[restore.Group]) -> list[list[Any]]:
    """Tombstones that are gone because a person moves what lives elsewhere to their place."""
    lifted: list[list[Any]] = []
    if not c.execute("SELECT 1 FROM tombstones LIMIT 1").fetchone():
        return lifted
    for row in [row for group in groups for row in group["in"]["observations"]]:
        id_ = of_observation(into, row["text"])
        lifted += [list(r) for r in c.execute("SELECT * FROM tombstones WHERE id = ?", (id_,))]
        c.execute("DELETE FROM tombstones WHERE id = ?", (id_,))
    return lifted


def _ends(row: Row) -> set[str]:
    return {row["from"], row["to"]}


def _op(kind: str, name: str, pairs: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    if not pairs:
        return []
    return [{"kind": kind, "payload": {"entity": name, "aliases": [pair[1] for pair in pairs]}}]
