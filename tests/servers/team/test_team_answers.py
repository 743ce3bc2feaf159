"""Answers that are kept for seconds: never beyond a change of what the space shows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_fabric.servers.http import team_keys
from memory_fabric.servers.http.keys import digest_of
from memory_fabric.servers.http.team_access import Connections
from memory_fabric.servers.http.team_keys import Holder
from memory_fabric.sharing.server.connect import Connection, connect
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.server.spaces import remove
from servers.team.serving import Served, command, new_key, serving
from team.conftest import SPACE, Place
from team.postgres import ANN, BOB, OWNER, SUPERUSER, Cluster
from team.statements import record, withdrawal

ASKED = "v1/memory/recall?q=when+are+deploys"
TUESDAYS = "Deploys happen on Tuesdays"


@pytest.fixture
def of_owner(postgres: Cluster, database: str) -> str:
    return postgres.dsn(OWNER, database)


@pytest.fixture
def place(database: str) -> Place:
    return Place(database, SPACE)


@pytest.fixture
def server(of_owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with serving(tmp_path, of_owner, new_key(of_owner, SPACE, ANN)) as served:
        yield served


def texts(server: Served, key: str | None = None) -> list[str]:
    answer = server.get(ASKED, key)
    assert answer.status == 200, answer.body
    return [found["text"] for found in answer.body["results"]]


def test_a_repeated_question_is_answered_from_the_cache(
    postgres: Cluster, of_owner: str, server: Served, database: str
) -> None:
    server.text("remember", text=TUESDAYS)
    first = texts(server)
    with closing(postgres.connect("postgres", database)) as connection:
        connection.execute("ALTER FUNCTION memory_fabric.find_heads RENAME TO find_none")
        again = texts(server)
        other = server.get("v1/memory/recall?q=what+are+deploys")

    assert first == again == [TUESDAYS]
    assert other.status != 200


def test_withdrawn_and_purged_records_are_no_longer_returned_from_the_cache(
    server: Served, open_log: Callable[[str], SharedLog]
) -> None:
    log = open_log(ANN)
    said, other = record(TUESDAYS), record("Deploys are reviewed on Mondays")
    log.push([said, other])
    assert sorted(texts(server)) == sorted([TUESDAYS, "Deploys are reviewed on Mondays"])

    log.push([withdrawal(said)])
    assert texts(server) == ["Deploys are reviewed on Mondays"]

    log.purge([other.key])
    assert texts(server) == []


def test_a_removed_member_or_deleted_key_is_refused_despite_a_cached_answer(
    of_owner: str, server: Served, tmp_path: Path
) -> None:
    bob = new_key(of_owner, SPACE, BOB)
    laptop = new_key(of_owner, SPACE, BOB, "laptop")
    server.text("remember", text=TUESDAYS)
    assert texts(server, bob) == texts(server, laptop) == [TUESDAYS]

    command(tmp_path, "--drop-key", "laptop", "--team", of_owner)
    assert server.get(ASKED, laptop).status == 401
    with closing(connect(of_owner)) as connection:
        remove(connection, SPACE, BOB)
    assert server.get(ASKED, bob).status == 401


def test_a_key_limited_to_a_domain_gets_no_answer_cached_for_another_key(
    of_owner: str, server: Served
) -> None:
    legal = new_key(of_owner, SPACE, ANN, "legal", "legal")
    server.text("remember", text=TUESDAYS)

    assert (texts(server), texts(server, legal)) == ([TUESDAYS], [])


def test_the_version_of_a_team_space_increases_with_each_committed_change(
    of_owner: str,
    open_log: Callable[[str], SharedLog],
    open_connection: Callable[[str], Connection],
) -> None:
    digest = digest_of(new_key(of_owner, SPACE, ANN))

    def state() -> int:
        holder = team_keys.holder_of(open_connection(OWNER), digest)
        assert isinstance(holder, Holder)
        return holder.state

    first, second = open_log(ANN), open_log(BOB)
    states = [state()]
    with first.connection.transaction():
        first.push([record(f"One {uuid.uuid4()}")])
        assert state() == states[0]
    states.append(state())
    second.push([record(f"Two {uuid.uuid4()}")])
    states.append(state())

    assert states == sorted(set(states))


def test_a_database_connection_closed_by_the_server_is_replaced(
    postgres: Cluster, of_owner: str
) -> None:
    connections = Connections(of_owner)
    process = connections.run(lambda connection: connection.info.backend_pid)
    with closing(postgres.connect(SUPERUSER)) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (process,))

    answer = connections.run(lambda connection: connection.execute("SELECT 1").fetchone())

    connections.close()
    assert answer == (1,)
