"""One exchange with a log that is a plain list: operations sent, read, refused and erased."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_fabric.models import Record
from memory_fabric.sharing.replica import space, wire
from memory_fabric.sharing.replica.wire import Member, Position, SpaceState, TeamOperation
from memory_fabric.sharing.team import keys, ties
from memory_fabric.sharing.team.errors import TeamError
from memory_fabric.sharing.team.exchange import Exchange
from memory_fabric.sharing.team.keys import Key
from memory_fabric.sharing.team.ties import GIT, USER, Outcome, Tie
from memory_fabric.store.memory import Memory
from store.support import USER as SAID
from store.support import World, database, decision
from team.statements import record

TIE = Tie("p-1", "host=x", "shop", "ann")
DAYS = [datetime(2026, 2, day, tzinfo=UTC) for day in (1, 2, 3)]


class ListLog:
    """A log in a list, which refuses or ignores a text that the test names."""

    at_once = 2

    def __init__(self) -> None:
        self.operations: list[TeamOperation] = []
        self.now = SpaceState(1, "ann", "member", 3)
        self.listed: list[Member] = []
        self.refuses = self.ignores = "no text"
        self.compacted = 0

    def state(self) -> SpaceState:
        return self.now

    def members(self) -> Sequence[Member]:
        return self.listed

    def holds(self, position: Position) -> bool:
        return True

    def has(self, op_ids: Collection[str]) -> set[str]:
        return {one.op_id for one in self.operations} & set(op_ids)

    def push(
        self,
        operations: Sequence[TeamOperation],
        refused: Callable[[str, str], object] | None = None,
    ) -> list[str]:
        held = []
        for one in operations:
            what = str((one.value or {}).get("what", ""))
            if what == self.refuses and refused is not None:
                refused(one.op_id, "it does not fit")
            elif what != self.ignores:
                self.operations.append(one._replace(author="ann"))
                held.append(one.op_id)
        return held

    def pull(self, position: Position, limit: int) -> tuple[list[TeamOperation], Position]:
        found = self.operations[position.seq : position.seq + limit]
        if not found:
            return [], position
        return found, Position(self.now.epoch, 1, position.seq + len(found), found[-1].op_id)

    def purge(self, wanted: Collection[str]) -> int:
        return 0

    def compact(self) -> int:
        self.compacted += 1
        return 0


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = World(tmp_path).memory()
    yield memory
    memory.close()


@pytest.fixture
def log() -> ListLog:
    return ListLog()


@pytest.fixture
def exchange(memory: Memory, log: ListLog) -> Exchange:
    return Exchange(memory, TIE, log, None)


def say(memory: Memory, *texts: str) -> list[Record]:
    return [found for text in texts if (found := memory.remember(decision(text), SAID))]


def texts_of(memory: Memory) -> list[str]:
    return sorted(found.what for found in memory.find_records("1"))


def test_all_changes_are_sent_in_parts_and_the_progress_is_told(
    memory: Memory, log: ListLog, exchange: Exchange
) -> None:
    say(memory, "Use UTC", "Use tabs", "Use Kafka")
    log.operations = [record("Use Redis")._replace(author="bob")]
    assert exchange.has_work()
    steps: list[tuple[int, int]] = []

    outcome = exchange.run(lambda *step: steps.append(step))

    assert outcome == Outcome(sent=3, read=4, applied=1)
    assert [step for step in steps if step[1] == 3] == [(2, 3), (3, 3)]
    assert len(log.operations) == 4 and not exchange.has_work()
    assert texts_of(memory) == ["Use Kafka", "Use Redis", "Use UTC", "Use tabs"]
    assert exchange.run() == exchange.round() == exchange.round(only_due=True) == Outcome()


def test_a_round_that_only_sends_what_is_due_notices_each_change(
    memory: Memory, exchange: Exchange
) -> None:
    say(memory, "Use UTC")
    assert exchange.round(only_due=True) == Outcome(sent=1, read=1)


def test_a_refused_change_is_counted_and_an_unanswered_one_waits(
    memory: Memory, log: ListLog, exchange: Exchange
) -> None:
    say(memory, "Use UTC", "Use tabs", "Use Kafka")
    log.refuses, log.ignores = "Use UTC", "Use Kafka"

    outcome = exchange.run()

    assert (outcome.sent, outcome.refused) == (1, 1)
    counts = space.counts(database(memory))
    assert (counts.unsent, counts.waiting, exchange.has_work()) == (1, 1, True)
    log.ignores = "no text"
    assert exchange.run().sent == 1 and not exchange.has_work()


def test_operations_that_the_log_has_lost_are_sent_again(
    memory: Memory, log: ListLog, exchange: Exchange
) -> None:
    say(memory, "Use UTC")
    assert exchange.run().again == ""
    [sent] = log.operations
    log.operations = []

    outcome = exchange.run()

    assert "set back to an earlier state" in outcome.again
    assert [one.op_id for one in log.operations] == [sent.op_id]
    assert exchange.run() == Outcome()


def test_a_connection_of_another_member_is_not_used(log: ListLog, exchange: Exchange) -> None:
    log.now = log.now._replace(member="bob")

    with pytest.raises(TeamError, match="as bob, not as ann") as refused:
        exchange.run()

    assert "team join" in refused.value.remedy


@pytest.mark.parametrize("role", ["member", "owner"])
def test_removed_and_silent_members_are_noted_and_only_an_owner_compacts_the_log(
    memory: Memory, log: ListLog, exchange: Exchange, role: str
) -> None:
    first, second, third = DAYS
    log.now = log.now._replace(role=role)
    log.listed = [
        Member("ann", "member", first, None, None),
        Member("bob", "member", first, None, first),
        Member("cho", "member", first, None, None),
        Member("dan", "member", first, None, second),
        Member("eve", "member", third, None, None),
        Member("fay", "member", first, third, first),
    ]
    exchange.run()

    exchange.tend(7.0, second.timestamp())

    state = ties.state_of(memory.settings.home, TIE.key)
    assert (state.silent, state.removed, state.asked_at) == ("bob, cho", "fay", 7.0)
    assert log.compacted == (role == "owner")


def test_demands_of_several_owners_erase_in_one_read_and_those_of_others_do_not(
    memory: Memory, log: ListLog, exchange: Exchange
) -> None:
    said = [record(f"Rule {number}")._replace(author="bob") for number in range(4)]
    demands = [
        said[n]._replace(op_id=f"p{n}", kind=wire.PURGE, value=None, author=author)
        for n, author in enumerate(["owen", "eve", "olga", "old"])
    ]
    log.listed = [
        Member(name, role, DAYS[0], None, None)
        for name, role in (("owen", "owner"), ("eve", "member"), ("olga", "owner"))
    ]
    exchange.run()
    log.operations = said
    exchange.run()
    assert len(texts_of(memory)) == 4

    log.operations = [*said, *demands]
    exchange.run()

    assert texts_of(memory) == ["Rule 1", "Rule 3"]
    assert space.position(database(memory)).seq == len(log.operations)


@pytest.mark.parametrize(
    ("tie", "is_proved", "is_sealed", "mark"),
    [
        (TIE, False, False, ""),
        (TIE._replace(me=True), True, False, "1"),
        (Tie(USER, "host=x", "~ann", "ann", me=True), False, True, "private"),
        (TIE._replace(me=True, via=GIT), True, False, "private"),
    ],
)
def test_a_users_own_space_gets_only_sealed_operations_and_others_get_proofs(
    memory: Memory, log: ListLog, tie: Tie, is_proved: bool, is_sealed: bool, mark: str
) -> None:
    key = Key(bytes(range(32)))
    scope = "user" if tie.key == USER else "team"
    memory.remember(decision("Use UTC", scope=scope), SAID)
    log.operations = [key.announcement(tie.space, "laptop")]
    exchange = Exchange(memory, tie, log, key)

    outcome = exchange.run()

    announced, sent = log.operations
    assert announced.key == f"{keys.MACHINE}laptop"
    assert (bool(sent.proof), bool(sent.sealed)) == (is_proved, is_sealed)
    assert (outcome.sent, outcome.unread) == (1, 0)
    assert space.value(database(memory, tie.kind).connection, space.PROVED) == mark
    assert texts_of(memory) == ["Use UTC"]
