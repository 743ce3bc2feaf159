"""Copying of one project's records and graph into another, in their current state.

The operations are not replayed: a deletion in one project does not concern the other. Rows are
inserted as an undo would restore them, so that they can be removed again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from memory_fabric.models import OTHERS, Progress, Provenance
from memory_fabric.store import records
from memory_fabric.store.database import Database, open_database
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import rows

CHUNK = 500
MAX_RECORDS = 1 << 40


def copy_into(
    memory: Memory, path: str, batch: str, by: Provenance, progress: Progress | None = None
) -> int:
    """Copy the database at `path` into this project's; return the number of records and entities.

    All changes get the `batch`, by which they can be undone. Records local to a session, others'
    records and turns are not copied; ingested texts only if they are not processed yet. Raises
    StoreUnavailable.
    """
    source = open_database(path, "project", create=False)
    if source is None:
        return 0
    count = 0
    try:
        steps = list(_steps(source))
        for number, (kind, payload) in enumerate(steps, start=1):
            result = memory.write_now(kind, {**payload, "batch": batch}, by, store="project")
            count += bool(result.get("record")) if kind == "put_record" else 0
            count += len(payload.get("entities", ()))
            if progress is not None:
                progress(number, len(steps))
    finally:
        source.close()
    return count


def last_operation(path: str) -> int:
    """Return the number of the last operation in a database. Raises StoreUnavailable."""
    source = open_database(path, "project", create=False)
    if source is None:
        return 0
    try:
        return int((source.row("SELECT coalesce(max(seq), 0) FROM operations") or (0,))[0])
    finally:
        source.close()


def _steps(source: Database) -> Iterator[tuple[str, dict[str, Any]]]:
    c = source.connection
    known = records.find(c, "scope <> 'local' AND source <> ?", (OTHERS,), MAX_RECORDS)
    # Newest first: an older record keeps its link only to a successor that exists.
    for record, seen in known:
        claimed = rows.claimed(c, record.id)
        payload = {"record": records.as_object(record), "seen_in": seen}
        yield "put_record", payload | {"rows": {t: _plain(r) for t, r in claimed.items()}}
    whole = {
        "entities": rows.entities(c, "e.said_by = ''", ()),
        "observations": rows.observations(c, "o.source <> ?", (OTHERS,)),
        "relations": rows.relations(c, "r.said_by = ''", ()),
    }
    copied = {record.id for record, _ in known}
    for table, every in whole.items():
        some = [r for r in every if r["record"] not in copied and copied.isdisjoint(_claims(r))]
        for at in range(0, len(some), CHUNK):
            part = rows.nothing() | {table: _plain(some[at : at + CHUNK])}
            yield "restore", dict(part)
    for id_, body in source.rows("SELECT id, body FROM intake WHERE state <> 'done' ORDER BY seq"):
        yield "ingest", {"id": id_, "ingest": json.loads(body)}


def _claims(row: dict[str, Any]) -> list[str]:
    """Return the records that state the row; an entity has none of its own."""
    return list(row.get("claims") or ())


def _plain(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without their numbers, which mean other rows elsewhere."""
    return [{**row, "id": None} for row in found]
