"""Operations that add and remove other users' records, from a shared journal or a team's log.

These records stay separate from this user's: their source is `journal`, they add nothing to the
graph, supersede no record of this user, and a journal cannot pin them. Neither operation is logged:
the content is in the journal, and reading it is undone by removing the records.
"""

import json
from sqlite3 import Connection
from typing import Any

from memory_fabric.models import HAS_OTHERS, OTHERS, Payload, Provenance, Record
from memory_fabric.store import records
from memory_fabric.store.operations import remember
from memory_fabric.store.operations.kind import RECORD, Kind, Result

TRUST = "foreign"
# Prefixes of keys in `meta`, before the path of a shared journal. The values were saved when it was
# last read: the file's stamp, checksums of lines by record id, and the count of unreadable lines.
STAMP, LINES, UNREADABLE = "shared:", "shared-lines:", "shared-unreadable:"
_CLAIMED = (
    "id type what why alternatives constraints tradeoffs entities outcome category confidence "
    "domain project author origin valid_from valid_to"
).split()
_THEIRS = f"AND source = '{OTHERS}'"
_HELD = "FROM team_heads WHERE state = 'theirs' AND value <> '' AND kind = 'record'"
_OF_TEAM = f"SELECT 1 {_HELD} AND key ="
_RECORDS_OF_TEAM = f"SELECT substr(key, 3) {_HELD}"


def store_others(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Store the current content of a shared journal; return counts of stored and deleted records.
    The payload has new or changed `records`, the ids marked as `forgotten`, all ids `here` in the
    journal, and the checksums (`sums`) of the lines that were read. A record that left the journal
    is deleted, unless it is pinned, or is in another clone's journal or in a team's log.
    """
    place, stored = payload["place"], []
    of_team = f"{_OF_TEAM} ?"  # skip a record of a team's log: unlike a journal, it proves authors
    for value in payload["records"]:
        if c.execute(of_team, (f"r:{value['id']}",)).fetchone() is None:
            old = records.find(c, "id = ?", (value["id"],))
            record = claimed_record(c, value, payload["project"], by, old[0][0] if old else None)
            stored += [record] if record is not None else []
    for record in stored:
        records.put(c, record, [])
    # Links are set last, because a record may refer to any other record of the same journal.
    successors = {value["id"]: value.get("superseded_by", "") for value in payload["records"]}
    for record in stored:
        set_successor(c, record, successors[record.id])
    deleted = sum(drop(c, id_, pinned=True) for id_ in payload["forgotten"])
    before = sums(c, place)
    ids_here = {*payload["here"], *payload["forgotten"]}
    if missing := before.keys() - ids_here:
        deleted += sum(drop(c, id_, pinned=False) for id_ in missing - _held_elsewhere(c, place))
    sums_here = {id_: before[id_] for id_ in ids_here & before.keys()}
    _note(c, STAMP + place, payload["stamp"])
    _note(c, LINES + place, json.dumps(sums_here | payload["sums"]))
    _note(c, UNREADABLE + place, str(payload["unreadable"]))
    if stored:
        note_any(c)
    return {"taken": len(stored), "gone": deleted}, []


def drop_others(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Delete records read from journals, and each journal's state; a team's records are kept."""
    del payload, by
    not_of_team = f"NOT EXISTS ({_OF_TEAM} 'r:' || records.id)"
    deleted = c.execute(f"DELETE FROM records WHERE {not_of_team} {_THEIRS}").rowcount
    for prefix in (STAMP, LINES, UNREADABLE):
        c.execute("DELETE FROM meta WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))
    if not c.execute("SELECT 1 FROM team_heads LIMIT 1").fetchone():
        c.execute("DELETE FROM meta WHERE key = ?", (HAS_OTHERS,))
    return {"gone": deleted}, []


def sums(c: Connection, place: str) -> dict[str, int]:
    """Return the checksums that the lines of a journal had when it was last read, by record id."""
    row = c.execute("SELECT value FROM meta WHERE key = ?", (LINES + place,)).fetchone()
    return dict(json.loads(row[0])) if row else {}


def is_of_others(record: Record) -> bool:
    """Return True if another user wrote the record: it comes from a journal or a team's log."""
    return record.source == OTHERS


def claimed_record(
    c: Connection,
    value: Payload,
    project: str,
    by: Provenance,
    old: Record | None,
    *,
    any_forgotten: bool = True,
) -> Record | None:
    """Return another user's record in the form to store; None if this user wrote or forgot it. From
    the stored version `old`, keep the pin, and the successor if a record of this user superseded
    `old`. `any_forgotten` is False if there are no tombstones.
    """
    if old is not None and not is_of_others(old):
        return None
    claimed = records.from_object(value)._replace(project=project)
    first_at = min(claimed.created_at or (old.created_at if old else by.at), by.at)
    record = Record(**{name: getattr(claimed, name) for name in _CLAIMED}, created_at=first_at)
    record = record._replace(trust=TRUST, source=OTHERS, pinned=old is not None and old.pinned)
    if any_forgotten and remember.is_forgotten(c, record):
        return None
    # If a record of this user superseded the old version, it also supersedes the new version.
    if old and old.superseded_by and not _is_others(c, old.superseded_by):
        record = record._replace(superseded_by=old.superseded_by, valid_to=old.valid_to)
    return record


def set_successor(c: Connection, record: Record, successor: str) -> None:
    """Link a replaced record to its successor, but never to a record of this user."""
    is_other = successor not in ("", record.id) and not record.superseded_by
    if is_other and _is_others(c, successor):
        c.execute("UPDATE records SET superseded_by = ? WHERE id = ?", (successor, record.id))


def _is_others(c: Connection, id_: str) -> bool:
    return bool(c.execute(f"SELECT 1 FROM records WHERE id = ? {_THEIRS}", (id_,)).fetchone())


def drop(c: Connection, id_: str, *, pinned: bool) -> int:
    """Delete another user's record, a pinned one only if `pinned` is set. Return 1 if deleted."""
    unpinned = f"DELETE FROM records WHERE id = ? {_THEIRS} AND (pinned = 0 OR ?)"
    deleted = c.execute(unpinned, (id_, pinned)).rowcount
    if deleted:
        ended = f"UPDATE records SET superseded_by = '' WHERE superseded_by = ? {_THEIRS}"
        c.execute(ended, (id_,))
    return int(deleted)


def _held_elsewhere(c: Connection, place: str) -> set[str]:
    """Return record ids in a team's log, or in journals other than `place` (as last read)."""
    others = "SELECT key FROM meta WHERE substr(key, 1, ?) = ? AND key <> ?"
    keys = c.execute(others, (len(LINES), LINES, LINES + place)).fetchall()
    ids = {id_ for (key,) in keys for id_ in sums(c, key.removeprefix(LINES))}
    return ids | {id_ for (id_,) in c.execute(_RECORDS_OF_TEAM)}


def note_any(c: Connection) -> None:
    """Save that the database has records of other users, so that searches treat them separately."""
    _note(c, HAS_OTHERS, "1")


def held_by_journal(c: Connection) -> set[str]:
    """Return ids of records in shared journals, as last read, that are not in a team's log."""
    return _held_elsewhere(c, "") - {id_ for (id_,) in c.execute(_RECORDS_OF_TEAM)}


def _note(c: Connection, key: str, value: str) -> None:
    c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))


_TAKEN: dict[str, Any] = {"place": str, "project": str, "stamp": str, "records": [RECORD]}
_TAKEN |= {"forgotten": [str], "here": [str], "sums": dict, "unreadable": int}
KINDS = {
    "take_in": Kind(_TAKEN, store_others, lambda *_: "take_in", is_logged=False),
    "let_go": Kind({}, drop_others, lambda *_: "let_go", is_logged=False),
}
