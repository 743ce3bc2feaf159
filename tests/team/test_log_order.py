"""Readers beside writers: whatever begins, commits and fails when, each reads everything once."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_fabric.sharing.replica.wire import Position, TeamOperation
from memory_fabric.sharing.server.log import SharedLog
from team.conftest import OpenLog, Place
from team.operations import APPEND, operation, texts
from team.postgres import ANN, BOB, OWNER, SUPERUSER, Cluster

START = Position()
WRITERS = 3
STEPS = st.lists(
    st.tuples(st.sampled_from(["begin", "write", "write", "commit", "roll back", "read"]),
              st.integers(0, WRITERS - 1)),
    max_size=30,
)  # fmt: skip


PAYLOAD = {"v": 1, "key": "o:1", "base": [], "value": {"text": "said"}}


def push_open(log: SharedLog, said: TeamOperation) -> None:
    """Push within the connection's open transaction, beginning one."""
    if log.connection.autocommit:
        log.connection.autocommit = False
    log.connection.execute("SELECT 1")  # begins it, so that the push does not commit
    log.push([said])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(steps=STEPS)
def test_every_reader_reads_every_commit_once_and_nothing_else(
    steps: list[tuple[str, int]], open_log: OpenLog
) -> None:
    with ExitStack() as opened:
        writers = [open_log(ANN) for _ in range(WRITERS)]
        reader = open_log(BOB)
        for log in [*writers, reader]:
            opened.callback(log.connection.close)
        _, position = reader.pull(START, limit=100_000)
        pending: list[list[str]] = [[] for _ in writers]
        committed: list[str] = []
        read: list[str] = []
        for step, number in [*steps, *(("commit", i) for i in range(WRITERS)), ("read", 0)]:
            writer = writers[number]
            if step == "begin":
                if writer.connection.autocommit:
                    writer.connection.autocommit = False
                writer.connection.execute("SELECT pg_current_xact_id()")
            elif step == "write":
                if any(pending[:number] + pending[number + 1 :]):
                    continue  # it would wait for the other one's end
                said = operation()
                push_open(writer, said)
                pending[number].append(said.op_id)
            elif step == "read":
                found, position = reader.pull(position, limit=3)
                while found:
                    read += [said.op_id for said in found]
                    found, position = reader.pull(position, limit=3)
            else:
                getattr(writer.connection, "commit" if step == "commit" else "rollback")()
                committed += pending[number] if step == "commit" else []
                pending[number] = []

        assert sorted(read) == sorted(committed)
        assert len(set(read)) == len(read)


def test_two_machines_can_replace_the_same_rows_concurrently(open_log: OpenLog) -> None:
    first = [operation(f"old {i}", key=f"o:{i}") for i in range(200)]
    open_log(ANN).push(first)
    held: list[list[str]] = []

    def replace(log: SharedLog, rows: list[TeamOperation], origin: str) -> None:
        new = [operation(origin, key=said.key, base=[said.op_id], origin=origin) for said in rows]
        held.append(log.push(new))

    threads = [
        threading.Thread(target=replace, args=(open_log(ANN), rows, origin))
        for rows, origin in ((first, "laptop"), (first[::-1], "desktop"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found, _ = open_log(BOB).pull(START)
    assert [len(ids) for ids in held] == [200, 200]
    assert sorted(texts(found)) == ["desktop"] * 200 + ["laptop"] * 200


def test_an_operation_pushed_by_two_machines_is_stored_once_and_acknowledged_to_both(
    open_log: OpenLog,
) -> None:
    said = operation("said once")
    first, second = open_log(ANN), open_log(ANN)
    held: list[str] = []
    push_open(first, said)
    waiting = threading.Thread(target=lambda: held.extend(second.push([said])))
    waiting.start()

    first.connection.commit()
    waiting.join()

    assert held == [said.op_id]
    assert texts(open_log(BOB).pull(START)[0]) == ["said once"]


def test_nothing_is_stored_in_the_log_if_the_connection_ends_before_the_commit(
    open_log: OpenLog, postgres: Cluster, place: Place
) -> None:
    log = open_log(ANN)
    push_open(log, operation("never committed"))
    with postgres.connect(SUPERUSER, place.database) as superuser:
        superuser.execute("SELECT pg_terminate_backend(%s)", (log.connection.info.backend_pid,))

    assert open_log(BOB).pull(START) == ([], START._replace(epoch=1))


def test_the_state_of_the_log_names_an_unfinished_prepared_transaction(
    open_log: OpenLog, postgres: Cluster, place: Place
) -> None:
    name = "of a coordinator that died"
    with postgres.connections(place.database) as open_:
        writer = open_(OWNER)
        writer.autocommit = False
        writer.execute(APPEND, (place.space, json.dumps(PAYLOAD), "2026-01-01"))
        writer.execute(f"PREPARE TRANSACTION '{name}'".encode())
        writer.autocommit = True

        held = open_log(BOB).state().held_by
        writer.execute(f"ROLLBACK PREPARED '{name}'".encode())

    assert held is not None
    assert (held.pid, held.user, held.application) == (None, OWNER, name)
    assert held.age_s is not None


def test_the_age_of_a_blocking_transaction_is_shown_only_to_the_member_who_started_it(
    open_log: OpenLog,
) -> None:
    writer = open_log(BOB)
    writer.connection.autocommit = False
    writer.connection.execute(APPEND, (writer.space, json.dumps(PAYLOAD), "2026-01-01"))

    own = open_log(BOB).state().held_by
    of_other = open_log(ANN).state().held_by
    writer.connection.rollback()

    assert own is not None and own.age_s is not None and own.age_s >= 0
    assert of_other is not None and of_other.age_s is None


@pytest.mark.parametrize("size", [1000, 100_000])
def test_a_pull_from_the_log_stops_at_its_size_limit_and_the_next_one_continues(
    size: int, open_log: OpenLog
) -> None:
    log = open_log(ANN)
    said = [operation("x" * size) for _ in range(5)]
    log.push(said)

    position, parts = START, []
    while True:
        found, position = log.pull(position, max_bytes=size)
        if not found:
            break
        parts.append(found)

    assert [len(part) for part in parts] == [1] * 5
    assert [part[0].op_id for part in parts] == [one.op_id for one in said]
