"""The shared log: what is pushed is pulled, once, by every member, whatever commits when."""

from __future__ import annotations

import json
import threading
from contextlib import closing

import pytest

from memory_fabric.sharing.replica.wire import FORM, MAX_PAYLOAD_BYTES, PURGE, Position
from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import PUSH_BATCH
from memory_fabric.sharing.team.errors import NotAMember
from team.conftest import OpenConnection, OpenLog, Place
from team.operations import APPEND, operation, texts
from team.postgres import ANN, BOB, EVE, OWNER, SUPERUSER, Cluster, is_waiting
from waiting import until

START = Position()
# No two characters alike, so that nothing compresses it.
LONG_NAME = "".join(map(chr, range(0x4E00, 0x4E00 + 1000)))


def payload(text: str) -> str:
    return json.dumps({"v": 1, "key": f"o:{text}", "base": [], "value": {"text": text}})


def append(connection: Connection, space: str, text: str) -> None:
    connection.execute(APPEND, (space, payload(text), "2026-01-01"))


def test_a_pull_misses_no_operation_if_transactions_commit_out_of_order(
    space: str, open_connection: OpenConnection, open_log: OpenLog
) -> None:
    early, late, reader = open_connection(ANN), open_connection(BOB), open_log(OWNER)
    early.autocommit = late.autocommit = False
    early.execute("SELECT pg_current_xact_id()")
    append(late, space, "committed first")

    late.commit()
    between, position = reader.pull(START)
    append(early, space, "committed second")
    early.commit()
    after, _ = reader.pull(position)

    assert texts(between) == ["committed first"]
    assert texts(after) == ["committed second"]


def test_a_second_append_to_the_log_waits_until_the_first_commits(
    space: str, open_connection: OpenConnection, open_log: OpenLog
) -> None:
    """Else the second could commit before the first, and be read before a lower number."""
    first, second, reader = open_connection(ANN), open_connection(BOB), open_log(OWNER)
    first.autocommit = False
    append(first, space, "appended first")
    waiting = threading.Thread(target=append, args=(second, space, "appended second"))
    waiting.start()
    until(lambda: is_waiting(reader.connection, second), "the second waits for the first")

    between, position = reader.pull(START)
    first.commit()
    waiting.join()
    after, _ = reader.pull(position)

    assert between == []
    assert texts(after) == ["appended first", "appended second"]


def test_an_open_transaction_in_one_space_does_not_block_another_space(
    space: str, open_connection: OpenConnection, open_log: OpenLog
) -> None:
    other = f"{space} too"
    spaces.init(open_connection(OWNER), other)
    elsewhere = open_connection(OWNER)
    elsewhere.autocommit = False
    append(elsewhere, other, "not committed")

    held = open_log(ANN).push([operation("said meanwhile")])
    found, _ = open_log(BOB).pull(START)
    elsewhere.rollback()

    assert len(held) == 1
    assert texts(found) == ["said meanwhile"]


def test_log_numbers_have_no_gaps_despite_duplicates_and_failures(
    space: str, open_log: OpenLog
) -> None:
    log, said = open_log(ANN), [operation(f"text {i}") for i in range(4)]
    log.push(said[:2])
    log.push([said[2], said[0], said[2], operation("no kind", kind="No Kind"), said[3]])

    rows = log.connection.execute(
        "SELECT seq, op_id::text FROM memory_fabric.operations WHERE space = %s ORDER BY seq",
        (space,),
    ).fetchall()

    assert rows == [(i + 1, one.op_id) for i, one in enumerate(said)]


def test_another_member_pulls_an_operation_unchanged_with_its_author(open_log: OpenLog) -> None:
    said = operation("Ports are in ports.toml — 端口", proof="ab" * 32)

    held = open_log(ANN).push([said])
    pulled, _ = open_log(BOB).pull(START)

    assert held == [said.op_id]
    assert pulled == [said._replace(author=ANN)]


def test_pushing_an_operation_again_acknowledges_it_without_adding_another(
    open_log: OpenLog,
) -> None:
    log, said = open_log(ANN), operation()

    log.push([said])
    held = log.push([said])

    assert held == [said.op_id]
    assert len(log.pull(START)[0]) == 1


def test_pushing_an_operation_of_another_member_is_not_acknowledged(open_log: OpenLog) -> None:
    said = operation()
    open_log(ANN).push([said])

    held = open_log(BOB).push([said])

    assert held == []


def test_each_pull_from_the_log_continues_where_the_last_one_ended(open_log: OpenLog) -> None:
    log = open_log(ANN)
    said = [operation(f"text {i}") for i in range(PUSH_BATCH + 7)]
    log.push(said)

    position, found = START, []
    while True:
        batch, position = log.pull(position, limit=100)
        if not batch:
            break
        found += texts(batch)

    assert found == texts(said)
    assert log.holds(position)


def test_the_log_is_read_from_the_start_again_if_its_epoch_has_changed(open_log: OpenLog) -> None:
    log = open_log(ANN)
    log.push([operation("said")])
    _, position = log.pull(START)

    again, _ = log.pull(position._replace(epoch=position.epoch + 1))

    assert texts(again) == ["said"]


def test_an_operation_replaced_by_a_newer_one_is_not_delivered(open_log: OpenLog) -> None:
    log = open_log(ANN)
    first = operation("old", key="o:1")
    second = operation("new", key="o:1", base=[first.op_id])

    log.push([first, second])

    assert texts(log.pull(START)[0]) == ["new"]


def test_an_operation_can_be_replaced_only_by_its_author_and_under_the_same_key(
    open_log: OpenLog,
) -> None:
    first = operation("of ann", key="o:1")
    open_log(ANN).push([first])

    open_log(BOB).push([operation("of bob", key="o:1", base=[first.op_id])])
    open_log(ANN).push([operation("another key", key="o:2", base=[first.op_id])])

    assert texts(open_log(BOB).pull(START)[0]) == ["of ann", "of bob", "another key"]


def test_invalid_operations_do_not_block_valid_ones(open_log: OpenLog) -> None:
    good = [operation(f"text {i}") for i in range(5)]
    bad = [
        operation("NUL \0 within"),
        operation("lone \ud800 surrogate"),
        operation("a kind", kind="No Kind"),
        operation("a base", base=["not an id"]),
        operation("x" * MAX_PAYLOAD_BYTES),
        operation("a name", value={"entity": LONG_NAME, "text": "no index holds it"}),
    ]
    refused: dict[str, str] = {}

    held = open_log(ANN).push([*good[:2], *bad, *good[2:]], refused.__setitem__)

    assert sorted(held) == sorted(said.op_id for said in good)
    assert refused.keys() == {said.op_id for said in bad}
    assert all(refused.values())


def test_operations_of_an_unknown_kind_or_later_format_are_delivered_to_other_members(
    open_log: OpenLog,
) -> None:
    later = operation(kind="picture")
    form = operation(form=FORM + 1)

    open_log(ANN).push([later, form])
    pulled, _ = open_log(BOB).pull(START)

    assert [said.kind for said in pulled] == ["picture", form.kind]
    assert pulled[1].form == FORM + 1
    assert pulled[1].value is not None
    assert pulled[1].value["value"] == form.value


def test_the_withdrawal_of_a_record_is_delivered_to_other_members(open_log: OpenLog) -> None:
    withdrawn = operation()._replace(value=None)

    open_log(ANN).push([withdrawn])

    assert open_log(BOB).pull(START)[0][0].value is None


def test_an_encrypted_operation_is_delivered_encrypted(open_log: OpenLog) -> None:
    sealed = operation(kind="sealed")._replace(value=None, sealed="c2VhbGVk")

    open_log(ANN).push([sealed])

    assert open_log(BOB).pull(START)[0] == [sealed._replace(author=ANN)]


def test_the_log_tells_which_of_the_given_operations_it_contains(open_log: OpenLog) -> None:
    said, missing = operation(), operation()
    log = open_log(ANN)
    log.push([said])

    assert log.has([said.op_id, missing.op_id]) == {said.op_id}


def test_a_purge_erases_the_text_on_the_server_and_is_delivered_to_other_members(
    open_log: OpenLog, open_connection: OpenConnection
) -> None:
    log = open_log(ANN)
    first = operation("the secret", key="o:1")
    log.push([first, operation("the secret, again", key="o:1", base=[first.op_id])])

    blanked = log.purge(["o:1"])

    pulled, _ = open_log(BOB).pull(START)
    stored = open_connection(ANN).execute("SELECT payload::text FROM memory_fabric.operations")
    assert blanked == 2
    assert [(said.kind, said.key, said.author) for said in pulled] == [(PURGE, "o:1", ANN)]
    assert pulled[0].value == {"of": [ANN]}
    assert not [row for row in stored if "secret" in row[0]]


def test_a_member_can_purge_only_own_operations_and_an_owner_those_of_any_member(
    open_log: OpenLog,
) -> None:
    open_log(ANN).push([operation("of ann", key="o:1")])

    of_bob = open_log(BOB).purge(["o:1"])
    of_owner = open_log(OWNER).purge(["o:1"])

    pulled, _ = open_log(BOB).pull(START)
    assert (of_bob, of_owner) == (0, 1)
    assert [(said.author, said.value) for said in pulled] == [(OWNER, {"of": [ANN]})]


def test_a_member_who_is_not_an_owner_cannot_purge_operations_of_another_member(
    open_log: OpenLog,
) -> None:
    open_log(ANN).push([operation("of ann", key="o:1")])
    forged = operation(key="o:1", kind=PURGE, value={"of": [ANN]})
    refused: dict[str, str] = {}

    held = open_log(BOB).push([forged], refused.__setitem__)

    assert held == []
    assert refused == {forged.op_id: "only an owner purges what others said"}


def test_a_user_who_is_not_a_member_gets_an_error_with_the_remedy(open_log: OpenLog) -> None:
    with pytest.raises(NotAMember) as refused:
        open_log(EVE).state()

    assert "team add" in refused.value.remedy


def test_the_state_shows_the_member_the_role_and_the_member_count(open_log: OpenLog) -> None:
    state = open_log(ANN).state()

    assert (state.epoch, state.member, state.role, state.members) == (1, ANN, "member", 3)
    assert open_log(OWNER).state().role == "owner"


def test_the_state_of_the_log_names_the_member_whose_transaction_blocks_others(
    open_log: OpenLog, space: str, open_connection: OpenConnection
) -> None:
    writer = open_connection(ANN)
    writer.autocommit = False
    append(writer, space, "not yet")

    held = open_log(BOB).state().held_by
    writer.rollback()

    assert held is not None
    assert (held.pid, held.user) == (writer.info.backend_pid, ANN)
    assert held.application == "memory-fabric"
    assert open_log(BOB).state().held_by is None


def test_compacting_the_log_erases_texts_that_were_replaced_over_a_month_ago(
    open_log: OpenLog, place: Place, postgres: Cluster
) -> None:
    log = open_log(ANN)
    old, recent = operation("old", key="o:1"), operation("recent", key="o:2")
    log.push([old, recent])
    log.push([operation("new", key=said.key, base=[said.op_id]) for said in (old, recent)])
    with closing(postgres.connect(SUPERUSER, place.database)) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute(
            "UPDATE memory_fabric.operations SET stored_at = now() - interval '31 days'"
            " WHERE op_id = %s",
            (old.op_id,),
        )

    blanked = log.compact(older_than_days=0)

    rows = log.connection.execute(
        "SELECT payload #>> '{value,text}' FROM memory_fabric.operations WHERE space = %s"
        " ORDER BY seq",
        (place.space,),
    ).fetchall()
    assert blanked == 1
    assert [row[0] for row in rows] == [None, "recent", "new", "new"]
    assert texts(log.pull(START)[0]) == ["new", "new"]
