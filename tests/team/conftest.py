"""A PostgreSQL for the tests of this folder, and shared logs in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_fabric.team.server import migrate
from memory_fabric.team.server.connect import Connection, connect
from memory_fabric.team.server.log import SharedLog
from memory_fabric.team.server.members import add
from team.homes import Home, made
from team.postgres import ANN, BOB, OWNER, Cluster

SPACE = "app"


@pytest.fixture(scope="session", autouse=True)
def no_libpq_variables() -> Iterator[None]:
    """Remove what libpq would read from the developer's environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith("PG")]:
            patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """Run one PostgreSQL for all tests of this worker; it must be running after each."""
    cluster = Cluster()
    try:
        cluster.start()
        cluster.make_roles()
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture
def another_cluster() -> Iterator[Cluster]:
    """Run a PostgreSQL for one test, which may stop it."""
    cluster = Cluster()
    try:
        cluster.start()
        cluster.make_roles()
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture
def empty_database(postgres: Cluster) -> Iterator[str]:
    """Make a database without a schema, owned by OWNER; yield its name."""
    with postgres.database() as name:
        yield name


@pytest.fixture
def database(postgres: Cluster, empty_database: str) -> str:
    """Make a database with the space SPACE of OWNER, ANN and BOB; yield its name."""
    with closing(connect(postgres.dsn(OWNER, empty_database))) as connection:
        migrate.init(connection, SPACE)
        for member in (ANN, BOB):
            add(connection, SPACE, member)
    return empty_database


@pytest.fixture
def open_connection(postgres: Cluster, database: str) -> Iterator[Callable[[str], Connection]]:
    """Return connections by a role's name, closed after the test."""
    opened: list[Connection] = []

    def open_(user: str) -> Connection:
        opened.append(connect(postgres.dsn(user, database)))
        return opened[-1]

    yield open_
    for connection in opened:
        connection.close()


@pytest.fixture
def open_log(open_connection: Callable[[str], Connection]) -> Callable[[str], SharedLog]:
    """Return the log of SPACE as a role sees it."""
    return lambda user: SharedLog(open_connection(user), SPACE)


@pytest.fixture
def dsn(postgres: Cluster, empty_database: str, tmp_path: Path) -> dict[str, str]:
    """Make a database with a space by the command line; connection strings by role."""
    return made(postgres, empty_database, tmp_path)


@pytest.fixture
def ann(tmp_path: Path, dsn: dict[str, str]) -> Home:
    """Make a home of ANN that joined the space."""
    home = Home(tmp_path, "ann", ANN)
    home.join(dsn[ANN])
    return home


@pytest.fixture
def bob(tmp_path: Path, dsn: dict[str, str]) -> Home:
    """Make a home of BOB that joined the space."""
    home = Home(tmp_path, "bob", BOB)
    home.join(dsn[BOB])
    return home
