"""The user's own words behind a note: on the wire only once released, erased when taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.sharing.replica import heads
from memory_fabric.store.home.switches import settings_of
from memory_fabric.store.memory import Memory
from team.homes import Home
from team.postgres import ANN, Cluster
from team.test_owner_rules import NOTE, SAID, noted
from team.test_sync_purge import held, payloads

CAPTION = NOTE.partition(". When:")[0]


@pytest.fixture
def server(postgres: Cluster, empty_database: str) -> ServerText:
    return ServerText(postgres, empty_database)


class ServerText:
    """The content of the server as text."""

    def __init__(self, postgres: Cluster, database: str) -> None:
        self._where = postgres, database

    def __contains__(self, text: str) -> bool:
        return text in payloads(*self._where)


def test_quotations_are_sent_when_released_and_erased_when_withdrawn(
    ann: Home, bob: Home, server: ServerText
) -> None:
    id_ = noted(ann)
    ann.sync()
    bob.sync()
    assert CAPTION in server and SAID not in server and SAID not in held(bob)

    assert ann.json("team", "release", id_) == {"ids": [id_], "released": True, "lines": 0}
    bob.sync()
    assert SAID in server
    assert bob.recalled("main branch Carla")[0]["metadata"]["trust"] == "foreign"
    assert SAID in held(bob)

    assert ann.json("team", "release", id_, "--undo")["released"] is False
    bob.sync()

    assert CAPTION in server and SAID not in server
    assert SAID not in shown_to(bob, id_)
    assert [rule["words"] for rule in ann.json("rules")["rules"]] == [SAID]


def test_one_command_withdraws_all_of_the_users_quotations_from_the_log(
    ann: Home, server: ServerText
) -> None:
    (ann.home / "config.toml").write_text("share_words = true\n")
    noted(ann)
    ann.sync()
    assert SAID in server
    refused = ann.run("team", "release", "--undo")
    assert refused.status == 2 and "share_words = true" in refused.err and SAID in server

    (ann.home / "config.toml").write_text("")
    ann.sync()
    assert SAID in server  # nothing was changed since
    done = ann.run("team", "release", "--undo")

    assert done.status == 0 and "No words of yours are shared any more" in done.out
    assert SAID not in server and CAPTION in server


def test_withdrawing_all_quotations_includes_the_only_one_that_was_released(
    ann: Home, server: ServerText
) -> None:
    id_ = noted(ann)
    ann.json("team", "release", id_)
    assert SAID in server

    assert ann.json("team", "release", "--undo")["ids"] == [id_]

    assert SAID not in server and CAPTION in server


def test_a_team_rule_shares_the_users_quotation_until_the_rule_is_undone(
    tmp_path: Path, dsn: dict[str, str], server: ServerText
) -> None:
    boss = Home(tmp_path, "boss", "olga")
    boss.join(dsn["olga"])
    id_ = noted(boss)

    done = boss.run("team", "rule", id_)
    assert f"Your words travel with it: “{SAID}”" in done.out and SAID in server
    boss.json("team", "rule", id_, "--undo")

    assert SAID not in server and CAPTION in server


def test_a_released_quotation_is_also_written_to_the_file_shared_through_git(ann: Home) -> None:
    journal = ann.hooks.project / ".claude" / "memory" / "decisions.jsonl"
    ann.json("share", "on")
    id_ = noted(ann)
    ann.json("sync")
    assert CAPTION in journal.read_text("utf-8") and SAID not in journal.read_text("utf-8")

    ann.json("team", "release", id_)
    ann.json("sync")
    assert SAID in journal.read_text("utf-8")
    lines = ann.json("team", "release", id_, "--undo")["lines"]

    assert lines >= 1 and SAID not in journal.read_text("utf-8")
    assert CAPTION in journal.read_text("utf-8")


def test_only_the_user_can_release_a_quotation_and_only_of_a_record_that_has_one(ann: Home) -> None:
    id_ = ann.remember("The shop has one database", "--type", "decision")

    without = ann.run("team", "release", id_)
    nothing = ann.run("team", "release")
    by_the_model = ann.run("team", "release", id_, CLAUDECODE="1")

    assert without.status == 2 and "no words of yours" in without.err
    assert nothing.status == 2 and "Name the memory" in nothing.err
    assert by_the_model.status == 2 and "only the user may decide" in by_the_model.err


def test_a_private_quotation_survives_an_edit_of_the_record_on_another_machine(
    tmp_path: Path, dsn: dict[str, str], server: ServerText
) -> None:
    desk, laptop = Home(tmp_path, "desk", ANN), Home(tmp_path, "laptop", ANN)
    words = str(desk.join(dsn[ANN], "--me")["words"])
    laptop.join(dsn[ANN], "--me", "--words", words)
    id_ = noted(desk)
    desk.sync()
    laptop.sync()

    laptop.json("edit", id_, "--why", "it broke once")
    laptop.sync()
    desk.sync()

    [rule] = desk.json("rules")["rules"]
    assert rule["words"] == SAID and "it broke once" in held(desk)
    assert SAID not in server
    assert laptop.sync()["shop"]["sent"] == desk.sync()["shop"]["sent"] == 0


def shown_to(home: Home, id_: str) -> str:
    """Return all that a home's records and heads say of an id."""
    memory = Memory.open(settings_of({**home.hooks.environ}))
    try:
        database = memory.database("project", create=False)
        assert database is not None
        rows = heads.where(database.connection, "key = ?", (f"r:{id_}",))
        return str((memory.find_records("id = ?", (id_,)), rows))
    finally:
        memory.close()


def test_words_of_a_colleague_and_of_a_rule_for_all_are_not_said_to_be_taken_back(
    tmp_path: Path, dsn: dict[str, str], bob: Home, server: ServerText
) -> None:
    boss = Home(tmp_path, "boss", "olga")
    boss.join(dsn["olga"])
    id_ = noted(boss)
    boss.json("team", "release", id_)
    boss.json("team", "rule", id_)
    bob.sync()

    theirs, rule = (home.run("team", "release", "--undo", id_) for home in (bob, boss))
    every = boss.run("team", "release", "--undo")

    assert theirs.status == 2 and f"{id_} is a memory of olga" in theirs.err
    assert rule.status == 2 and f"team rule {id_} --undo" in rule.err
    assert SAID in server and f"“{SAID}”" not in every.out
