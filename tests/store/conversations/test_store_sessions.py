"""Sessions: first signs of life, the ledger of what was injected, tasks, checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.ids import new_id
from memory_fabric.models import Operation
from memory_fabric.store import write
from memory_fabric.store.conversations import prompts as stored_prompts
from memory_fabric.store.conversations import sessions, worth
from memory_fabric.store.database import Database, open_database
from store.support import USER

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
    sessions.record_injections(db, "s", "", ["record:1"], "prompt", NOW)
    sessions.record_injections(db, "s", "", ["graph:x#1"], "prompt", NOW)
    assert sessions.field(db, "s", "loaded_at") == ""
    assert sessions.injected(db, "s") == {"record:1", "graph:x#1"}
    assert sessions.injected_of(db, "s", "", ["record:1", "record:3"]) == {"record:1"}
    assert sessions.injected_of(db, "s", "agent", ["record:1"]) == frozenset()
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


def say(db: Database, *turns: tuple[str, str, str, str, str]) -> None:
    """Store turns, given as (id, session, role, text, time)."""
    fields = ("id", "session", "role", "text", "created_at")
    payload = {"episodes": [dict(zip(fields, turn, strict=True)) for turn in turns]}
    write.apply(db, Operation(new_id(), "add_episodes", payload, USER._replace(at=NOW)))


def test_the_transcript_of_a_session_is_replaced_only_after_it_was_moved(
    db: Database, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.touch()
    sessions.touch(db, "s", NOW, str(first))

    sessions.touch(db, "s", NOW, str(second))
    assert sessions.place_of(db, "s") == (str(first), "")

    first.rename(second)
    sessions.touch(db, "s", NOW, str(second))
    assert sessions.place_of(db, "s") == (str(second), "")
    assert sessions.place_of(db, "nobody") == ("", "")


def test_the_state_of_a_session_tells_its_start_memory_compaction_and_prompts(
    db: Database,
) -> None:
    assert sessions.state_of(db, "s", 5) is None
    sessions.touch(db, "s", NOW)
    assert sessions.state_of(db, "s", 5) == (NOW, False, "", 0, False)

    sessions.record_injections(db, "s", "", (), "session", NOW, loaded=True)
    sessions.save_checkpoint(db, "s", {"at": "2026-02"})
    prompts(db, 2)
    stored_prompts.add(db, "s", "abcde", NOW)

    assert sessions.state_of(db, "s", 5) == (NOW, True, "2026-02", 2, True)
    assert sessions.state_of(db, "s", 6) == (NOW, True, "2026-02", 2, False)


def test_a_transcript_counts_as_unread_while_it_is_being_learned(db: Database) -> None:
    for session in ("s", "learning"):
        sessions.touch(db, session, NOW)
        sessions.set_fields(db, session, offset=7)
    with db.transaction() as c:
        c.execute("INSERT INTO meta VALUES ('learning learning', '')")

    assert sessions.read_to(db) == {"s": 7, "learning": -1}


def test_other_recent_sessions_that_changed_files_are_counted_up_to_a_limit(db: Database) -> None:
    for session, seen, files in [
        ("old", "2026-01", ["a"]),
        ("idle", "2026-03", []),
        ("one", "2026-03", ["a"]),
        ("two", "2026-04", ["b", "c"]),
    ]:
        sessions.touch(db, session, seen)
        sessions.save_notes(db, session, {"files": files})

    assert sessions.worked_since(db, "2026-01", "me", 9) == 2
    assert sessions.worked_since(db, "2026-01", "one", 9) == 1
    assert sessions.worked_since(db, "2026-01", "me", 1) == 1


def test_each_part_of_feedback_is_new_once_and_told_once(db: Database) -> None:
    sessions.touch(db, "s", NOW)
    assert sessions.feedback(db, "s") == sessions.feedback(db, "nobody") == []

    assert sessions.add_feedback(db, "s", [("k1", "h", "Zoë"), ("k2", "h", "b")]) == {"k1", "k2"}
    assert sessions.add_feedback(db, "s", [("k2", "h", "b")]) == set()
    assert sessions.add_feedback(db, "s", [("k2", "h", "b"), ("k3", "h", "c")]) == {"k3"}
    assert sessions.feedback(db, "s")[0] == ["k1", "h", "Zoë", 0]

    sessions.mark_told(db, "s", sessions.feedback(db, "s")[:1])
    assert [part[0] for part in sessions.feedback(db, "s")] == ["k2", "k3"]
    sessions.mark_told(db, "s", sessions.feedback(db, "s")[1:])
    assert [part[0] for part in sessions.feedback(db, "s")] == ["k2"]
    assert sessions.add_feedback(db, "s", [("k1", "h", "Zoë")]) == set()


def test_only_the_newest_feedback_is_kept(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_FEEDBACK", 2)
    sessions.touch(db, "s", NOW)

    sessions.add_feedback(db, "s", [(key, "h", "t") for key in ("k1", "k2", "k3")])

    assert [part[0] for part in sessions.feedback(db, "s")] == ["k2", "k3"]


def test_saving_the_notes_of_a_session_keeps_feedback_that_came_meanwhile(db: Database) -> None:
    sessions.touch(db, "s", NOW)
    notes = sessions.load_notes(db, "s")
    sessions.add_feedback(db, "s", [("k", "h", "t")])

    sessions.save_notes(db, "s", {**notes, "tasks": ["größer"]}, offset=5)

    assert sessions.load_notes(db, "s")["tasks"] == ["größer"]
    assert [part[0] for part in sessions.feedback(db, "s")] == ["k"]
    assert sessions.field(db, "s", "offset") == 5


def test_damaged_notes_and_checkpoints_are_read_as_empty(db: Database) -> None:
    sessions.touch(db, "s", NOW)
    assert sessions.load_notes(db, "s") == sessions.load_notes(db, "nobody") == {}
    sessions.set_fields(db, "s", block="{", checkpoint="[1]")

    assert sessions.load_notes(db, "s") == sessions.load_checkpoint(db, "s") == {}
    assert sessions.add_feedback(db, "s", [("k", "h", "t")]) == {"k"}


def test_the_end_of_a_turn_replaces_that_of_the_turn_before(db: Database) -> None:
    sessions.touch(db, "s", NOW)

    for scheduled, asks in (([], True), (["Look again"], True), (["Look again"], False)):
        sessions.note_turn(db, "s", scheduled, asks=asks)
        assert sessions.load_notes(db, "s") == {"scheduled": scheduled, "asks": asks}


def test_records_closed_by_other_sessions_are_listed_until_a_session_was_told(
    db: Database,
) -> None:
    sessions.note_closed(db, "a", ["r1"], "2026-01")
    sessions.note_closed(db, "b", ["r2"], "2026-02")

    assert sessions.closed_elsewhere(db, "a") == [("r2", "2026-02")]
    assert sessions.closed_elsewhere(db, "c") == [("r2", "2026-02"), ("r1", "2026-01")]
    sessions.record_injections(db, "b", "", (), "compact", NOW, anew=True)
    sessions.record_injections(db, "c", "", ["closed:r1"], "session", NOW)
    assert sessions.closed_elsewhere(db, "d") == [("r2", "2026-02")]
    sessions.note_closed(db, "c", ["r1"], "2026-03")  # again, after it was taken back
    assert sessions.closed_elsewhere(db, "d") == [("r1", "2026-03"), ("r2", "2026-02")]


def test_stored_turns_are_recognised_by_their_id_or_by_role_and_time(db: Database) -> None:
    say(db, ("u1", "s1", "user", "Hello", "2026-01"), ("a1", "s1", "assistant", "Hi", "2026-02"))

    by_uuid, by_time = sessions.known_turns(
        db, [("u1", "user", "2026-01"), ("copy", "assistant", "2026-02"), ("new", "user", "2026")]
    )

    assert by_uuid == {"u1": "s1"}
    assert by_time == {
        ("user", "2026-01"): [("s1", "Hello")],
        ("assistant", "2026-02"): [("s1", "Hi")],
    }
    assert sessions.known_turns(db, []) == ({}, {})


def test_the_answer_to_a_request_is_the_last_one_before_the_next_request(db: Database) -> None:
    assert sessions.count_sessions(db, 9) == 0
    say(
        db,
        ("u1", "s1", "user", "Which port?", "1"),
        ("a1", "s1", "assistant", "I will look.", "2"),
        ("a2", "s1", "assistant", "It is 8080.", "3"),
        ("x1", "s2", "assistant", "Elsewhere.", "3"),
        ("u2", "s1", "user", "Why?", "4"),
    )

    assert sessions.answer_to(db, "u1") == "It is 8080."
    assert sessions.answer_to(db, "u2") == sessions.answer_to(db, "nobody") == ""
    assert (sessions.count_sessions(db, 9), sessions.count_sessions(db, 1)) == (2, 1)


def test_an_old_session_keeps_its_row_while_its_transcript_exists(
    db: Database, tmp_path: Path
) -> None:
    there = tmp_path / "there.jsonl"
    there.touch()
    for session, transcript in [("there", str(there)), ("gone", str(tmp_path / "gone.jsonl"))]:
        sessions.touch(db, session, "2026-01", transcript)
        sessions.set_fields(db, session, block="{}", checkpoint="{}", offset=7)

    sessions.expire(db, "2026-02")

    assert db.rows("SELECT id, offset, block, checkpoint FROM sessions") == [("there", 7, "", "")]


def test_tasks_can_be_offered_to_an_agent_without_an_id(db: Database) -> None:
    note(db, "t0", "t1")
    sessions.offer_tasks(db, "s", "tester", ["t0", "t1"], "")
    offered = [agents for _, _, agents in sessions.open_tasks(db, "s", "tester")]
    assert offered == [(sessions.NAMELESS,)] * 2
    sessions.offer_tasks(db, "s", "tester", ["t0", "t1"], "a1")
    assert waiting(db) == []


def test_an_outcome_is_saved_only_for_the_injected_record_that_was_judged(db: Database) -> None:
    told = [("record:r1", "decision", 9), ("record:r2", "decision", 9), ("graph:x#1", "graph", 3)]
    sessions.record_told(db, "s", "prompt", NOW, told)
    second, first = worth.to_judge(db, "s")
    assert (first[1:], second[1:]) == (("r1", "prompt"), ("r2", "prompt"))

    worth.save_outcomes(db, {first[0]: True, second[0]: False}, NOW)

    assert db.rows("SELECT followed, judged_at FROM told ORDER BY id") == [
        (1, NOW),
        (0, NOW),
        (None, ""),
    ]
    assert worth.to_judge(db, "s") == [second]
