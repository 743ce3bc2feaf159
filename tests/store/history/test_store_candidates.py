"""Candidates: their order, their ids, and records that become candidates again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import AGAIN, Record
from memory_fabric.store import records
from memory_fabric.store.conversations import sessions
from memory_fabric.store.history import candidates
from memory_fabric.store.memory import Memory
from store.support import USER, World, database, decision


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory(CLAUDE_CODE_SESSION_ID="s9")


def put(memory: Memory, *some: Record, store: str = "project") -> None:
    with database(memory, store).transaction() as c:
        for record in some:
            records.put(c, record, ["s1"])


def candidate(id_: str, at: str, **evidence: Any) -> Record:
    return decision(f"Use {id_}", id=id_, status="candidate", created_at=at, evidence=evidence)


def test_repeated_candidates_are_listed_first_and_then_the_newest(memory: Memory) -> None:
    put(
        memory,
        candidate("old", "2026-01"),
        candidate("again", "2026-02", **{AGAIN: 1}),
        candidate("often", "2026-01", **{AGAIN: 2}),
        candidate("odd", "2026-04", **{AGAIN: "many"}),
        candidate("closed", "2026-05")._replace(superseded_by="old"),
        candidate("local", "2026-05")._replace(scope="local"),
        decision(id="active", created_at="2026-05"),
    )
    put(memory, candidate("mine", "2026-03"), store="user")

    listed = [record.id for record in candidates.waiting(memory)]

    assert listed == ["often", "again", "odd", "mine", "old"]


def test_candidates_shown_to_a_session_are_recorded_for_it(memory: Memory, tmp_path: Path) -> None:
    shown, without_session = [candidate("r1", "2026-01")], World(tmp_path).memory()
    candidates.note_shown(memory, [], "2026-01")
    candidates.note_shown(without_session, shown, "2026-01")
    assert memory.databases() == []

    candidates.note_shown(memory, shown, "2026-01")

    assert sessions.injected(database(memory), "s9") == {"record:r1"}


def test_only_a_waiting_candidate_can_be_named(memory: Memory) -> None:
    put(
        memory,
        candidate("00000001-waiting", "2026-01"),
        candidate("00000002-closed", "2026-01")._replace(superseded_by="x"),
        candidate("00000003-local", "2026-01")._replace(scope="local"),
        decision(id="00000004-active"),
    )

    assert candidates.named(memory, "1-waiting").what == "Use 00000001-waiting"
    for other in ("2-closed", "3-local", "4-active"):
        with pytest.raises(BadInput, match="is no candidate"):
            candidates.named(memory, other)
    with pytest.raises(NotFound):
        candidates.named(memory, "5-unknown")


def test_old_notes_of_the_assistant_become_candidates_after_enough_sessions(
    memory: Memory,
) -> None:
    db = database(memory)
    for number in "123":
        sessions.touch(db, f"s{number}", f"2026-0{number}-01")
    noted = decision(trust="assistant", evidence={"noted": "2026"})
    put(
        memory,
        noted._replace(id="first", what="a", created_at="2026-01-15"),
        noted._replace(id="second", what="b", created_at="2026-02-15"),
        noted._replace(id="agreed", what="c", created_at="2026-01-15", evidence={"agreed": "x"}),
        noted._replace(id="users", what="d", created_at="2026-01-15", trust="user"),
    )

    def candidate_ids() -> list[str]:
        return [record.id for record in memory.find_records("status = 'candidate'")]

    assert candidates.demote_unconfirmed(memory, "2026-09", 4) == 0
    assert candidates.demote_unconfirmed(memory, "2026-01-15", 1) == 0
    db.read_only = True
    assert candidates.demote_unconfirmed(memory, "2026-09", 2) == 0
    db.read_only = False
    assert candidate_ids() == []
    assert candidates.demote_unconfirmed(memory, "2026-09", 2) == 1
    assert candidate_ids() == ["first"]
    assert candidates.demote_unconfirmed(memory, "2026-09", 1) == 1
    assert candidate_ids() == ["second", "first"]
    in_a_batch = "SELECT session, json_extract(payload, '$.batch') <> '' FROM operations"
    assert db.rows(in_a_batch) == [("s9", 1)] * 2


def test_a_note_with_the_users_trust_but_without_their_words_loses_the_trust(
    memory: Memory,
) -> None:
    noted = decision(trust="user", source="assistant", evidence={"noted": "2026"})
    put(
        memory,
        noted._replace(id="bare", what="a"),
        noted._replace(id="quoted", what="b", evidence={"noted": "2026", "quotation": "b"}),
        noted._replace(id="confirmed", what="c", evidence={"noted": "2026", "confirmed": "2026"}),
    )
    memory.remember(decision("Use Redis"), USER)

    assert candidates.distrust_without_words(memory) == 1
    assert candidates.distrust_without_words(memory) == 0

    [lowered] = memory.find_records("trust = 'assistant'")
    assert lowered.id == "bare"
