"""A team through PgBouncer in transaction mode: clients share connections, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from servers.team.serving import command, new_key, serving
from team.homes import SPACE, Home, made
from team.pooler import Pooler, pooling
from team.postgres import ANN, BOB, OWNER, Cluster


@pytest.fixture(scope="module")
def pooler(postgres: Cluster) -> Iterator[Pooler]:
    with pooling(postgres) as running:
        yield running


def test_two_machines_synchronise_through_pgbouncer(
    postgres: Cluster, pooler: Pooler, empty_database: str, tmp_path: Path
) -> None:
    made(postgres, empty_database, tmp_path)
    ann, bob = Home(tmp_path, "ann", ANN), Home(tmp_path, "bob", BOB)
    for home in (ann, bob):
        home.join(pooler.dsn(home.user, empty_database))
    before = pooler.transactions(empty_database)
    kafka = ann.remember("We use Kafka for the order events", "--type", "decision")
    bob.remember("The invoices are numbered by year", "--type", "decision")

    sent = [home.sync()[SPACE] for home in (ann, bob, ann)]

    assert [found["sent"] for found in sent[:2]] == [1, 1]
    assert bob.texts("Kafka order events") == ["We use Kafka for the order events"]
    assert ann.texts("invoices") == ["The invoices are numbered by year"]
    ann.json("forget", kafka, "--purge", "--yes")
    ann.sync()
    bob.sync()
    assert bob.texts("Kafka order events") == []
    assert pooler.transactions(empty_database) > before


def test_requests_with_different_api_keys_share_one_database_connection(
    pooler: Pooler, database: str, tmp_path: Path
) -> None:
    dsn = pooler.dsn(OWNER, database)
    ann, bob, legal = (
        new_key(dsn, "app", member, name, domain)
        for member, name, domain in ((ANN, "a", ""), (BOB, "b", ""), (BOB, "c", "legal"))
    )
    asked = [ann, bob, legal] * 8
    with serving(tmp_path, dsn, ann) as server:
        server.text("remember", text="The lease of the cache ends after a minute")
        server.text("remember", legal, text="The lease of the office ends in May")
        with ThreadPoolExecutor(6) as threads:
            answers = list(
                threads.map(lambda key: server.get("v1/memory/recall?q=lease+ends", key), asked)
            )
        stranger = server.get("v1/memory/recall?q=lease+ends", "x" * 43)
        connections = pooler.connections(database)
        command(tmp_path, "--drop-key", "b", "--team", dsn)
        dropped = server.get("v1/memory/recall?q=lease+ends", bob)

    everything = {
        "The lease of the cache ends after a minute",
        "The lease of the office ends in May",
    }
    for key, answer in zip(asked, answers, strict=True):
        texts = {found["text"] for found in answer.body["results"]}
        assert texts == ({"The lease of the office ends in May"} if key == legal else everything)
    trusts = {
        key: {
            found["metadata"]["author"]: found["metadata"]["trust"] for found in one.body["results"]
        }
        for key, one in zip(asked, answers, strict=True)
    }
    assert trusts[ann][ANN] != "foreign" and trusts[ann][BOB] == "foreign"
    assert trusts[bob][BOB] != "foreign" and trusts[bob][ANN] == "foreign"
    assert (stranger.status, dropped.status) == (401, 401)
    assert connections[OWNER] == 1
