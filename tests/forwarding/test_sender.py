"""The sender: each item arrives, whatever the receiver, the network or a kill does meanwhile."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memory_fabric import processes
from memory_fabric.config import Settings
from memory_fabric.forwarding import sender
from memory_fabric.forwarding.sender import Answer, Sent, delay_after, deliver, may_send, send_now
from memory_fabric.store import files
from memory_fabric.store.home import switches
from memory_fabric.store.queues import spool
from receiver import Receiver, Says
from thorough import IS_THOROUGH

NOW_S = 1_800_000_000.0
# Steps from one at which a sender is killed to the next.
STRIDE = 1 if IS_THOROUGH else 11
HERE, THERE = "http://127.0.0.1:9/v1/memory/ingest", "http://127.0.0.1:8/v1/memory/ingest"
KEY = "-".join(("a", "plain", "key"))
PLUGIN = Path(__file__).parents[2] / "plugin"
DOWN = Answer(0, "Nothing listens at 127.0.0.1:9.", "Start the receiver.")


class Time:
    """A clock that moves only where somebody waits."""

    def __init__(self) -> None:
        self.at, self.waited = NOW_S, list[float]()
        self.clock = sender.Clock(lambda: self.at, self.wait, lambda: 1.0)

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.at += seconds


class Post:
    """A receiver without a network: what came, and what is answered by the time of asking."""

    def __init__(self, answer: Callable[[dict[str, Any]], Answer] = lambda body: Answer(202)):
        self.answer, self.keys, self.asked = answer, list[str](), 0

    def __call__(self, body: bytes, key: str) -> Answer:
        self.asked += 1
        answer = self.answer(json.loads(body))
        if answer.status == 202:
            self.keys.append(key)
        return answer


def settings(home: Path, url: str = HERE, key: str = KEY) -> Settings:
    return Settings(str(home), str(home), forward_url=url, forward_key=key)


def put(home: Path, *keys: str, to: str = HERE, place: str = "", at_s: float = NOW_S) -> None:
    for number, key in enumerate(keys):
        body = {"session_summary": f"text of {key}", "idempotency_key": key}
        assert spool.add(str(home), to, place, body, at_s + number / 1000)


def left(home: Path) -> list[str]:
    return [item.key for item in spool.waiting(str(home))]


def backlog(home: Path, url: str = HERE) -> spool.Backlog:
    return spool.backlog(str(home), url)


class TestDelivering:
    def test_all_items_are_sent_once_and_in_order_and_leave_the_spool_empty(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, "a", "b", "c")
        post = Post()

        deliver(settings(tmp_path), post, Time().clock)

        assert post.keys == ["a", "b", "c"] and left(tmp_path) == []
        assert backlog(tmp_path).last_success == "2027-01-15T08:00:00.000Z"

    def test_items_added_while_the_receiver_is_down_for_an_hour_are_all_sent_later(
        self, tmp_path: Path
    ) -> None:
        clock = Time()
        up_s = NOW_S + 3600
        post = Post(lambda body: Answer(202) if clock.at >= up_s else DOWN)
        kept: list[str] = []
        while clock.at < up_s + 1800:  # a turn ends every two minutes
            kept.append(f"turn{len(kept)}")
            put(tmp_path, kept[-1], at_s=clock.at)
            if spool.is_due(str(tmp_path), HERE, clock.at):
                deliver(settings(tmp_path), post, clock.clock)
            clock.at += 120

        assert post.keys == kept
        assert left(tmp_path) == []
        assert post.asked - len(kept) < 20  # it was not pestered meanwhile
        assert max(clock.waited) <= sender.LONGEST_PAUSE_S

    @pytest.mark.parametrize("status", [301, 302, 307, 401, 403, 404, 405, 408, 429, 500, 503, 0])
    def test_an_item_stays_in_the_spool_after_a_temporary_failure(
        self, tmp_path: Path, status: int
    ) -> None:
        put(tmp_path, "a")

        deliver(
            settings(tmp_path), Post(lambda body: Answer(status, "No.", "Do so.")), Time().clock
        )

        assert left(tmp_path) == ["a"] and spool.rejected(str(tmp_path)) == []
        found = backlog(tmp_path)
        assert (found.last_error, found.remedy) == ("No.", "Do so.")
        assert found.error_at and found.next_at > found.error_at

    @pytest.mark.parametrize("status", [400, 409, 413, 422])
    def test_a_permanently_rejected_item_is_set_aside_and_later_items_are_sent(
        self, tmp_path: Path, status: int
    ) -> None:
        put(tmp_path, "a", "b")

        def answer(body: dict[str, Any]) -> Answer:
            return Answer(202 if body["idempotency_key"] == "b" else status, "No.", text="why")

        deliver(settings(tmp_path), Post(answer), Time().clock)

        assert left(tmp_path) == []
        [aside] = spool.rejected(str(tmp_path))
        kept = spool.read(aside)
        assert aside.key == "a" and kept["body"]["session_summary"] == "text of a"
        told = {"status": status, "at": "2027-01-15T08:00:00.000Z", "told": "No.", "text": "why"}
        assert kept["answer"] == told

    @pytest.mark.parametrize("status", [200, 204, 299])
    def test_every_status_of_success_means_that_the_item_arrived(
        self, tmp_path: Path, status: int
    ) -> None:
        put(tmp_path, "a")

        sent = send_now(settings(tmp_path), Post(lambda body: Answer(status)), Time().clock)

        assert sent == Sent(arrived=1) and left(tmp_path) == []

    def test_sending_once_reports_what_arrived_what_was_refused_and_the_last_failure(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, "202", "422", "202-too", "503", "202-later")

        def answer(body: dict[str, Any]) -> Answer:
            return Answer(int(body["idempotency_key"][:3]), "Said.")

        sent = send_now(settings(tmp_path), Post(answer), Time().clock)

        assert sent == Sent(2, 1, Answer(503, "Said."))
        assert left(tmp_path) == ["503", "202-later"]

    @pytest.mark.parametrize(
        ("status", "asked"), [(0, 1), (429, 1), (499, 1), (500, 2), (502, 2), (503, 1), (504, 2)]
    )
    def test_a_round_ends_at_the_second_failure_that_may_be_due_to_the_item(
        self, tmp_path: Path, status: int, asked: int
    ) -> None:
        put(tmp_path, *"abcd")
        post = Post(lambda body: Answer(status))

        send_now(settings(tmp_path), post, Time().clock)

        assert post.asked == asked and left(tmp_path) == [*"abcd"]

    @pytest.mark.parametrize("status", [202, 422])
    def test_failures_of_a_round_are_counted_from_the_last_item_that_was_answered(
        self, tmp_path: Path, status: int
    ) -> None:
        put(tmp_path, "bad", "b", "bad-too", "c", "bad-again", "bad-last", "d")

        def answer(body: dict[str, Any]) -> Answer:
            return Answer(500 if body["idempotency_key"].startswith("bad") else status)

        post = Post(answer)
        send_now(settings(tmp_path), post, Time().clock)

        assert post.asked == 6
        assert left(tmp_path) == ["bad", "bad-too", "bad-again", "bad-last", "d"]

    def test_failures_in_a_row_are_counted_for_each_receiver_until_an_item_arrives(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, "a", "b")
        put(tmp_path, "c", to=THERE)
        clock, counted = Time(), []
        down, refuses = Post(lambda body: DOWN), Post(lambda body: Answer(422))

        def half(body: dict[str, Any]) -> Answer:
            return DOWN if body["idempotency_key"] == "b" else Answer(202)

        posts = [(down, HERE), (down, HERE), (down, THERE), (down, HERE), (down, HERE)]
        for post, url in [*posts, (Post(half), HERE), (down, HERE), (refuses, HERE)]:
            send_now(settings(tmp_path, url), post, clock.clock)
            state = spool.state(str(tmp_path))
            counted.append((state["failures"], state["next_at"]))

        waits = [(1, 2), (2, 4), (1, 2), (1, 2), (2, 4), (1, 2), (2, 4)]
        assert counted == [*((n, NOW_S + wait_s) for n, wait_s in waits), (0, 0)]
        assert left(tmp_path) == ["c"]

    def test_a_damaged_count_of_failures_begins_anew(self, tmp_path: Path) -> None:
        put(tmp_path, "a")
        spool.update_state(str(tmp_path), to=HERE, failures="many")

        send_now(settings(tmp_path), Post(lambda body: DOWN), Time().clock)

        assert spool.state(str(tmp_path))["failures"] == 1

    @pytest.mark.parametrize(
        ("after_s", "waited"),
        [(sender.LONGEST_PAUSE_S, [sender.LONGEST_PAUSE_S]), (sender.LONGEST_PAUSE_S + 1, [])],
    )
    def test_the_sender_waits_for_a_short_pause_and_ends_before_a_longer_one(
        self, tmp_path: Path, after_s: float, waited: list[float]
    ) -> None:
        put(tmp_path, "a")
        answers = iter([Answer(429, retry_after_s=after_s), Answer(202)])
        clock = Time()

        deliver(settings(tmp_path), Post(lambda body: next(answers)), clock.clock)

        assert clock.waited == waited and left(tmp_path) == ([] if waited else ["a"])

    def test_sending_once_fails_while_another_sender_is_at_work(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(tmp_path, "a")
        monkeypatch.setattr(spool, "LOCK_S", 0.0)

        with (
            files.Locked(str(tmp_path / "forward" / sender.LOCK)),
            pytest.raises(TimeoutError),
        ):
            send_now(settings(tmp_path), Post(), Time().clock)

        assert left(tmp_path) == ["a"]

    def test_an_item_that_was_purged_meanwhile_is_not_set_aside(self, tmp_path: Path) -> None:
        put(tmp_path, "a", "b")
        second = Path(spool.waiting(str(tmp_path))[1].path)

        def answer(body: dict[str, Any]) -> Answer:
            second.unlink()
            return Answer(202)

        sent = send_now(settings(tmp_path), Post(answer), Time().clock)

        assert sent == Sent(arrived=1)
        assert left(tmp_path) == [] and spool.rejected(str(tmp_path)) == []
        assert backlog(tmp_path).last_error == ""

    def test_nothing_may_be_sent_without_a_receiver_or_while_memory_is_off(
        self, tmp_path: Path
    ) -> None:
        on = settings(tmp_path)
        assert may_send(on)
        for off in ({"forward_url": ""}, {"writes": False}, {"ci": True}):
            assert not may_send(on._replace(**off))
        switches.turn(str(tmp_path), switches.EVERYWHERE, ["write"], on=False)
        assert not may_send(on)

    def test_the_sender_logs_an_error_of_its_folder_and_fails(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("CI", "MEMORY_FABRIC", "MOE_MEMORY_ENDPOINT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("MEMORY_FABRIC_HOME", str(tmp_path))
        monkeypatch.setenv("MEMORY_FABRIC_FORWARD_URL", HERE)
        assert sender.main() == 0  # nothing waits
        put(tmp_path, "a")
        (tmp_path / "forward" / sender.LOCK).mkdir()

        assert sender.main() == 1

        [logged] = tmp_path.rglob("memory-fabric.log")
        assert "forward: " in logged.read_text("utf-8") and left(tmp_path) == ["a"]

    def test_an_item_that_makes_the_receiver_fail_does_not_stop_other_items(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, "bad", "b", "c")

        def answer(body: dict[str, Any]) -> Answer:
            return Answer(500 if body["idempotency_key"] == "bad" else 202, "It failed (500).")

        post = Post(answer)
        deliver(settings(tmp_path), post, Time().clock)

        assert post.keys == ["b", "c"] and left(tmp_path) == ["bad"]

    def test_retry_delays_double_up_to_a_limit_and_respect_retry_after(
        self,
    ) -> None:
        grown = [delay_after(n, 0, 1.0) for n in range(1, 12)]

        assert grown[:4] == [2, 4, 8, 16] and grown[-1] == sender.LAST_DELAY_S
        assert (delay_after(3, 0, 0.0), delay_after(3, 0, 0.5), delay_after(3, 5, 0.0)) == (4, 6, 5)
        assert delay_after(1, 77, 0.0) == 77
        assert delay_after(1, 1e9, 1.0) == spool.MAX_WAIT_S
        assert delay_after(10_000, 0, 1.0) == sender.LAST_DELAY_S

    def test_the_sender_ends_instead_of_waiting_minutes_for_the_next_attempt(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, "a")
        clock = Time()

        deliver(settings(tmp_path), Post(lambda body: Answer(429, retry_after_s=300)), clock.clock)

        assert clock.waited == []
        assert not spool.is_due(str(tmp_path), HERE, NOW_S + 299)
        assert spool.is_due(str(tmp_path), HERE, NOW_S + 300)

    def test_the_sender_ends_within_its_maximum_lifetime_if_the_receiver_keeps_failing(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, *(f"k{n}" for n in range(100)))
        clock, turns = Time(), iter(range(10_000))
        busy = DOWN._replace(retry_after_s=sender.LONGEST_PAUSE_S)
        post = Post(lambda body: Answer(202) if next(turns) % 2 else busy)

        deliver(settings(tmp_path), post, clock.clock)

        assert clock.at - NOW_S <= sender.LIFE_S
        assert 0 < len(left(tmp_path)) < 100

    def test_an_item_added_during_sending_is_sent_too(self, tmp_path: Path) -> None:
        put(tmp_path, "a")

        def answer(body: dict[str, Any]) -> Answer:
            if body["idempotency_key"] == "a":
                put(tmp_path, "b", at_s=NOW_S + 1)
            return Answer(202)

        post = Post(answer)
        deliver(settings(tmp_path), post, Time().clock)

        assert post.keys == ["a", "b"]

    def test_an_item_for_another_receiver_stays_in_the_spool(self, tmp_path: Path) -> None:
        put(tmp_path, "theirs", to=THERE)
        put(tmp_path, "ours", at_s=NOW_S + 1)
        post = Post()

        deliver(settings(tmp_path), post, Time().clock)

        assert post.keys == ["ours"] and left(tmp_path) == ["theirs"]

    @pytest.mark.parametrize("place", ["shop-1", switches.EVERYWHERE])
    def test_items_of_a_project_are_not_sent_while_writing_is_switched_off(
        self, tmp_path: Path, place: str
    ) -> None:
        put(tmp_path, "a", place="shop-1")
        switches.turn(str(tmp_path), place, ["write"], on=False)
        post = Post()

        deliver(settings(tmp_path), post, Time().clock)
        assert post.asked == 0 and left(tmp_path) == ["a"]

        switches.turn(str(tmp_path), place, ["write"], on=True)
        deliver(settings(tmp_path), post, Time().clock)
        assert post.keys == ["a"]

    def test_a_damaged_item_is_set_aside_and_later_items_are_sent(self, tmp_path: Path) -> None:
        put(tmp_path, "a", "b")
        Path(spool.waiting(str(tmp_path))[0].path).write_text("{half", "utf-8")
        post = Post()

        deliver(settings(tmp_path), post, Time().clock)

        assert post.keys == ["b"] and left(tmp_path) == []
        assert len(spool.rejected(str(tmp_path))) == 1
        assert "could not be read" in spool.state(str(tmp_path))["last_error"]

    def test_a_sender_sends_nothing_while_another_sender_holds_the_lock(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, "a")
        post = Post()

        with files.Locked(str(tmp_path / "forward" / sender.LOCK)):
            deliver(settings(tmp_path), post, Time().clock)

        assert post.asked == 0

    def test_a_home_folder_deleted_during_sending_is_not_created_again(
        self, tmp_path: Path
    ) -> None:
        home = tmp_path / "home"
        put(home, "a")

        def answer(body: dict[str, Any]) -> Answer:
            shutil.rmtree(home)
            return DOWN

        deliver(settings(home), Post(answer), Time().clock)

        assert not home.exists()


class TestAsAProcess:
    def test_the_sender_process_sends_waiting_items_and_ends(self, tmp_path: Path) -> None:
        with Receiver() as receiver:
            put(tmp_path, "a", "b", to=receiver.url)
            assert start(tmp_path, receiver).wait(60) == 0

        assert [r.key for r in receiver.requests] == ["a", "b"]
        assert left(tmp_path) == []

    def test_several_sender_processes_at_once_send_each_item_only_once(
        self, tmp_path: Path
    ) -> None:
        keys = [f"k{number:02}" for number in range(40)]
        with Receiver() as receiver:
            put(tmp_path, *keys, to=receiver.url)
            for process in [start(tmp_path, receiver) for _ in range(4)]:
                assert process.wait(60) == 0

        assert [r.key for r in receiver.requests] == keys
        assert left(tmp_path) == []

    def test_an_item_is_sent_again_with_the_same_key_if_its_sender_was_killed(
        self, tmp_path: Path
    ) -> None:
        with Receiver() as receiver:
            put(tmp_path, "a", to=receiver.url)
            started: list[subprocess.Popen[bytes]] = []
            receiver.answers = [Says(before=lambda: started[0].kill())]
            started.append(start(tmp_path, receiver))
            assert started[0].wait(60) == -signal.SIGKILL
            assert left(tmp_path) == ["a"]
            assert start(tmp_path, receiver).wait(60) == 0

        assert [r.key for r in receiver.requests] == ["a", "a"]
        assert left(tmp_path) == []

    def test_no_item_is_lost_if_the_sender_is_killed_at_any_step(self, tmp_path: Path) -> None:
        """Each step that touches a file, a lock or the network is the last one once."""
        step, survived = 1 - STRIDE, False
        with Receiver() as receiver:
            while not survived:
                step += STRIDE
                assert step < 200
                home = tmp_path / f"home{step}"
                put(home, f"a{step}", f"b{step}", to=receiver.url)
                survived = start(home, receiver, die_at=step).wait(60) == 0
                given = settings(home, receiver.url)
                deliver(given, sender.over_network(given), sender.Clock())
                assert left(home) == [] and spool.rejected(str(home)) == []
                arrived = [r.key for r in receiver.requests if r.key.endswith(f"{step}")]
                assert {f"a{step}", f"b{step}"} <= set(arrived)

        assert step > 10

    @pytest.mark.parametrize("variables", [{"CI": "true"}, {"MEMORY_FABRIC": "off"}])
    def test_the_sender_process_sends_nothing_while_memory_fabric_is_switched_off(
        self, tmp_path: Path, variables: dict[str, str]
    ) -> None:
        with Receiver() as receiver:
            put(tmp_path, "a", to=receiver.url)
            assert start(tmp_path, receiver, variables=variables).wait(60) == 0

        assert receiver.requests == [] and left(tmp_path) == ["a"]


# The process dies, as by kill -9, at the n-th of these events.
DYING = """
import os, sys
seen, die_at = 0, int(os.environ["DIE_AT"])
STEPS = ("open", "os.rename", "os.remove", "os.listdir", "fcntl.flock", "socket.connect")
def watch(event, arguments):
    global seen
    named = event != "open" or "forward" in str(arguments[0])
    if event in STEPS and named:
        seen += 1
        if seen == die_at:
            os.kill(os.getpid(), 9)
sys.addaudithook(watch)
"""


def start(
    home: Path, receiver: Receiver, *, die_at: int = 0, variables: Mapping[str, str] = {}
) -> subprocess.Popen[bytes]:
    """The sender, as a hook starts it."""
    environ = {
        "HOME": str(home),
        "MEMORY_FABRIC_HOME": str(home),
        "MEMORY_FABRIC_FORWARD_URL": receiver.url,
        "DIE_AT": str(die_at),
        **variables,
    }
    entry = processes.program("forwarding.sender")
    entry = DYING + entry.replace("; ", "\n") if die_at else entry
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", entry, str(PLUGIN)], env=environ)
