"""memory-fabric team: what each action says, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.sharing.team import ties
from team.homes import SPACE, Home
from team.operations import APPEND
from team.postgres import ANN, BOB, OWNER, SUPERUSER, Cluster


@pytest.fixture
def new(tmp_path: Path) -> Home:
    """A home that was tied to nothing yet."""
    return Home(tmp_path, "new", ANN)


@pytest.fixture
def owner(tmp_path: Path, dsn: dict[str, str]) -> Home:
    """The home in which the space was made."""
    home = Home(tmp_path, "olga-too", OWNER)
    home.json("team", "init", dsn[OWNER], "--space", SPACE)
    return home


def test_each_team_command_reports_its_result_and_the_next_step(
    new: Home, owner: Home, dsn: dict[str, str]
) -> None:
    steps = (
        (owner.run("team", "init", dsn[OWNER], "--space", SPACE), "is ready", "team add MEMBER"),
        (owner.run("team", "add", BOB), "bob is a member of shop now", "team join postgresql://"),
        (new.run("team", "join", dsn[ANN], "--space", SPACE), "You are ann in", "team status"),
        (new.run("team", "sync"), "shop: 0 sent", ""),
        (new.run("team", "status"), "as ann, exchanged", "you are member of shop"),
        (owner.run("team", "remove", BOB), "bob is no member", "DROP ROLE bob"),
        (new.run("team", "leave"), "not tied to shop any more", "team join DSN"),
    )

    for done, said, following in steps:
        assert done.status == 0, done.err
        assert said in done.out and following in done.out


def test_a_created_role_gets_a_password_that_is_printed_once(
    owner: Home, dsn: dict[str, str]
) -> None:
    name = "dora_" + dsn[OWNER].rpartition("=")[2]

    made = owner.run("team", "add", name, "--create-role")
    again = owner.run("team", "add", name, "--create-role")

    password = made.out.partition("shown only now: ")[2].split()[0]
    host, port = (part.partition("=")[2] for part in dsn[OWNER].split()[:2])
    database = dsn[OWNER].rpartition("=")[2]
    assert f" {host}:{port}:{database}:{name}:{password}\n" in made.out
    assert f"{name} was there already; its password stays" in again.out


def test_a_team_record_adopted_by_a_member_remains_if_its_author_forgets_it(
    ann: Home, bob: Home
) -> None:
    id_ = bob.remember("Never deploy on a Friday", "--type", "rule")
    bob.sync()
    ann.sync()
    [theirs] = ann.recalled("deploy on a Friday")

    adopted = ann.json("team", "adopt", id_[-8:])
    bob.json("forget", id_, "--yes")
    bob.sync()
    ann.sync()

    [mine] = ann.recalled("deploy on a Friday")
    assert (theirs["metadata"]["trust"], mine["metadata"]["trust"]) == ("foreign", "user")
    assert adopted["author"] == BOB and mine["metadata"]["record"] == adopted["id"]
    assert ann.run("team", "adopt", id_).status == 3


def test_an_unreachable_host_is_reported_with_a_hint_to_check_address_and_server(new: Home) -> None:
    done = new.run("team", "init", f"host={new.home} dbname=team user=olga", "--space", SPACE)

    assert done.status == 1 and "Check the address, and that the server runs" in done.err


def test_team_status_reports_that_a_member_was_removed(ann: Home, bob: Home, owner: Home) -> None:
    bob.remember("The order events use Kafka", "--type", "decision")
    bob.sync()
    owner.json("team", "remove", BOB)
    ties.update_state(str(ann.home), ann.project_id, asked_at=0.0)
    ann.sync()

    of_bob, of_ann = bob.run("team", "status").out, ann.run("team", "status").out

    assert "The server was not read now: bob is no member" in of_bob
    assert "bob 1 (no member any more)" in of_ann


def test_the_member_list_shows_roles_last_reads_and_removed_members(
    ann: Home, bob: Home, owner: Home
) -> None:
    owner.json("team", "remove", BOB)

    table = ann.run("team", "members").out
    listed = {one["name"]: one for one in ann.json("team", "members")}

    assert "you" in table and "removed" in table
    assert set(listed) == {ANN, BOB, OWNER}
    assert listed[OWNER]["role"] == "owner" and listed[ANN]["seen_at"]
    assert listed[BOB]["removed_at"] and not listed[ANN]["removed_at"]


def test_only_an_owner_can_change_members_with_the_command_team(ann: Home) -> None:
    done = ann.run("team", "add", "eve")

    assert done.status == 1 and "owner" in done.err


def test_the_last_owner_of_a_space_cannot_be_removed(owner: Home) -> None:
    done = owner.run("team", "remove", OWNER)

    assert done.status == 2 and "last owner" in done.err


def test_team_status_reports_an_open_transaction_that_delays_sending(
    ann: Home, postgres: Cluster, empty_database: str
) -> None:
    with postgres.connect(BOB, empty_database) as other, other.transaction():
        payload = json.dumps({"v": 1, "key": "o:1", "base": [], "value": {}})
        other.execute(APPEND, (SPACE, payload, "2026-01-01"))
        told = ann.run("team", "status").out
        [found] = ann.json("team", "status")

    assert "Sending waits for a transaction that is open" in told and BOB in told
    assert found["server"]["held_by"]["user"] == BOB


def test_a_password_in_the_address_is_refused_and_not_repeated(new: Home) -> None:
    word = "".join(("corr", "ect", "horse"))

    done = new.run("team", "join", f"postgresql://ann:{word}@127.0.0.1/team")

    assert done.status == 1 and "holds a password" in done.err and ".pgpass" in done.err
    assert word not in done.err + done.out
    assert not ties.exist(str(new.home))


def test_joining_a_team_on_another_host_unencrypted_requires_the_option_insecure(new: Home) -> None:
    done = new.run("team", "join", "host=192.0.2.1 dbname=team sslmode=disable")

    assert done.status == 1 and "--insecure" in done.err


@pytest.mark.parametrize("action", ["init", "join", "add", "remove", "adopt", "leave"])
def test_the_assistant_cannot_start_or_end_sharing_with_a_team(ann: Home, action: str) -> None:
    words = {"leave": ()}.get(action, ("postgresql://evil.example/x",))

    done = ann.run("team", action, *words, CLAUDECODE="1")

    assert done.status == 2 and "only the user" in done.err
    assert ann.run("team", "status", CLAUDECODE="1").status == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("joyn",), "No such command 'joyn'. Did you mean 'join'?"),
        (("join",), "Missing argument 'DSN'"),
        (("add",), "Missing argument 'MEMBER'"),
        (("sync", "now"), "unexpected extra argument(s) (now)"),
        (("sync", "--owner"), "No such option: --owner"),
        (("leave", "--me"), "tied to no shared log"),
    ],
)
def test_a_wrong_command_line_is_refused_with_an_explanation(
    new: Home, words: tuple[str, ...], said: str
) -> None:
    done = new.run("team", *words)

    assert done.status == 2 and said in done.err


@pytest.mark.parametrize("action", ["sync", "members", "leave"])
def test_commands_without_a_link_to_a_space_fail_with_a_hint_to_join(
    new: Home, action: str
) -> None:
    done = new.run("team", action)

    assert done.status == 3 and "team join DSN" in done.err


def test_status_without_a_link_to_a_space_succeeds_and_reports_the_missing_link(new: Home) -> None:
    done = new.run("team", "status")

    assert done.status == 0 and "tied to no shared log" in done.out
    assert new.json("team", "status") == [] and new.json("status")["team"] == []
    checks = {check["name"]: check for check in new.run("doctor", "--json").json}
    assert checks["shared log"]["state"] == "ok"


def test_a_space_name_reserved_for_a_users_own_machines_is_refused(
    new: Home, dsn: dict[str, str]
) -> None:
    done = new.run("team", "init", dsn[OWNER], "--space", "~bob")

    assert done.status == 2 and "own machines" in done.err


def test_a_role_given_with_the_option_as_overrides_the_role_in_the_address(
    new: Home, postgres: Cluster, empty_database: str, dsn: dict[str, str]
) -> None:
    address = postgres.dsn(BOB, empty_database)

    joined = new.json("team", "join", address, "--space", SPACE, "--as", ANN)

    assert joined["member"] == ANN
    assert new.sync()[SPACE]["error"] == ""


def test_status_lists_members_who_have_not_read_the_log_for_a_week(
    ann: Home, bob: Home, postgres: Cluster, empty_database: str
) -> None:
    with postgres.connect(SUPERUSER, empty_database) as connection:
        connection.execute(
            "UPDATE memory_fabric.seen SET seen_at = now() - interval '8 days' WHERE member = %s",
            (BOB,),
        )
    ties.update_state(str(ann.home), ann.project_id, asked_at=0.0)
    ann.sync()

    told = ann.run("status").out

    assert "have not read shop for a week: bob." in told
    assert ann.json("status")["team"][0]["silent"] == [BOB]
