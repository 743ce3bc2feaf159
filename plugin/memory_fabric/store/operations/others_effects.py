"""Records of others as operations: taken in from a shared journal, and let go of again.

They stand beside ours and touch none: the source `journal` marks them, they say nothing in the
graph, close nothing of ours, and are never pinned by what the journal says. Neither operation is
logged: the journal keeps the text, and what is read of it is undone by letting go.
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


def take_in(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Operation: what a journal says now; the result counts records by what became of them.

    `records` are new or changed, `forgotten` ids that it says are forgotten, `here` all ids that it
    holds: others' records that it held before are let go of, unless pinned or held by the journal
    of another clone. `sums` are checksums of the lines that were dealt with.
    """
    place = payload["place"]
    taken = [
        record
        for value in payload["records"]
        if (record := _taken(c, value, payload["project"], by)) is not None
    ]
    for record in taken:
        records.put(c, record, [])
    # Only now all are there that one of them may name.
    heirs = {value["id"]: value.get("superseded_by", "") for value in payload["records"]}
    for record in taken:
        _link(c, record, heirs[record.id])
    gone = sum(_let_go(c, id_, pinned=True) for id_ in payload["forgotten"])
    before = sums(c, place)
    here = {*payload["here"], *payload["forgotten"]}
    missing = [id_ for id_ in before if id_ not in here]
    if missing:
        elsewhere = _held_elsewhere(c, place)
        gone += sum(_let_go(c, id_, pinned=False) for id_ in missing if id_ not in elsewhere)
    kept = {id_: sum_ for id_, sum_ in before.items() if id_ in here} | dict(payload["sums"])
    _note(c, STAMP + place, payload["stamp"])
    _note(c, LINES + place, jsontext.dumps(kept))
    _note(c, UNREADABLE + place, str(payload["unreadable"]))
    if taken:
        _note(c, HAS_OTHERS, "1")
    return {"taken": len(taken), "gone": gone}, []


def let_go(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Operation: all records of others go, and that any journal was read; no tombstone stays."""
    del payload, by
    gone = c.execute("DELETE FROM records WHERE source = ?", (OTHERS,)).rowcount
    for prefix in (STAMP, LINES, UNREADABLE):
        c.execute("DELETE FROM meta WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))
    c.execute("DELETE FROM meta WHERE key = ?", (HAS_OTHERS,))
    return {"gone": gone}, []


def sums(c: sqlite3.Connection, place: str) -> dict[str, int]:
    """Checksums of the lines that were read of a journal, by id."""
    row = c.execute("SELECT value FROM meta WHERE key = ?", (LINES + place,)).fetchone()
    return dict(jsontext.loads(row[0])) if row else {}


def is_of_others(record: Record) -> bool:
    """Whether somebody else's journal brought the record."""
    return record.source == OTHERS


def _taken(
    c: sqlite3.Connection, value: Mapping[str, Any], project: str, by: Provenance
) -> Record | None:
    """The claim as a record of its own; None for one that is ours, or that was forgotten here."""
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
    if old.superseded_by and not _is_others(c, old.superseded_by):  # closed by what was said here
        record = record._replace(superseded_by=old.superseded_by, valid_to=old.valid_to)
    return record


_CLAIMED = (
    "id type what why alternatives constraints tradeoffs entities outcome category confidence "
    "domain project author origin valid_from valid_to"
).split()


def _link(c: sqlite3.Connection, record: Record, heir: str) -> None:
    """Link what a journal says was replaced with its successor, if that is of others, too.

    A link to a record of ours would lend the claim our words: it is left away.
    """
    if heir and heir != record.id and not record.superseded_by and _is_others(c, heir):
        c.execute("UPDATE records SET superseded_by = ? WHERE id = ?", (heir, record.id))


def _is_others(c: sqlite3.Connection, id_: str) -> bool:
    found = c.execute("SELECT 1 FROM records WHERE id = ? AND source = ?", (id_, OTHERS))
    return found.fetchone() is not None


def _let_go(c: sqlite3.Connection, id_: str, *, pinned: bool) -> int:
    """1 when the record was of others and went; a pinned one only when that is said."""
    gone = c.execute(
        "DELETE FROM records WHERE id = ? AND source = ? AND (pinned = 0 OR ?)",
        (id_, OTHERS, pinned),
    ).rowcount
    if gone:
        c.execute(
            "UPDATE records SET superseded_by = '' WHERE superseded_by = ? AND source = ?",
            (id_, OTHERS),
        )
    return int(gone)


def _held_elsewhere(c: sqlite3.Connection, place: str) -> set[str]:
    """Ids that the journals of other clones hold, as far as they were read."""
    rows = c.execute(
        "SELECT key FROM meta WHERE substr(key, 1, ?) = ? AND key <> ?",
        (len(LINES), LINES, LINES + place),
    ).fetchall()
    return {id_ for (key,) in rows for id_ in sums(c, key.removeprefix(LINES))}


def _note(c: sqlite3.Connection, key: str, value: str) -> None:
    c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))
