"""Faults of server, network and process: told once, nothing lost, taken up by the next."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from memory_fabric import ids
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance, Record
from memory_fabric.sharing.replica import outbox, space
from memory_fabric.sharing.team import ties
from memory_fabric.store import files
from memory_fabric.store.memory import Memory
from team.homes import SPACE, Home, made
from team.postgres import ANN, BOB, OWNER, SUPERUSER, Cluster
from thorough import examples
from waiting import until

NOWHERE = "host=127.0.0.1 port=9 dbname=none user=ann connect_timeout=2"
KILLS = examples(20, 8)


@contextmanager
def opened(home: Home) -> Iterator[Memory]:
    """The memory of a home, closed afterwards."""
    memory = Memory.open(read_settings(home.hooks.environ, {}))
    try:
        yield memory
    finally:
        memory.close()


def remember(home: Home, *texts: str) -> None:
    """Remember decisions without the command line, which takes longer."""
    with opened(home) as memory:
        for text in texts:
            record = Record("decision", text, confidence=0.9)
            memory.remember(record, Provenance("cli", trust="user", author=home.user))


def decisions(home: Home) -> list[str]:
    """The texts of all active decisions of a home, sorted."""
    with opened(home) as memory:
        found = memory.find_records("type = 'decision' AND status = 'active'", limit=10_000)
    return sorted(record.what for record in found)


def fails_again(home: Home) -> Callable[[], bool]:
    """A condition: the exchange is tried and fails, unless another process is at work."""

    def fails() -> bool:
        home.release()
        return home.work() == 1

    return fails


@pytest.fixture
def alone(tmp_path: Path) -> Home:
    """A home whose tie never worked: nothing listens there."""
    home = Home(tmp_path, "alone", ANN)
    remember(home, "We use Kafka for the order events")
    site = os.path.dirname(os.path.dirname(os.path.abspath(psycopg.__file__)))
    home.tie(dsn=NOWHERE, space=SPACE, member=ANN, packages=site)
    return home


def test_an_unresponsive_host_does_not_delay_hooks_and_is_reported_once(alone: Home) -> None:
    result = alone.event("SessionStart", source="startup")
    assert result.status == 0

    until(lambda: alone.state.failures == 1, "the process that the hook started fails")
    for failures in (2, 3):
        until(fails_again(alone), "the next one fails, too")
        assert alone.state.failures == failures

    [notice] = alone.notices
    assert "the shared log of shop is not exchanged: Cannot connect" in notice
    assert "tries again" in notice
    assert alone.state.cause == "NoAnswer"
    logged = (alone.home / "logs/memory-fabric.log").read_text("utf-8")
    assert logged.count("team (shop): NoAnswer; memory-fabric team status says more") == 3
    assert "127.0.0.1" not in logged and f"{ANN}@" not in logged
    assert "Cannot connect" in alone.run("team", "status").out
    assert "Cannot connect" in alone.run("status").out
    checks = {check["name"]: check for check in alone.run("doctor", "--json").json}
    assert checks["shared log"]["state"] == "warning" and checks["shared log"]["remedy"]


def test_a_failed_sync_is_not_repeated_before_its_delay_has_passed(alone: Home) -> None:
    assert alone.work() == 1
    assert alone.state.next_at > alone.state.ran_at
    # The first delay is some seconds, in which a loaded machine may not even start a process.
    ties.update_state(str(alone.home), alone.project_id, next_at=time.time() + 3600)
    before = alone.state

    assert alone.work() == 0  # not due

    assert alone.state == before


def test_a_wrong_password_is_reported_once_with_the_remedy(
    alone: Home, postgres: Cluster, empty_database: str
) -> None:
    made_by = Home(alone.home.parent.parent, "olga", OWNER)
    made_by.json("team", "init", postgres.dsn(OWNER, empty_database), "--space", SPACE)
    password = made_by.json("team", "add", "carl" + os.urandom(4).hex(), "--create-role")
    member = password["member"]
    alone.tie(dsn=postgres.tcp_dsn(member, empty_database), member=member)

    for _ in range(2):
        done = alone.run("team", "sync", PGPASSWORD="wrong")
        assert done.status == 1 and "refuses the login" in done.err and ".pgpass" in done.err

    assert len(alone.notices) == 1 and ".pgpass" in alone.notices[0]
    right = alone.run("team", "sync", "--json", PGPASSWORD=password["password"])
    assert right.status == 0 and right.json[0]["sent"] == 1


def test_a_missing_driver_is_reported_in_only_one_notice_with_the_remedy(alone: Home) -> None:
    alone.tie(packages="")

    for _ in range(2):
        assert alone.work() == 1
        alone.release()

    [notice] = alone.notices
    assert "exchange are missing here (psycopg" in notice and "pip install" in notice
    assert alone.state.cause == "DriverMissing"


def test_a_week_offline_loses_no_records_and_is_reported_only_after_days(
    another_cluster: Cluster, tmp_path: Path
) -> None:
    with another_cluster.database() as database:
        dsn = made(another_cluster, database, tmp_path)
        ann, bob = Home(tmp_path, "ann", ANN), Home(tmp_path, "bob", BOB)
        ann.join(dsn[ANN])
        bob.join(dsn[BOB])
        another_cluster.stop()
        remember(ann, *(f"Decision {day} of the week" for day in range(7)))

        assert ann.work() == 1 and ann.notices == []
        long_ago = ids.timestamp(time.time() - 4 * 24 * 3600)
        ties.update_state(str(ann.home), ann.project_id, next_at=0.0, since=long_ago)
        assert ann.work() == 1 and len(ann.notices) == 1
        assert ann.waiting == 7

        another_cluster.start()
        assert ann.sync()[SPACE]["sent"] == 7
        bob.sync()
        assert decisions(bob) == decisions(ann) and len(decisions(bob)) == 7
        assert ann.state.failures == 0 and ann.state.last_error == ""


def test_a_server_restored_from_an_old_copy_is_filled_again_and_reported_once(
    another_cluster: Cluster, tmp_path: Path
) -> None:
    with another_cluster.database() as database:
        dsn = made(another_cluster, database, tmp_path)
        ann, bob = Home(tmp_path, "ann", ANN), Home(tmp_path, "bob", BOB)
        ann.join(dsn[ANN])
        bob.join(dsn[BOB])
        remember(ann, "Said before the copy")
        ann.sync()
        bob.sync()
        another_cluster.stop()
        copy = another_cluster.data_folder + ".copy"
        subprocess.run(["cp", "-a", another_cluster.data_folder, copy], check=True)
        another_cluster.start()
        for number in range(3):
            remember(ann, f"Ann after the copy {number}")
            remember(bob, f"Bob after the copy {number}")
            ann.sync()
            bob.sync()
        ann.sync()
        expected = decisions(ann)
        another_cluster.stop()
        shutil.rmtree(another_cluster.data_folder)
        os.rename(copy, another_cluster.data_folder)
        another_cluster.start()

        outcomes = [home.sync()[SPACE] for home in (ann, bob, ann, bob)]

        assert ["set back" in found["again"] for found in outcomes] == [True, True, False, False]
        assert len(expected) == 7 and decisions(ann) == decisions(bob) == expected
        for home in (ann, bob):
            assert len(home.notices) == 1 and "nothing is lost" in home.notices[0]
        third = Home(tmp_path, "third", ANN)
        third.join(dsn[ANN])
        assert decisions(third) == expected


def test_a_log_moved_to_another_server_is_reported_until_its_owner_runs_team_init(
    ann: Home, bob: Home, postgres: Cluster, empty_database: str, another_cluster: Cluster,
    tmp_path: Path,
) -> None:  # fmt: skip
    remember(ann, "Said before the move")
    ann.sync()
    dump = os.path.join(postgres.folder, "dump.sql")
    where = ("-h", postgres.folder, "-p", str(postgres.port), "-U", SUPERUSER)
    postgres.run("pg_dump", *where, "-f", dump, empty_database)
    with another_cluster.database() as database:
        there = ("-h", another_cluster.folder, "-p", str(another_cluster.port), "-U", SUPERUSER)
        another_cluster.run("psql", *there, "-q", "-d", database, "-f", dump)
        for home in (ann, bob):
            home.tie(dsn=another_cluster.dsn(home.user, database))
        remember(ann, "Said after the move")

        done = ann.run("team", "sync")
        assert done.status == 1 and "team init" in done.err and len(ann.notices) == 1
        owner = Home(tmp_path, "olga2", OWNER)
        moved = another_cluster.dsn(OWNER, database)
        assert owner.json("team", "init", moved, "--space", SPACE)["epoch"] == 2

        outcomes = [home.sync()[SPACE] for home in (ann, bob, ann)]
        assert ["moved" in found["again"] for found in outcomes] == [True, False, False]
        assert decisions(bob) == decisions(ann) == ["Said after the move", "Said before the move"]


def test_a_read_only_server_is_read_and_new_records_wait_until_it_accepts_writes(
    ann: Home, bob: Home, postgres: Cluster, empty_database: str
) -> None:
    remember(bob, "Bob said this before")
    bob.sync()
    remember(ann, "Ann said this while it was read-only")
    with postgres.connect(SUPERUSER) as connection:
        connection.execute(
            f"ALTER DATABASE {empty_database} SET default_transaction_read_only = on"
        )

    done = ann.run("team", "sync")

    assert done.status == 1 and "accepts no writes" in done.err
    assert decisions(ann) == ["Ann said this while it was read-only", "Bob said this before"]
    assert ann.waiting == 1 and ann.notices == []  # it may pass
    with postgres.connect(SUPERUSER) as connection:
        connection.execute(f"ALTER DATABASE {empty_database} RESET default_transaction_read_only")
    assert ann.sync()[SPACE]["sent"] == 1


def test_an_operation_that_the_server_refused_is_shown_in_the_status_with_the_reason(
    ann: Home,
) -> None:
    remember(ann, "This one will be refused")
    with opened(ann) as memory:
        database = memory.database("project", create=False)
        assert database is not None
        outbox.settle(memory, database)
        [operation] = outbox.waiting(database, 10)
        outbox.refuse(database, operation.op_id, "the payload is no operation")

    assert ann.sync()[SPACE]["sent"] == 0
    told = ann.run("team", "status").out
    assert "refuses 1 change of yours: the payload is no operation." in told
    checks = {check["name"]: check for check in ann.run("doctor", "--json").json}
    assert checks["shared log"]["state"] == "warning"


def test_concurrent_sync_processes_exit_successfully_and_send_all_records(
    ann: Home, bob: Home
) -> None:
    remember(ann, *(f"Decision number {number}" for number in range(50)))

    workers = [ann.worker() for _ in range(4)]

    assert [worker.wait(60) for worker in workers] == [0] * 4
    assert ann.sync()[SPACE]["sent"] == 0 and ann.state.failures == 0
    bob.sync()
    assert decisions(bob) == decisions(ann)


def test_the_sync_command_fails_with_a_message_while_another_process_syncs(
    ann: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_fabric.cli.commands.sync.WAIT_S", 0.0)
    path = ties.lock_path(str(ann.home), ann.project_id, "sync")
    with files.Locked(path, 0):
        done = ann.run("team", "sync")

    assert done.status == 1 and "another process exchanges it now" in done.out


def test_a_sync_killed_at_any_moment_is_completed_by_the_next_one(ann: Home, bob: Home) -> None:
    began_s = time.monotonic()
    assert ann.work() == 0
    usual_s = time.monotonic() - began_s
    chance = random.Random(20)

    for number in range(KILLS):
        remember(ann, *(f"Ann in round {number}: {part}" for part in range(5)))
        remember(bob, f"Bob in round {number}")
        running = [ann.worker(), bob.worker()]
        for worker in running:
            try:
                worker.wait(chance.uniform(0, usual_s))
            except subprocess.TimeoutExpired:
                worker.send_signal(signal.SIGKILL)
                worker.wait()

    for home in (ann, bob, ann):
        home.sync()
    assert len(decisions(ann)) == 6 * KILLS
    assert decisions(ann) == decisions(bob)
    for home in (ann, bob):
        with opened(home) as memory:
            database = memory.database("project", create=False)
            assert database is not None
            counts = space.counts(database)
        assert (counts.waiting, counts.due, counts.refused, counts.unread) == (0, 0, 0, 0)
        assert home.run("check").status == 0
