"""Neither the order of operations nor lost answers change the state that is shown."""

from __future__ import annotations

from memory_fabric.sharing.replica import others, outbox, space
from sharing.replicas import Home
from store.support import USER, decision


def test_a_record_forgotten_before_its_receipt_was_confirmed_does_not_come_back(
    ann: Home,
) -> None:
    said = ann.say("Use UTC")
    outbox.settle(ann.memory, ann.database)
    ann.log.push("ann", outbox.waiting(ann.database, 10))  # the answer is lost
    ann.memory.forget([said.id], USER)
    outbox.settle(ann.memory, ann.database)

    ann.pull()

    assert ann.records() == {}
    assert [head.state for head in ann.heads().values()] == ["waiting"]
    assert ann.counts().records == ()


def test_a_record_is_linked_to_its_successor_even_if_the_successor_arrives_later(
    ann: Home, bob: Home
) -> None:
    old = ann.say("Use local time")
    new = ann.memory.remember(decision("Use UTC"), USER, [old.id])
    assert new is not None
    ann.push()
    closing = [one for one in ann.log.operations if one.key.endswith(new.id)]

    bob.merge([one for one in ann.log.operations if one not in closing])
    before = bob.records()[old.what]
    bob.merge(closing)

    assert (before.superseded_by, bool(before.valid_to)) == ("", True)
    assert bob.records()[old.what].superseded_by == new.id
    bob.sync()
    assert ann.records()[old.what].superseded_by == new.id


def test_the_query_for_replaced_records_of_others_uses_an_index(bob: Home) -> None:
    plan = bob.database.rows(f"EXPLAIN QUERY PLAN {others._CLOSED} IN (?)", ("1",))
    assert "team_heads_closed" in str([tuple(row) for row in plan])


def test_a_lost_withdrawal_is_sent_again_even_if_an_equal_earlier_one_exists(
    desk: Home, laptop: Home, bob: Home
) -> None:
    said = desk.say("Use UTC")
    for home in (desk, laptop, bob):
        home.sync()
    desk.memory.forget([said.id], USER)
    desk.push()
    laptop.reword(said, why="many zones")
    laptop.sync()
    laptop.memory.forget([said.id], USER)
    laptop.sync()
    bob.sync()
    lost = bob.log.operations.pop()

    space.forget_position(laptop.database, 0)
    laptop.pull()
    laptop.push()

    assert lost.value is None and len(lost.base) == 3
    assert bob.log.operations[-1].op_id == lost.op_id


def test_a_lost_withdrawal_is_sent_again_even_if_another_machine_sent_an_equal_one(
    desk: Home, laptop: Home, bob: Home
) -> None:
    said = desk.say("Use UTC")
    for home in (desk, laptop):
        home.sync()
    for home in (laptop, desk):
        home.memory.forget([said.id], USER)
        home.push()
    equal = bob.log.operations[-1]
    lost = bob.log.operations.pop(-2)

    space.forget_position(laptop.database, 0)
    laptop.pull()
    laptop.push()

    assert (lost.value, lost.origin) == (equal.value, "laptop")
    assert {one.op_id for one in bob.log.operations} >= {lost.op_id, equal.op_id}
    assert laptop.counts().conflicts == 0
