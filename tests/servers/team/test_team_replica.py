"""`serve --team DSN --read DSN` with a real hot standby, and the exchange against one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, LiteralString

import pytest

from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import connect
from memory_fabric.sharing.server.spaces import add, remove
from servers.team.serving import Served, command, new_key, serving
from team.homes import SPACE as HOMES_SPACE
from team.homes import Home, made
from team.postgres import ANN, BOB, OWNER, SUPERUSER, Cluster
from waiting import until

SPACE = "app"
RECALL = "v1/memory/recall?q="


class Pair:
    """A primary with a hot standby, and a space in it with a key of ANN and one of BOB."""

    def __init__(self, primary: Cluster, database: str) -> None:
        self.primary, self.database = primary, database
        with closing(connect(self.dsn)) as connection:
            spaces.init(connection, SPACE)
            for member in (ANN, BOB):
                add(connection, SPACE, member)
        self.ann, self.bob = (new_key(self.dsn, SPACE, one) for one in (ANN, BOB))
        self.standby = Cluster(primary)
        self.standby.start()

    @property
    def dsn(self) -> str:
        return self.primary.dsn(OWNER, self.database)

    @property
    def read(self) -> str:
        return self.standby.dsn(OWNER, self.database)

    def replay(self, verb: str) -> None:
        """Stop (pause) or go on (resume) with what the primary sends."""
        with closing(self.standby.connect(SUPERUSER, self.database)) as connection:
            connection.execute(f"SELECT pg_wal_replay_{verb}()".encode())
            if verb == "pause":
                state = "SELECT pg_get_wal_replay_pause_state()"
                until(lambda: connection.execute(state).fetchone() == ("paused",))

    def number(self, cluster: Cluster, statement: LiteralString) -> int:
        """Return the number that a statement selects there."""
        with closing(cluster.connect(SUPERUSER, self.database)) as connection:
            row = connection.execute(statement).fetchone()
        return int(row[0]) if row else 0

    def searches(self, cluster: Cluster) -> int:
        """Return how many times the search of a space was called there."""
        return self.number(
            cluster,
            "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions "
            "WHERE funcname IN ('find_heads', 'find_newest_heads')",
        )

    def operations(self, cluster: Cluster) -> int:
        """Return how many operations the log holds there."""
        return self.number(cluster, "SELECT count(*) FROM memory_fabric.operations")

    def others(self, cluster: Cluster) -> int:
        """Return how many other clients are connected to the database there."""
        return self.number(
            cluster,
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
        )


@pytest.fixture(scope="module")
def primary() -> Iterator[Cluster]:
    """A primary that counts calls of functions, as its standbys do."""
    cluster = Cluster()
    try:
        cluster.start(track_functions="all")
        cluster.make_roles()
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture
def pair(primary: Cluster) -> Iterator[Pair]:
    with primary.database() as database:
        both = Pair(primary, database)
        try:
            yield both
        finally:
            both.standby.remove()


@pytest.fixture
def server(pair: Pair, tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, pair.dsn, pair.ann, "--read", pair.read) as served:
        yield served


def texts(server: Served, question: str, key: str | None = None) -> list[str]:
    answer = server.get(RECALL + question.replace(" ", "+"), key)
    assert answer.status == 200, answer.body
    return [found["text"] for found in answer.body["results"]]


def findings(server: Served) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.get("api/status").body["tiers"][0]["findings"]
    return found


def test_questions_go_to_the_replica_and_changes_to_the_primary(pair: Pair, tmp_path: Path) -> None:
    pair.standby.stop()
    pair.standby.start(track_functions="all")
    with serving(tmp_path, pair.dsn, pair.ann) as writer:
        writer.text("remember", text="We use PostgreSQL for billing")
    until(lambda: pair.others(pair.primary) == 0)  # a connection counts its calls when it ends
    until(lambda: pair.operations(pair.standby) == pair.operations(pair.primary))
    before = pair.searches(pair.primary)

    with serving(tmp_path, pair.dsn, pair.ann, "--read", pair.read) as server:
        asked = [texts(server, f"billing database {number}", pair.bob) for number in range(5)]
        told = server.text("recall", query="billing")
    until(lambda: pair.others(pair.primary) == 0)

    assert asked == [["We use PostgreSQL for billing"]] * 5
    assert "We use PostgreSQL for billing" in told
    until(lambda: pair.searches(pair.standby) >= 6)
    assert pair.searches(pair.primary) == before


def test_new_and_forgotten_records_are_seen_despite_a_lagging_replica(
    pair: Pair, server: Served
) -> None:
    server.text("remember", text="Deploys happen on Tuesdays")
    assert texts(server, "when are deploys") == ["Deploys happen on Tuesdays"]
    pair.replay("pause")

    server.text("remember", text="The gateway retries three times")
    found = texts(server, "how often does the gateway retry")
    preview = server.text("forget", what="Deploys happen on Tuesdays")
    server.text("forget", what="Deploys happen on Tuesdays", confirm=preview.split('"')[-2])
    taken_back = texts(server, "when are deploys")
    told = findings(server)
    pair.replay("resume")

    assert found == ["The gateway retries three times"]
    assert taken_back == []
    assert [one["reason"] for one in told] == [
        "The replica is not asked, the primary answers: The replica lags behind."
    ]
    until(lambda: findings(server) == [])
    assert texts(server, "gateway retry") == ["The gateway retries three times"]


def test_a_new_key_or_removed_member_takes_effect_despite_a_lagging_replica(
    pair: Pair, server: Served
) -> None:
    server.text("remember", text="Deploys happen on Tuesdays")
    pair.replay("pause")

    new = new_key(pair.dsn, SPACE, ANN, "laptop")
    found = texts(server, "when are deploys", new)
    with closing(connect(pair.dsn)) as connection:
        remove(connection, SPACE, BOB)
    removed = server.get(RECALL + "deploys", pair.bob)
    pair.replay("resume")

    assert found == ["Deploys happen on Tuesdays"]
    assert removed.status == 401


def test_an_unreachable_replica_is_reported_once_and_the_primary_answers(
    pair: Pair, tmp_path: Path
) -> None:
    with serving(tmp_path, pair.dsn, pair.ann, "--read", pair.read) as server:
        server.text("remember", text="We use PostgreSQL for billing")
        pair.standby.stop("immediate")
        found = [texts(server, f"billing {number}") for number in range(3)]
        told = findings(server)
        server.process.terminate()
        said = server.process.stderr.read()

    assert found == [["We use PostgreSQL for billing"]] * 3
    assert "does not answer" in told[0]["reason"]
    assert said.count("the replica is not asked") == 1
    assert pair.standby.folder not in said and str(pair.standby.port) not in said


def test_only_questions_are_answered_while_the_primary_database_is_down(
    pair: Pair, server: Served
) -> None:
    server.text("remember", text="We use PostgreSQL for billing")
    until(lambda: texts(server, "billing") != [] and findings(server) == [])
    pair.primary.stop("immediate")
    try:
        found = texts(server, "which database does billing use")
        told = server.text("recall", query="billing")
        refused = server.call("remember", text="Nothing can be written now")
        stranger = server.get(RECALL + "billing", "x" * 43)
    finally:
        pair.primary.start(track_functions="all")

    assert found == ["We use PostgreSQL for billing"]
    assert "We use PostgreSQL for billing" in told
    assert (refused.status, stranger.status) == (200, 401)
    assert refused.body["isError"] and "does not answer" in refused.body["content"][0]["text"]


def test_a_replica_address_with_a_password_is_refused(pair: Pair, tmp_path: Path) -> None:
    secret = "secret" + "-word"

    done = command(tmp_path, "--team", pair.dsn, "--read", f"{pair.read} password={secret}")

    assert done.status != 0
    assert "The address holds a password" in done.err
    assert secret not in done.err + done.out


def test_a_sync_with_a_replica_receives_changes_but_reports_that_it_cannot_send_any(
    primary: Cluster, tmp_path: Path
) -> None:
    with primary.database() as database:
        dsn = made(primary, database, tmp_path)
        ann, bob = Home(tmp_path, "ann", ANN), Home(tmp_path, "bob", BOB)
        ann.join(dsn[ANN])
        bob.join(dsn[BOB])
        ann.remember("We use Kafka for the order events", "--type", "decision")
        ann.sync()
        standby = Cluster(primary)
        try:
            standby.start()
            bob.tie(dsn=standby.dsn(BOB, database))
            bob.remember("The shop has one database", "--type", "decision")
            done = bob.run("team", "sync")
            read = bob.texts("Kafka order events")
        finally:
            standby.remove()
        bob.tie(dsn=dsn[BOB])
        bob.release()
        sent = bob.sync()[HOMES_SPACE]["sent"]

    assert done.status == 1
    assert "accepts no writes (a replica" in done.err
    assert read == ["We use Kafka for the order events"]
    assert sent == 1
