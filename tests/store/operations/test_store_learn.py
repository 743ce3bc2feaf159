"""The turns and sessions that a run over past sessions adds, and what its undo deletes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import ERASED
from memory_fabric.store.history import undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import learn, tombstones
from store.support import USER, World, database, decision


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def turn(number: int, text: str = "said") -> dict[str, str]:
    said = {"id": f"u{number}", "session": "old", "role": "user", "text": f"{text} {number}"}
    return said | {"created_at": "2026-01-01"}


def add(memory: Memory, *turns: dict[str, str], **more: Any) -> object:
    return memory.write("add_episodes", {"episodes": list(turns), **more}, USER)["added"]


def begun(memory: Memory, session: str = "old") -> None:
    """Begin the run `r1` with one past session."""
    memory.write("learn", {"batch": "r1"}, USER)
    learn.adopt(database(memory), session, "/t", "r1", "2026-01-01", "2026-01-02", {})


def sessions(memory: Memory) -> list[tuple[Any, ...]]:
    return database(memory).rows("SELECT id, ended_at, transcript, offset FROM sessions")


def test_a_turn_is_added_once_and_not_at_all_if_it_was_forgotten(memory: Memory) -> None:
    assert add(memory, turn(1), turn(2), turn(1)) == 2
    assert add(memory, turn(1), turn(3)) == 1
    with database(memory).transaction() as c:
        tombstones.put(c, tombstones.of_turn("u4"), 0, "2026")

    assert add(memory, turn(4), turn(5)) == 1
    rows = database(memory).rows("SELECT uuid, place, domain FROM episodes ORDER BY id")
    assert rows == [(f"u{number}", "", "general") for number in (1, 2, 3, 5)]


def test_a_run_is_known_by_its_turns_and_records_until_it_is_undone(memory: Memory) -> None:
    db = database(memory)
    add(memory, turn(0))
    assert not learn.is_begun(db, "r1")
    begun(memory)
    add(memory, turn(1), turn(2), batch="r1")
    add(memory, turn(0), turn(3), batch="r1")
    memory.batch = "r1"
    memory.remember(decision("The port was taken")._replace(type="solution"), USER)
    memory.remember(decision("Maybe Redis", confidence=0.4), USER)
    memory.remember(decision("Use Redis"), USER)
    memory.batch = ""

    assert learn.is_begun(db, "r1") and not learn.is_begun(db, "r2")
    assert learn.made_by(db, "r1") == (3, 1, 1)
    assert learn.made_by(db, "r2") == (0, 0, 0)
    assert sessions(memory) == [("old", "2026-01-02", "/t", 0)]

    memory.write("unlearn", {"batch": "r1"}, USER)

    assert db.rows("SELECT uuid FROM episodes") == [("u0",)]
    assert sessions(memory) == []
    assert db.rows("SELECT key FROM meta WHERE key LIKE 'learn%'") == []


def test_undoing_the_beginning_of_a_run_deletes_its_turns(memory: Memory) -> None:
    begun(memory)
    add(memory, turn(1), batch="r1")

    undo.undo(memory, [undo.last(memory)], USER)

    assert database(memory).rows("SELECT * FROM episodes") == sessions(memory) == []


def test_a_session_that_was_read_before_gets_its_former_offset_back(memory: Memory) -> None:
    with database(memory).transaction() as c:
        c.execute(
            "INSERT INTO sessions (id, started_at, seen_at, offset) VALUES ('old', '', '', 7)"
        )
    begun(memory)
    with database(memory).transaction() as c:
        c.execute("UPDATE sessions SET offset = 900")

    memory.write("unlearn", {"batch": "r1"}, USER)

    assert sessions(memory) == [("old", "", "", 7)]


@pytest.mark.parametrize("used", ["loaded_at = '2026'", "prompts = 1"])
def test_the_row_of_a_session_that_went_on_after_the_run_is_kept(memory: Memory, used: str) -> None:
    begun(memory)
    with database(memory).transaction() as c:
        c.execute(f"UPDATE sessions SET {used}")

    memory.write("unlearn", {"batch": "r1"}, USER)

    assert [row[0] for row in sessions(memory)] == ["old"]


def test_turns_and_sessions_of_which_words_were_erased_are_not_read_again(memory: Memory) -> None:
    begun(memory)
    add(memory, turn(1, f"said {ERASED}"), turn(2), batch="r1")

    memory.write("unlearn", {"batch": "r1"}, USER)

    assert database(memory).rows("SELECT uuid FROM episodes") == [("u1",)]
    assert [row[0] for row in sessions(memory)] == ["old"]


def test_a_session_is_open_until_the_run_has_read_it_to_its_end(memory: Memory) -> None:
    db = database(memory)
    begun(memory)
    opened = "SELECT key, value FROM meta WHERE key LIKE 'learning %'"
    assert db.rows(opened) == [("learning old", "r1")]

    learn.finish(db, "other")
    assert db.rows(opened) == [("learning old", "r1")]
    learn.finish(db, "old")

    assert db.rows(opened) == []
