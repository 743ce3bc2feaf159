"""Limits of an exchange: order and size of the messages a machine sends, and what it accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.sharing.replica import heads, inbox, outbox, space, wire
from memory_fabric.sharing.replica.wire import TeamOperation
from sharing.journals import isolate
from sharing.replicas import Home, synced
from store.support import USER, create, entity
from team.statements import observation, record


def waiting(home: Home, limit: int = 99) -> list[TeamOperation]:
    return outbox.waiting(home.database, limit)


def prepared(home: Home, *texts: str) -> list[TeamOperation]:
    """Return the operations of new records with these texts."""
    for text in texts:
        home.say(text)
    outbox.settle(home.memory, home.database)
    return waiting(home)


def test_changed_rows_are_prepared_in_batches_up_to_a_limit(
    ann: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "BATCH", 2)
    for number in range(5):
        ann.say(f"Rule {number} holds for module {number}")

    made = [outbox.settle(ann.memory, ann.database, limit=limit) for limit in (0, 3, 1, 9, 9)]

    assert made == [0, 3, 1, 1, 0]
    assert (ann.counts().due, ann.counts().waiting) == (0, 5)
    assert len(waiting(ann, 3)) == 3


def test_entities_are_sent_before_what_refers_to_them(ann: Home) -> None:
    ann.relate("api", "needs", "Redis")
    create(ann.memory, entity("api", "is old"), store="project")
    ann.say("Use UTC")

    with ann.database.transaction() as c:
        counts = [outbox.settle_within(ann.memory, "project", c, limit) for limit in (3, 1, 9, 9)]

    assert counts == [(3, 3), (1, 1), (1, 1), (0, 0)]
    kinds = [one.kind for one in waiting(ann)]
    assert kinds == [wire.ENTITY, wire.ENTITY, wire.OBSERVATION, wire.RECORD, wire.RELATION]
    assert [one.kind for one in waiting(ann, 3)] == kinds[:3]


def test_a_successor_is_sent_before_the_record_that_it_replaces(ann: Home) -> None:
    old = ann.say("Use local time")
    new = ann.memory.remember(old._replace(id="", what="Use UTC"), USER, supersedes=[old.id])
    assert new is not None
    ann.push()

    assert [one.key for one in ann.log.operations] == [f"r:{new.id}", f"r:{old.id}"]


def test_a_statement_that_is_too_large_for_the_log_is_kept_here_with_the_reason(
    ann: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(ann.memory, entity("api", "is ü"), store="project")
    outbox.settle(ann.memory, ann.database)
    [value] = [len(h.value.encode()) for h in ann.heads().values() if h.kind == wire.OBSERVATION]
    # A payload has 1,024 bytes beside its value.
    monkeypatch.setattr(wire, "MAX_PAYLOAD_BYTES", value + 1024)
    create(ann.memory, entity("api", "is ä"), store="project")
    create(ann.memory, entity("api", "is üb"), store="project")
    outbox.settle(ann.memory, ann.database)

    assert (ann.counts().waiting, ann.counts().unsent) == (3, 1)
    [head] = [head for head in ann.heads().values() if head.state == heads.UNSENT]
    assert head.stated["text"] == "is üb"
    assert head.payload == f"It has {value + 1025} bytes, and the log takes {value + 1024}."


def test_a_refused_operation_keeps_the_reason_and_is_made_again_when_its_row_changes(
    ann: Home,
) -> None:
    said = ann.say("Use UTC")
    [first] = prepared(ann)

    outbox.refuse(ann.database, first.op_id, "r" * 501)
    refused = ann.heads()[first.op_id]
    counts = ann.counts()
    ann.reword(said, why="zones differ")

    assert (refused.state, refused.payload) == (heads.UNSENT, "r" * 500)
    assert (counts.unsent, counts.waiting) == (1, 0)
    [second] = waiting(ann)
    assert second.base == (first.op_id,)
    assert (ann.counts().unsent, ann.counts().waiting) == (0, 1)


def test_an_unchanged_row_is_tried_again_only_if_it_was_refused(ann: Home) -> None:
    first, second = prepared(ann, "Use UTC", "Use tabs")
    outbox.acknowledge(ann.database, [first.op_id])
    for one in (first, second):
        outbox.refuse(ann.database, one.op_id, "it is full")  # the first one was accepted already
    assert [ann.heads()[one.op_id].state for one in (first, second)] == [heads.SENT, heads.UNSENT]

    with ann.database.transaction() as c:
        space.mark_all(c)

    assert outbox.settle(ann.memory, ann.database) == 1
    assert [one.key for one in waiting(ann)] == [second.key]


def test_an_operation_names_only_the_latest_of_those_that_it_replaces(
    ann: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MAX_BASE", 2)
    said = ann.say("Use UTC")
    made = prepared(ann)
    for why in "abc":
        ann.reword(said, why=why)
        made += waiting(ann)

    assert made[3].base == (made[1].op_id, made[2].op_id)


def test_a_machine_states_again_only_what_it_has_not_withdrawn(ann: Home) -> None:
    gone = ann.say("Use tabs")
    ann.say("Use UTC")
    ann.push()
    ann.memory.forget([gone.id], USER)
    ann.push()

    outbox.say_again(ann.database)

    assert ann.push() == 1
    assert (ann.log.operations[-1].value or {})["what"] == "Use UTC"
    assert ann.push() == 0


def test_replaced_operations_are_erased_after_a_search_for_unnoticed_changes(ann: Home) -> None:
    ann.say("Use UTC")
    with ann.database.transaction() as c:
        c.execute("DELETE FROM team_due")  # a change that nothing noticed

    outbox.erase_replaced(ann.memory, ann.database)
    [demand] = waiting(ann)
    outbox.acknowledge(ann.database, [demand.op_id])
    outbox.erase_replaced(ann.memory, ann.database, look_again=True)

    assert (demand.kind, demand.key) == (wire.PURGE, outbox.REPLACED)
    assert ann.heads()[demand.op_id].state == heads.DEMANDED
    [record_] = waiting(ann)
    outbox.acknowledge(ann.database, [record_.op_id])
    assert [record_.kind, *(one.kind for one in waiting(ann))] == [wire.RECORD, wire.PURGE]


def test_a_demand_to_erase_names_only_keys_of_own_statements(ann: Home, bob: Home) -> None:
    said, theirs = ann.say("Use UTC"), bob.say("Use tabs")
    synced(ann, bob)
    keys = [wire.key_of(wire.RECORD, one.id) for one in (said, theirs)]

    with ann.database.transaction() as c:
        outbox.demand_purge(c, [*keys, "r:unknown"])

    demands = [head.key for head in ann.heads().values() if head.kind == wire.PURGE]
    assert sorted(demands) == [outbox.REPLACED, keys[0]]
    assert [one.key for one in waiting(ann)] == [keys[0]]


def test_a_database_without_a_space_prepares_nothing(ann: Home) -> None:
    space.end(ann.database, keep=True)
    ann.say("Use UTC")

    assert ann.database.rows("SELECT * FROM team_due") == []
    with ann.database.transaction() as c:
        assert outbox.settle_within(ann.memory, "project", c) == (0, 0)
        outbox.demand_purge(c, ["r:1"])
    assert outbox.settle(ann.memory, ann.database) == 0
    assert ann.merge([record("Use tabs")._replace(author="bob")]) == inbox.Merged()
    assert ann.heads() == {}


def test_a_domain_that_is_not_isolated_any_more_is_shared_again(ann: Home, bob: Home) -> None:
    ann.say("The contract ends in May", domain="legal")
    synced(ann, bob)

    isolate(ann.memory, "legal")
    synced(ann, bob)
    assert bob.records() == {}
    isolate(ann.memory)
    synced(ann, bob)

    assert list(bob.records()) == ["The contract ends in May"]
    assert ann.push() == 0


def test_operations_that_are_merged_in_parts_are_applied_and_counted_once(
    bob: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "SOME", 2)
    said = [record(f"Rule {number}")._replace(author="ann") for number in range(4)]
    bad = record("Rule 4")._replace(author="ann", key="r:1")
    later = record("Rule 5")._replace(author="ann", form=2)

    merged = bob.merge([*said, bad, later], wire.Position(1, 2, 3, "x"))
    again = bob.merge([*said, bad, later])

    assert merged == inbox.Merged(applied=4, unread=1)
    assert again == inbox.Merged()
    assert len(bob.records()) == 4 and (bob.counts().unread, bob.counts().refused) == (1, 1)
    assert space.position(bob.database) == wire.Position(1, 2, 3, "x")


def test_an_encrypted_operation_waits_for_a_key_only_where_the_user_can_have_one(
    tmp_path: Path, bob: Home
) -> None:
    sealed = observation("api", "")._replace(kind=wire.SEALED, value=None, sealed="c2VhbGVk")
    mine = sealed._replace(op_id="mine", author="bob")
    own = Home(tmp_path, "ann", bob.log, kind="user")

    assert bob.merge([sealed._replace(author="ann")]) == inbox.Merged()
    assert bob.merge([mine]) == inbox.Merged(unread=1)
    assert own.merge([mine]) == inbox.Merged(unread=1)
    assert inbox.read_again(bob.memory, bob.database, bob.verified) == inbox.Merged()
    assert list(bob.heads()) == ["mine"]


def test_a_preference_or_dismissal_of_the_user_is_refused_without_a_proof(
    tmp_path: Path, bob: Home
) -> None:
    own = Home(tmp_path, "ann", bob.log, kind="user", key=True)
    said = record("Use UTC", scope="user")._replace(author="ann")
    value = {"of": said.key, "key": 0, "created_at": "", "purged": True}
    key = wire.key_of(wire.DISMISSAL, said.key)
    dismissal = said._replace(op_id="d", kind=wire.DISMISSAL, key=key, value=value)

    assert own.merge([said]) == bob.merge([dismissal]) == inbox.Merged()
    assert own.counts().refused == bob.counts().refused == 1
    assert own.records() == {}
    assert [head.payload for head in own.heads().values()] == [
        "It has no proof, and this space is one user's own."
    ]
    assert own.merge([said._replace(op_id="p", proof="by ann")]).applied == 1
    assert list(own.records()) == ["Use UTC"]


def test_the_clock_of_a_machine_goes_on_from_the_latest_own_statement_that_it_has_read(
    desk: Home,
) -> None:
    ahead = wire.reading_after("", 1 << 44, "laptop")
    said = observation("api", "is old")._replace(author="ann", proof="by ann", clock=ahead)
    desk.merge([said])
    desk.merge([observation("api", "is new")._replace(author="ann", proof="by ann")])

    desk.say("Use UTC")
    desk.push()

    assert ahead < desk.log.operations[-1].clock < wire.reading_after("", (1 << 44) + 1, "laptop")


def test_others_statements_return_when_their_domain_is_not_isolated_any_more(
    ann: Home, bob: Home
) -> None:
    bob.say("Ask Ms Lang", domain="legal")
    synced(ann, bob)
    isolate(ann.memory, "legal")
    bob.say("Ask Mr Kurz", domain="legal")
    synced(ann, bob)
    assert ann.records() == {}
    isolate(ann.memory)
    synced(ann, bob)

    assert sorted(ann.records()) == ["Ask Mr Kurz", "Ask Ms Lang"]
    assert ann.counts().refused == 0
