"""A PostgreSQL for the tests of this folder, and shared logs in it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import Connection, connect
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.server.spaces import add
from team.homes import Home, addresses, made
from team.postgres import ANN, BOB, OWNER, Cluster

SPACE = "app"
OpenConnection = Callable[[str], Connection]
OpenLog = Callable[[str], SharedLog]


class Place(NamedTuple):
    """A space in a database of the tests' cluster."""

    database: str
    space: str


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


@pytest.fixture(scope="session")
def template(postgres: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Make a database with a space by the command line; yield its name."""
    with postgres.database() as name:
        made(postgres, name, tmp_path_factory.mktemp("template"))
        yield name


@pytest.fixture
def empty_database(postgres: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """Make a database without a schema, owned by OWNER; yield its name.

    For a test that uses `dsn`, it is a copy of `template`.
    """
    copied = "dsn" in request.fixturenames
    with postgres.database(*([request.getfixturevalue("template")] if copied else [])) as name:
        yield name


@pytest.fixture
def database(postgres: Cluster, empty_database: str) -> str:
    """Make a database with the space SPACE of OWNER, ANN and BOB; yield its name."""
    make_space(postgres, empty_database, SPACE)
    return empty_database


@pytest.fixture(scope="session")
def shared_database(postgres: Cluster) -> Iterator[str]:
    """Make a database for the spaces of tests that leave the schema alone; yield its name."""
    with postgres.database() as name:
        make_space(postgres, name, SPACE)
        yield name


@pytest.fixture
def place(postgres: Cluster, shared_database: str) -> Place:
    """Make a new space of OWNER, ANN and BOB. A module may replace it by one in `database`."""
    space = f"space {uuid.uuid4()}"
    make_space(postgres, shared_database, space)
    return Place(shared_database, space)


@pytest.fixture
def space(place: Place) -> str:
    """Return the name of the space of `place`."""
    return place.space


@pytest.fixture
def open_connection(postgres: Cluster, place: Place) -> Iterator[Callable[[str], Connection]]:
    """Return connections to `place` by a role's name, closed after the test."""
    with postgres.connections(place.database) as open_:
        yield open_


@pytest.fixture
def open_log(
    place: Place, open_connection: Callable[[str], Connection]
) -> Callable[[str], SharedLog]:
    """Return the log of `place` as a role sees it."""
    return lambda user: SharedLog(open_connection(user), place.space)


@pytest.fixture
def dsn(postgres: Cluster, empty_database: str) -> dict[str, str]:
    """Make a database with the space of `template`; connection strings by role."""
    return addresses(postgres, empty_database)


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


def make_space(postgres: Cluster, database: str, space: str) -> None:
    """Make a space of OWNER, with ANN and BOB as members."""
    with closing(connect(postgres.dsn(OWNER, database))) as connection:
        spaces.init(connection, space)
        for member in (ANN, BOB):
            add(connection, space, member)
