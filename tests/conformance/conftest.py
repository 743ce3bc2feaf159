"""Both stores, each with the members ANN and BOB and the stranger EVE."""

# Fixtures are parameters of others under their names.
# ruff: noqa: F811

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conformance.stores import PostgresStore, SqliteStore, Store
from memory_fabric.sharing.server.spaces import add, remove
from team.conftest import (  # noqa: F401 - fixtures are found by their names
    SPACE,
    Place,
    database,
    empty_database,
    no_libpq_variables,
    place,
    postgres,
    shared_database,
)
from team.postgres import EVE, OWNER, SUPERUSER, Cluster


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Store:
    """Return each of the stores."""
    found: Store = request.getfixturevalue(f"{request.param}_store")
    return found


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[SqliteStore]:
    """Return homes of the members."""
    store = SqliteStore(tmp_path)
    yield store
    store.close()


@pytest.fixture
def postgres_store(postgres: Cluster, place: Place) -> Iterator[PostgresStore]:
    """Return a space of its own."""
    with closing(postgres.connect(SUPERUSER, place.database)) as connection:
        _admit_and_dismiss(postgres, place)
        yield PostgresStore(connection, place.space)


@pytest.fixture
def own_postgres_store(postgres: Cluster, database: str) -> Iterator[PostgresStore]:
    """Return a space in a database of its own, whose schema a test may damage."""
    with closing(postgres.connect(SUPERUSER, database)) as connection:
        _admit_and_dismiss(postgres, Place(database, SPACE))
        yield PostgresStore(connection, SPACE)


def _admit_and_dismiss(postgres: Cluster, place: Place) -> None:
    """Give EVE the rights of a member on all tables, but no membership."""
    with closing(postgres.connect(OWNER, place.database)) as connection:
        add(connection, place.space, EVE)
        remove(connection, place.space, EVE)
