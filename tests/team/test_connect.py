"""Connections: what is refused before anything is sent, and each failure with its remedy."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import pytest

from memory_fabric.sharing.replica.wire import Position
from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import (
    checked,
    connect,
    expect_known_steps,
    expect_version,
    pgpass_line,
    schema_steps,
    shown,
)
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.team.errors import (
    BadAddress,
    LoginFailed,
    NoAnswer,
    Passing,
    ServerFull,
    ServerReadOnly,
    TeamError,
    TooSlow,
    UnfitServer,
)
from ports import free_port
from team.conftest import SPACE, OpenConnection, OpenLog, Place
from team.operations import operation, texts
from team.postgres import ANN, BOB, OWNER, SUPERUSER, Cluster

START = Position()
# No secret: a word that only these tests' cluster knows.
WORD = "-".join(("open", "sesame", "two"))


@pytest.fixture
def place(database: str) -> Place:
    """Give each test a database of its own, whose settings and schema it may change."""
    return Place(database, SPACE)


@pytest.fixture
def with_password(postgres: Cluster, database: str) -> str:
    """Give ANN a password; return the connection string that needs it."""
    with closing(postgres.connect(SUPERUSER)) as superuser:
        superuser.execute(f"ALTER ROLE {ANN} PASSWORD '{WORD}'".encode())
    return postgres.tcp_dsn(ANN, database)


def test_a_password_is_read_from_the_libpq_password_file(
    with_password: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "passwords"
    file.write_text(f"127.0.0.1:*:*:{ANN}:{WORD}\n", "utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))

    with closing(connect(with_password)) as connection:
        state = SharedLog(connection, SPACE).state()

    assert state.member == ANN


@pytest.mark.parametrize("given", ["", WORD[1:]])
def test_a_wrong_or_missing_password_is_reported_with_a_hint_to_the_password_file(
    given: str, with_password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", given)

    with pytest.raises(LoginFailed, match=f"{ANN}@127.0.0.1") as refused:
        connect(with_password)

    assert ".pgpass" in refused.value.remedy
    assert not isinstance(refused.value, Passing)


def test_a_missing_database_is_reported(postgres: Cluster) -> None:
    with pytest.raises(LoginFailed, match="no such database") as refused:
        connect(postgres.dsn(ANN, "missing"))

    assert "createdb" in refused.value.remedy


def test_a_missing_role_is_reported(postgres: Cluster) -> None:
    with pytest.raises(LoginFailed, match="refuses the login"):
        connect(postgres.dsn("missing"))


def test_connecting_to_a_host_that_never_answers_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("memory_fabric.sharing.server.connect.CONNECT_TIMEOUT_S", 2)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]

        with pytest.raises(NoAnswer) as refused:
            connect(f"host=127.0.0.1 port={port} user=ann dbname=app")

    assert isinstance(refused.value, Passing)
    assert "loses nothing" in refused.value.remedy


def test_a_host_where_nothing_listens_is_reported() -> None:
    port = free_port()

    with pytest.raises(NoAnswer, match=rf"Cannot connect to ann@127\.0\.0\.1:{port}/app"):
        connect(f"host=127.0.0.1 port={port} user=ann dbname=app")


def test_a_server_without_free_connections_is_reported(postgres: Cluster, database: str) -> None:
    with closing(postgres.connect(SUPERUSER)) as superuser:
        superuser.execute(f"ALTER DATABASE {database} CONNECTION LIMIT 0".encode())

    with pytest.raises(ServerFull) as refused:
        connect(postgres.dsn(ANN, database))

    assert isinstance(refused.value, Passing)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://ann:{}@db.example/app",
        "postgresql://ann@db.example/app?password={}",
        "host=db.example user=ann password={}",
        "host=/tmp user=ann password='{}'",
    ],
)
def test_an_address_with_a_password_is_refused_without_showing_the_password(dsn: str) -> None:
    with pytest.raises(BadAddress, match="holds a password") as refused:
        checked(dsn.format(WORD))

    assert WORD not in str(refused.value)
    assert ".pgpass" in refused.value.remedy
    assert WORD not in shown(dsn.format(WORD))


@pytest.mark.parametrize(
    "dsn", [f"postgresql://ann:{WORD}@[half/app", f"password={WORD} host", f"{WORD}={WORD}"]
)
def test_an_invalid_address_is_refused_without_showing_the_password_in_it(dsn: str) -> None:
    with pytest.raises(BadAddress) as refused:
        checked(dsn)

    assert WORD not in str(refused.value)
    assert "postgresql://" in refused.value.remedy
    assert WORD not in shown(dsn)


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer"])
@pytest.mark.parametrize("host", ["db.example", "192.0.2.7", "127.0.0.1,db.example"])
def test_a_connection_to_another_host_needs_encryption(host: str, mode: str) -> None:
    with pytest.raises(BadAddress, match=f"sslmode={mode}") as refused:
        checked(f"host={host} dbname=app sslmode={mode}")

    assert "--insecure" in refused.value.remedy


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
def test_an_encryption_mode_in_the_address_is_kept(mode: str) -> None:
    dsn = f"host=db.example dbname=app sslmode={mode}"

    assert checked(dsn) == dsn


@pytest.mark.parametrize(
    "host", ["db.example", "192.0.2.7", "localhost.example", "x/run", "127.0.0.1,db.example"]
)
def test_the_connection_to_another_host_is_encrypted_by_default(host: str) -> None:
    assert "sslmode=require" in checked(f"host={host} dbname=app")


@pytest.mark.parametrize(
    "place",
    ["", "host=localhost", "host=127.0.0.2", "host=::1", "host=/run/postgresql", "host=@abstract"],
)
def test_a_connection_to_this_machine_needs_no_encryption(place: str) -> None:
    dsn = f"{place} dbname=app sslmode=disable"

    assert checked(dsn) == dsn


def test_encryption_is_required_if_hostaddr_points_to_another_machine() -> None:
    with pytest.raises(BadAddress, match="unencrypted"):
        checked("host=localhost hostaddr=192.0.2.7 dbname=app sslmode=disable")


def test_encryption_can_be_disabled_explicitly() -> None:
    dsn = "host=db.example dbname=app sslmode=disable"

    assert checked(dsn, insecure=True) == dsn


def test_encryption_is_required_for_a_host_set_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    monkeypatch.setenv("PGSSLMODE", "prefer")

    with pytest.raises(BadAddress, match="unencrypted"):
        checked("dbname=app")


@pytest.mark.parametrize(
    ("mode", "kept"), [("sslmode=verify-full\n", True), ("", False)], ids=["said", "unsaid"]
)
def test_the_connection_to_a_host_from_a_service_file_is_encrypted(
    mode: str, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "services"
    file.write_text(f"[team]\nhost=db.example\ndbname=app\n{mode}", "utf-8")
    monkeypatch.setenv("PGSERVICEFILE", str(file))

    conninfo = checked("service=team")

    assert (conninfo == "service=team") is kept
    assert ("sslmode=require" in conninfo) is not kept
    assert shown("service=team") == "db.example/app"


def test_a_service_file_that_allows_unencrypted_connections_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "services"
    file.write_text("[team]\nhost=db.example\nsslmode=prefer\n", "utf-8")
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    monkeypatch.setenv("PGSERVICE", "team")

    with pytest.raises(BadAddress, match="unencrypted"):
        checked("dbname=app")


@pytest.mark.parametrize("version", [90624, 130016])
def test_an_unsupported_old_postgresql_server_is_refused(version: int) -> None:
    with pytest.raises(UnfitServer, match=f"PostgreSQL {version // 10000}") as refused:
        expect_version(version)

    assert "14 or newer" in refused.value.remedy


def test_the_oldest_supported_postgresql_release_is_accepted() -> None:
    expect_version(140000)


def test_a_read_only_server_can_be_read_and_refuses_writes(
    postgres: Cluster, database: str, open_log: OpenLog
) -> None:
    open_log(ANN).push([operation("before")])
    with closing(postgres.connect(SUPERUSER)) as superuser:
        superuser.execute(
            f"ALTER DATABASE {database} SET default_transaction_read_only = on".encode()
        )
    log = open_log(BOB)

    with pytest.raises(ServerReadOnly) as refused:
        log.push([operation("not now")])

    assert isinstance(refused.value, Passing)
    assert "loses nothing" in refused.value.remedy
    assert texts(log.pull(START)[0]) == ["before"]


def test_a_server_without_disk_space_is_reported_as_full(open_connection: OpenConnection) -> None:
    # The server itself raises it, as it does where a write fails.
    open_connection(OWNER).execute(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;"
        "CREATE TRIGGER full_disk BEFORE INSERT ON memory_fabric.operations"
        " FOR EACH ROW EXECUTE FUNCTION full_disk()"
    )

    with pytest.raises(ServerFull, match="could not extend file") as refused:
        SharedLog(open_connection(ANN), SPACE).push([operation()])

    assert isinstance(refused.value, Passing)


def test_a_statement_that_waits_too_long_times_out(open_connection: OpenConnection) -> None:
    blocking = open_connection(OWNER)
    log = SharedLog(open_connection(ANN), SPACE, limit_s=0.1)

    with blocking.transaction():
        blocking.execute("LOCK TABLE memory_fabric.operations")
        with pytest.raises(TooSlow) as refused:
            log.push([operation("too slow")])

    assert isinstance(refused.value, Passing)
    assert log.pull(START)[0] == []


def test_the_client_reconnects_after_a_server_crash(another_cluster: Cluster) -> None:
    with another_cluster.database() as database:
        with closing(connect(another_cluster.dsn(OWNER, database))) as connection:
            spaces.init(connection, SPACE)
            log = SharedLog(connection, SPACE)
            kept = operation("acknowledged")
            log.push([kept])
            another_cluster.stop("immediate")
            with pytest.raises(NoAnswer) as refused:
                log.push([operation("lost")])
            with pytest.raises(NoAnswer):
                log.pull(START)
        with pytest.raises(NoAnswer):
            connect(another_cluster.dsn(OWNER, database))
        another_cluster.start()
        with closing(connect(another_cluster.dsn(OWNER, database))) as connection:
            found = SharedLog(connection, SPACE).has([kept.op_id])

    assert isinstance(refused.value, Passing)
    assert found == {kept.op_id}


def test_the_connection_sets_an_application_name(
    open_connection: OpenConnection,
) -> None:
    row = open_connection(ANN).execute("SHOW application_name").fetchone()

    assert row == ("memory-fabric",)


def test_an_unexpected_connection_error_is_raised_as_a_team_error(postgres: Cluster) -> None:
    with pytest.raises(TeamError):
        connect(postgres.dsn(ANN) + " options=-cno_such_setting=1")


@pytest.mark.parametrize(
    ("dsn", "place"),
    [
        ("postgresql://ann@db.example/app", "ann@db.example/app"),
        ("postgresql://ann@db.example:5432/app", "ann@db.example/app"),
        ("postgresql://ann@127.0.0.1:6543/app", "ann@127.0.0.1:6543/app"),
        ("postgresql://ann@[::1]:6543/app", "ann@[::1]:6543/app"),
        ("host=db.example hostaddr=192.0.2.7", "db.example"),
        ("hostaddr=192.0.2.7 port=6543", "192.0.2.7:6543"),
        ("dbname=app", "this machine/app"),
        ("no address", "the server"),
    ],
)
def test_a_displayed_address_includes_the_port_only_if_it_is_not_the_default(
    dsn: str, place: str
) -> None:
    assert shown(dsn) == place


@pytest.mark.parametrize(
    ("dsn", "line"),
    [
        ("host=db.example port=6543 dbname=app user=olga", "db.example:6543:app:ann:{}"),
        ("user=olga", "localhost:5432:*:ann:{}"),
        ("host=::1 dbname='a\\\\b'", "\\:\\:1:5432:a\\\\b:ann:{}"),
    ],
)
def test_the_line_for_the_password_file_names_the_server_and_the_member(
    dsn: str, line: str
) -> None:
    assert pgpass_line(dsn, "ann", WORD) == line.format(WORD)
    assert pgpass_line("", "a:n", "b:c").endswith(":a\\:n:b\\:c")


def test_the_service_file_of_the_user_counts_before_that_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, system = tmp_path / "own", tmp_path / "pg_service.conf"
    own.write_text("[team]\nhost=own.example\nport=6543\n", "utf-8")
    system.write_text("[team]\nhost=team.example\n[other]\nhost=other.example\n", "utf-8")
    monkeypatch.setenv("PGSERVICEFILE", str(own))
    monkeypatch.setenv("PGSYSCONFDIR", str(tmp_path))
    monkeypatch.setenv("PGHOST", "usual.example")

    places = [shown(f"service={name}") for name in ("team", "other", "none")]
    stated = shown("service=team host=stated.example")
    own.write_bytes(b"[team]\nhost=\xff\n")
    unreadable = shown("service=team")

    assert places == ["own.example:6543", "other.example", "usual.example"]
    assert stated == "stated.example:6543"
    assert unreadable == "team.example"


def test_settings_of_the_environment_count_unless_the_address_states_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("PGHOST", "db.example"), ("PGUSER", "ann"), ("PGSSLMODE", "require")):
        monkeypatch.setenv(name, value)

    assert (shown("dbname=app"), shown("user=bob")) == ("ann@db.example/app", "bob@db.example")
    assert checked("dbname=app") == "dbname=app"
    monkeypatch.setenv("PGHOSTADDR", "127.0.0.1")
    monkeypatch.setenv("PGSSLMODE", "disable")
    assert checked("dbname=app") == "dbname=app"


def test_a_schema_with_an_unknown_step_needs_an_update_of_this_release() -> None:
    known = schema_steps()
    assert list(known) == sorted(known) and min(known) == 1
    assert all(path.name.startswith(f"{number:03d}") for number, path in known.items())
    expect_known_steps(set(known))
    expect_known_steps(set())

    newest = max(known)
    with pytest.raises(UnfitServer, match=f"schema {newest + 2}; .* knows {newest}") as refused:
        expect_known_steps({1, newest + 1, newest + 2})

    assert "Update memory-fabric" in refused.value.remedy
