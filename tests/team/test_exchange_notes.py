"""Notes of an exchange with a team, tested without a server: failures, waiting and notices."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Provenance, Record
from memory_fabric.sharing.replica import space
from memory_fabric.sharing.team import sync, ties
from memory_fabric.sharing.team.errors import NoAnswer, TeamError, TooSlow
from memory_fabric.sharing.team.follower import Followed
from memory_fabric.sharing.team.ties import GIT, USER, Outcome, State, Tie
from memory_fabric.store import database as databases
from memory_fabric.store import files
from memory_fabric.store.home import switches
from memory_fabric.store.memory import Memory

DSN = "host=127.0.0.1 port=9"
SHOP = Tie("p-1", DSN, "shop", "ann")
# Each exchange of this link fails before it connects, because the key is missing.
KEYLESS = Tie(USER, DSN, "~ann", "ann", me=True)
HOUR_S, DAY_S = 3600.0, 24 * 3600.0


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = Memory.open(Settings(str(tmp_path), str(tmp_path)))
    yield memory
    memory.close()


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path)


def notices(home: str) -> list[str]:
    path = Path(home) / "notices.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [json.loads(line)["text"] for line in lines]


def test_a_success_clears_what_was_noted_of_failures_and_tells_nothing(
    memory: Memory, home: str
) -> None:
    ties.update_state(home, SHOP.key, silent="bob", asked_at=5.0)
    for _ in range(2):
        sync.note_failure(memory, SHOP, TooSlow("It took too long.", remedy="Wait."))
    told = notices(home)

    sync.note_success(memory, SHOP, Outcome(sent=1, read=2, applied=2, unread=3))

    state = ties.state_of(home, SHOP.key)
    assert state == State(
        last_success=state.last_success, ran_at=state.ran_at, silent="bob", asked_at=5.0
    )
    assert state.last_success and state.ran_at > 0
    assert notices(home) == told


def test_the_user_is_told_of_each_important_result_of_an_exchange(
    memory: Memory, home: str
) -> None:
    sync.note_success(memory, SHOP, Outcome(refused=1, conflicts=2, asked=3, again="it was reset"))

    again, refused, conflicts, asked = notices(home)
    assert again.startswith("the shared log of shop is not as it was: it was reset.")
    assert "refuses 1 change for good; memory-fabric team status" in refused
    assert conflicts.startswith("2 records of the shared log of shop changed")
    assert asked.startswith("3 demands to erase")


def test_repeated_failures_are_counted_from_the_first_and_told_once(
    memory: Memory, home: str
) -> None:
    error = TooSlow("It took too long.", remedy="Wait.")
    sync.note_failure(memory, SHOP, error)
    first = ties.state_of(home, SHOP.key)
    sync.note_failure(memory, SHOP, TooSlow("It took longer.", remedy="Wait longer."))
    second = ties.state_of(home, SHOP.key)

    assert (first.failures, first.cause, first.last_error) == (1, "TooSlow", "It took too long.")
    assert (first.remedy, first.told) == ("Wait.", "TooSlow")
    assert ties.FIRST_DELAY_S / 2 <= first.next_at - first.ran_at <= ties.FIRST_DELAY_S
    assert (second.failures, second.since, second.remedy) == (2, first.since, "Wait longer.")
    assert ties.FIRST_DELAY_S <= second.next_at - second.ran_at <= 2 * ties.FIRST_DELAY_S
    assert notices(home) == [
        "the shared log of shop is not exchanged: It took too long. Wait. What was said here waits."
    ]


@pytest.mark.parametrize(
    ("kind", "since_s", "is_told"),
    [
        (NoAnswer, 3 * DAY_S - 60, False),
        (NoAnswer, 3 * DAY_S + 1, True),
        (TooSlow, HOUR_S - 60, False),
        (TooSlow, HOUR_S + 1, True),
        (TeamError, 0.0, True),
    ],
)
def test_a_link_that_worked_may_fail_for_a_while_before_the_user_is_told(
    memory: Memory, home: str, kind: type[TeamError], since_s: float, *, is_told: bool
) -> None:
    since = ids.timestamp(time.time() - since_s)
    ties.update_state(home, SHOP.key, last_success=since, since=since, failures=7)

    sync.note_failure(memory, SHOP, kind("It failed.", remedy="Wait."))

    state = ties.state_of(home, SHOP.key)
    assert len(notices(home)) == bool(state.told) == is_told
    assert (state.since, state.failures) == (since, 8)


def test_the_log_has_the_reason_of_a_failure_unless_it_may_name_the_server(
    memory: Memory, home: str
) -> None:
    for tie in (SHOP, SHOP._replace(key="p-2", space="blog", via=GIT)):
        sync.note_failure(memory, tie, NoAnswer("db.example is silent.", remedy="Wait."))

    [path] = Path(home).rglob("memory-fabric.log")
    shop, blog = path.read_text("utf-8").splitlines()
    assert "team (shop): NoAnswer; memory-fabric team status says more" in shop
    assert "team (blog): db.example is silent." in blog and "db.example" not in shop


@pytest.mark.parametrize("off", [{"writes": False}, {"ci": True}])
def test_nothing_is_exchanged_in_ci_or_while_memory_is_off(
    memory: Memory, home: str, off: dict[str, Any]
) -> None:
    assert sync.may_exchange(memory.settings)
    assert not sync.may_exchange(memory.settings._replace(**off))
    switches.turn(home, switches.EVERYWHERE, ["write"], on=False)
    assert not sync.may_exchange(memory.settings)


def test_an_exchange_does_nothing_if_the_link_has_changed_or_is_in_use(
    memory: Memory, home: str
) -> None:
    ties.save(home, KEYLESS)
    other = KEYLESS._replace(space="~bob")

    changed = sync.exchange(memory, other)
    with files.Locked(ties.lock_path(home, USER, ties.SYNC), 0):
        locked = sync.exchange(memory, KEYLESS)

    assert (changed, locked) == (sync.Result(other), sync.Result(KEYLESS))
    assert ties.state_of(home, USER) == State()


@pytest.mark.parametrize(
    ("tie", "command"),
    [
        (KEYLESS, "team join DSN --me"),
        (KEYLESS._replace(me=False), "team join DSN --me"),
        (KEYLESS._replace(via=GIT), "sync git URL"),
        (SHOP._replace(me=True), "team join DSN --me"),
    ],
)
def test_an_exchange_between_the_users_machines_fails_without_a_key(
    memory: Memory, home: str, tie: Tie, command: str
) -> None:
    ties.save(home, tie)

    for _ in range(2):  # its lock is released
        failure = sync.exchange(memory, tie).failure
        assert failure is not None and "key of your machines is missing" in failure.message
        assert command in failure.remedy
    assert ties.state_of(home, tie.key).failures == 2


def test_leaving_a_space_ends_the_link_and_unties_its_database(memory: Memory, home: str) -> None:
    ties.save(home, KEYLESS)
    ties.save(home, SHOP)
    ties.update_state(home, USER, failures=1)
    record = Record("preference", "Short commit messages", scope="user", confidence=0.9)
    memory.remember(record, Provenance("cli", trust="user"))
    database = memory.database("user", create=True)
    assert database is not None
    space.begin(database, "~ann", "ann")

    with (
        files.Locked(ties.lock_path(home, USER, ties.SYNC), 0),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sync, "LEAVE_WAIT_S", 0.0)
        with pytest.raises(TimeoutError):
            sync.leave(memory, KEYLESS, keep=True)
    assert space.tie_of(database.connection) is not None
    sync.leave(memory, KEYLESS, keep=True)

    assert space.tie_of(database.connection) is None
    assert ties.read(home) == (SHOP,) and ties.state_of(home, USER) == State()
    assert [found.what for found in memory.find_records("1")] == ["Short commit messages"]


def test_a_link_whose_database_is_busy_is_kept_and_can_be_ended_later(
    memory: Memory, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = memory.database("user", create=True)
    assert database is not None
    space.begin(database, KEYLESS.space, KEYLESS.member)
    ties.save(home, KEYLESS)
    monkeypatch.setattr(databases, "BUSY_MS", 10)
    with closing(sqlite3.connect(database.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            sync.leave(memory, KEYLESS, keep=False)
    assert ties.of(home, USER) == KEYLESS

    sync.leave(memory, KEYLESS, keep=False)

    assert space.tie_of(database.connection) is None and not ties.exist(home)


def test_a_follower_waits_for_locks_and_delays_and_leaves_links_that_changed(
    memory: Memory, home: str
) -> None:
    ties.save(home, KEYLESS)
    now_s = time.time()
    follow, exchange = (ties.lock_path(home, USER, use) for use in (ties.FOLLOW, ties.SYNC))
    one = Followed(memory, KEYLESS)

    with files.Locked(follow, 0):
        one.step(now_s)
    with files.Locked(exchange, 0):
        one.step(now_s)
    ties.update_state(home, USER, next_at=now_s + 60)
    one.step(now_s)
    ties.save(home, KEYLESS._replace(space="~bob"))
    one.step(now_s + 61)
    assert ties.state_of(home, USER) == State(next_at=now_s + 60)

    ties.save(home, KEYLESS)
    one.step(now_s + 61)

    assert ties.state_of(home, USER).failures == 1 and not one.has_work()


def test_a_follower_keeps_its_lock_until_it_is_closed(memory: Memory, home: str) -> None:
    ties.save(home, KEYLESS)
    one, other = (Followed(memory, KEYLESS) for _ in range(2))
    one.close()  # it holds nothing yet

    one.step(time.time())
    assert ties.is_followed(home, USER)
    ties.update_state(home, USER, next_at=0.0)
    other.step(time.time())
    assert ties.state_of(home, USER).failures == 1
    one.close()
    assert not ties.is_followed(home, USER)
    other.step(time.time())

    assert ties.state_of(home, USER).failures == 2
    other.close()
