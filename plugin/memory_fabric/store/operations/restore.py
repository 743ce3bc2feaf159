"""Operations that restore graph rows, or replace rows with others: inverses of other operations.

Later changes have priority: a row whose content has been forgotten is not restored, a row that has
been added again is not changed, and a row that no longer exists is not replaced.
"""

from collections.abc import Callable, Iterable, Sequence
from sqlite3 import Connection
from typing import Any

from memory_fabric.models import Payload, Provenance
from memory_fabric.store.operations import kind, rows, tombstones
from memory_fabric.store.operations.kind import Kind, Result, Steps, step
from memory_fabric.store.operations.rows import Row, Rows

Group = dict[str, Rows]

# For each table: the fields that contain names of entities, and the function that inserts a row.
_ENDS = {"entities": (), "observations": ("entity",), "relations": ("from", "to")}
_INSERT: dict[str, Callable[..., Any]] = {
    "entities": rows.insert_entity,
    "observations": rows.insert_observation,
    "relations": rows.insert_relation,
}


def restore(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Insert rows that were deleted. This is the inverse of a deletion."""
    new, changed = put_back(c, payload, by)
    texts = ((row["entity"], row["text"]) for row in new["observations"])
    deletions = [{"entityName": name, "observations": [text]} for name, text in texts]
    inverse = [
        step("delete_relations", relations=new["relations"]),
        step("delete_observations", deletions=deletions),
        step("remove_orphans", entityNames=[row["name"] for row in new["entities"]]),
    ]
    return {"restored": sum(map(len, new.values()))}, [*op(changed), *inverse]


def remove_orphans(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Delete the listed entities that have neither observations nor relations."""
    removed = rows.nothing() | {"entities": rows.orphans(c, payload["entityNames"])}
    rows.remove(c, removed)
    return {"deleted": len(removed["entities"])}, [step("restore", **removed)]


def replace_rows(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Replace the rows of each group by its former rows, if all exist: the inverse of `merge`."""
    back = replace(c, payload["groups"], by)
    return {"replaced": len(back)}, op(back)


def put_back(
    c: Connection, removed: Payload, by: Provenance, *, claim_again: bool = False
) -> tuple[Rows, list[Group]]:
    """Insert deleted rows again, with their old row numbers if these are free. Skip rows whose
    entity is missing, or whose content is forgotten. If a row exists already, `claim_again`
    attributes it to its former record. Return the inserted rows, and groups with which `replace`
    can undo the changes to existing rows.
    """
    new, changed = rows.nothing(), []
    for table in _ENDS:
        for stated in removed.get(table) or ():
            ends = [rows.entity_id(c, stated[end]) for end in _ENDS[table]]
            row = _stamped(c, stated, by)
            if None in ends or row is None:
                continue
            if existing := _like(c, table, row, ends):
                [before] = existing
                # An observation without a record was stated directly; do not attribute it to one.
                has_source = before["record"] or table == "entities"
                if claim_again and has_source and before["record"] != row["record"]:
                    rows.hand_to(c, group(table, existing, ())["out"], row["record"], row["domain"])
                _claim(c, table, before, row)
                after = rows.by_number(c, table, before["id"])
                changed += [group(table, after, existing)] if after != existing else []
            elif table == "relations" or not tombstones.is_set(c, _tombstone_of(row)):
                id_ = row["id"]
                is_number = isinstance(id_, int) and 0 < id_ < 1 << 62
                is_free = is_number and not rows.by_number(c, table, id_)
                _INSERT[table](c, id_ if is_free else None, *ends, row)
                new[table].append(row)
                _claim(c, table, _like(c, table, row, ends)[0], row)
    return new, changed


def replace(c: Connection, groups: Sequence[Payload], by: Provenance) -> list[Group]:
    """In each group whose rows `out` all exist, replace them by the rows `in`. Delete an entity
    that is only in `out` if nothing refers to it any more. Return the groups that undo this.
    """
    fitting = [(live, group) for group in groups if (live := _live(c, group["out"])) is not None]
    for live, _ in fitting:
        rows.remove(c, live | {"entities": []})
    for live, group in fitting:
        for row in live["entities"]:
            if not (after := _named(group["in"], row["name"])):
                rows.remove(c, rows.nothing() | {"entities": rows.orphans(c, [row["name"]])})
                continue
            before = _named(group["out"], row["name"])
            staying = {pair[0] for pair in _pairs(after.get("aliases"))}
            removed = {pair[0] for pair in _pairs(before.get("aliases"))} - staying
            rows.remove_aliases(c, row["id"], sorted(removed))
    back = [{"out": _add_names(c, live, group, by), "in": live} for live, group in fitting]
    for (live, group), undo in zip(fitting, back, strict=True):
        new, changed = put_back(c, _incoming(live, group), by)
        live_now = _live(c, new) or rows.nothing()
        for table in ("observations", "relations"):
            undo["out"][table] += live_now[table]
        for change in changed:
            for side, some in change.items():
                for table in _ENDS:
                    undo[side][table] = undo[side][table] + some[table]
    return [u for u in reversed(back) if any(some for side in u.values() for some in side.values())]


def group(table: str, out: Sequence[Row], incoming: Sequence[Row]) -> Group:
    """Return a group for `replace` whose rows all belong to one table."""
    sides = {"out": list(out), "in": list(incoming)}
    return {side: rows.nothing() | {table: some} for side, some in sides.items()}


def op(groups: Sequence[Group]) -> Steps:
    """Return the operation that applies `replace` to these groups; empty without groups."""
    return [step("replace_rows", groups=list(groups))] if groups else []


def ends_in(table: str, some: Iterable[Row]) -> list[str]:
    """Return the names of the entities to which these rows of a table refer."""
    return [row[end] for row in some for end in _ENDS[table]]


def _tombstone_of(row: Row) -> str:
    if "text" in row:
        return tombstones.of_observation(row["entity"], row["text"])
    return tombstones.of_entity(row["name"])


def _claim(c: Connection, table: str, existing: Row, row: Row) -> None:
    for record in row["claims"] if table != "entities" else ():
        rows.claim(c, table, existing["id"], record)


def _live(c: Connection, wanted: Payload) -> Rows | None:
    live = rows.nothing()
    for table in _ENDS:
        for row in wanted.get(table) or ():
            ends = [rows.entity_id(c, row[end]) for end in _ENDS[table]]
            existing = [] if None in ends else _like(c, table, row, ends)
            if not existing:
                return None
            live[table] += existing
    return live


def _add_names(c: Connection, live: Rows, change: Payload, by: Provenance) -> Rows:
    """Insert entities of `change` that are not `live`, update those that are; return all rows."""
    before = {row["name"]: row for row in live["entities"]}
    incoming = change["in"].get("entities") or ()
    new, _ = put_back(c, {"entities": [r for r in incoming if r["name"] not in before]}, by)
    for row in incoming:
        if row["name"] not in before:
            continue
        now, expected = before[row["name"]], _named(change["out"], row["name"])
        if now["record"] == expected.get("record", ""):
            stamped = _stamped(c, row, by)
            record = stamped["record"] if stamped else ""
            rows.hand_to(c, rows.nothing() | {"entities": [now]}, record)
        said_by = row.get("said_by", "")
        if isinstance(said_by, str) and said_by != now["said_by"]:
            c.execute("UPDATE entities SET said_by = ? WHERE id = ?", (said_by, now["id"]))
        rows.add_aliases(c, now["id"], _pairs(row.get("aliases")))
        new["entities"].append(row)
    current = [live_row for row in new["entities"] for live_row in _like(c, "entities", row, ())]
    return rows.nothing() | {"entities": current}


def _named(side: Payload, name: str) -> Row:
    return next((dict(row) for row in side.get("entities") or () if row["name"] == name), {})


def _incoming(live: Rows, change: Payload) -> Rows:
    """Return the rows to insert. In each table, the first of them takes over changes to the records
    of the first replaced row that were made since the group was saved.
    """
    incoming = rows.nothing()
    for table in ("observations", "relations"):
        incoming[table] = [dict(row) for row in change["in"].get(table) or ()]
        expected = change["out"].get(table) or ()
        if not (expected and incoming[table]):
            continue
        noted, now, first = expected[0], live[table][0], incoming[table][0]
        if now["record"] != noted.get("record", ""):
            first["record"] = now["record"]
        noted_claims, claims = set(noted.get("claims") or ()), set(now["claims"])
        added, removed = claims - noted_claims, noted_claims - claims
        first["claims"] = sorted((set(first.get("claims") or ()) | added) - removed)
    return incoming


def _like(c: Connection, table: str, row: Payload, ends: Sequence[Any]) -> list[Row]:
    if table == "entities":
        return rows.entities(c, "e.name = ?", (row["name"],))
    if table == "observations":
        return rows.by_number(c, table, rows.text_id(c, ends[0], row["text"]))
    return rows.by_number(c, table, rows.relation_id(c, ends[0], row["relationType"], ends[1]))


def _stamped(c: Connection, row: Payload, by: Provenance) -> Row | None:
    """Complete a row from `by`, without deleted records; None if all its records are forgotten."""

    def is_record(id_: str) -> bool:
        return c.execute("SELECT 1 FROM records WHERE id = ?", (id_,)).fetchone() is not None

    own = {name: value for name, value in row.items() if isinstance(value, str)}
    default = by._asdict() | {"created_at": by.at, "updated_at": by.at, "record": ""}
    whole: Row = default | own | {"id": row.get("id"), "aliases": _pairs(row.get("aliases"))}
    claims = row.get("claims")
    stated = [r for r in claims if isinstance(r, str)] if isinstance(claims, list) else []
    whole["claims"] = [r for r in stated if is_record(r)]
    if whole["record"] and not is_record(whole["record"]):
        if "name" not in row and tombstones.is_set(c, whole["record"]) and not whole["claims"]:
            return None
        whole["record"] = next(iter(whole["claims"]), "")
    return whole


def _pairs(value: Any) -> list[list[str]]:
    """Return the valid pairs [key, alias] in a payload's list, which may contain anything else."""
    pairs = [part for part in value if isinstance(part, list)] if isinstance(value, list) else []
    return [p for p in pairs if len(p) == 2 and all(isinstance(text, str) for text in p)]


def _describe_restore(payload: Payload, _: Sequence[Payload]) -> str:
    names = [row["name"] for row in payload["entities"]]
    names += [row["entity"] for row in payload["observations"]]
    return f"put back {kind.named(dict.fromkeys(names))}"


def _describe_orphans(_: Payload, inverse: Sequence[Payload]) -> str:
    names = [row["name"] for row in kind.parts_of(inverse, "restore", "entities")]
    return f"removed entities without observations and relations: {kind.named(names)}"


_GROUP = {"out": kind.ROWS, "in": kind.ROWS}
KINDS = {
    "restore": Kind({**kind.ROWS, **kind.options(batch=str)}, restore, _describe_restore),
    "remove_orphans": Kind({"entityNames": [str]}, remove_orphans, _describe_orphans),
    "replace_rows": Kind(
        {"groups": [_GROUP]}, replace_rows, lambda *_: "split or merged entities again"
    ),
}
