"""Operations on records of other users, read from a shared journal: add them and drop them.

They are kept separate from this user's records: source `journal` marks them, they add nothing to
the graph, close no own record, and a journal cannot pin them. Neither operation is logged: the
journal keeps the text, and dropping the records undoes reading it.
"""

from __future__ import annotations

from memory_fabric import jsontext
from memory_fabric.models import HAS_OTHERS, OTHERS, Record
from memory_fabric.store import records
from memory_fabric.store.operations import record_effects
from memory_fabric.store.operations.read_marks import LINES, STAMP, UNREADABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from typing import Any

    from memory_fabric.models import Provenance

    Result = tuple[dict[str, Any], list[dict[str, Any]]]

TRUST = "foreign"


def store_others(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Store the current content of a shared journal; the result counts added and removed records.

    `records` are new or changed, `forgotten` ids that the journal marks as forgotten, `here` all
    ids that it holds. A record that it held before but no longer does is removed, unless it is
    pinned or in the journal of another clone. `sums` are checksums of the lines that were read.
    """
    place = payload["place"]
    taken = [
        record
        for value in payload["records"]
        if (record := _as_others_record(c, value, payload["project"], by)) is not None
    ]
    for record in taken:
        records.put(c, record, [])
    # Links come last: a record may name any other of the same journal.
    successors = {value["id"]: value.get("superseded_by", "") for value in payload["records"]}
    for record in taken:
        _set_successor(c, record, successors[record.id])
    deleted = sum(_drop(c, id_, pinned=True) for id_ in payload["forgotten"])
    before = sums(c, place)
    here = {*payload["here"], *payload["forgotten"]}
    missing = [id_ for id_ in before if id_ not in here]
    if missing:
        elsewhere = _held_elsewhere(c, place)
        deleted += sum(_drop(c, id_, pinned=False) for id_ in missing if id_ not in elsewhere)
    kept = {id_: sum_ for id_, sum_ in before.items() if id_ in here} | dict(payload["sums"])
    _note(c, STAMP + place, payload["stamp"])
    _note(c, LINES + place, jsontext.dumps(kept))
    _note(c, UNREADABLE + place, str(payload["unreadable"]))
    if taken:
        _note(c, HAS_OTHERS, "1")
    return {"taken": len(taken), "gone": deleted}, []


def drop_others(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Delete all records of others and the marks of every journal read, without tombstones."""
    del payload, by
    deleted = c.execute("DELETE FROM records WHERE source = ?", (OTHERS,)).rowcount
    for prefix in (STAMP, LINES, UNREADABLE):
        c.execute("DELETE FROM meta WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))
    c.execute("DELETE FROM meta WHERE key = ?", (HAS_OTHERS,))
    return {"gone": deleted}, []


def sums(c: sqlite3.Connection, place: str) -> dict[str, int]:
    """Return checksums of the lines that were read of a journal, by id."""
    row = c.execute("SELECT value FROM meta WHERE key = ?", (LINES + place,)).fetchone()
    return dict(jsontext.loads(row[0])) if row else {}


def is_of_others(record: Record) -> bool:
    """True if the record was read from another user's journal."""
    return record.source == OTHERS


def _as_others_record(
    c: sqlite3.Connection, value: Mapping[str, Any], project: str, by: Provenance
) -> Record | None:
    """Return the journal's claim as a record; None if it is this user's own or was
    forgotten here.
    """
    claimed = records.from_object(value)._replace(project=project)
    record = Record(
        **{name: getattr(claimed, name) for name in _CLAIMED},
        trust=TRUST,
        source=OTHERS,
        created_at=min(claimed.created_at or by.at, by.at),
    )
    known = records.find(c, "id = ?", (record.id,))
    if known and not is_of_others(known[0][0]):
        return None
    if record_effects.is_forgotten(c, record):
        return None
    if not known:
        return record
    old = known[0][0]
    record = record._replace(
        pinned=old.pinned, created_at=min(claimed.created_at or old.created_at, by.at)
    )
    if old.superseded_by and not _is_others(c, old.superseded_by):  # closed by an own record
        record = record._replace(superseded_by=old.superseded_by, valid_to=old.valid_to)
    return record


_CLAIMED = (
    "id type what why alternatives constraints tradeoffs entities outcome category confidence "
    "domain project author origin valid_from valid_to"
).split()


def _set_successor(c: sqlite3.Connection, record: Record, successor: str) -> None:
    """Link a replaced record with its successor, if that is also a record of others.

    A link to an own record would lend the foreign claim the authority of this user's words.
    """
    if (
        successor
        and successor != record.id
        and not record.superseded_by
        and _is_others(c, successor)
    ):
        c.execute("UPDATE records SET superseded_by = ? WHERE id = ?", (successor, record.id))


def _is_others(c: sqlite3.Connection, id_: str) -> bool:
    found = c.execute("SELECT 1 FROM records WHERE id = ? AND source = ?", (id_, OTHERS))
    return found.fetchone() is not None


def _drop(c: sqlite3.Connection, id_: str, *, pinned: bool) -> int:
    """Delete a record of others, and a pinned one only with `pinned`; return the number deleted."""
    deleted = c.execute(
        "DELETE FROM records WHERE id = ? AND source = ? AND (pinned = 0 OR ?)",
        (id_, OTHERS, pinned),
    ).rowcount
    if deleted:
        c.execute(
            "UPDATE records SET superseded_by = '' WHERE superseded_by = ? AND source = ?",
            (id_, OTHERS),
        )
    return int(deleted)


def _held_elsewhere(c: sqlite3.Connection, place: str) -> set[str]:
    """Return ids that the journals of other clones held when they were last read."""
    rows = c.execute(
        "SELECT key FROM meta WHERE substr(key, 1, ?) = ? AND key <> ?",
        (len(LINES), LINES, LINES + place),
    ).fetchall()
    return {id_ for (key,) in rows for id_ in sums(c, key.removeprefix(LINES))}


def _note(c: sqlite3.Connection, key: str, value: str) -> None:
    c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))
