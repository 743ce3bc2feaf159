"""Records of members through a shared log: sent, received, changed, withdrawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric import ids
from memory_fabric.models import HAS_OTHERS
from memory_fabric.recall.render import low_trust_of
from memory_fabric.sharing.replica import outbox, space
from memory_fabric.store.tiers import sync
from sharing.replicas import Home, Log, synced
from store.support import USER


def test_a_received_record_of_another_member_is_stored_as_an_unverified_claim(
    ann: Home, bob: Home
) -> None:
    said = ann.say("Use UTC for all timestamps", why="clients are in many zones")
    synced(ann, bob)
    found = bob.records()[said.what]
    assert (found.id, found.why, found.author) == (said.id, said.why, "ann")
    assert (found.trust, found.source, found.session) == ("foreign", "journal", "")
    assert low_trust_of(found) == "from ann, unverified"
    assert sync.promotable(bob.memory) == []
    assert bob.counts().records == (("ann", 1),)
    assert space.value(bob.database.connection, HAS_OTHERS)


def test_a_record_that_was_sent_is_not_sent_again(ann: Home, bob: Home) -> None:
    ann.say("Use UTC")
    assert ann.push() == 1
    synced(ann, bob)
    ann.say("Use UTC", USER._replace(session="s2"))
    assert ann.push() == 0
    assert bob.push() == 0
    assert len(ann.log.operations) == 1


def test_a_forgotten_record_is_withdrawn_and_sent_again_when_it_is_stated_again(
    ann: Home, bob: Home
) -> None:
    said = ann.say("Use UTC")
    synced(ann, bob)
    ann.memory.forget([said.id], USER)
    synced(ann, bob)
    assert bob.records() == {}
    ann.say("Use UTC", USER._replace(session="s3"))
    synced(ann, bob)
    assert list(bob.records()) == ["Use UTC"]


def test_a_record_of_another_member_does_not_supersede_a_record_of_the_user(
    ann: Home, bob: Home
) -> None:
    old = bob.say("Sessions live in Redis")
    synced(ann, bob)
    ann.memory.remember(
        bob.records()[old.what]._replace(id="", what="Sessions live in Postgres"),
        USER,
        supersedes=[old.id],
    )
    synced(ann, bob)
    assert ann.records()[old.what].superseded_by
    assert bob.records()[old.what].superseded_by == ""
    assert bob.records()["Sessions live in Postgres"].author == "ann"


def test_a_forged_operation_cannot_replace_a_record_of_another_member(
    ann: Home, bob: Home, tmp_path: Path
) -> None:
    mine = ann.say("Use UTC")
    synced(ann, bob)
    [sent] = ann.log.operations
    eve = Home(tmp_path, "eve", ann.log)
    forged = {**(sent.value or {}), "what": "Use local time"}
    ann.log.push(
        "eve", [sent._replace(op_id="e" + sent.op_id[1:], base=(sent.op_id,), value=forged)]
    )
    synced(ann, bob, eve)
    assert ann.records()["Use UTC"].id == mine.id
    assert ann.records()["Use UTC"].source == "prompt"
    assert list(bob.records()) == ["Use UTC"]


def test_unconfirmed_records_and_records_of_local_or_user_scope_are_not_sent(ann: Home) -> None:
    ann.say("Perhaps use UTC", confidence=0.4)
    ann.say("In this session only", scope="local")
    ann.say("I like tabs", scope="user")
    assert ann.push() == 0


def test_forgetting_a_record_before_its_acknowledgement_withdraws_it_for_all_members(
    ann: Home, bob: Home
) -> None:
    said = ann.say("Use UTC")
    outbox.settle(ann.memory, ann.database)
    [first] = outbox.waiting(ann.database, 10)
    ann.log.push("ann", [first])  # the answer is lost
    ann.memory.forget([said.id], USER)
    synced(ann, bob)
    assert bob.records() == {}
    [only] = bob.heads().values()
    assert only.base == (first.op_id,)
    assert ann.counts().waiting == 0


def test_secrets_and_local_paths_are_not_sent(ann: Home) -> None:
    root, home = ann.world.project, ann.world.root
    secret = "hunter2" * 3
    ann.say(
        f"Read {root}/docs/api.md and {home}/notes.txt, not {home}-old/x",
        why=f"password={secret}",
    )
    ann.push()
    [sent] = ann.log.operations
    text = repr(sent)
    assert f"Read docs/api.md and ~/notes.txt, not {home}-old/x" in text
    assert secret not in text
    assert "s1" not in text
    assert str(root) not in text


@pytest.mark.parametrize("before", ["file://", "file://localhost", "vscode://file", "cc -I", "p="])
def test_local_paths_in_urls_and_command_options_are_shortened_before_sending(
    ann: Home, before: str
) -> None:
    ann.say(f"Look at {before}{ann.world.project}/a.h and {before}{ann.world.root}/b.h now")
    ann.push()
    assert str(ann.world.root) not in repr(ann.log.operations)
    assert f"{before}~/b.h now" in repr(ann.log.operations)


def test_a_second_machine_with_the_users_key_treats_records_as_the_users_own(
    desk: Home, laptop: Home
) -> None:
    said = desk.say("Use UTC", confidence=0.9, pinned=True)
    synced(desk, laptop)
    found = laptop.records()["Use UTC"]
    assert (found.trust, found.source, found.pinned, found.confidence) == (
        said.trust,
        said.source,
        True,
        0.9,
    )
    assert laptop.push() == 0
    laptop.memory.forget([said.id], USER)
    synced(laptop, desk)
    assert desk.records() == {}


def test_two_changes_on_one_machine_before_a_sync_of_the_other_cause_no_conflict(
    desk: Home, laptop: Home
) -> None:
    said = desk.say("Use UTC")
    synced(desk, laptop)
    for pinned in (True, False):
        desk.reword(said, pinned=pinned, why="zones")
        desk.sync()
    merged = laptop.pull()
    assert merged.conflicts == 0
    assert len([head for head in laptop.heads().values() if head.is_own]) == 1
    assert laptop.records()["Use UTC"].why == "zones"


def test_records_from_a_machine_with_the_users_name_but_without_the_key_are_not_trusted(
    tmp_path: Path, log: Log
) -> None:
    desk = Home(tmp_path, "ann", log, machine="desk")
    laptop = Home(tmp_path, "ann", log, machine="laptop")
    desk.say("Use UTC")
    synced(desk, laptop)
    assert laptop.records()["Use UTC"].trust == "foreign"
    assert sync.promotable(laptop.memory) == []


def test_a_received_operation_in_a_newer_format_is_counted_as_unread_and_not_applied(
    ann: Home, bob: Home
) -> None:
    ann.say("Use UTC")
    ann.push()
    ann.log.operations[0] = ann.log.operations[0]._replace(form=2)
    bob.pull()
    assert bob.records() == {}
    assert bob.counts().unread == 1


def test_an_invalid_operation_is_refused_and_counted(ann: Home, bob: Home) -> None:
    ann.say("Use UTC")
    ann.push()
    [sent] = ann.log.operations
    unusable = (
        sent._replace(key="r:x"),
        sent._replace(value={"id": "y"}),
        sent._replace(key=sent.key[:-1] + ("0" if sent.key[-1] != "0" else "1")),
        sent._replace(clock="later"),
        sent._replace(kind="entity"),
    )
    ann.log.operations = [
        one._replace(op_id=f"{n}{one.op_id[1:]}") for n, one in enumerate(unusable)
    ]
    bob.pull()
    assert bob.counts().refused == 5
    assert bob.records() == {}
    assert space.position(bob.database).seq == 5


def test_leaving_a_space_drops_records_of_others_and_keeps_the_users_own(
    ann: Home, bob: Home
) -> None:
    ann.say("Use UTC")
    bob.say("Use tabs")
    synced(ann, bob)
    space.end(bob.database, keep=False)
    assert list(bob.records()) == ["Use tabs"]
    assert bob.heads() == {}
    bob.say("Use spaces")
    assert bob.push() == 0
    assert bob.begin()
    synced(ann, bob)
    assert set(bob.records()) == {"Use UTC", "Use tabs", "Use spaces"}


def test_an_operation_with_a_copied_id_does_not_replace_one_waiting_to_be_sent(
    ann: Home, bob: Home
) -> None:
    said = ann.say("Use UTC")
    ann.push()
    [sent] = ann.log.operations
    ann.log.operations.clear()  # the server was set back, and another was faster
    space.forget_position(ann.database, 0)
    other = ids.new_id()
    for key in (sent.key, f"r:{other}"):
        ann.merge(
            [sent._replace(author="eve", key=key, value={**(sent.value or {}), "id": key[2:]})]
        )
    assert [(one.op_id, one.key) for one in outbox.waiting(ann.database, 9)] == [
        (sent.op_id, f"r:{said.id}")
    ]
    assert list(ann.records()) == ["Use UTC"]
