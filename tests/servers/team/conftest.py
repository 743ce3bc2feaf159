"""A space in a real PostgreSQL, and memories of its members."""

# Fixtures are parameters of others under their names.
# ruff: noqa: F811

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from memory_fabric.config import read_settings
from memory_fabric.servers.http.team_memory import TeamMemory
from memory_fabric.servers.http.team_reader import TeamReader
from memory_fabric.servers.http.team_words import Vocabulary
from memory_fabric.sharing.replica.wire import TeamOperation
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import SharedLog
from team.conftest import (  # noqa: F401 - fixtures are found by their names
    another_cluster,
    database,
    empty_database,
    no_libpq_variables,
    open_connection,
    open_log,
    place,
    postgres,
    shared_database,
    space,
)


@pytest.fixture
def say(open_log: Callable[[str], SharedLog]) -> Callable[..., None]:
    """Append operations as a member; the log must take all."""

    def say_(member: str, *operations: TeamOperation) -> None:
        assert len(open_log(member).push(operations)) == len(operations)

    return say_


@pytest.fixture
def memory_of(
    open_connection: Callable[[str], Connection], space: str
) -> Iterator[Callable[..., TeamMemory]]:
    """Return the memory of a member, within a transaction that ends with the test."""
    settings = read_settings({"HOME": "/nowhere"}, {})
    with ExitStack() as transactions:

        def memory_of_(member: str, *domains: str) -> TeamMemory:
            connection = open_connection(member)
            transactions.enter_context(connection.transaction())
            reader = TeamReader(connection, space, member, Vocabulary(), domains or None)
            return TeamMemory(settings, reader)

        yield memory_of_
