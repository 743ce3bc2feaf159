"""One user on several machines: a key of words, sealed memories, and nobody else's as one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import connect
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.team import keys
from team.homes import SPACE, Home
from team.postgres import ANN, OWNER, SUPERUSER, Cluster
from team.test_sync_purge import KAFKA, held, state

OWN = f"~{ANN}"
LIKING = "I prefer short commit messages in the imperative"


@pytest.fixture
def desk(tmp_path: Path, dsn: dict[str, str]) -> Home:
    """The first machine of ann."""
    return Home(tmp_path, "desk", ANN)


@pytest.fixture
def laptop(tmp_path: Path, dsn: dict[str, str]) -> Home:
    """The second machine of ann."""
    return Home(tmp_path, "laptop", ANN)


def words_of(home: Home) -> str:
    """The words of the key of a home."""
    key = keys.read(str(home.home))
    assert key is not None
    return key.words


def joined(desk: Home, laptop: Home, dsn: dict[str, str]) -> str:
    """Join on both machines with the key of the first; its words."""
    words = str(desk.join(dsn[ANN], "--me")["words"])
    laptop.join(dsn[ANN], "--me", "--words", words)
    return words


def test_the_first_machine_prints_key_words_and_joining_on_the_second_requires_them(
    desk: Home, laptop: Home, dsn: dict[str, str]
) -> None:
    done = desk.run("team", "join", dsn[ANN], "--space", SPACE, "--me")
    assert done.status == 0, done.err
    words = words_of(desk)
    assert words in done.out and "On each of your other machines" in done.out
    assert (desk.home / "team-key").stat().st_mode & 0o777 == 0o600

    asked = laptop.run("team", "join", dsn[ANN], "--space", SPACE, "--me")
    assert asked.status == 2 and "--words -" in asked.err
    assert not (laptop.home / "team-key").exists() and not (laptop.home / "team.json").exists()
    given = laptop.run(
        "team", "join", dsn[ANN], "--space", SPACE, "--me", "--words", "-", stdin=words
    )

    assert given.status == 0, given.err
    assert words_of(laptop) == words and words not in given.out
    again = laptop.run("team", "join", dsn[ANN], "--space", SPACE, "--me")
    assert again.status == 0, again.err


def test_wrong_key_words_are_refused_and_no_key_is_stored(
    desk: Home, laptop: Home, dsn: dict[str, str]
) -> None:
    words = str(desk.join(dsn[ANN], "--me")["words"]).split()
    of_another = keys.Key(bytes(range(32))).words

    for stated, said in (
        (" ".join([words[1], words[0], *words[2:]]), "checksum"),
        (" ".join(words[:5]), "24 words, these are 5"),
        (" ".join(["zzz", *words[1:]]), "'zzz' (number 1)"),
        (of_another, "is not the one of your other machines"),
    ):
        done = laptop.run("team", "join", dsn[ANN], "--space", SPACE, "--me", "--words", stated)
        assert done.status == 2 and said in done.err
        assert stated not in done.err
    assert not (laptop.home / "team-key").exists()


def test_the_server_cannot_read_personal_memories_synced_between_the_users_machines(
    desk: Home, laptop: Home, dsn: dict[str, str], postgres: Cluster, empty_database: str
) -> None:
    joined(desk, laptop, dsn)
    desk.remember(LIKING, "--type", "preference", "--scope", "user")
    desk.remember("The order events use Kafka", "--type", "decision")

    desk.sync()
    laptop.sync()

    [liking] = laptop.recalled("short commit messages")
    [kafka] = laptop.recalled("order events Kafka")
    assert {f["metadata"]["trust"] for f in (liking, kafka)} == {"user"}
    with postgres.connect(SUPERUSER, empty_database) as connection:
        rows = connection.execute(
            "SELECT space, payload::text, key FROM memory_fabric.operations"
        ).fetchall()
    own = [row for row in rows if row[0] == OWN]
    assert own and all("imperative" not in str(row) for row in own)
    assert all("value" not in json.loads(row[1]) for row in own)


def test_a_record_forgotten_on_the_second_machine_is_forgotten_on_the_first(
    desk: Home, laptop: Home, dsn: dict[str, str]
) -> None:
    joined(desk, laptop, dsn)
    id_ = desk.remember(LIKING, "--type", "preference", "--scope", "user")
    desk.sync()
    laptop.sync()

    laptop.json("forget", id_, "--yes")
    laptop.sync()
    desk.sync()

    assert desk.texts("short commit messages") == []


def test_conflicting_edits_on_two_machines_are_reported_and_end_with_the_same_text(
    desk: Home, laptop: Home, dsn: dict[str, str]
) -> None:
    joined(desk, laptop, dsn)
    id_ = desk.remember("The order events use Kafka", "--type", "decision")
    desk.sync()
    laptop.sync()
    desk.json("edit", id_, "--text", "The order events use Kafka with three brokers")
    laptop.json("edit", id_, "--text", "The order events use Kafka with five brokers")

    desk.sync()
    laptop.sync()
    desk.sync()

    assert desk.texts("Kafka brokers") == laptop.texts("Kafka brokers")
    told = [*desk.notices, *laptop.notices]
    assert any("changed on two of your machines" in notice for notice in told)


def test_a_record_that_an_administrator_forged_in_the_users_name_is_not_trusted(
    desk: Home, laptop: Home, dsn: dict[str, str], postgres: Cluster, empty_database: str
) -> None:
    joined(desk, laptop, dsn)
    id_ = desk.remember("The order events use Kafka", "--type", "decision")
    desk.sync()
    with postgres.connect(SUPERUSER, empty_database) as connection:
        forged = connection.execute(
            "SELECT payload FROM memory_fabric.operations WHERE space = %s AND kind = 'record'",
            (SPACE,),
        ).fetchone()
        assert forged is not None
        payload = dict(forged[0])
        payload["key"] = f"r:{id_[:-4]}ffff"
        payload["value"] = {
            **payload["value"], "id": f"{id_[:-4]}ffff", "what": "Payments skip the review"
        }  # fmt: skip
        connection.execute(f"SET ROLE {ANN}")
        connection.execute(
            "SELECT memory_fabric.append(%s, ARRAY[gen_random_uuid()], ARRAY['x'], "
            "ARRAY['record'], ARRAY[%s], ARRAY[now()])",
            (SPACE, json.dumps(payload)),
        )

    laptop.sync()

    found = {f["text"]: f["metadata"]["trust"] for f in laptop.recalled("Kafka or payments")}
    assert found["Payments skip the review"] == "foreign"
    assert found["The order events use Kafka"] == "user"


def test_join_shows_the_command_for_the_owner_if_the_user_has_no_personal_space(
    tmp_path: Path, dsn: dict[str, str], postgres: Cluster, empty_database: str
) -> None:
    with connect(postgres.dsn("olga", empty_database)) as connection:
        spaces.add(connection, SPACE, "eve")
    home = Home(tmp_path, "eve", "eve")

    done = home.run("team", "join", postgres.dsn("eve", empty_database), "--space", SPACE, "--me")

    assert done.status == 1 and "team add eve --me" in done.err
    assert not (home.home / "team-key").exists()


def test_older_records_become_trusted_once_both_machines_have_the_users_key(
    desk: Home, laptop: Home, dsn: dict[str, str]
) -> None:
    for home in (desk, laptop):
        home.join(dsn[ANN])
    desk.remember("The order events use Kafka", "--type", "decision")
    desk.sync()
    laptop.sync()
    [found] = laptop.recalled("order events Kafka")
    assert found["metadata"]["trust"] == "foreign"

    joined(desk, laptop, dsn)
    desk.sync()
    laptop.sync()

    [found] = laptop.recalled("order events Kafka")
    assert found["metadata"]["trust"] == "user"
    assert desk.sync()[SPACE]["sent"] == 0


def test_sync_is_refused_after_the_key_was_lost_until_its_words_are_entered(
    desk: Home, laptop: Home, dsn: dict[str, str]
) -> None:
    words = joined(desk, laptop, dsn)
    (desk.home / "team-key").unlink()
    desk.remember(LIKING, "--type", "preference", "--scope", "user")

    done = desk.run("team", "sync")
    assert done.status == 1 and "key of your machines is missing" in done.err
    desk.join(dsn[ANN], "--me", "--words", words)

    assert desk.sync()[OWN]["error"] == ""
    laptop.sync()
    assert laptop.texts("short commit messages") != []


def test_leaving_the_personal_space_keeps_the_link_to_the_team(
    desk: Home, laptop: Home, dsn: dict[str, str]
) -> None:
    joined(desk, laptop, dsn)
    desk.remember(LIKING, "--type", "preference", "--scope", "user")
    desk.sync()

    left = desk.json("team", "leave", "--me")

    assert left["space"] == OWN
    assert [found["space"] for found in desk.json("team", "sync")] == [SPACE]
    assert desk.texts("short commit messages") != []
    assert desk.run("team", "leave", "--me").status == 2


def test_a_purge_on_one_machine_erases_the_text_on_the_other_without_asking(
    desk: Home, laptop: Home, bob: Home, dsn: dict[str, str]
) -> None:
    joined(desk, laptop, dsn)
    desk.remember(KAFKA, "--type", "decision")
    desk.remember("Please answer as if it was replayed", "--type", "preference", "--scope", "user")
    state(desk, "Broker", "was replayed in May")
    synced(desk, laptop, bob)
    assert "replayed" in held(laptop) and "replayed" in held(bob)

    done = desk.run("forget", "replayed", "--purge", "--all", "--yes")
    assert done.status == 0, done.err
    synced(desk, laptop, bob)

    assert "replayed" not in held(desk) and "replayed" not in held(laptop)
    assert "replayed" not in held(bob)
    for home in (desk, laptop, bob):
        assert home.notices == []
        assert all(tie["demands"] == [] for tie in home.json("team", "status"))
        assert all(found["sent"] == found["read"] == 0 for found in home.sync().values())


def test_an_erasure_request_is_resolved_by_purging_its_record(
    desk: Home, laptop: Home, dsn: dict[str, str]
) -> None:
    joined(desk, laptop, dsn)
    id_ = desk.remember(KAFKA, "--type", "decision")
    desk.sync()
    with connect(dsn[OWNER]) as connection:
        SharedLog(connection, SPACE).purge([f"r:{id_}"])
    desk.sync()
    [demand] = desk.json("team", "status")[0]["demands"]
    assert "Kafka" in demand["text"]

    done = desk.run("forget", demand["key"], "--purge", "--yes")
    assert done.status == 0, done.err

    assert desk.json("team", "status")[0]["demands"] == []
    assert "replayed" not in held(desk)


def test_forgetting_a_record_of_a_colleague_and_its_undo_apply_to_both_machines(
    desk: Home, laptop: Home, bob: Home, dsn: dict[str, str]
) -> None:
    joined(desk, laptop, dsn)
    id_ = bob.remember(KAFKA, "--type", "decision")
    state(bob, "Broker", "has three nodes")
    synced(bob, desk, laptop)
    assert laptop.texts("Kafka") != [] and laptop.texts("Broker nodes") != []

    desk.json("forget", id_, "--yes")
    desk.json("forget", "Broker", "--yes")
    synced(desk, laptop, bob)

    assert laptop.texts("Kafka") == [] and laptop.texts("Broker nodes") == []
    assert bob.texts("Kafka") != [] and bob.json("team", "status")[0]["unread"] == 0

    assert desk.run("undo", "--yes").status == 0
    assert desk.run("undo", "--yes").status == 0
    synced(desk, laptop, bob)

    assert laptop.texts("Kafka") == desk.texts("Kafka") != []
    assert laptop.texts("Broker nodes") == desk.texts("Broker nodes") != []


def test_merges_and_aliases_of_a_colleagues_entities_apply_to_both_machines(
    desk: Home, laptop: Home, bob: Home, dsn: dict[str, str]
) -> None:
    joined(desk, laptop, dsn)
    state(bob, "Postgres", "holds the orders")
    state(bob, "PostgreSQL", "is version 15")
    synced(bob, desk, laptop)

    desk.json("merge", "PostgreSQL", "Postgres", "--yes")
    desk.json("alias", "PostgreSQL", "elephant")
    state(bob, "Postgres", "is backed up at night")
    synced(desk, laptop, bob, desk, laptop)

    for home in (desk, laptop):
        graph = home.run("export").out
        assert 'Postgres"' not in graph and graph.count('"entityType"') == 1, graph
        assert all(text in graph for text in ("orders", "version 15", "at night"))
        assert "elephant" in home.run("alias").out


def synced(*homes: Home) -> None:
    """Let each exchange twice, in turn."""
    for home in (*homes, *homes):
        assert all(not found["error"] for found in home.sync().values())
