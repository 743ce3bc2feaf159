"""Sessions: first signs of life, the ledger of what was injected, tasks, checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.store.conversations import sessions
from memory_fabric.store.database import Database, open_database

NOW = "2026-01-15T10:00:00.000Z"


@pytest.fixture
def db(tmp_path: Path) -> Database:
    found = open_database(str(tmp_path / "graph.db"), "project", create=True)
    assert found is not None
    return found


def prompts(db: Database, count: int, session: str = "s") -> None:
    for _ in range(count):
        sessions.record_injections(db, session, "", (), "prompt", NOW)


def test_an_event_updates_only_the_last_seen_time_of_a_known_session(db: Database) -> None:
    assert sessions.touch(db, "s", NOW, "/t")
    assert not sessions.touch(db, "s", "2026-02", "")
    assert sessions.field(db, "s", "started_at") == NOW
    assert sessions.field(db, "s", "seen_at") == "2026-02"
    assert sessions.field(db, "s", "transcript") == "/t"
    assert sessions.field(db, "nobody", "started_at") is None


def test_a_session_seen_again_is_no_longer_marked_as_ended(db: Database) -> None:
    sessions.touch(db, "s", NOW, "/t")
    sessions.set_fields(db, "s", ended_at=NOW, offset=7)
    sessions.touch(db, "s", NOW)
    assert sessions.field(db, "s", "ended_at") == ""
    assert sessions.field(db, "s", "offset") == 7


def test_sessions_that_have_not_ended_are_listed_with_their_transcripts_newest_first(
    db: Database,
) -> None:
    for i, (seen, transcript) in enumerate([("2026-01", "/0"), ("2026-03", "/1"), ("2026-02", "")]):
        sessions.touch(db, f"s{i}", seen, transcript)
    sessions.touch(db, "ended", "2026-01", "/e")
    sessions.set_fields(db, "ended", ended_at="2026-01")
    assert sessions.unfinished(db, "me", "2026-04", 5) == [
        ("s1", "/1", "2026-03"),
        ("s0", "/0", "2026-01"),
    ]
    assert sessions.unfinished(db, "s1", "2026-04", 5) == [("s0", "/0", "2026-01")]
    assert sessions.unfinished(db, "me", "2026-02", 5) == [("s0", "/0", "2026-01")]


def test_memories_injected_into_a_session_are_recorded_only_for_that_session(db: Database) -> None:
    sessions.touch(db, "s", NOW)
    sessions.record_injections(db, "s", "", ["record:1", "graph:x#1"], "prompt", NOW)
    assert sessions.injected(db, "s") == {"record:1", "graph:x#1"}
    assert sessions.injected(db, "other") == sessions.injected(db, "s", "agent") == frozenset()


def test_a_memory_may_be_injected_again_after_fifty_prompts(db: Database) -> None:
    sessions.touch(db, "s", NOW)
    sessions.record_injections(db, "s", "", ["record:1"], "prompt", NOW)
    prompts(db, sessions.FORGET_INJECTION_AFTER_PROMPTS - 1)
    assert sessions.injected(db, "s") == {"record:1"}
    prompts(db, 1)
    assert sessions.injected(db, "s") == frozenset()
    sessions.record_injections(db, "s", "", ["record:1"], "prompt", NOW)
    assert sessions.injected(db, "s") == {"record:1"}


def test_only_prompt_events_are_counted_as_prompts(db: Database) -> None:
    sessions.touch(db, "s", NOW)
    sessions.record_injections(db, "s", "", ["record:1"], "session", NOW)
    sessions.record_injections(db, "s", "a", ["record:2"], "subagent", NOW)
    prompts(db, 2)
    assert sessions.field(db, "s", "prompts") == 2


def test_recording_injected_memories_creates_the_session_with_its_transcript(
    db: Database,
) -> None:
    sessions.record_injections(
        db, "s", "", ["record:1"], "session", NOW, transcript="/t", loaded=True
    )
    assert sessions.field(db, "s", "loaded_at") == NOW
    assert sessions.field(db, "s", "transcript") == "/t"


def test_compacting_a_session_keeps_the_list_of_memories_injected_into_its_agents(
    db: Database,
) -> None:
    sessions.touch(db, "s", NOW)
    sessions.record_injections(db, "s", "", ["record:1"], "prompt", NOW)
    sessions.record_injections(db, "s", "agent", ["record:2"], "subagent", NOW)
    sessions.record_injections(db, "s", "", ["record:3"], "compact", NOW, anew=True)
    assert sessions.injected(db, "s") == {"record:3"}
    assert sessions.injected(db, "s", "agent") == {"record:2"}


def test_a_forked_session_inherits_the_list_of_memories_injected_into_its_parent(
    db: Database,
) -> None:
    sessions.touch(db, "parent", NOW)
    sessions.record_injections(db, "parent", "", ["record:1"], "prompt", NOW)
    sessions.record_injections(db, "parent", "agent", ["record:2"], "subagent", NOW)
    prompts(db, 20, "parent")
    sessions.touch(db, "child", NOW)
    sessions.copy_ledger(db, "parent", "child")
    assert sessions.injected(db, "child") == {"record:1"}
    sessions.record_injections(db, "parent", "", (), "compact", NOW, anew=True)
    assert sessions.injected(db, "child") == {"record:1"}


def waiting(db: Database, kind: str = "tester", session: str = "s", since: str = "") -> list[str]:
    return [id_ for id_, _, _ in sessions.open_tasks(db, session, kind, since)]


def note(db: Database, *tasks: str, kind: str = "tester") -> None:
    for i, task in enumerate(tasks):
        sessions.save_task(db, task, "s", kind, f"text of {task}", f"2026-0{i + 1}")


def test_open_tasks_are_offered_to_a_starting_agent_oldest_first(db: Database) -> None:
    note(db, "t0", "t1")
    note(db, "t2", kind="writer")
    assert sessions.open_tasks(db, "s", "tester") == [
        ("t0", "text of t0", ()),
        ("t1", "text of t1", ()),
    ]
    assert waiting(db, "writer") == ["t2"]
    assert waiting(db, session="other") == []


def test_the_only_open_task_is_closed_when_it_is_offered_to_an_agent(db: Database) -> None:
    note(db, "t0")
    sessions.offer_tasks(db, "s", "tester", ["t0"], "a1")
    assert waiting(db) == []


def test_two_tasks_offered_together_stay_open_until_two_agents_were_offered_them(
    db: Database,
) -> None:
    note(db, "t0", "t1")
    sessions.offer_tasks(db, "s", "tester", ["t0", "t1"], "a1")
    assert [offered for _, _, offered in sessions.open_tasks(db, "s", "tester")] == [("a1",)] * 2
    sessions.offer_tasks(db, "s", "tester", ["t0", "t1"], "a1")
    assert waiting(db) == ["t0", "t1"]
    sessions.offer_tasks(db, "s", "tester", ["t0", "t1"], "a2")
    assert waiting(db) == []


def test_a_task_added_later_stays_open_until_each_open_task_had_an_agent(
    db: Database,
) -> None:
    note(db, "t0", "t1")
    sessions.offer_tasks(db, "s", "tester", ["t0", "t1"], "a1")
    note(db, "t2")
    sessions.offer_tasks(db, "s", "tester", ["t0", "t1", "t2"], "a2")
    assert waiting(db) == ["t0", "t2", "t1"]
    sessions.offer_tasks(db, "s", "tester", ["t0", "t1", "t2"], "a3")
    assert waiting(db) == []


def test_closing_one_task_leaves_the_other_tasks_open(db: Database) -> None:
    note(db, "t0", "t1")
    sessions.close_tasks(db, ["t1"])
    assert waiting(db) == ["t0"]


def test_the_next_prompt_of_a_session_closes_tasks_that_no_agent_took(db: Database) -> None:
    note(db, "t0")
    sessions.record_injections(db, "s", "", (), "subagent", NOW)
    assert waiting(db) == ["t0"]
    sessions.record_injections(db, "other", "", (), "prompt", NOW)
    assert waiting(db) == ["t0"]
    sessions.record_injections(db, "s", "", (), "prompt", NOW)
    assert waiting(db) == []


def test_old_tasks_are_not_offered(db: Database) -> None:
    note(db, "t0", "t1")
    assert waiting(db, since="2026-02") == ["t1"]


def test_only_a_limited_number_of_open_tasks_is_kept_and_the_oldest_are_dropped(
    db: Database,
) -> None:
    for i in range(sessions.OPEN_TASKS_KEPT + 10):
        sessions.save_task(db, f"t{i:03}", "s", "tester", "x", f"2026-{i:03}")
    left = waiting(db)
    assert len(left) == sessions.OPEN_TASKS_KEPT and left[0] == "t010"


def test_compacting_an_agent_keeps_the_list_of_memories_injected_into_its_session(
    db: Database,
) -> None:
    sessions.touch(db, "s", NOW)
    sessions.record_injections(db, "s", "", ["record:1"], "prompt", NOW)
    sessions.record_injections(db, "s", "agent", ["record:2"], "subagent", NOW)
    sessions.record_injections(db, "s", "agent", (), "compact", NOW, anew=True)
    assert sessions.injected(db, "s") == {"record:1"}
    assert sessions.injected(db, "s", "agent") == frozenset()


def test_a_saved_checkpoint_is_loaded_unchanged(db: Database) -> None:
    sessions.touch(db, "s", NOW)
    assert sessions.load_checkpoint(db, "s") == {}
    sessions.save_checkpoint(db, "s", {"task": "Größe", "files": ["a"]})
    assert sessions.load_checkpoint(db, "s") == {"task": "Größe", "files": ["a"]}
    assert sessions.load_checkpoint(db, "nobody") == {}


def test_data_of_old_sessions_is_deleted(db: Database) -> None:
    for session, seen in [("old", "2026-01"), ("new", "2026-03")]:
        sessions.touch(db, session, seen)
        sessions.record_injections(db, session, "", ["record:1"], "prompt", seen)
        sessions.record_told(db, session, "prompt", seen, [("record:1", "decision", 9)])
        sessions.save_task(db, f"t-{session}", session, "tester", "x", seen)
    sessions.expire(db, "2026-02")
    assert sessions.field(db, "old", "id") is None and sessions.field(db, "new", "id") == "new"
    assert sessions.injected(db, "old") == frozenset() and sessions.injected(db, "new")
    assert db.rows("SELECT id FROM tasks") == [("t-new",)]
    assert db.rows("SELECT session FROM told") == [("new",)]
