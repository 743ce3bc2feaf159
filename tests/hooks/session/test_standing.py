"""The records of a session block: read by indexes, however many others there are."""

from __future__ import annotations

import time
from pathlib import Path

from memory_fabric.capture.notes import debt
from memory_fabric.hooks.session.standing import standing
from memory_fabric.ids import timestamp
from memory_fabric.models import Provenance, Record
from memory_fabric.recall.session_block import MAX_DECISIONS
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import sync
from store.support import USER, World, database

ASSISTANT = Provenance("assistant", trust="assistant", session="s1")


def stored(memory: Memory, kind: str, what: str, by: Provenance = USER, **fields: bool) -> Record:
    record = memory.remember(Record(kind, what, confidence=0.9, **fields), by)  # type: ignore[arg-type]
    assert record is not None
    return record


def whats(records: tuple[Record, ...]) -> list[str]:
    return [record.what for record in records]


def test_each_record_of_a_session_start_is_in_the_section_of_its_type(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    stored(memory, "note", "Port 5433 serves analytics")
    stored(memory, "note", "The office has moved")
    stored(memory, "note", "Whispered by the assistant", ASSISTANT)
    stored(memory, "note", "Lunch at noon", pinned=True)
    stored(memory, "constraint", "Pushes are reviewed")
    stored(memory, "decision", "Use Redis", pinned=True)
    stored(memory, "solution", "Restart the proxy", ASSISTANT)
    stored(memory, "question", "Which colour?")

    found = standing(memory, timestamp())

    assert whats(found.rules) == ["Lunch at noon", "Pushes are reviewed"]
    assert whats(found.decisions) == ["Use Redis"]
    assert whats(found.known) == [
        "Port 5433 serves analytics",
        "The office has moved",
        "Restart the proxy",
    ]
    assert whats(found.asked) == ["Which colour?"]
    assert (found.others, found.more) == ((), 0)


def test_records_that_were_shown_elsewhere_or_before_are_left_out(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    kinds = ("decision", "constraint", "note", "solution", "question")
    records = [stored(memory, kind, f"About the {kind}") for kind in kinds]

    for record in records:
        for leave_out in ({"left_out": {record.id}}, {"seen": {record.id}}):
            found = standing(memory, timestamp(), **leave_out)
            left = [*found.asked, *found.rules, *found.decisions, *found.known]
            assert {r.id for r in left} == {r.id for r in records} - {record.id}


def test_decisions_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    for number in range(MAX_DECISIONS + 2):
        stored(memory, "decision", f"Use format {number}")

    found = standing(memory, timestamp())

    assert (len(found.decisions), found.more) == (MAX_DECISIONS, 2)
    assert found.decisions[0].what == f"Use format {MAX_DECISIONS + 1}"


def test_a_fix_is_shown_for_a_week(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    for days, what in ((6, "Restart the proxy"), (8, "The mail needs TLS")):
        at = timestamp(time.time() - days * 24 * 3600)
        memory.remember(Record("solution", what, confidence=0.9), USER, at=at)

    assert whats(standing(memory, timestamp()).known) == ["Restart the proxy"]


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
