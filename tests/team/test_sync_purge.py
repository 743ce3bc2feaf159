"""Erasure across machines: what its author erases goes everywhere, what another wants is asked."""

from __future__ import annotations

import pytest

from memory_fabric.sharing.server.connect import connect
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.store.forget import purge_steps
from memory_fabric.store.home.switches import settings_of
from memory_fabric.store.memory import Memory
from replay.hook_runner import content
from store.support import create, entity
from team.homes import SPACE, Home
from team.postgres import BOB, OWNER, SUPERUSER, Cluster

KAFKA = "The order events use Kafka because they are replayed"


def state(home: Home, name: str, text: str) -> None:
    """Add an entity with an observation, as the tools of the graph do."""
    environ = {**home.hooks.environ, "CLAUDE_PROJECT_DIR": str(home.hooks.project)}
    memory = Memory.open(settings_of(environ))
    create(memory, entity(name, text))
    memory.close()


def payloads(postgres: Cluster, database: str) -> str:
    """Everything that the server holds of operations."""
    with postgres.connect(SUPERUSER, database) as connection:
        rows = connection.execute("SELECT payload::text FROM memory_fabric.operations").fetchall()
    return "\n".join(row[0] for row in rows)


def held(home: Home) -> str:
    """All bytes of a home's databases and files, as text."""
    places = [home.home, home.hooks.project]
    found = [path for place in places for path in place.rglob("*")]
    return "".join(content(path).decode("latin-1") for path in found)


def test_a_purge_by_the_author_removes_the_record_from_server_and_members(
    ann: Home, bob: Home, postgres: Cluster, empty_database: str
) -> None:
    ann.remember(KAFKA, "--type", "decision")
    ann.sync()
    bob.sync()
    assert "replayed" in payloads(postgres, empty_database) and bob.texts("Kafka") != []

    done = ann.run("forget", KAFKA, "--purge", "--yes")
    assert done.status == 0, done.err
    ann.sync()
    bob.sync()

    assert "replayed" not in payloads(postgres, empty_database)
    assert bob.texts("Kafka") == []
    assert "replayed" not in held(bob) and "replayed" not in held(ann)
    assert ann.notices == bob.notices == []


def test_purging_a_record_that_was_already_forgotten_also_erases_it_from_the_server(
    ann: Home, postgres: Cluster, empty_database: str
) -> None:
    ann.remember(KAFKA, "--type", "decision")
    ann.sync()
    done = ann.run("forget", KAFKA, "--yes")
    assert done.status == 0, done.err
    ann.sync()
    assert "replayed" in payloads(postgres, empty_database)

    done = ann.run("forget", KAFKA, "--purge", "--yes")
    assert done.status == 0, done.err
    ann.sync()

    assert "replayed" not in payloads(postgres, empty_database)


def test_an_erasure_interrupted_by_an_error_is_completed_by_the_next_sync(
    ann: Home, bob: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.remember(KAFKA, "--type", "decision")
    ann.sync()
    bob.sync()
    done = ann.run("forget", KAFKA, "--purge", "--yes")
    assert done.status == 0, done.err
    ann.sync()

    def fail(_: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(purge_steps, "renew_backups", fail)
        assert "half-way" in bob.run("team", "sync").err
    assert "replayed" in held(bob)

    bob.sync()

    assert bob.texts("Kafka") == [] and "replayed" not in held(bob)


def test_a_purge_by_an_owner_becomes_a_request_that_the_author_can_decline(
    ann: Home, bob: Home, dsn: dict[str, str]
) -> None:
    id_ = ann.remember(KAFKA, "--type", "decision")
    ann.sync()
    bob.sync()
    with connect(dsn[OWNER]) as connection:
        SharedLog(connection, SPACE).purge([f"r:{id_}"])

    ann.sync()
    bob.sync()

    assert bob.texts("Kafka") == [] and ann.texts("Kafka") != []
    [notice] = ann.notices
    assert "1 demand to erase what you said" in notice and "nothing was erased" in notice
    told = ann.run("team", "status").out
    assert f"{OWNER} demands" in told and f"r:{id_}" in told and "Kafka" in told
    [found] = ann.json("team", "status")
    assert [demand["key"] for demand in found["demands"]] == [f"r:{id_}"]

    assert ann.json("team", "decline", f"r:{id_}")["space"] == SPACE
    assert ann.json("team", "status")[0]["demands"] == []
    assert ann.run("team", "decline", f"r:{id_}").status == 3
    ann.sync()
    assert ann.texts("Kafka") != []


def test_a_purge_by_a_member_does_not_erase_records_of_another_member(
    ann: Home, bob: Home, dsn: dict[str, str]
) -> None:
    id_ = ann.remember(KAFKA, "--type", "decision")
    ann.sync()
    with connect(dsn[BOB]) as connection:
        assert SharedLog(connection, SPACE).purge([f"r:{id_}"]) == 0

    bob.sync()
    ann.sync()

    assert bob.texts("Kafka") != [] and ann.notices == []


def test_records_are_removed_from_the_server_when_their_domain_is_isolated(
    ann: Home, bob: Home, postgres: Cluster, empty_database: str
) -> None:
    ann.remember(KAFKA, "--type", "decision", "--domain", "legal")
    ann.remember("The gateway retries three times", "--type", "decision")
    ann.sync()
    bob.sync()
    (ann.home / "config.toml").write_text("[domains.legal]\nisolate = true\n", "utf-8")

    ann.sync()
    bob.sync()

    there = payloads(postgres, empty_database)
    assert "replayed" not in there and "retries" in there
    assert bob.texts("Kafka") == [] and "replayed" not in held(bob)
    assert "replayed" in held(ann) and ann.sync()[SPACE]["sent"] == 0


def test_a_purge_reaches_members_even_if_the_server_has_lost_the_record(
    ann: Home, bob: Home, postgres: Cluster, empty_database: str
) -> None:
    ann.remember(KAFKA, "--type", "decision")
    ann.sync()
    bob.sync()
    own = bob.remember("The gateway retries three times", "--type", "decision")
    assert bob.run("forget", own, "--purge", "--yes").status == 0  # which makes a backup
    assert "replayed" in held(bob)
    with postgres.connect(SUPERUSER, empty_database) as connection:  # set back to the beginning
        connection.execute("SET session_replication_role = replica")
        connection.execute("DELETE FROM memory_fabric.operations")
        connection.execute("UPDATE memory_fabric.spaces SET epoch = epoch + 1, last_seq = 0")

    assert ann.run("forget", KAFKA, "--purge", "--yes").status == 0
    ann.sync()
    bob.sync()

    assert "replayed" not in held(bob)


def test_a_fact_stated_again_after_its_purge_survives_a_repeated_read_of_the_log(
    ann: Home, bob: Home, postgres: Cluster, empty_database: str
) -> None:
    state(ann, "Zebraville", "has two harbours")
    ann.sync()
    assert ann.run("forget", "Zebraville", "--purge", "--yes").status == 0
    ann.sync()
    state(ann, "Zebraville", "has two harbours")
    ann.sync()
    with postgres.connect(SUPERUSER, empty_database) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE memory_fabric.spaces SET epoch = epoch + 1")

    ann.sync()
    bob.sync()

    assert bob.texts("Zebraville harbours") == ["has two harbours"]
