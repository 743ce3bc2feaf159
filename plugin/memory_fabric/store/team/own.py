"""Operations of this user from another machine, applied as if they were said here."""

from __future__ import annotations

from memory_fabric import ids, jsontext
from memory_fabric.models import Operation, Provenance
from memory_fabric.store import records, write
from memory_fabric.store.team import wire
from memory_fabric.store.team.own_rows import EVIDENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from memory_fabric.models import Record
    from memory_fabric.store.team.heads import Head


def show(c: sqlite3.Connection, key: str, before: Head | None, now: Head | None, at: str) -> None:
    """Change the row of an own key to what its current head says."""
    was = before.value if before is not None else ""
    value = now.value if now is not None else ""
    kind = (now or before).kind if now or before else ""  # type: ignore[union-attr]
    if value == was or kind != wire.RECORD:
        return
    _show_record(c, key.partition(":")[2], jsontext.loads(value) if value else None, at)


def _show_record(c: sqlite3.Connection, id_: str, value: dict[str, Any] | None, at: str) -> None:
    found = records.find(c, "id = ?", (id_,))
    by = Provenance("import", trust="user", at=at)
    if value is None:
        if found:
            _apply(c, "forget", {"ids": [id_]}, by)
        return
    record = _record_in(value, found[0][0] if found else None)
    buried = [list(row) for row in c.execute("SELECT * FROM tombstones WHERE id = ?", (id_,))]
    if buried:
        _apply(c, "tombstones", {"add": [], "remove": buried}, by)
    sessions = found[0][1] if found else []
    stored = record._replace(superseded_by="", valid_to="") if not found else record
    payload = {"record": records.as_object(stored), "seen_in": sessions}
    _apply(c, "put_record", payload, by)
    _link(c, id_, record, by)


def _record_in(value: dict[str, Any], here: Record | None) -> Record:
    """Return the record that a value states; session and agent are known only where it was said."""
    own = value.get("own")
    whole = records.from_object({**value, **(own if isinstance(own, dict) else {})})
    if here is None:
        return whole
    kept = {key: value for key, value in here.evidence.items() if key not in EVIDENCE}
    evidence = {**kept, **whole.evidence}
    return whole._replace(session=here.session, agent=here.agent, evidence=evidence)


def _link(c: sqlite3.Connection, id_: str, record: Record, by: Provenance) -> None:
    """Close or reopen a record as its value says."""
    row = c.execute("SELECT superseded_by, valid_to FROM records WHERE id = ?", (id_,)).fetchone()
    if row is None or tuple(row) == (record.superseded_by, record.valid_to):
        return
    link = {
        "id": id_,
        "by": record.superseded_by,
        "at": record.valid_to,
        "was": {"by": row[0], "at": row[1]},
    }
    _apply(c, "supersede", {"links": [link]}, by)


def _apply(
    c: sqlite3.Connection, kind: str, payload: dict[str, Any], by: Provenance
) -> dict[str, Any]:
    operation = Operation(ids.new_id(), kind, write.cleaned(payload), by)
    return write.apply_within(c, operation)
