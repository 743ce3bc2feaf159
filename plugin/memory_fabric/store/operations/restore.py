"""Restore rows of the graph as they were, and exchange rows for others.

Later changes win: a row that was forgotten since is not restored, a row that was added again stays
as it is, and a row that no longer exists is not exchanged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory_fabric.models import Provenance
from memory_fabric.store.operations import rows
from memory_fabric.store.operations.tombstones import RestoreGuard, is_set

Row = dict[str, Any]
Group = dict[str, rows.Rows]

TABLES = ("entities", "observations", "relations")


def put_back(
    c: sqlite3.Connection, taken: Mapping[str, Any], by: Provenance, *, claim_again: bool = False
) -> tuple[rows.Rows, list[Group]]:
    """Insert rows that were deleted, under their old numbers where those are free.

    Returns the inserted rows, and groups for `replace` that take back changes to existing rows:
    with `claim_again` those are attributed to their former record again. A row whose entity is
    missing is left out.
    """
    new, changed, guard = rows.nothing(), [], RestoreGuard(c)
    for table in TABLES:
        for given in taken.get(table) or ():
            ends = [rows.entity_id(c, given[end]) for end in _ENDS[table]]
            row = _stamped(c, given, by)
            if None in ends or row is None:
                continue
            known = _like(c, table, row, ends)
            if known:
                changed += _claim_existing(c, table, known[0], row, claim_again)
            elif not _is_forgotten(guard, table, row):
                _INSERT[table](c, _free(c, table, row), *ends, row)
                new[table].append(row)
                _claim(c, table, _like(c, table, row, ends)[0], row)
    return new, changed


def replace(
    c: sqlite3.Connection, groups: Sequence[Mapping[str, Any]], by: Provenance
) -> list[Group]:
    """Replace the rows `out` of each group with its rows `in`; return the groups that take this
    back.

    A group with a missing row is skipped. An entity that is in both keeps its number; one that is
    only in `out` is deleted if nothing else refers to it.
    """
    fitting = [(live, group) for group in groups if (live := _live(c, group["out"])) is not None]
    for live, _ in fitting:
        rows.remove(c, live | {"entities": []})
    for live, group in fitting:
        _remove_names(c, live, group)
    back = []
    for live, group in fitting:
        back.append({"out": _add_names(c, live, group, by), "in": live})
    for (live, group), undo in zip(fitting, back, strict=True):
        incoming = _carried(live, group) | {"entities": []}
        new, changed = put_back(c, incoming, by)
        there = _live(c, new) or rows.nothing()
        for table in ("observations", "relations"):
            undo["out"][table] += there[table]
        for other in changed:
            for side, some in other.items():
                for table in TABLES:
                    undo[side][table] = undo[side][table] + some[table]
    return [
        group for group in reversed(back) if any(group["out"].values()) or any(group["in"].values())
    ]


def group(table: str, out: Sequence[Row], incoming: Sequence[Row]) -> Group:
    """Return a group for `replace` with rows of one table."""
    return {
        "out": rows.nothing() | {table: list(out)},
        "in": rows.nothing() | {table: list(incoming)},
    }


def op(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return the operation that replaces these groups; empty if there are none."""
    return [{"kind": "replace_rows", "payload": {"groups": list(groups)}}] if groups else []


def _claim_existing(
    c: sqlite3.Connection, table: str, known: Row, row: Row, claim_again: bool
) -> list[Group]:
    """Attribute an existing row to its former record again; return the groups that take
    this back.
    """
    before = known
    # An observation without a record was stated directly and stays independent of records.
    others = known["record"] or table == "entities"
    if claim_again and others and known["record"] != row["record"]:
        rows.hand_to(c, rows.nothing() | {table: [known]}, row["record"], row["domain"])
    _claim(c, table, known, row)
    after = by_number(c, table, known["id"])
    return [group(table, after, [before])] if after != [before] else []


def _claim(c: sqlite3.Connection, table: str, known: Row, row: Row) -> None:
    if table != "entities":
        for record in row["claims"]:
            rows.claim(c, table, known["id"], record)


def _live(c: sqlite3.Connection, wanted: Mapping[str, Any]) -> rows.Rows | None:
    """Return the existing rows with the same content; None if one is missing."""
    found = rows.nothing()
    for table in TABLES:
        for row in wanted.get(table) or ():
            ends = [rows.entity_id(c, row[end]) for end in _ENDS[table]]
            known = [] if None in ends else _like(c, table, row, ends)
            if not known:
                return None
            found[table] += known
    return found


def _remove_names(c: sqlite3.Connection, live: rows.Rows, change: Mapping[str, Any]) -> None:
    staying = {row["name"]: row for row in change["in"].get("entities") or ()}
    for row in live["entities"]:
        if row["name"] not in staying:
            rows.remove(c, rows.nothing() | {"entities": rows.orphans(c, [row["name"]])})
            continue
        kept = {pair[0] for pair in _pairs(staying[row["name"]].get("aliases"))}
        expected = _named(change["out"], row["name"])
        ours = {pair[0] for pair in _pairs(expected.get("aliases"))}
        rows.remove_aliases(c, row["id"], sorted(ours - kept))


def _add_names(
    c: sqlite3.Connection, live: rows.Rows, change: Mapping[str, Any], by: Provenance
) -> rows.Rows:
    """Insert the entities of a group, and give the others their aliases; return them as they are
    now.
    """
    before = {row["name"]: row for row in live["entities"]}
    incoming = change["in"].get("entities") or ()
    new, _ = put_back(c, {"entities": [r for r in incoming if r["name"] not in before]}, by)
    for row in incoming:
        if row["name"] not in before:
            continue
        now, expected = before[row["name"]], _named(change["out"], row["name"])
        if now["record"] == expected.get("record", ""):
            given = _stamped(c, row, by)
            rows.hand_to(c, rows.nothing() | {"entities": [now]}, given["record"] if given else "")
        said_by = row.get("said_by", "")
        if isinstance(said_by, str) and said_by != now["said_by"]:
            c.execute("UPDATE entities SET said_by = ? WHERE id = ?", (said_by, now["id"]))
        rows.add_aliases(c, now["id"], _pairs(row.get("aliases")))
        new["entities"].append(row)
    there = [found for row in new["entities"] for found in _like(c, "entities", row, ())]
    return rows.nothing() | {"entities": there}


def _named(side: Mapping[str, Any], name: str) -> Row:
    return next((dict(row) for row in side.get("entities") or () if row["name"] == name), {})


def _carried(live: rows.Rows, change: Mapping[str, Any]) -> rows.Rows:
    """Return the rows to insert, the first with the claims made on the first removed row since
    then.
    """
    incoming: rows.Rows = {t: [dict(row) for row in change["in"].get(t) or ()] for t in TABLES}
    for table in ("observations", "relations"):
        expected = change["out"].get(table) or ()
        if not (expected and incoming[table]):
            continue
        noted, now, first = expected[0], live[table][0], incoming[table][0]
        if now["record"] != noted.get("record", ""):
            first["record"] = now["record"]
        since = set(now["claims"]) - set(noted.get("claims") or ())
        removed = set(noted.get("claims") or ()) - set(now["claims"])
        first["claims"] = sorted((set(first.get("claims") or ()) | since) - removed)
    return incoming


def _like(
    c: sqlite3.Connection, table: str, row: Mapping[str, Any], ends: Sequence[Any]
) -> list[Row]:
    """Return the existing row with the same content in a list; empty if there is none."""
    if table == "entities":
        return rows.entities(c, "e.name = ?", (row["name"],))
    if table == "observations":
        return rows.observations(c, "o.id = ?", (rows.text_id(c, ends[0], row["text"]),))
    same = "r.source = ? AND r.type = ? AND r.target = ?"
    return rows.relations(c, same, (ends[0], row["relationType"], ends[1]))


def by_number(c: sqlite3.Connection, table: str, id_: int) -> list[Row]:
    """Return the whole row with this number in a list."""
    find = {
        "entities": rows.entities,
        "observations": rows.observations,
        "relations": rows.relations,
    }
    return find[table](c, f"{table[0]}.id = ?", (id_,))


def _is_forgotten(guard: RestoreGuard, table: str, row: Row) -> bool:
    if table == "entities":
        return guard.holds_entity(row["name"])
    return table == "observations" and guard.holds_text(row["entity"], row["text"])


def _stamped(c: sqlite3.Connection, row: Mapping[str, Any], by: Provenance) -> Row | None:
    """Complete a row: add missing fields from the provenance, drop records that no longer exist.

    Returns None for a row that only forgotten records had stated.
    """
    own = {name: value for name, value in row.items() if isinstance(value, str)}
    default = by._asdict() | {"created_at": by.at, "updated_at": by.at, "record": ""}
    whole: Row = default | own | {"id": row.get("id")}
    whole["aliases"] = _pairs(row.get("aliases"))
    claims = row.get("claims")
    stated = [r for r in claims if isinstance(r, str)] if isinstance(claims, list) else []
    whole["claims"] = [r for r in stated if _is_record(c, r)]
    if whole["record"] and not _is_record(c, whole["record"]):
        forgotten = "name" not in row and is_set(c, whole["record"])
        if forgotten and not whole["claims"]:
            return None
        whole["record"] = next(iter(whole["claims"]), "")
    return whole


def _is_record(c: sqlite3.Connection, id_: str) -> bool:
    return c.execute("SELECT 1 FROM records WHERE id = ?", (id_,)).fetchone() is not None


def _pairs(value: Any) -> list[list[str]]:
    if not isinstance(value, list):
        return []
    return [p for p in value if isinstance(p, list) and len(p) == 2 and all(map(_is_text, p))]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _free(c: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int | None:
    """Return the row's old number if it is free."""
    id_ = row.get("id")
    if not isinstance(id_, int) or not 0 < id_ < 1 << 62:
        return None
    taken = c.execute(f"SELECT 1 FROM {table} WHERE id = ?", (id_,)).fetchone()
    return None if taken else id_


# For each table: the fields of its rows that name entities, and the function that inserts a row.
_ENDS: dict[str, tuple[str, ...]] = {
    "entities": (),
    "observations": ("entity",),
    "relations": ("from", "to"),
}
_INSERT: dict[str, Callable[..., Any]] = {
    "entities": rows.insert_entity,
    "observations": rows.insert_observation,
    "relations": rows.insert_relation,
}
