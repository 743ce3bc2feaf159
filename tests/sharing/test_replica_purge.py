"""Erasing what a shared log holds: own words everywhere, others' words here."""

from __future__ import annotations

import json

from memory_fabric import ids
from memory_fabric.models import Entity
from memory_fabric.sharing.replica import inbox, outbox, space, wire
from memory_fabric.sharing.team import exchange
from memory_fabric.store.forget import purge
from memory_fabric.store.forget.purge import Purged
from sharing.replicas import Home, Log, synced
from store.support import USER, create, entity

WORDS = "the merger with Ostrava Glass"


def erased(home: Home, text: str) -> Purged:
    return purge.purge(home.memory, purge.find(home.memory, text), USER)


def pull_and_erase(home: Home) -> inbox.Merged:
    operations, to = home.log.pull(space.position(home.database))
    return inbox.merge(
        home.memory,
        home.database,
        operations,
        to,
        home.verified,
        erase=lambda found: exchange.erase(home.memory, "project", found),
    )


def holds(home: Home, text: str) -> bool:
    home.memory.flush()
    home.memory.close()
    return text.encode() in home.world.all_bytes()


def test_a_purge_erases_the_text_from_the_log_and_from_the_other_members(
    ann: Home, bob: Home
) -> None:
    ann.say(f"Prepare {WORDS}", why="it is planned for May")
    create(ann.memory, entity("Ostrava", f"is about {WORDS}"))
    ann.say("Use UTC")
    synced(ann, bob)
    bob.memory.flush()
    erased(ann, WORDS)
    assert ann.push() == 0
    assert not any(WORDS in repr(one) for one in ann.log.operations)
    pull_and_erase(bob)
    assert list(bob.records()) == ["Use UTC"]
    synced(ann, bob)
    assert (bob.counts().asked, ann.counts().asked) == (0, 0)
    assert not holds(ann, WORDS)
    assert not holds(bob, WORDS)


def test_a_purge_by_id_leaves_no_text_in_the_change_log(ann: Home, bob: Home) -> None:
    said = ann.say(f"Prepare {WORDS}", entities=(Entity("Ostrava", "organisation"),))
    create(ann.memory, entity("Ostrava", "is far away", f"Prepare {WORDS}"))
    unread = ("forgotten observation", json.dumps(["Ostrava", f"Prepare {WORDS}"]))
    with ann.database.transaction() as c:  # the log was not read to its end yet
        c.execute("INSERT INTO team_due VALUES (?, ?)", unread)
    synced(ann, bob)
    erased(ann, said.id)
    assert not any(WORDS in repr(one) for one in ann.database.rows("SELECT * FROM team_due"))
    synced(ann, bob)
    assert list(ann.records()) == list(bob.records()) == []


def test_a_record_from_which_a_purge_erased_some_words_is_sent_again(ann: Home, bob: Home) -> None:
    said = ann.say("Use UTC", evidence={"also": WORDS})
    synced(ann, bob)
    erased(ann, WORDS)
    assert ann.records()["Use UTC"].id == said.id
    synced(ann, bob)
    assert bob.records()["Use UTC"].author == "ann"
    assert not any(WORDS in repr(one) for one in ann.log.operations)


def test_purging_a_record_of_another_member_permanently_erases_only_the_local_copy(
    ann: Home, bob: Home
) -> None:
    ann.say(f"Prepare {WORDS}")
    create(ann.memory, entity("Ostrava", f"is about {WORDS}"))
    synced(ann, bob)
    erased(bob, WORDS)
    space.forget_position(bob.database, 0)
    synced(bob, ann)
    assert bob.records() == {}
    assert bob.database.rows("SELECT text FROM observations WHERE source = 'journal'") == []
    assert list(ann.records()) == [f"Prepare {WORDS}"]
    assert not holds(bob, WORDS)


def test_a_purge_also_erases_waiting_operations_and_operations_of_a_later_format(
    ann: Home, bob: Home
) -> None:
    ann.say(f"Prepare {WORDS}")
    ann.push()
    [sent] = ann.log.operations
    ann.log.operations = [sent._replace(form=2)]
    bob.pull()
    bob.say(f"Cancel {WORDS}")
    outbox.settle(bob.memory, bob.database)
    assert bob.counts().unread == 1
    erased(bob, WORDS)
    assert bob.counts().unread == 0
    assert not holds(bob, WORDS)


def test_an_owners_request_to_erase_a_record_waits_for_the_decision_of_the_author(
    ann: Home, bob: Home, log: Log
) -> None:
    said = ann.say("Use UTC")
    synced(ann, bob)
    key = wire.key_of(wire.RECORD, said.id)
    log.operations.append(wire.TeamOperation("p1", "x", wire.PURGE, key, None, author="owen"))
    operations, to = log.pull(space.position(ann.database))
    merged = inbox.merge(ann.memory, ann.database, operations, to, ann.verified, owner="owen")
    assert (merged.asked, list(ann.records())) == (1, ["Use UTC"])
    [demand] = space.asked(ann.database)
    assert (demand.key, demand.by, demand.text) == (key, "owen", "Use UTC")
    assert space.decline(ann.database, key)
    assert space.asked(ann.database) == []


def test_only_the_author_and_an_owner_can_have_a_members_record_erased_for_others(
    ann: Home, bob: Home, log: Log
) -> None:
    said = ann.say("Use UTC")
    synced(ann, bob)
    key = wire.key_of(wire.RECORD, said.id)
    demand = wire.TeamOperation("p1", "x", wire.PURGE, key, None, author="eve")
    bob.merge([demand])
    assert list(bob.records()) == ["Use UTC"]
    by_owner = demand._replace(op_id="p2", author="owen")
    inbox.merge(bob.memory, bob.database, [by_owner], None, bob.verified, owner="owen")
    assert bob.records() == {}


def test_purging_a_record_closes_the_pending_request_to_erase_it(ann: Home, log: Log) -> None:
    said = ann.say(f"Prepare {WORDS}")
    ann.sync()
    key = wire.key_of(wire.RECORD, said.id)
    ann.merge([wire.TeamOperation("p1", "x", wire.PURGE, key, None, author="ann")])
    assert ann.counts().asked == 1
    erased(ann, said.id)
    assert ann.counts().asked == 0


def test_requests_to_erase_are_sent_separately_before_other_operations(ann: Home) -> None:
    ann.say("Use UTC", evidence={"also": WORDS})
    ann.sync()
    erased(ann, WORDS)
    outbox.settle(ann.memory, ann.database)
    kinds = []
    while waiting := outbox.waiting(ann.database, 100):
        kinds.append([one.kind for one in waiting])
        outbox.acknowledge(ann.database, [one.op_id for one in waiting])
    # One demand is for the key, one for what was replaced before.
    assert kinds == [[wire.PURGE] * 2, [wire.RECORD]]


def test_a_request_to_erase_is_sent_again_after_the_server_was_restored(ann: Home) -> None:
    said = ann.say(f"Prepare {WORDS}")
    ann.sync()
    before = list(ann.log.operations)
    erased(ann, said.id)
    ann.sync()
    ann.log.operations = before
    space.forget_position(ann.database, 1)
    ann.sync()
    assert not any(WORDS in repr(one) for one in ann.log.operations)


def test_purging_a_forged_copy_of_a_record_does_not_erase_the_original(
    ann: Home, bob: Home
) -> None:
    said = ann.say(f"Prepare {WORDS}")
    create(ann.memory, entity("Ostrava", "is far away"))
    synced(ann, bob)
    copies = [
        one._replace(op_id=ids.new_id(), value={**one.value, "what": "Nothing"}, clock="0" * 25)
        for one in bob.log.operations
        if one.value and one.kind in (wire.RECORD, wire.OBSERVATION)
    ]
    bob.log.push("eve", copies)
    pull_and_erase(bob)
    demands = [one._replace(op_id=ids.new_id(), kind=wire.PURGE, value=None) for one in copies]
    for demand in demands:
        bob.log.push("eve", [demand])
    pull_and_erase(bob)
    assert bob.records()[said.what].author == "ann"
    assert bob.database.rows("SELECT text, agent FROM observations") == [("is far away", "ann")]


def test_withdrawing_a_forged_similar_observation_does_not_remove_the_original(
    ann: Home, bob: Home
) -> None:
    create(ann.memory, entity("Ostrava", "is far away"))
    synced(ann, bob)
    [said] = [one for one in bob.log.operations if one.kind == wire.OBSERVATION]
    alike = "is far away\u200b"
    copy = said._replace(
        op_id=ids.new_id(),
        key=wire.key_of(wire.OBSERVATION, "Ostrava", alike),
        value={**(said.value or {}), "text": alike},
        base=(),
    )
    for one in (copy, copy._replace(op_id=ids.new_id(), value=None, base=(copy.op_id,))):
        bob.log.push("eve", [one])
        pull_and_erase(bob)
        found = bob.database.rows("SELECT text, agent FROM observations")
        assert found == [("is far away", "ann")]


def test_a_statement_that_its_author_repeats_after_a_purge_is_stored_again(
    ann: Home, bob: Home
) -> None:
    create(ann.memory, entity("Zebraville", "has two harbours"))
    said = ann.say(f"Prepare {WORDS}")
    synced(ann, bob)
    erased(ann, "Zebraville")
    erased(ann, said.id)
    ann.push()
    pull_and_erase(bob)
    assert not holds(bob, WORDS) and bob.database.rows("SELECT 1 FROM observations") == []

    create(ann.memory, entity("Zebraville", "has two harbours"))
    ann.say(f"Prepare {WORDS}")
    ann.push()
    pull_and_erase(bob)

    assert bob.records()[said.what].author == "ann"
    assert bob.database.rows("SELECT text FROM observations") == [("has two harbours",)]


def test_a_purge_by_another_member_keeps_the_mark_of_a_forgotten_record(
    ann: Home, bob: Home
) -> None:
    mine = bob.say("Use UTC")
    bob.memory.forget([mine.id], USER)
    ann.say(f"Prepare {WORDS}")
    synced(ann, bob)
    erased(ann, WORDS)
    ann.push()
    pull_and_erase(bob)

    assert (mine.id,) in bob.database.rows("SELECT id FROM tombstones")


def test_a_request_to_erase_that_was_declined_is_not_asked_again_however_often_it_is_read(
    ann: Home,
) -> None:
    said = ann.say(f"Prepare {WORDS}")
    ann.sync()
    key = wire.key_of(wire.RECORD, said.id)
    demand = wire.TeamOperation("p1", "x", wire.PURGE, key, None, author="ann")
    ann.merge([demand])
    space.decline(ann.database, key)

    assert [ann.merge([demand]).asked for _ in range(3)] == [0, 0, 0]
