"""The records of a session block: read by indexes, however many others there are."""

from __future__ import annotations

from pathlib import Path

from memory_fabric.capture.notes import debt
from memory_fabric.hooks.session.standing import standing
from memory_fabric.ids import timestamp
from memory_fabric.models import Record
from memory_fabric.store.tiers import sync
from store.support import USER, World, database


def test_no_query_of_a_session_start_reads_all_records(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    for number in range(65):  # more than are ranked
        memory.remember(Record("decision", f"Use format {number}", confidence=0.9), USER)
    connection = database(memory).connection
    asked: list[str] = []
    connection.set_trace_callback(asked.append)

    standing(memory, timestamp())
    debt.of_session(memory, "session-1")
    sync.promotable(memory)

    connection.set_trace_callback(None)
    found = [sql for sql in asked if " FROM records " in sql and "id IN" not in sql]
    plans = [
        step[3]
        for sql in found
        for step in connection.execute(f"EXPLAIN QUERY PLAN {sql}")
        if "records" in step[3]
    ]
    assert len(found) >= 8
    assert [plan for plan in plans if plan == "SCAN records"] == []
    # by time only where nearly every record is wanted, so that the limit ends it, and of a week
    by_time = [plan for plan in plans if "records_by_time" in plan]
    assert len(by_time) == 2 and sum("created_at>" in plan for plan in by_time) == 1
    assert not any("TEMP B-TREE" in plan for plan in plans)
