"""One deadline an event: what is in time is done, the rest is left to a later event and counted."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from counted_time import Counted, fire
from memory_fabric import deadline
from memory_fabric.deadline import Deadline, running
from memory_fabric.errors import DeadlinePassed, EventRevoked
from memory_fabric.store import files
from memory_fabric.store.home.log import late_events
from simulated_client import SimulatedClient


@pytest.fixture
def client(tmp_path: Path) -> SimulatedClient:
    return SimulatedClient(tmp_path)


def late(client: SimulatedClient) -> dict[str, int]:
    return late_events([str(client.fabric_home / "logs")])


def test_a_deadline_ends_by_wall_clock_time_or_by_cpu_time() -> None:
    assert not Deadline().is_limited and not Deadline().is_over()
    assert Deadline(-1).is_over()
    assert Deadline(3600, work_s=-1).is_over()
    limited = (Deadline(3600), Deadline(work_s=3600), Deadline(lock_s=3600))
    assert all(one.is_limited and not one.is_over() for one in limited)
    for in_time in (Deadline(), *limited):
        in_time.check("the last sentence")
    with pytest.raises(DeadlinePassed, match="before the last sentence"):
        Deadline(-1).check("the last sentence")


def test_a_deadline_applies_to_one_thread_and_counts_only_that_threads_cpu_time() -> None:
    limit, seen = Deadline(3600, work_s=0.05), []
    worked, done = threading.Event(), threading.Event()

    def other() -> None:
        seen.append(deadline.current().is_limited)
        with running(Deadline(-1)):
            while time.thread_time() < 0.2:
                sum(range(1000))
            worked.set()
            done.wait()
        seen.append(deadline.current().is_limited)

    thread = threading.Thread(target=other)
    with running(limit):
        thread.start()
        worked.wait()  # looking for it again and again would be work of this thread
        assert deadline.current() is limit and not limit.is_over()
        done.set()
        thread.join()
    assert seen == [False, False] and not deadline.current().is_limited


def test_an_event_cancelled_by_its_hook_writes_nothing(client: SimulatedClient) -> None:
    limit = Deadline(3600)
    limit.is_revoked = lambda: True

    with pytest.raises(EventRevoked):
        fire(client, limit, "UserPromptSubmit", prompt="We decided to use Redis for the carts.")

    assert client.records() == []


def test_a_deadline_can_be_shortened_for_one_step_and_is_then_restored() -> None:
    whole = Deadline(100)
    with whole.part(0.5):
        assert 40 < whole.ends_s - Deadline(0).ends_s < 51
    assert whole.ends_s - Deadline(0).ends_s > 90


def test_a_wait_is_limited_by_its_caller_by_its_kind_of_lock_and_by_the_deadline() -> None:
    limit = Deadline(3600, lock_s=2.0)
    limit.file_lock_s = 1.0

    assert limit.wait_s(0.5) == limit.wait_s(0.5, for_file=True) == 0.5
    assert (limit.wait_s(5.0), limit.wait_s(5.0, for_file=True)) == (2.0, 1.0)
    assert Deadline(-1).wait_s(5.0) == 0.0
    assert Deadline().wait_s(5.0) == 5.0


def test_work_that_is_postponed_several_times_is_listed_once() -> None:
    limit = Deadline()
    for what in ("the backup", "the index", "the backup"):
        limit.postpone(what)

    assert limit.postponed == ["the backup", "the index"]


def test_an_inner_deadline_counts_instead_of_the_outer_one_until_it_ends() -> None:
    assert not deadline.is_over()
    with running(Deadline(-1)):
        assert deadline.is_over()
        with running(Deadline(3600)):
            assert not deadline.is_over()
        assert deadline.is_over()
    assert not deadline.is_over()


def test_a_process_that_has_ended_has_no_age() -> None:
    assert deadline.process_age_s(0) == 0.0
    assert deadline.process_age_s() > 0.0


def test_waiting_for_a_file_lock_ends_at_the_deadline_of_the_event(tmp_path: Path) -> None:
    path = str(tmp_path / "x.lock")
    limit = Deadline(3600, lock_s=0.05)
    with files.Locked(path), running(limit):
        for _ in range(2):
            with pytest.raises(TimeoutError), files.Locked(path, 5.0):
                raise AssertionError("two at once")
        assert limit.wait_s(5.0, for_file=True) == 0


def test_a_note_missed_for_lack_of_time_is_stored_at_the_next_stop_event(
    client: SimulatedClient,
) -> None:
    client.say("user", "Go on, please.")
    client.say("assistant", "Noted decision: PostgreSQL holds the orders of the shop.")
    fire(client, Counted(1), "Stop")
    assert client.records() == []
    assert late(client) == {"Stop": 1}
    client.fire("Stop")
    assert any("PostgreSQL" in record.what for record in client.records())
    assert "out of time" in client.command("status").stdout.lower()


def test_the_user_is_told_once_that_prompts_got_no_memories_for_lack_of_time(
    client: SimulatedClient,
) -> None:
    error = "refuses the quorum of ledger_shard_7"
    client.command("remember", "--type", "solution", f'make says "{error}": run ledgerctl heal 7')
    client.fire("SessionStart", source="startup")
    log = {"prompt": "Why?\n" + "ran a step\n" * 20 + f"Error: {error}"}
    with running(Deadline()):
        memory = client.memory()
    path = memory.session_database().path
    memory.close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # what is counted needs no database

    for _ in range(2):
        assert fire(client, Deadline(-1, hurried=True), "UserPromptSubmit", **log) == {}

    other.execute("ROLLBACK")
    other.close()
    assert late(client) == {"UserPromptSubmit": 2}
    said = " ".join(client.command("status").stdout.lower().split())
    assert "not told what memory knows, for want of time: 2 prompts" in said
    assert json.loads(client.command("status", "--json").stdout)["not_told"] == 2
    notice = fire(client, Deadline(), "Stop")["systemMessage"]
    assert "was not told what memory knows" in notice and "memory-fabric status" in notice
    assert fire(client, Deadline(-1, hurried=True), "UserPromptSubmit", **log) == {}
    assert "not told" not in json.dumps(fire(client, Deadline(), "Stop"))


@pytest.mark.parametrize("event", ["SessionStart", "Stop", "PreCompact", "SessionEnd"])
def test_an_event_waits_only_once_for_a_database_lock(client: SimulatedClient, event: str) -> None:
    client.prompt("We decided to use PostgreSQL for the shop.")
    client.say("assistant", "Noted decision: Redis holds the carts of the shop.")
    limit = Deadline(3600, lock_s=0.2)
    with running(Deadline()):
        memory = client.memory()
    path = memory.session_database().path
    memory.close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    fire(client, limit, event, source="startup", reason="other", trigger="manual")
    assert limit.lock_s <= 0.05
    other.execute("ROLLBACK")
    other.close()
    assert not deadline.current().is_limited
    client.fire("Stop")
    assert any("Redis" in record.what for record in client.records())


@pytest.mark.parametrize("asked", range(24))
def test_a_note_stored_just_in_time_is_reported_to_the_user(
    client: SimulatedClient, asked: int
) -> None:
    for text, limit in (("The cellar is dry", Deadline()), ("The attic is dry", Counted(asked))):
        client.prompt("Go on, please.")
        client.say("assistant", f"Noted fact: {text}.")
        client.say("assistant", "All right.")
        said = fire(client, limit, "Stop", last_assistant_message="All right.")
    said = said["systemMessage"] + str(fire(client, Deadline(), "Stop"))

    assert client.records()[0].what == "The attic is dry"
    assert "remembered fact" in said
