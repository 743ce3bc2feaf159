"""The tie of a database to a space: its counts, conflicts and demands to erase."""

from __future__ import annotations

import pytest

from memory_fabric.sharing.replica import heads, inbox, outbox, space, wire
from memory_fabric.sharing.replica.wire import Position
from sharing.replicas import SPACE, Home, synced
from store.support import USER, create, entity
from team.statements import entity as entity_of
from team.statements import record, relation


def test_a_database_is_tied_once_and_all_its_rows_become_due(ann: Home) -> None:
    ann.say("Use UTC")
    ann.push()

    assert space.tie_of(ann.database.connection) == space.Tie(SPACE, "ann", "ann")
    assert not space.begin(ann.database, SPACE, "ann", "ann")
    assert not space.begin(ann.database, SPACE, "ann")
    assert not space.begin(ann.database, SPACE, "ann", "copy")
    assert space.tie_of(ann.database.connection) == space.Tie(SPACE, "ann", "copy")
    assert ann.counts().due == 0 and len(ann.heads()) == 1
    assert space.begin(ann.database, SPACE, "anna", "copy")
    assert ann.counts().due == 1 and ann.heads() == {}
    assert space.begin(ann.database, "another", "anna")
    tie = space.tie_of(ann.database.connection)
    assert tie is not None and (tie.space, len(tie.origin)) == ("another", 8)

    space.end(ann.database, keep=True)

    assert space.tie_of(ann.database.connection) is None
    assert ann.counts() == space.Counts()


def test_a_reset_log_is_read_from_the_start_and_gets_every_statement_again(ann: Home) -> None:
    assert space.position(ann.database) == Position()
    kept, lost = ann.say("Use UTC"), ann.say("Use tabs")
    ann.sync()
    assert space.position(ann.database).seq == 2
    by_key = {head.key: head for head in ann.heads().values()}
    outbox.acknowledge(ann.database, [head.op_id for head in by_key.values()])

    space.forget_position(ann.database, 7)

    assert space.position(ann.database) == Position(7)
    assert {head.key for head in ann.heads().values()} == {f"r:{kept.id}", f"r:{lost.id}"}
    for head in ann.heads().values():
        assert head == by_key[head.key]._replace(state=heads.WAITING, seen=False, payload="again")


def test_a_refused_statement_is_sent_again_to_a_reset_log_without_the_reason(ann: Home) -> None:
    ann.say("Use UTC")
    outbox.settle(ann.memory, ann.database)
    [operation] = outbox.waiting(ann.database, 9)
    outbox.refuse(ann.database, operation.op_id, "it is full")

    space.forget_position(ann.database, 1)

    [head] = ann.heads().values()
    assert (head.op_id, head.state, head.payload) == (operation.op_id, heads.WAITING, "")


def test_the_counts_name_the_oldest_waiting_operation_and_the_authors_of_records(
    ann: Home,
) -> None:
    assert ann.counts() == space.Counts()
    ann.merge(
        [
            record(f"Rule {number}")._replace(author=author)
            for number, author in enumerate(["dan", "bob", "cho", "cho"])
        ]
    )
    ann.say("Use UTC")
    ann.say("Use tabs")
    due = ann.counts()
    outbox.settle(ann.memory, ann.database)
    waiting = ann.counts()

    first = min(head.made_at for head in ann.heads().values() if head.state == heads.WAITING)
    authors = (("cho", 2), ("bob", 1), ("dan", 1))
    assert due == space.Counts(due=2, records=authors)
    assert waiting == space.Counts(waiting=2, records=authors, oldest=first)


def test_conflicts_show_both_texts_until_the_user_states_one_again(
    desk: Home, laptop: Home
) -> None:
    first, second = desk.say("Use UTC"), desk.say("Use tabs")
    synced(desk, laptop)
    assert space.conflicts(desk.database) == []
    desk.reword(first, what="Use UTC on the desk")
    laptop.reword(first, what="Use UTC on the laptop")
    desk.reword(second, what="Use tabs on the desk")
    laptop.memory.forget([second.id], USER)
    outbox.settle(laptop.memory, laptop.database)
    desk.push()

    merged = laptop.pull()
    synced(laptop, desk)

    assert merged.conflicts == 2
    assert laptop.counts().conflicts == desk.counts().conflicts == 2
    found = space.conflicts(laptop.database)
    assert found == space.conflicts(desk.database)
    # The latest conflict is the first.
    assert [(one.key, one.shown, one.others) for one in found] == [
        (f"r:{second.id}", "", ("Use tabs on the desk",)),
        (f"r:{first.id}", "Use UTC on the laptop", ("Use UTC on the desk",)),
    ]
    assert list(desk.records()) == list(laptop.records()) == ["Use UTC on the laptop"]
    latest = max(head.made_at for head in desk.heads().values())
    assert found[0].at == latest

    desk.reword(first, what="Use UTC everywhere")
    synced(desk, laptop)

    assert [one.key for one in space.conflicts(laptop.database)] == [f"r:{second.id}"]
    assert list(laptop.records()) == ["Use UTC everywhere"]


def test_equal_changes_on_two_machines_are_no_conflict(desk: Home, laptop: Home) -> None:
    said = desk.say("Use UTC")
    synced(desk, laptop)
    for home in (desk, laptop):
        home.memory.forget([said.id], USER)
        outbox.settle(home.memory, home.database)
    desk.push()

    assert laptop.pull().conflicts == laptop.counts().conflicts == 0
    assert space.conflicts(laptop.database) == []


@pytest.mark.parametrize(
    ("said", "text"),
    [(entity_of("api"), "api"), (relation("api", "uses", "Redis"), "api uses Redis")],
)
def test_a_demand_to_erase_quotes_what_it_would_erase(
    desk: Home, said: wire.TeamOperation, text: str
) -> None:
    desk.merge([said._replace(author="ann", proof="by ann")])
    create(desk.memory, entity("api", "is old"))
    desk.push()
    [observed] = [one.key for one in desk.log.operations if one.kind == wire.OBSERVATION]

    for number, key in enumerate((said.key, observed)):
        demand = said._replace(op_id=f"p{number}", kind=wire.PURGE, key=key, value=None)
        demand = demand._replace(author="owen", made_at=f"2026-02-0{2 - number}")
        inbox.merge(desk.memory, desk.database, [demand], None, desk.verified, owner="owen")

    # The oldest is the first.
    assert space.asked(desk.database) == [
        space.Asked(observed, "owen", "2026-02-01", "api is old"),
        space.Asked(said.key, "owen", "2026-02-02", text),
    ]
    assert desk.counts().asked == 2
    assert not space.decline(desk.database, "r:unknown")
    assert space.decline(desk.database, observed)
    assert not space.decline(desk.database, observed)
    assert [one.key for one in space.asked(desk.database)] == [said.key]


@pytest.mark.parametrize(("author", "is_asked"), [("ann", True), ("owen", True), ("eve", False)])
def test_only_the_user_and_an_owner_can_ask_to_erase_what_the_user_stated(
    ann: Home, author: str, *, is_asked: bool
) -> None:
    said = ann.say("Use UTC")
    ann.sync()
    key = wire.key_of(wire.RECORD, said.id)
    demand = wire.TeamOperation("p1", "x", wire.PURGE, key, None, author=author)

    merged = inbox.merge(ann.memory, ann.database, [demand], None, ann.verified, owner="owen")

    assert merged.asked == ann.counts().asked == is_asked
    assert list(ann.records()) == ["Use UTC"]
    # A demand is read once.
    assert ann.merge([demand]).asked == 0 and ann.counts().asked == is_asked


def test_the_names_of_the_owners_are_kept_sorted_and_noted_once(ann: Home) -> None:
    space.set_owners(ann.database, ["owen", "bob"], "billing")
    before = ann.database.connection.total_changes
    space.set_owners(ann.database, ["bob", "owen"], "billing")

    assert space.value(ann.database.connection, "team owners") == '["bob", "owen"]'
    assert ann.database.connection.total_changes == before
    space.set_owners(ann.database, [], "billing")
    assert space.value(ann.database.connection, "team owners") == "[]"
    assert space.value(ann.database.connection, "no such key") == ""
