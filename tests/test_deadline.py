"""One deadline an event: what is in time is done, the rest is left to a later event and counted."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from memory_fabric import deadline, dispatcher
from memory_fabric.deadline import Deadline, running
from memory_fabric.errors import DeadlinePassed
from memory_fabric.store import files
from memory_fabric.store.log import late_events
from simulated_client import SimulatedClient

CORRECTIONS = "no, we use X here, not Y. " * 2600


class Counted(Deadline):
    """A deadline that is over once it was asked so many times."""

    def __init__(self, asked: int, **more: Any) -> None:
        super().__init__(3600, **more)
        self.left = asked

    def is_over(self) -> bool:
        self.left -= 1
        return self.left < 0


class Hearing(Deadline):
    """A deadline whose parts are over once they were asked so many times; the rest has time."""

    def __init__(self, asked: int) -> None:
        super().__init__(3600)
        self.asked, self.left, self.whole_s = asked, -1, self.ends_s

    def part(self, share: float) -> Any:
        self.left = self.asked
        return super().part(share)

    def is_over(self) -> bool:
        self.left -= self.left > 0
        return self.left == 0 and self.ends_s < self.whole_s


def fire(client: SimulatedClient, limit: Deadline, name: str, **fields: Any) -> dict[str, Any]:
    """The reply to an event that has this deadline."""
    data = {
        "hook_event_name": name,
        "session_id": "session-1",
        "transcript_path": str(client.transcript),
        "cwd": str(client.project),
        **fields,
    }
    output = dispatcher.run(json.dumps(data).encode(), client.environ, lambda _: limit)
    reply: dict[str, Any] = json.loads(output) if output else {}
    return reply


@pytest.fixture
def client(tmp_path: Path) -> SimulatedClient:
    return SimulatedClient(tmp_path)


def late(client: SimulatedClient) -> dict[str, int]:
    return late_events([str(client.fabric_home / "logs")])


def test_time_is_what_the_clock_says_or_what_the_process_has_used() -> None:
    assert not Deadline().is_limited and not Deadline().is_over()
    assert Deadline(-1).is_over()
    assert Deadline(3600, work_s=-1).is_over()
    assert not Deadline(3600, work_s=3600).is_over()
    with pytest.raises(DeadlinePassed, match="before the last sentence"):
        Deadline(-1).check("the last sentence")


def test_a_part_ends_before_the_whole() -> None:
    whole = Deadline(100)
    with whole.part(0.5):
        assert 40 < whole.ends_s - Deadline(0).ends_s < 51
    assert whole.ends_s - Deadline(0).ends_s > 90


def test_locks_of_files_are_waited_for_no_longer_than_the_event_may(tmp_path: Path) -> None:
    path = str(tmp_path / "x.lock")
    limit = Deadline(3600, lock_s=0.05)
    with files.Locked(path), running(limit):
        for _ in range(2):
            with pytest.raises(TimeoutError), files.Locked(path, 5.0):
                raise AssertionError("two at once")
        assert limit.file_wait_s(5.0) == 0


def test_what_a_prompt_had_no_time_for_is_captured_at_stop_from_the_transcript(
    client: SimulatedClient,
) -> None:
    prompt = f"We decided to use PostgreSQL for the shop. {CORRECTIONS[:2000]}"
    assert fire(client, Counted(8, hurried=True), "UserPromptSubmit", prompt=prompt) == {}
    assert client.records() == []
    assert late(client) == {"UserPromptSubmit": 1}
    client.say("user", prompt)
    client.fire("Stop")
    assert any("PostgreSQL" in record.what for record in client.records())
    assert "out of time" in client.command("status").stdout.lower()


def test_a_transcript_is_read_turn_by_turn_over_as_many_events_as_it_takes(
    client: SimulatedClient,
) -> None:
    for name in ("Redis", "Kafka", "SQLite", "Nginx", "Docker"):
        client.say("user", f"We decided to use {name} for the shop.")
    stops = 0
    while len(client.records("type = 'decision'")) < 5:
        fire(client, Hearing(12), "Stop")
        stops += 1
        assert stops < 40
    assert stops > 1
    assert late(client)["Stop"] >= 1
    client.fire("Stop")
    assert len(client.records("type = 'decision'")) == 5


def test_a_first_turn_that_no_event_has_time_for_is_passed_over_at_the_second_try(
    client: SimulatedClient,
) -> None:
    client.say("user", CORRECTIONS)
    client.say("user", "We decided to use Redis for the shop.")
    for _ in range(2):
        fire(client, Hearing(40), "Stop")
        assert client.records() == []
    client.fire("Stop")
    assert [record.what for record in client.records()] == ["We decided to use Redis for the shop"]
    memory = client.memory()
    assert len(memory.session_database().rows("SELECT 1 FROM episodes")) == 2
    memory.close()


@pytest.mark.parametrize("event", ["SessionStart", "Stop", "PreCompact", "SessionEnd"])
def test_a_locked_store_is_waited_for_once(client: SimulatedClient, event: str) -> None:
    client.prompt("We decided to use PostgreSQL for the shop.")
    client.say("user", "We decided to use Redis for the shop.")
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
