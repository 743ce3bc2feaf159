"""The durable queue of what other programs bring in: accepted, claimed, done, retried, dead."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import timestamp
from memory_fabric.ingest.worker import try_once
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Operation, Provenance
from memory_fabric.store import write
from memory_fabric.store.forget import purge
from memory_fabric.store.history import changes, undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import link
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import IdempotencyConflict
from memory_fabric.store.tiers import sync
from memory_fabric.store.upkeep import backup
from store.queues.ingested import BY, LEASE_S, NOW, accepted, claimed, one
from store.support import USER, World, database, entity

SECRET = "sk-" + "ant-api03-" + "b7Kq9ZtR4mXw2LpV8nYc3HsD6fGj1QaE5uTi0oWz" * 2


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def memory(world: World) -> Memory:
    return world.memory()


def state_of(memory: Memory, id_: str) -> str:
    found = ingest_queue.find(memory, id_)
    assert found is not None
    return found.state


def test_an_accepted_text_is_queued_under_its_id_with_its_length_and_domain(memory: Memory) -> None:
    health, legal = accepted(
        memory, Ingest("health-check"), Ingest("GPL is out.", domain="Legal Advisor")
    )
    assert (health.length, health.domain, health.repeated) == (12, "session", False)
    assert (legal.length, legal.domain) == (11, "legal_advisor")
    found = ingest_queue.find(memory, legal.id)
    assert found is not None
    assert (found.state, found.domain, found.length) == ("waiting", "legal_advisor", 11)
    assert (found.attempts, found.error, found.ended_at, found.records) == (0, "", "", ())
    assert found.created_at == timestamp(NOW)
    assert ingest_queue.backlog(memory) == ingest_queue.Backlog(waiting=2, oldest_at=timestamp(NOW))


def test_an_unknown_id_has_no_text_and_an_empty_memory_has_no_backlog(memory: Memory) -> None:
    assert ingest_queue.find(memory, "nothing") is None
    assert ingest_queue.backlog(memory) == ingest_queue.Backlog()
    assert ingest_queue.claim(memory, "w1", NOW, LEASE_S) is None
    assert ingest_queue.next_due_s(memory, NOW) is None


def test_secrets_are_removed_before_anything_is_stored(world: World, memory: Memory) -> None:
    told = accepted(memory, Ingest(f"the key is {SECRET}", (f"use {SECRET}",)))[0]
    kept = ingest_queue.ingest_of(memory, told.id)
    assert kept is not None
    assert told.length == len(kept.session_summary)
    memory.flush()
    assert SECRET.encode() not in world.all_bytes()


def test_a_repeated_idempotency_key_conflicts_only_with_different_content(
    memory: Memory,
) -> None:
    first = Ingest("We use Redis.", idempotency_key="k1", created_at="2026-01-01T00:00:00Z")
    id_ = accepted(memory, first)[0].id
    again = accepted(memory, first._replace(created_at="2026-01-02T00:00:00Z"))[0]
    told = ingest_queue.accept(memory, [first._replace(session_summary="We use Kafka.")], BY)
    assert (again.id, again.repeated, again.length) == (id_, True, 13)
    assert told == [IdempotencyConflict(id_)]
    assert ingest_queue.backlog(memory).waiting == 1
    assert database(memory).rows("SELECT count(*) FROM operations") == [(1,)]


def test_two_idempotency_keys_that_look_like_secrets_remain_different(memory: Memory) -> None:
    keys = ["a3f5" * 16, "b4e6" * 16]
    both = accepted(memory, *(Ingest("We use Redis.", idempotency_key=key) for key in keys))
    assert len({told.id for told in both}) == 2


def test_a_text_that_a_batch_contains_twice_under_one_key_is_accepted_once(memory: Memory) -> None:
    both = accepted(memory, *[Ingest("We use Redis.", idempotency_key="k1")] * 2)
    assert both[0].id == both[1].id
    assert [told.repeated for told in both] == [False, True]


def test_nothing_is_accepted_while_memory_is_off(world: World) -> None:
    memory = world.memory(MEMORY_FABRIC="off")
    with pytest.raises(StoreUnavailable):
        ingest_queue.accept(memory, [Ingest("We use Redis.")], BY)
    assert ingest_queue.backlog(memory) == ingest_queue.Backlog()


def test_nothing_of_a_batch_is_accepted_on_a_full_disk(memory: Memory) -> None:
    one(memory, "first")
    connection = database(memory).connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailable):
        ingest_queue.accept(memory, [Ingest("small"), Ingest("much " * 20_000)], BY)
    connection.execute("PRAGMA max_page_count = 1000000")
    assert ingest_queue.backlog(memory).waiting == 1
    assert database(memory).rows("SELECT count(*) FROM operations") == [(1,)]
    assert not list(Path(memory.queue_folder("project")).glob("graph-queue*"))


def test_either_all_operations_of_one_call_are_applied_or_none(memory: Memory) -> None:
    def operation(number: int, kind: str, payload: Mapping[str, object]) -> Operation:
        return Operation(f"op-{number}", kind, payload, USER._replace(at=timestamp(NOW)))

    fine = operation(1, "create_entities", {"entities": [entity("api", "a")]})
    missing = {"observations": [{"entityName": "ghost", "contents": ["b"]}]}
    db = memory.database("project", create=True)
    assert db is not None
    with pytest.raises(NotFound):
        write.apply_all(db, [fine, operation(2, "add_observations", missing)])
    with pytest.raises(BadInput):
        write.apply_all(db, [fine, operation(3, "no such kind", {})])
    assert db.rows("SELECT count(*) FROM entities") == [(0,)]
    told = write.apply_all(db, [fine, fine])
    assert told[0]["entities"] == [entity("api", "a")]
    assert told[1] == {"applied_before": True}


def test_each_text_is_assigned_to_one_worker_and_the_oldest_comes_first(memory: Memory) -> None:
    ids = [one(memory, f"text {n}") for n in range(2)]
    first, second = claimed(memory, "w1"), claimed(memory, "w2")
    assert [first.id, second.id] == ids
    assert (first.attempts, first.accepted_at) == (1, timestamp(NOW))
    assert first.ingest.session_summary == "text 0"
    assert ingest_queue.claim(memory, "w3", NOW, LEASE_S) is None
    assert ingest_queue.backlog(memory).working == 2
    assert ingest_queue.next_due_s(memory, NOW) == LEASE_S
    assert ingest_queue.next_due_s(memory, NOW + LEASE_S) == 0.0


def test_the_session_and_model_that_a_text_names_are_stored_or_else_those_of_the_caller(
    memory: Memory,
) -> None:
    by = BY._replace(session="s1", agent="a1", at=timestamp(NOW))
    ingest_queue.accept(memory, [Ingest("a", session_id="s2", source_model="m")], by)
    ingest_queue.accept(memory, [Ingest("b", source_model="m")], by._replace(agent=""))

    stored = database(memory).rows(
        "SELECT session, json_extract(provenance, '$.agent') FROM operations ORDER BY seq"
    )
    assert stored == [("s2", "a1"), ("s1", "m")]


def test_an_error_keeps_its_slashes_if_the_home_of_the_user_is_the_top_folder(
    world: World,
) -> None:
    memory = world.memory(HOME="/")
    id_ = one(memory)
    claimed(memory)

    ingest_queue.fail(memory, id_, "w1", "neither/nor", NOW)

    found = ingest_queue.find(memory, id_)
    assert found is not None and found.error == "neither/nor"


def test_a_processed_text_has_its_result_and_is_not_claimed_again(memory: Memory) -> None:
    id_ = one(memory)
    claimed(memory)
    assert ingest_queue.finish(memory, id_, "w1", {"records": ["r1"]})
    found = ingest_queue.find(memory, id_)
    assert found is not None
    assert (found.state, found.records, found.length) == ("done", ("r1",), 13)
    assert found.ended_at
    assert ingest_queue.claim(memory, "w1", NOW + 1e6, LEASE_S) is None
    assert ingest_queue.backlog(memory) == ingest_queue.Backlog()


def test_a_worker_whose_lease_expired_cannot_finish_a_text_claimed_by_another_worker(
    memory: Memory,
) -> None:
    id_ = one(memory)
    claimed(memory, "w1")
    assert ingest_queue.claim(memory, "w2", NOW + LEASE_S - 1, LEASE_S) is None
    again = claimed(memory, "w2", NOW + LEASE_S)
    assert (again.id, again.attempts) == (id_, 2)
    assert not ingest_queue.finish(memory, id_, "w1", {})
    assert not ingest_queue.fail(memory, id_, "w1", "late", NOW)
    assert not ingest_queue.save_progress(memory, id_, "w1", {}, NOW)
    assert state_of(memory, id_) == "working"
    assert ingest_queue.finish(memory, id_, "w2", {})


def test_progress_is_passed_to_the_next_worker_and_extends_the_lease(memory: Memory) -> None:
    id_ = one(memory)
    claimed(memory, "w1")
    assert ingest_queue.save_progress(memory, id_, "w1", {"step": 3}, NOW + 10 * LEASE_S)
    assert ingest_queue.claim(memory, "w2", NOW + 9 * LEASE_S, LEASE_S) is None
    assert claimed(memory, "w2", NOW + 10 * LEASE_S).progress == {"step": 3}


def test_a_text_whose_processing_fails_is_retried_with_growing_delays_and_then_given_up(
    memory: Memory,
) -> None:
    id_, now, waits = one(memory), NOW, []
    for attempt in range(1, ingest_queue.MAX_ATTEMPTS + 1):
        assert claimed(memory, "w1", now).attempts == attempt
        assert ingest_queue.fail(memory, id_, "w1", f"error {attempt}", now)
        due_s = ingest_queue.next_due_s(memory, now)
        if due_s is not None:
            assert ingest_queue.claim(memory, "w1", now + due_s - 0.01, LEASE_S) is None
            waits.append(round(due_s))
            now += due_s + 0.001
    assert waits == [10, 20, 40, 80, 160]
    found = ingest_queue.find(memory, id_)
    assert found is not None
    assert (found.state, found.error) == ("dead", f"error {ingest_queue.MAX_ATTEMPTS}")
    assert ingest_queue.backlog(memory) == ingest_queue.Backlog(dead=1, last_error=found.error)
    assert ingest_queue.claim(memory, "w1", now + 1e6, LEASE_S) is None


def test_no_retry_delay_exceeds_the_cap() -> None:
    assert ingest_queue.retry_s(1000) == ingest_queue.retry_s(20) == ingest_queue.MOST_RETRY_S
    assert [ingest_queue.retry_s(attempts) for attempts in (0, 1, 9, 10)] == [10, 10, 2560, 3600]


def test_a_text_that_crashes_its_workers_is_finally_given_up(memory: Memory) -> None:
    id_, now = one(memory), NOW
    for _ in range(ingest_queue.MAX_ATTEMPTS):
        claimed(memory, "w1", now)
        now += LEASE_S
    other = one(memory, "harmless")
    assert claimed(memory, "w1", now).id == other
    found = ingest_queue.find(memory, id_)
    assert found is not None
    assert (found.state, found.error) == ("dead", ingest_queue.LOST)


def test_a_stored_error_contains_no_secret_and_is_truncated(memory: Memory) -> None:
    id_ = one(memory)
    claimed(memory)
    ingest_queue.fail(memory, id_, "w1", f"bad key {SECRET}\n" + "x " * 1000, NOW)
    found = ingest_queue.find(memory, id_)
    assert found is not None
    assert SECRET not in found.error
    assert "\n" not in found.error
    assert len(found.error) <= ingest_queue.MAX_ERROR_CHARS


def test_a_secret_in_a_domain_name_is_not_stored_even_in_normalised_form(
    world: World, memory: Memory
) -> None:
    accepted(memory, Ingest("a b c d", domain=f"key {SECRET}"))
    memory.flush()

    lost = SECRET.lower().replace("-", "_").encode()
    held = [p for p in world.root.rglob("*") if p.is_file() and lost in p.read_bytes().lower()]
    assert held == []


def test_setting_the_clock_back_does_not_delay_a_text(memory: Memory) -> None:
    id_ = one(memory)

    assert ingest_queue.next_due_s(memory, 0.0) == 0.0
    claimed_now = ingest_queue.claim(memory, "w", 0.0, LEASE_S)

    assert claimed_now is not None and claimed_now.id == id_


def test_a_stored_error_contains_no_path_of_this_machine(world: World, memory: Memory) -> None:
    id_ = one(memory)
    ingest_queue.claim(memory, "w", NOW, 60)

    ingest_queue.fail(memory, id_, "w", f"{world.home}/x.db, {world.project}, {world.root}/y", NOW)

    found = ingest_queue.find(memory, id_)
    assert found is not None and found.error == "…/x.db, …, …/y"


def test_a_text_that_failed_for_good_can_be_found_by_a_short_id_retried_or_dropped(
    memory: Memory,
) -> None:
    id_, other = one(memory), one(memory, "another")
    for n in range(ingest_queue.MAX_ATTEMPTS):
        claimed(memory, "w1", NOW + n * 1e5)
        claimed(memory, "w1", NOW + n * 1e5)
        ingest_queue.fail(memory, id_, "w1", "boom", NOW + n * 1e5)
        ingest_queue.fail(memory, other, "w1", "boom", NOW + n * 1e5)
    assert [p.id for p in ingest_queue.listed(memory, ("dead",))] == [id_, other]
    assert ingest_queue.find_by_short_id(memory, id_[-8:]).id == id_
    assert ingest_queue.retry(memory, [id_, "unknown"], NOW) == 1
    assert claimed(memory, "w1", NOW).attempts == 1
    assert ingest_queue.drop(memory, [other, "unknown"], USER) == 1
    assert ingest_queue.find(memory, other) is None
    with pytest.raises(NotFound):
        ingest_queue.find_by_short_id(memory, other)


def test_a_text_in_progress_is_not_retried(memory: Memory) -> None:
    id_ = one(memory)
    claimed(memory)
    assert ingest_queue.retry(memory, [id_], NOW) == 0
    assert state_of(memory, id_) == "working"


def test_a_rebuilt_database_contains_the_accepted_texts_and_their_results(world: World) -> None:
    memory = world.memory()
    done, waiting, dropped = one(memory), one(memory, "waits"), one(memory, "dropped")
    claimed(memory)
    ingest_queue.finish(memory, done, "w1", {"records": ["r1"]})
    ingest_queue.drop(memory, [dropped], USER)
    memory.flush()
    path = memory.path_of("project")
    memory.close()
    Path(path).unlink()
    rebuilt = world.memory(repair=True)
    database(rebuilt)
    assert [p.id for p in ingest_queue.listed(rebuilt, ("waiting",))] == [waiting]
    found = ingest_queue.find(rebuilt, done)
    assert found is not None
    assert (found.state, found.records) == ("done", ("r1",))
    assert ingest_queue.find(rebuilt, dropped) is None


def test_texts_accepted_by_a_killed_process_are_kept(world: World) -> None:
    process = world.start(ACCEPT_AND_DIE)
    id_ = process.communicate(timeout=60)[0].strip()
    assert process.returncode == -signal.SIGKILL
    assert state_of(world.memory(), id_) == "waiting"


ACCEPT_AND_DIE = """
import os, signal
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance
from memory_fabric.store.queues import ingest_queue as intake
from memory_fabric.store.memory import Memory
from memory_fabric.store.forget import purge as purging
memory = Memory.open(read_settings(os.environ, {}))
told = intake.accept(memory, [intake.Ingest("We use Redis.")], Provenance("ingest"))
print(told[0].id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_query_for_waiting_texts_uses_an_index_of_unprocessed_texts(memory: Memory) -> None:
    one(memory)
    plan = database(memory).rows(
        "EXPLAIN QUERY PLAN SELECT seq FROM intake WHERE state <> 'done' AND state = 'waiting' "
        "AND due_at <= '9' ORDER BY due_at, seq LIMIT 1"
    )
    assert any("intake_open" in str(row[-1]) for row in plan)


# --- what is erased, expires or moves ------------------------------------------------------------

PRIVATE = "Ann Smith will leave the company in May"


def worked_off(memory: Memory) -> None:
    while (one_of_them := ingest_queue.claim(memory, "w1", NOW, LEASE_S)) is not None:
        assert try_once(memory, one_of_them, "w1", lambda: NOW, LEASE_S)


def test_a_purge_covers_texts_that_are_done_dead_waiting_and_in_progress(
    world: World, memory: Memory
) -> None:
    done = accepted(memory, Ingest(f"Hear this: {PRIVATE}.", (PRIVATE,), session_id="s1"))[0].id
    worked_off(memory)
    working = one(memory, f"Again:\n{PRIVATE.upper()}", idempotency_key="k1")
    at_work = claimed(memory)
    ingest_queue.save_progress(
        memory, working, "w1", {"plan": [{"what": PRIVATE}], "step": 0}, NOW + LEASE_S
    )
    waiting, harmless = one(memory, f"  {PRIVATE}!"), one(memory, "We use Redis for sessions.")
    memory.flush()
    backup.create(memory.path_of("project"))
    found = purge.find(memory, intake_record(memory, done))
    assert purge.preview(memory, found)[0]["ingests"] == 3
    purge.purge(memory, found, Provenance("cli", trust="user"))
    assert PRIVATE.lower().encode() not in world.all_bytes().lower()
    assert not ingest_queue.finish(memory, at_work.id, "w1", {})
    for id_ in (done, working, waiting):
        found_text = ingest_queue.find(memory, id_)
        assert found_text is not None
        assert (found_text.state, found_text.error) == ("done", ingest_queue.PURGED)
    assert [p.id for p in ingest_queue.listed(memory, ("waiting",))] == [harmless]
    kept = ingest_queue.ingest_of(memory, harmless)
    assert kept is not None
    assert kept.session_summary == "We use Redis for sessions."
    again = accepted(memory, Ingest(f"Again:\n{PRIVATE.upper()}", idempotency_key="k1"))[0]
    assert (again.id, again.repeated) == (working, True)


def intake_record(memory: Memory, id_: str) -> str:
    """A record that the text brought."""
    found = ingest_queue.find(memory, id_)
    assert found is not None
    return found.records[0]


def test_a_database_rebuilt_after_a_purge_contains_no_purged_text(world: World) -> None:
    memory = world.memory()
    done = accepted(memory, Ingest(f"Hear this: {PRIVATE}.", (PRIVATE,)))[0].id
    worked_off(memory)
    memory.flush()
    found = purge.find(memory, intake_record(memory, done))
    purge.purge(memory, found, Provenance("cli", trust="user"))
    path = Path(memory.path_of("project"))
    memory.close()
    path.unlink()
    for copy in path.parent.glob("backups/*"):
        copy.unlink()
    rebuilt = world.memory(repair=True)
    assert ingest_queue.listed(rebuilt, ingest_queue.STATES) == []
    rebuilt.close()
    assert PRIVATE.encode() not in world.all_bytes()


def test_the_content_of_processed_texts_expires_and_their_results_are_kept(memory: Memory) -> None:
    done = accepted(memory, Ingest("We use Redis for sessions.", ("Kafka carries events",)))[0].id
    worked_off(memory)
    waiting = one(memory, "We use Valkey for sessions.")
    before = ingest_queue.find(memory, done)
    records = memory.find_records("1")
    sync.expire(memory, "texts", "1999-01-01T00:00:00.000Z")
    assert ingest_queue.find(memory, done) == before
    sync.expire(memory, "texts", "9999")
    assert ingest_queue.find(memory, done) == before
    assert memory.find_records("1") == records
    kept = ingest_queue.ingest_of(memory, done)
    assert kept is not None
    assert (kept.session_summary, kept.key_decisions) == ("", ())
    rows = database(memory).rows("SELECT payload FROM operations WHERE kind = 'ingest'")
    assert [("Redis" in payload, "Valkey" in payload) for (payload,) in rows] == [
        (False, False),
        (False, True),
    ]
    other = ingest_queue.ingest_of(memory, waiting)
    assert other is not None
    assert other.session_summary


def test_a_repeated_text_whose_content_expired_is_reported_with_its_original_length(
    memory: Memory,
) -> None:
    sent = Ingest("We use Redis for sessions.", idempotency_key="k")
    [first] = accepted(memory, sent)
    worked_off(memory)
    sync.expire(memory, "texts", "9999")

    [again] = accepted(memory, sent)

    assert (again.id, again.length, again.repeated) == (first.id, first.length, True)


def test_undo_restores_a_dropped_text_with_its_state(memory: Memory) -> None:
    done = one(memory)
    worked_off(memory)
    waiting = one(memory, "waits")
    before = ingest_queue.find(memory, done)
    assert ingest_queue.drop(memory, [done, waiting], USER) == 2
    undo.undo(memory, [undo.last(memory)], USER)
    again = ingest_queue.find(memory, done)
    assert before is not None
    assert again is not None
    assert (again.state, again.records) == ("done", before.records)
    assert state_of(memory, waiting) == "waiting"


def test_history_describes_each_ingested_text_in_one_phrase(memory: Memory) -> None:
    id_ = one(memory, "Noted decision: Redis holds the carts.")
    worked_off(memory)
    ingest_queue.drop(memory, [id_], USER)
    told = [changes.summary(c, lambda _: None) for c in changes.read_all(memory)]
    assert told[0] == "dropped 1 ingested text"
    assert told[-1] == "ingested a text of claude-code-hook: Noted decision: Redis holds the carts."
    assert f"processed the text {id_[-8:]}: 1 record" in told


def test_unprocessed_texts_are_copied_along_to_another_project(world: World) -> None:
    memory = world.memory()
    done = one(memory)
    worked_off(memory)
    waiting = one(memory, "We use Valkey for sessions.", idempotency_key="k1")
    path = memory.path_of("project")
    memory.close()
    other = World(world.root, "shop").memory()
    for _ in range(2):
        link.copy_into(other, path, "project old", USER)
    assert [p.id for p in ingest_queue.listed(other, ingest_queue.STATES)] == [waiting]
    assert ingest_queue.find(other, done) is None
    came = changes.of_batch(other, "project old")
    undo.undo(other, came, USER)
    assert ingest_queue.listed(other, ingest_queue.STATES) == []


def test_the_words_of_a_text_that_was_copied_from_another_project_expire_too(world: World) -> None:
    memory = world.memory()
    one(memory, "We use Valkey for sessions.")
    path = memory.path_of("project")
    memory.close()
    other = World(world.root, "shop").memory()
    link.copy_into(other, path, "project old", USER)
    worked_off(other)
    sync.expire(other, "texts", "9999")
    rows = database(other).rows("SELECT payload FROM operations WHERE kind = 'ingest'")
    assert ["Valkey" in payload for (payload,) in rows] == [False]


def test_a_purged_text_can_be_dropped_and_an_undo_restores_it_as_done(memory: Memory) -> None:
    id_ = one(memory, "The walrus sings in tangerine.")
    purge.purge(memory, purge.find(memory, "walrus sings"), USER)

    assert ingest_queue.drop(memory, [id_], USER) == 1

    undo.undo(memory, [undo.last(memory)], USER)
    assert state_of(memory, id_) == "done"
