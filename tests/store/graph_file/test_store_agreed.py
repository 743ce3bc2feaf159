"""The agreed state of a served file: its digest, its saved lines, and recovery after a kill."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_fabric.store.database import Database
from memory_fabric.store.graph_file import agreed
from memory_fabric.store.graph_file.agreed import NOTHING, State, mark_of
from memory_fabric.store.memory import Memory
from store.support import TOOL, World, database, entity

A, B, C = (b'{"n":"%c"}' % letter for letter in b"abc")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


@pytest.fixture
def home(tmp_path: Path) -> str:
    (tmp_path / "served").mkdir()
    return str(tmp_path / "served")


def logged(memory: Memory, name: str = "api", source: str = "mcp") -> tuple[Database, int, str]:
    """Make a change; return the database with the row and id of its operation."""
    by = TOOL._replace(source=source)
    memory.write("create_entities", {"entities": [entity(name)]}, by, store="user")
    db = database(memory, "user")
    [(seq, id_)] = db.rows("SELECT seq, id FROM operations ORDER BY seq DESC LIMIT 1")
    return db, seq, id_


def marked(*lines: bytes) -> dict[bytes, bytes]:
    return {mark_of(line): line for line in lines}


def test_the_digest_of_lines_follows_removals_and_additions_in_any_order() -> None:
    whole = agreed.digest_of([A, B, B])

    assert agreed.digest_of([B, A, B]) == whole != agreed.digest_of([A, B])
    assert agreed.digest_after(agreed.digest_of([A, C]), [mark_of(C)], [mark_of(B)] * 2) == whole
    assert agreed.digest_after(whole, map(mark_of, [A, B, B]), ()) == agreed.digest_of([])


def test_the_agreed_state_is_kept_until_its_operation_is_no_longer_in_the_database(
    memory: Memory, home: str
) -> None:
    db, seq, id_ = logged(memory)
    Path(home, "agreed-old.jsonl").touch()
    Path(home, "other.jsonl").touch()
    state = agreed.save_lines(home, State((1, 2, 3), "d", seq, id_), marked(A))
    assert agreed.state_of(db) is None

    agreed.agree(db, home, state)

    assert agreed.state_of(db) == state
    assert sorted(os.listdir(home)) == ["agreed-d.jsonl", "other.jsonl"]
    agreed.agree(db, home, state._replace(operation="another"))
    assert agreed.state_of(db) is None
    agreed.agree(db, home, state._replace(operation="", seq=99, signature=None))
    assert agreed.state_of(db) == state._replace(operation="", seq=99, signature=None)
    agreed.clear(db)
    assert agreed.state_of(db) is None


def test_a_database_is_ahead_of_its_file_after_a_change_that_was_no_import(
    memory: Memory,
) -> None:
    db, seq, id_ = logged(memory)
    assert agreed.is_ahead(db, None)
    state = State(None, "d", seq, id_)
    assert not agreed.is_ahead(db, state) and agreed.is_ahead(db, state._replace(owed=True))
    logged(memory, "theirs", source="import")
    assert not agreed.is_ahead(db, state)
    logged(memory, "ours")
    assert agreed.is_ahead(db, state)


def test_saved_lines_are_loaded_with_the_edits_that_were_appended(home: str) -> None:
    before = agreed.save_lines(home, State((9, 1, 1), "d"), marked(A, B) | {mark_of(b"x"): b""})
    assert agreed.load_lines(home, before) == marked(A, B) | {mark_of(b"x"): b""}
    assert before.base == "d" and before.length == os.path.getsize(f"{home}/agreed-d.jsonl")

    after = State((9, 2, 2), "e", 5, "o5")
    after = agreed.save_edits(home, before, after, [mark_of(A), mark_of(b"unknown")], [C])

    assert agreed.load_lines(home, after) == marked(B, C) | {mark_of(b"x"): b""}
    assert agreed.load_lines(home, before) == marked(A, B) | {mark_of(b"x"): b""}
    assert (after.base, after.seq, after.operation) == ("d", 5, "o5")
    assert after.length == os.path.getsize(f"{home}/agreed-d.jsonl")
    # What a killed process appended is cut off by the next edit.
    again = agreed.save_edits(home, before, after, [], [])
    assert agreed.load_lines(home, again) == agreed.load_lines(home, before)
    assert again.length == os.path.getsize(f"{home}/agreed-d.jsonl")


def test_lost_or_damaged_lines_are_read_as_none(home: str) -> None:
    state = agreed.save_lines(home, State(None, "d"), marked(A))
    path = Path(home, "agreed-d.jsonl")

    assert agreed.load_lines(home, None) == {}
    assert agreed.load_lines(home, state._replace(length=state.length + 1)) == {}
    path.write_bytes(b"{}\nno digest\n")
    assert agreed.load_lines(home, state._replace(length=0)) == {}
    path.unlink()
    assert agreed.load_lines(home, state) == agreed.load_lines(home, NOTHING) == {}
    assert agreed.saved_lines(home, state) == b""


def test_lines_are_edited_only_while_their_file_is_complete(home: str) -> None:
    state = agreed.save_lines(home, State((0, 1, 1), "d"), marked(A))
    assert agreed.can_be_edited(home, state)
    for other in ({"owed": True}, {"length": 0}, {"signature": None}, {"length": state.length + 1}):
        assert not agreed.can_be_edited(home, state._replace(**other))


def test_a_state_that_a_killed_process_saved_is_recognised_by_its_digest(
    memory: Memory, home: str
) -> None:
    db, seq, id_ = logged(memory)
    state = agreed.save_lines(home, State((9, 1, 1), "d", seq, id_), marked(A))
    edited = agreed.save_edits(home, state, State(None, "e", seq, id_), [], [B])
    other = agreed.save_lines(home, State(None, "f", seq, id_), marked(C))
    agreed.save_lines(home, State(None, "g", seq, "unknown"), marked(C))
    agreed.save_lines(home, State(None, "h"), marked(C))

    found = agreed.interrupted(db, home, state, "e")

    assert found == edited._replace(signature=state.signature)
    assert agreed.interrupted(db, home, state, "f") == other
    for digest in ("g", "h", "none"):
        assert agreed.interrupted(db, home, state, digest) is None
    assert agreed.interrupted(db, home, state._replace(length=0), "e") is None


def test_edits_with_an_incomplete_line_or_of_an_unknown_operation_are_not_recognised(
    memory: Memory, home: str
) -> None:
    db, seq, id_ = logged(memory)
    state = agreed.save_lines(home, State((9, 1, 1), "d", seq, id_), marked(A))
    path = Path(home, "agreed-d.jsonl")
    agreed.save_edits(home, state, State(None, "e", seq, id_), [], [B])
    assert agreed.interrupted(db, home, state, "e") is not None

    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert agreed.interrupted(db, home, state, "e") is None
    agreed.save_edits(home, state, State(None, "e", seq + 1, "unknown"), [], [B])
    assert agreed.interrupted(db, home, state, "e") is None


def test_the_signature_of_a_file_is_its_size_time_and_inode(home: str) -> None:
    path = Path(home, "x")
    assert agreed.signature_of(str(path)) is None
    assert agreed.signature_of(str(path / "below")) is None
    path.write_bytes(b"abc")
    os.utime(path, ns=(1, 7))

    assert agreed.signature_of(str(path)) == (3, 7, path.stat().st_ino)
    assert agreed.signature_of(str(path / "below")) is None
    assert agreed.read(str(path)) == b"abc" and agreed.read(str(path) + "y") == b""
    with pytest.raises(OSError, match="not a file"):
        agreed.signature_of(home)
