"""Members of a space: added, created as roles, removed, and listed."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from psycopg.conninfo import make_conninfo

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.sharing.replica.wire import Position
from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import connect
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.team.errors import LoginFailed, NotAllowed, NotAMember, TeamError
from team.conftest import SPACE, OpenConnection, OpenLog, Place
from team.operations import operation, texts
from team.postgres import ANN, BOB, EVE, OWNER, SUPERUSER, Cluster

START = Position()


def test_a_member_who_was_added_can_read_and_write(
    space: str, open_connection: OpenConnection, open_log: OpenLog
) -> None:
    open_log(ANN).push([operation("of ann")])

    password = spaces.add(open_connection(OWNER), space, EVE)
    open_log(EVE).push([operation("of eve")])

    assert password == ""
    assert texts(open_log(EVE).pull(START)[0]) == ["of ann", "of eve"]


def test_a_created_role_logs_in_with_a_password_that_is_in_no_log(
    another_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = 'zoë of-the "team"'
    another_cluster.stop()
    another_cluster.start(log_statement="all")
    with another_cluster.database() as database:
        with closing(connect(another_cluster.dsn(OWNER, database))) as owner:
            spaces.init(owner, SPACE)
            password = spaces.add(owner, SPACE, name, create_role=True)
            again = spaces.add(owner, SPACE, name, create_role=True)
        monkeypatch.setenv("PGPASSWORD", password)
        dsn = make_conninfo(another_cluster.tcp_dsn(ANN, database), user=name)
        with closing(connect(dsn)) as connection:
            state = SharedLog(connection, SPACE).state()
        monkeypatch.setenv("PGPASSWORD", password[1:])
        with pytest.raises(LoginFailed):
            connect(dsn)

    assert (state.member, state.role) == (name, "member")
    assert again == ""
    assert len(password) >= 32
    assert "CREATE ROLE" in another_cluster.log()
    assert password not in another_cluster.log()


def test_a_missing_role_is_reported_with_the_command_that_creates_it(
    space: str,
    open_connection: OpenConnection,
) -> None:
    with pytest.raises(TeamError, match="nobody-here") as refused:
        spaces.add(open_connection(OWNER), space, "nobody-here")

    assert "--create-role" in refused.value.remedy
    assert "nobody-here" not in [m.name for m in SharedLog(open_connection(ANN), space).members()]


def test_adding_a_member_with_a_new_role_requires_permission_to_create_roles(
    space: str, open_connection: OpenConnection
) -> None:
    spaces.add(open_connection(OWNER), space, ANN, role="owner")

    with pytest.raises(NotAllowed, match="new-member") as refused:
        spaces.add(open_connection(ANN), space, "new-member", create_role=True)

    assert "CREATE ROLE" in refused.value.remedy


def test_only_an_owner_can_add_and_remove_members(
    space: str, open_connection: OpenConnection
) -> None:
    with pytest.raises(NotAllowed, match="no owner"):
        spaces.add(open_connection(ANN), space, EVE)
    with pytest.raises(NotAllowed, match="no owner"):
        spaces.remove(open_connection(ANN), space, BOB)


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0b"])
def test_an_invalid_name_of_a_space_is_refused(name: str, open_connection: OpenConnection) -> None:
    with pytest.raises(BadInput, match="cannot be the name of a space") as refused:
        spaces.init(open_connection(OWNER), name)

    assert "1 to 200 characters" in refused.value.remedy


def test_names_of_the_maximum_length_are_accepted(open_connection: OpenConnection) -> None:
    state = spaces.init(open_connection(OWNER), "x" * 200)
    assert (state.role, state.members) == ("owner", 1)

    with pytest.raises(TeamError, match="no such role"):
        spaces.add(open_connection(OWNER), "x" * 200, "y" * 63)


@pytest.mark.parametrize("name", ["", "x" * 64, "a\0b", "ü" * 32])
def test_an_invalid_role_name_is_refused(
    space: str, name: str, open_connection: OpenConnection
) -> None:
    with pytest.raises(BadInput, match="cannot be a role"):
        spaces.add(open_connection(OWNER), space, name)


def test_a_removed_member_loses_access_and_remains_listed_as_removed(
    space: str, open_connection: OpenConnection, open_log: OpenLog
) -> None:
    ann = open_log(ANN)
    ann.push([operation("of ann")])

    spaces.remove(open_connection(OWNER), space, ANN)

    listed = {member.name: member for member in SharedLog(open_connection(BOB), space).members()}
    assert texts(open_log(BOB).pull(START)[0]) == ["of ann"]
    assert listed[ANN].removed_at is not None
    assert listed[BOB].removed_at is None
    with pytest.raises(NotAMember):
        ann.pull(START)
    with pytest.raises(NotAMember):
        ann.push([operation("too late")])


def test_a_member_added_again_can_read_again(
    space: str, open_connection: OpenConnection, open_log: OpenLog
) -> None:
    spaces.remove(open_connection(OWNER), space, ANN)

    spaces.add(open_connection(OWNER), space, ANN)

    assert open_log(ANN).state().role == "member"


def test_the_last_owner_cannot_be_removed(space: str, open_connection: OpenConnection) -> None:
    owner = open_connection(OWNER)

    with pytest.raises(BadInput, match="last owner") as refused:
        spaces.remove(owner, space, OWNER)
    with pytest.raises(BadInput, match="last owner"):
        spaces.add(owner, space, OWNER, role="member")
    spaces.add(owner, space, ANN, role="owner")
    spaces.remove(owner, space, OWNER)

    assert "another owner" in refused.value.remedy
    assert [m.role for m in SharedLog(open_connection(ANN), space).members() if m.name == ANN] == [
        "owner"
    ]


def test_removing_a_role_that_is_not_a_member_is_refused(
    space: str, open_connection: OpenConnection
) -> None:
    with pytest.raises(NotFound, match=EVE):
        spaces.remove(open_connection(OWNER), space, EVE)


def test_the_member_list_shows_when_each_member_last_read_the_log(
    space: str, open_connection: OpenConnection, open_log: OpenLog
) -> None:
    open_log(ANN).pull(START)

    listed = {member.name: member for member in SharedLog(open_connection(BOB), space).members()}

    assert listed[ANN].seen_at is not None
    assert listed[BOB].seen_at is None


def test_the_time_of_a_members_last_read_is_updated_once_per_hour(
    postgres: Cluster, place: Place, open_log: OpenLog, open_connection: OpenConnection
) -> None:
    statement = "UPDATE memory_fabric.seen SET seen_at = now() - make_interval(mins => %s)"
    ages = []
    for minutes in (50, 70):
        open_log(ANN).pull(START)
        with closing(postgres.connect(SUPERUSER, place.database)) as superuser:
            superuser.execute(statement, (minutes,))
        open_log(ANN).pull(START)
        seen = [
            m.seen_at for m in SharedLog(open_connection(BOB), place.space).members() if m.seen_at
        ]
        ages.append((datetime.now(UTC) - seen[0]).total_seconds())

    assert ages[0] > 49 * 60
    assert ages[1] < 60


def test_reading_again_over_the_same_connection_updates_the_time_of_the_last_read(
    postgres: Cluster, place: Place, open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_fabric.sharing.server.log.SEEN_EVERY_S", 0.0)
    reader = open_log(ANN)
    reader.pull(START)
    with closing(postgres.connect(SUPERUSER, place.database)) as superuser:
        superuser.execute("UPDATE memory_fabric.seen SET seen_at = now() - interval '8 days'")
    reader.pull(START)

    listed = {member.name: member for member in SharedLog(reader.connection, place.space).members()}

    seen_at = listed[ANN].seen_at
    assert seen_at is not None
    assert datetime.now(UTC) - seen_at < timedelta(minutes=1)


def test_only_members_can_see_the_member_list(space: str, open_connection: OpenConnection) -> None:
    spaces.add(open_connection(OWNER), space, EVE)
    spaces.remove(open_connection(OWNER), space, EVE)

    assert SharedLog(open_connection(EVE), space).members() == []
