"""Creation of the schema, and logs that were restored: into another cluster, or from yesterday."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from memory_fabric.sharing.replica.wire import Position
from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import connect
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.team.errors import (
    BadAddress,
    NotAllowed,
    NotAMember,
    UnfitServer,
)
from team.conftest import SPACE, OpenConnection, OpenLog, Place
from team.operations import operation, texts
from team.postgres import ANN, BOB, OWNER, SUPERUSER, Cluster

START = Position()


@pytest.fixture
def place(database: str) -> Place:
    """Give each test a database of its own, whose settings and schema it may change."""
    return Place(database, SPACE)


def dumped(cluster: Cluster, database: str, user: str = SUPERUSER) -> str:
    path = f"{cluster.folder}/{database}.dump"
    options = ["--enable-row-security"] if user != SUPERUSER else []
    cluster.run("pg_dump", "-Fc", "-f", path, *options, cluster.dsn(user, database))
    return path


def restored(cluster: Cluster, path: str, database: str) -> None:
    with closing(cluster.connect(SUPERUSER)) as superuser:
        superuser.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)".encode())
        superuser.execute(f"CREATE DATABASE {database} OWNER {OWNER} TEMPLATE template0".encode())
    with open(path, "rb") as dump:
        content = dump.read()
    copy = f"{cluster.folder}/restore.dump"
    with open(copy, "wb") as file:
        file.write(content)
    cluster.run("pg_restore", "-d", cluster.dsn(SUPERUSER, database), "--exit-on-error", copy)


def test_repeating_team_init_changes_nothing(open_connection: OpenConnection) -> None:
    first = spaces.init(open_connection(OWNER), SPACE)

    again = spaces.init(open_connection(OWNER), SPACE)

    assert again == first
    assert (first.epoch, first.role) == (1, "owner")


def test_concurrent_team_init_commands_create_one_schema(
    postgres: Cluster, empty_database: str
) -> None:
    states = []

    def init(space: str) -> None:
        with closing(connect(postgres.dsn(OWNER, empty_database))) as connection:
            states.append(spaces.init(connection, space))

    threads = [threading.Thread(target=init, args=(f"space {i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [state.epoch for state in states] == [1] * 4


def test_a_database_without_a_log_is_reported(postgres: Cluster, empty_database: str) -> None:
    with (
        closing(connect(postgres.dsn(OWNER, empty_database))) as connection,
        pytest.raises(UnfitServer, match=empty_database) as refused,
    ):
        SharedLog(connection, SPACE).state()

    assert "team init" in refused.value.remedy


def test_a_newer_schema_is_not_changed(open_connection: OpenConnection, open_log: OpenLog) -> None:
    owner = open_connection(OWNER)
    owner.execute("INSERT INTO memory_fabric.schema_version VALUES (999)")

    with pytest.raises(UnfitServer, match="999") as refused:
        spaces.init(owner, SPACE)
    with pytest.raises(UnfitServer, match="999"):
        open_log(ANN).state()

    assert "Update" in refused.value.remedy


def test_a_log_with_an_outdated_schema_is_refused_with_the_command_to_migrate(
    open_connection: OpenConnection, open_log: OpenLog
) -> None:
    open_connection(OWNER).execute("DELETE FROM memory_fabric.schema_version WHERE version = 10")

    with pytest.raises(UnfitServer, match="lacks step 10") as refused:
        open_log(ANN).state()

    assert "team init" in refused.value.remedy


def test_only_the_owner_of_the_schema_creates_spaces(open_connection: OpenConnection) -> None:
    with pytest.raises(NotAllowed, match=OWNER) as refused:
        spaces.init(open_connection(ANN), "of ann")

    assert f"as {OWNER}" in refused.value.remedy


def test_a_role_without_permission_to_create_a_schema_is_reported(
    postgres: Cluster, empty_database: str
) -> None:
    with (
        closing(connect(postgres.dsn(ANN, empty_database))) as connection,
        pytest.raises(NotAllowed),
    ):
        spaces.init(connection, SPACE)


def test_team_init_is_refused_for_a_space_of_another_owner(
    postgres: Cluster, database: str, open_connection: OpenConnection
) -> None:
    with closing(postgres.connect(SUPERUSER, database)) as superuser:
        superuser.execute("SELECT memory_fabric.create_space('private')")

    with pytest.raises(NotAMember):
        spaces.init(open_connection(OWNER), "private")


def test_a_database_that_is_not_utf8_is_refused(postgres: Cluster, empty_database: str) -> None:
    name = f"{empty_database}_latin"
    with closing(postgres.connect(SUPERUSER)) as superuser:
        superuser.execute(
            f"CREATE DATABASE {name} OWNER {OWNER} TEMPLATE template0 ENCODING latin1".encode()
        )

    with (
        closing(connect(postgres.dsn(OWNER, name))) as connection,
        pytest.raises(BadAddress, match="LATIN1") as refused,
    ):
        spaces.init(connection, SPACE)

    with closing(postgres.connect(SUPERUSER)) as superuser:
        superuser.execute(f"DROP DATABASE {name}".encode())
    assert "UTF8" in refused.value.remedy


def test_a_log_restored_into_another_cluster_starts_a_new_epoch(
    postgres: Cluster,
    another_cluster: Cluster,
    database: str,
    open_log: OpenLog,
) -> None:
    said = [operation(f"text {i}") for i in range(5)]
    open_log(ANN).push(said)
    _, position = open_log(BOB).pull(START)
    restored(another_cluster, dumped(postgres, database), database)

    with (
        closing(connect(another_cluster.dsn(OWNER, database))) as owner,
        closing(connect(another_cluster.dsn(BOB, database))) as member,
    ):
        bob = SharedLog(member, SPACE)
        with pytest.raises(UnfitServer, match="another PostgreSQL cluster") as moved:
            bob.state()
        state = spaces.init(owner, SPACE)
        bob.push([operation("after the move")])
        found, _ = bob.pull(position)

    assert "team init" in moved.value.remedy
    assert state.epoch == 2
    assert texts(found) == [*texts(said), "after the move"]


def test_an_owner_without_superuser_rights_can_dump_and_restore_the_log(
    postgres: Cluster, another_cluster: Cluster, database: str, open_log: OpenLog
) -> None:
    open_log(ANN).push([operation("said")])

    restored(another_cluster, dumped(postgres, database, OWNER), database)

    with closing(connect(another_cluster.dsn(OWNER, database))) as owner:
        spaces.init(owner, SPACE)
        found, _ = SharedLog(owner, SPACE).pull(START)
    assert texts(found) == ["said"]


def test_a_log_restored_from_a_backup_is_read_again_from_the_start(
    postgres: Cluster, database: str, open_log: OpenLog
) -> None:
    before, lost = operation("before the backup"), operation("after the backup")
    open_log(ANN).push([before])
    path = dumped(postgres, database)
    open_log(ANN).push([lost])
    _, position = open_log(BOB).pull(START)
    restored(postgres, path, database)
    with (
        closing(connect(postgres.dsn(ANN, database))) as of_ann,
        closing(connect(postgres.dsn(BOB, database))) as of_bob,
    ):
        ann, bob = SharedLog(of_ann, SPACE), SharedLog(of_bob, SPACE)
        noticed = not bob.holds(position)

        ann.push([operation("new to bob"), lost])
        still_noticed = not bob.holds(position)
        found, _ = bob.pull(START)

    assert noticed
    assert still_noticed
    assert texts(found) == ["before the backup", "new to bob", "after the backup"]
