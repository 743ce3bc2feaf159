"""Statements of other members, shown in the database as records of others (docs/decisions/0020)."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from memory_fabric.models import OTHERS, SHARED_LOG, Provenance, Record
from memory_fabric.sharing.replica import heads, others_graph, wire
from memory_fabric.sharing.replica.heads import Head
from memory_fabric.store import records
from memory_fabric.store.operations import others as others_effects

SOURCE, TRUST = OTHERS, others_effects.TRUST
# How the keys of records begin.
_OF_RECORDS = wire.key_of_record("")
# The index is named, as the planner would read every row of the state.
_CLOSED = (
    "SELECT key FROM team_heads INDEXED BY team_heads_closed WHERE state = 'theirs' "
    "AND kind = 'record' AND value <> '' AND json_extract(value, '$.superseded_by')"
)


def show(
    c: sqlite3.Connection,
    changed: Mapping[str, Sequence[Head]],
    was: Mapping[str, Head],
    project: str,
    by: Provenance,
) -> None:
    """Store what the heads of these keys say, and drop what nobody says any more.

    `was` are heads of these keys, with their values, that were replaced.
    """
    said = {key: found for key, found in changed.items() if key.startswith(_OF_RECORDS)}
    if said:
        _show_records(c, said, project, by)
    if len(said) < len(changed):
        graph = {key: found for key, found in changed.items() if key not in said}
        _show_graph(c, graph, was, by)


def remove_all(c: sqlite3.Connection) -> None:
    """Remove what members said, except for what a shared journal holds, too."""
    theirs = [
        key[2:]
        for (key,) in c.execute(
            "SELECT DISTINCT key FROM team_heads WHERE state = ? AND kind = ?",
            (heads.THEIRS, wire.RECORD),
        )
    ]
    _drop(c, theirs)
    others_graph.remove_all(c)


def refuse_domains(c: sqlite3.Connection, isolated: Collection[str], by: Provenance) -> None:
    """Remove what members said in domains that are isolated now."""
    reason = "Its domain is isolated here."
    for head in heads.where(c, "state = ? AND value <> ''", (heads.THEIRS,)):
        if json.loads(head.value).get("domain") in isolated:
            heads.put(c, [head._replace(state=heads.REFUSED, value="", payload=reason)])
            if head.kind == wire.RECORD:
                _drop(c, [head.key[2:]])
            else:
                others_graph.Rows(c, by).drop(head)


def _show_graph(
    c: sqlite3.Connection,
    changed: Mapping[str, Sequence[Head]],
    was: Mapping[str, Head],
    by: Provenance,
) -> None:
    table = others_graph.Rows(c, by)
    is_any = False
    for key, found in changed.items():
        head = _shown(found, "")
        if head is not None:
            table.show(head)
            is_any = True
        elif key in was:
            table.drop(was[key])
    if is_any:
        others_effects.note_any(c)


def _show_records(
    c: sqlite3.Connection, changed: Mapping[str, Sequence[Head]], project: str, by: Provenance
) -> None:
    known = _stored(c, changed)
    graves = c.execute("SELECT 1 FROM tombstones LIMIT 1").fetchone() is not None
    shown: list[tuple[Record, str]] = []
    gone = []
    for key, found in changed.items():
        id_ = key.partition(":")[2]
        old = known.get(id_)
        head = _shown(found, old.author if old is not None else "")
        if head is None:
            gone.append(id_)
            continue
        value: dict[str, Any] = json.loads(head.value) | {
            "author": head.shown_author,
            "origin": SHARED_LOG,
        }
        record = others_effects.claimed_record(c, value, project, by, old, any_forgotten=graves)
        if record is not None:
            records.put(c, record, [])
            shown.append((record, value.get("superseded_by", "")))
    new = [record.id for record, _ in shown if record.id not in known]
    for record, successor in (*shown, *_closed_by(c, new)):
        if successor:
            others_effects.set_successor(c, record, successor)
    _drop(c, [id_ for id_ in gone if id_ in known and others_effects.is_of_others(known[id_])])
    if shown:
        others_effects.note_any(c)


def _closed_by(c: sqlite3.Connection, successors: Sequence[str]) -> list[tuple[Record, str]]:
    """Return records that came before the ones that close them, each with the id of that one."""
    keys: list[str] = []
    for start in range(0, len(successors), heads.SOME):
        some = successors[start : start + heads.SOME]
        marks = ", ".join("?" * len(some))
        keys += [key for (key,) in c.execute(f"{_CLOSED} IN ({marks})", some)]
    known = _stored(c, keys)
    found = []
    for key, here in heads.of_keys(c, keys).items():
        old = known.get(key.partition(":")[2])
        head = _shown(here, old.author) if old and others_effects.is_of_others(old) else None
        if old is not None and head is not None:
            found.append((old, str(json.loads(head.value).get("superseded_by", ""))))
    return found


def _stored(c: sqlite3.Connection, keys: Iterable[str]) -> dict[str, Record]:
    wanted = [key.partition(":")[2] for key in keys]
    found: dict[str, Record] = {}
    for start in range(0, len(wanted), heads.SOME):
        some = wanted[start : start + heads.SOME]
        marks = ", ".join("?" * len(some))
        for record, _ in records.find(c, f"id IN ({marks})", tuple(some)):
            found[record.id] = record
    return found


def _shown(found: Sequence[Head], author: str) -> Head | None:
    """Return the head to show of a key that one or more members state.

    The member who is shown stays, so that no other displaces a record by its id.
    """
    current: dict[str, Head] = {}
    for head in found:
        if head.state == heads.THEIRS:
            at = current.get(head.author)
            if at is None or head.order > at.order:
                current[head.author] = head
    said = [head for head in current.values() if head.value]
    stays = next((head for head in said if head.shown_author == author), None)
    return stays or min(said, key=lambda head: head.order, default=None)


def _drop(c: sqlite3.Connection, wanted: Sequence[str]) -> None:
    if not wanted:
        return
    held = others_effects.held_by_journal(c)
    for id_ in wanted:
        if id_ not in held:
            others_effects.drop(c, id_, pinned=True)
