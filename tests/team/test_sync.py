"""The exchange end to end: homes of two members, one PostgreSQL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.sharing.team import ties
from team.homes import SPACE, Home
from team.postgres import ANN, BOB, SUPERUSER, Cluster
from waiting import until

KAFKA = "We use Kafka for the order events because they are replayed"


def test_a_member_recalls_records_of_another_member_with_their_author(ann: Home, bob: Home) -> None:
    ann.remember(KAFKA, "--type", "decision")

    sent, read = ann.sync()[SPACE], bob.sync()[SPACE]

    assert sent["sent"] >= 1 and read["applied"] >= 1
    [found] = bob.recalled("Kafka order events")
    assert (found["metadata"]["trust"], found["metadata"]["author"]) == ("foreign", ANN)
    assert bob.sync()[SPACE]["sent"] == 0  # what others said is not sent back
    again = ann.sync()[SPACE]
    assert (again["sent"], again["applied"]) == (0, 0)


def test_the_number_of_new_team_records_is_shown_once_a_day_at_session_start(
    ann: Home, bob: Home
) -> None:
    bob.remember("Never use Kafka for the order events", "--type", "decision")
    bob.event("SessionStart", "before", source="startup")
    ann.remember("Use Kafka for the order events", "--type", "decision")
    ann.remember("The shop has one database", "--type", "decision")
    ann.sync()
    bob.sync()

    told, again = (bob.event("SessionStart", name, source="startup").reply for name in "ab")

    line = f"since you were away: 2 from {ANN}, 1 contradicts yours (/memory-fabric:review)"
    assert line in told["systemMessage"]
    assert "away" not in str(again)


def test_a_record_withdrawn_by_one_member_is_removed_for_the_other(ann: Home, bob: Home) -> None:
    id_ = ann.remember(KAFKA, "--type", "decision")
    ann.sync()
    bob.sync()
    assert bob.texts("Kafka") != []

    ann.json("forget", id_, "--yes")
    ann.sync()
    bob.sync()

    assert bob.texts("Kafka") == []


def test_local_and_user_records_are_not_sent_to_the_space(ann: Home, bob: Home) -> None:
    session = {"CLAUDE_CODE_SESSION_ID": "s1"}
    done = ann.run("remember", "The build cache is on disk two", "--scope", "local", **session)
    assert done.status == 0, done.err
    ann.remember("I like short commit messages", "--scope", "user", "--type", "preference")

    assert ann.sync()[SPACE]["sent"] == 0
    bob.sync()
    assert bob.texts("build cache disk") == bob.texts("short commit messages") == []


def test_hooks_deliver_a_new_record_to_the_next_prompt_of_another_member(
    ann: Home, bob: Home
) -> None:
    ann.event("SessionStart", source="startup")
    ann.event("Stop", last_assistant_message=f"Done.\n\nNoted decision: {KAFKA}")
    assert ann.texts("Kafka") != []
    until(lambda: ann.waiting == 0, "ann's Stop sends what was noted")

    bob.event("SessionStart", source="startup")
    until(lambda: bob.texts("Kafka") != [], "bob's start reads it")
    told = bob.hooks.say("How do we use Kafka for the order events?").context

    assert "Kafka" in told and ANN in told
    assert ann.notices == bob.notices == []


@pytest.mark.parametrize("is_released", [False, True])
def test_the_quotation_of_a_note_is_sent_to_the_log_only_if_it_was_released(
    ann: Home, bob: Home, postgres: Cluster, empty_database: str, *, is_released: bool
) -> None:
    said = "please mock the bank in all tests, Carla Neri was very angry last time"
    note = "Noted rule: Calls to the bank are mocked in tests. When: bank tests."
    if is_released:
        (ann.home / "config.toml").write_text("share_words = true\n")
    ann.hooks.say(said)
    transcript = ann.hooks.transcript("s1")
    message = {"role": "user", "content": said}
    transcript.write_text(json.dumps({"type": "user", "message": message}) + "\n")
    answer = f'Done.\n\n{note} From: "mock the bank in all tests"'
    ann.event("Stop", transcript_path=str(transcript), last_assistant_message=answer)

    ann.sync()
    bob.sync()

    [own], [claimed] = ann.recalled("calls to the bank"), bob.recalled("calls to the bank")
    assert own["metadata"]["quotation"] == said and "Calls to the bank" in claimed["text"]
    with postgres.connections(empty_database) as open_:
        sent = (
            open_(SUPERUSER)
            .execute("SELECT payload::text FROM memory_fabric.operations")
            .fetchall()
        )
    assert ("Carla Neri" in str(sent), "Calls to the bank" in str(sent)) == (is_released, True)


def test_joining_twice_changes_nothing_and_another_space_is_refused(
    ann: Home, dsn: dict[str, str]
) -> None:
    before = (ann.home / "team.json").read_text()

    assert ann.join(dsn[ANN])["known"] is True
    other = ann.run("team", "join", dsn[ANN], "--space", "other")

    assert (ann.home / "team.json").read_text() == before
    assert other.status == 2 and "tied to the space shop already" in other.err
    assert "team leave" in other.err


def test_join_without_a_name_uses_the_only_space_or_the_space_named_like_the_project(
    tmp_path: Path, dsn: dict[str, str], postgres: Cluster, empty_database: str
) -> None:
    home = Home(tmp_path, "third", ANN)

    assert home.json("team", "join", dsn[ANN])["space"] == SPACE

    owner = Home(tmp_path, "fourth", "olga")
    made_now = owner.json("team", "init", dsn["olga"])
    assert made_now["space"] == owner.hooks.project.name
    assert owner.json("team", "join", dsn["olga"])["space"] == owner.hooks.project.name


def test_join_without_a_name_asks_for_one_among_several_spaces(
    tmp_path: Path, dsn: dict[str, str], postgres: Cluster, empty_database: str
) -> None:
    home, owner = Home(tmp_path, "third", ANN), Home(tmp_path, "fourth", "olga")
    owner.json("team", "init", dsn["olga"], "--space", "alpha")
    owner.json("team", "add", ANN)
    owner.json("team", "add", "eve")
    owner.json("team", "remove", "eve")

    several = home.run("team", "join", dsn[ANN])
    stranger = home.run("team", "join", postgres.dsn("eve", empty_database))

    assert several.status == 2
    assert f"{ANN} is a member of 2 spaces: alpha, {SPACE}." in several.err
    assert "--space NAME" in several.err
    assert stranger.status == 1 and "eve is a member of no space there" in stranger.err
    assert not ties.exist(str(home.home))


def test_a_role_that_is_not_a_member_gets_an_error_with_the_next_step(
    tmp_path: Path, dsn: dict[str, str], postgres: Cluster, empty_database: str
) -> None:
    stranger = Home(tmp_path, "eve", "eve")

    done = stranger.run("team", "join", postgres.dsn("eve", empty_database), "--space", SPACE)

    assert done.status == 1 and "team add" in done.err
    assert not ties.exist(str(stranger.home))


def test_leaving_lists_the_records_that_would_be_deleted(ann: Home, bob: Home) -> None:
    ann.remember(KAFKA, "--type", "decision")
    ann.sync()
    bob.remember("Bob keeps the invoices in Postgres", "--type", "decision")
    bob.sync()

    asked = bob.run("team", "leave")
    assert asked.status == 2 and "1 record of others" in asked.err
    assert "--keep" in asked.err and "--drop" in asked.err
    assert ties.exist(str(bob.home))

    left = bob.json("team", "leave", "--drop")

    assert left == {"space": SPACE, "dropped": 1, "unsent": 0}
    assert bob.texts("Kafka") == [] and bob.texts("invoices") != []
    assert not ties.exist(str(bob.home))
    assert bob.run("team", "sync").status == 3


def test_records_kept_when_leaving_are_not_duplicated_by_joining_again(
    ann: Home, bob: Home, dsn: dict[str, str]
) -> None:
    ann.remember(KAFKA, "--type", "decision")
    ann.sync()
    bob.sync()

    bob.json("team", "leave", "--keep")
    assert bob.texts("Kafka") != []
    ann.remember("We deploy on Tuesdays", "--type", "decision")
    ann.sync()
    bob.join(dsn[BOB])

    assert len(bob.texts("Kafka")) == 1 and bob.texts("deploy Tuesdays") != []


def test_new_records_of_a_removed_member_wait_until_the_member_is_added_again(
    bob: Home, tmp_path: Path, dsn: dict[str, str]
) -> None:
    owner = Home(tmp_path, "olga", "olga")
    owner.json("team", "init", dsn["olga"], "--space", SPACE)
    owner.json("team", "remove", BOB)
    bob.remember(KAFKA, "--type", "decision")

    done = bob.run("team", "sync")

    assert done.status == 1 and "no member of the space" in done.err
    bob.run("team", "sync")
    assert len(bob.notices) == 1 and "team add" in bob.notices[0]
    assert bob.waiting >= 1
    owner.json("team", "add", BOB)
    assert bob.sync()[SPACE]["sent"] >= 1
