"""Rights in the schema: what nobody can forge, read or change, and what each guard refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from memory_fabric.sharing.replica.wire import Position
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import SharedLog
from team.breaches import APPEND, ATTEMPTS, FORGED, OTHER, fill, inserts
from team.conftest import SPACE, OpenConnection, OpenLog, Place, make_space
from team.operations import operation, texts
from team.postgres import ANN, BOB, EVE, OWNER, SUPERUSER, Cluster

TABLE = "memory_fabric.operations"
# What is taken away, and the attempt that then succeeds.
WEAKENED = [
    *(
        (f"ALTER POLICY members_read ON memory_fabric.{table} USING (true)", attempt)
        for table, attempt in (
            ("operations", "a member reads another space"),
            ("spaces", "a member learns of another space"),
            ("members", "a member learns who is in another space"),
            ("seen", "a member learns who read another space"),
        )
    ),
    (f"ALTER TABLE {TABLE} DISABLE ROW LEVEL SECURITY", "a member reads another space"),
    (
        "CREATE OR REPLACE FUNCTION memory_fabric.expect_member(in_space text) RETURNS void"
        " LANGUAGE sql AS ''",
        "a member appends to another space",
    ),
    (f"ALTER TABLE {TABLE} NO FORCE ROW LEVEL SECURITY", "the schema's owner reads another space"),
    (f"ALTER TABLE {TABLE} NO FORCE ROW LEVEL SECURITY", "the schema's owner marks operations"),
    (f"DROP TRIGGER keep ON {TABLE}", "the schema's owner changes operations"),
    (f"DROP TRIGGER keep ON {TABLE}", "the schema's owner deletes operations"),
    (f"DROP TRIGGER keep_all ON {TABLE}", "the schema's owner empties the log"),
    ("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA memory_fabric TO ann", "a member makes a space"),
    ("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA memory_fabric TO ann", "a member begins an epoch"),
    (
        "CREATE OR REPLACE FUNCTION memory_fabric.expect_owner(in_space text) RETURNS void"
        " LANGUAGE sql AS ''",
        "a member adds a member",
    ),
    (
        f"GRANT INSERT ON {TABLE} TO ann; ALTER TABLE {TABLE} DISABLE ROW LEVEL SECURITY",
        "a member inserts an operation",
    ),
    (
        f"ALTER TABLE {TABLE} NO FORCE ROW LEVEL SECURITY",
        "the schema's owner inserts an operation",
    ),
]


@pytest.fixture(scope="module")
def filled(postgres: Cluster) -> Iterator[str]:
    """Make a database with two spaces and something in both; yield its name."""
    with postgres.database() as name:
        make_space(postgres, name, SPACE)
        with postgres.connections(name) as open_:
            fill(postgres, name, open_)
        yield name


@pytest.fixture
def place(postgres: Cluster, filled: str) -> Iterator[Place]:
    """Give each test a copy of the filled database."""
    with postgres.database(filled) as name:
        yield Place(name, SPACE)


@pytest.fixture
def superuser(postgres: Cluster, place: Place) -> Iterator[Connection]:
    """Return a connection to the copy that may change everything."""
    with closing(postgres.connect(SUPERUSER, place.database)) as connection:
        yield connection


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_forbidden_statements_of_a_member_are_refused(
    attempt: str, postgres: Cluster, filled: str
) -> None:
    with postgres.connections(filled) as open_:
        assert not ATTEMPTS[attempt](open_)


@pytest.mark.parametrize(("weakening", "attempt"), WEAKENED)
def test_each_database_protection_is_needed_to_refuse_a_forbidden_statement(
    weakening: str, attempt: str, superuser: Connection, open_connection: OpenConnection
) -> None:
    superuser.execute(weakening.encode())

    assert ATTEMPTS[attempt](open_connection)


@pytest.mark.parametrize("column", FORGED)
def test_the_database_refuses_forged_columns_even_from_roles_that_may_insert_rows(
    column: str, superuser: Connection, open_connection: OpenConnection
) -> None:
    superuser.execute(f"GRANT INSERT ON {TABLE} TO {ANN}".encode())
    superuser.execute(f"ALTER TABLE {TABLE} DISABLE ROW LEVEL SECURITY".encode())
    attempt = inserts(column, FORGED[column])
    refused = not attempt(open_connection)
    superuser.execute(f"ALTER TABLE {TABLE} DISABLE TRIGGER keep_order".encode())

    assert refused
    assert attempt(open_connection)


def test_every_database_function_has_a_fixed_search_path(superuser: Connection) -> None:
    # A function in SQL without raised rights becomes a part of the query that calls it.
    unbound = superuser.execute(
        "SELECT proname FROM pg_proc p WHERE pronamespace = 'memory_fabric'::regnamespace"
        " AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}'))"
        " AND (prosecdef OR prolang <> (SELECT oid FROM pg_language WHERE lanname = 'sql'))"
        " AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
    ).fetchall()

    assert unbound == []


def test_a_members_own_functions_and_tables_do_not_affect_the_shared_log(
    superuser: Connection, place: Place, open_connection: OpenConnection
) -> None:
    superuser.execute(f"GRANT CREATE, TEMPORARY ON DATABASE {place.database} TO {ANN}".encode())
    ann = open_connection(ANN)
    ann.execute(
        "CREATE SCHEMA evil;"
        f"CREATE FUNCTION evil.current_setting(text) RETURNS text LANGUAGE sql RETURN '{BOB}';"
        "CREATE FUNCTION evil.yes(name, name) RETURNS boolean LANGUAGE sql RETURN true;"
        "CREATE FUNCTION evil.yes(text, text) RETURNS boolean LANGUAGE sql RETURN true;"
        "CREATE OPERATOR evil.= (FUNCTION = evil.yes, LEFTARG = name, RIGHTARG = name);"
        "CREATE OPERATOR evil.= (FUNCTION = evil.yes, LEFTARG = text, RIGHTARG = text);"
        f"CREATE TEMPORARY TABLE members AS SELECT '{OTHER}'::text AS space,"
        f" '{ANN}'::name AS member, 'owner' AS role, NULL::timestamptz AS removed_at;"
        "SET search_path = evil, pg_temp, pg_catalog"
    )

    ann.execute(APPEND.encode())

    authors = superuser.execute(
        f"SELECT DISTINCT author FROM {TABLE} WHERE key = 'o:forged'".encode()
    ).fetchall()
    seen = ann.execute(
        f"SELECT 1 FROM {TABLE} WHERE space OPERATOR(pg_catalog.=) '{OTHER}'".encode()
    ).fetchall()
    assert authors == [(ANN,)]
    assert seen == []


def test_the_author_of_an_operation_is_the_current_role_rather_than_the_login_role(
    superuser: Connection,
) -> None:
    superuser.execute("DROP ROLE IF EXISTS service")
    superuser.execute(f"CREATE ROLE service NOINHERIT; GRANT {ANN} TO service".encode())
    superuser.execute("SET SESSION AUTHORIZATION service")
    log = SharedLog(superuser, SPACE)

    with superuser.transaction():
        superuser.execute(f"SET LOCAL ROLE {ANN}".encode())
        log.push([operation("for ann", key="o:service")])
    with superuser.transaction():
        superuser.execute(f"SET LOCAL ROLE {ANN}".encode())
        found, _ = log.pull(Position())
    superuser.execute("RESET SESSION AUTHORIZATION")
    superuser.execute("DROP ROLE service")

    assert [said.author for said in found if said.key == "o:service"] == [ANN]


def test_a_removed_member_can_neither_read_nor_write_but_existing_records_remain(
    superuser: Connection, open_log: OpenLog, open_connection: OpenConnection
) -> None:
    open_connection(OWNER).execute("SELECT memory_fabric.dismiss(%s, %s)", (SPACE, ANN))

    found, _ = open_log(BOB).pull(Position())

    assert not ATTEMPTS["a member reads another space"](open_connection)
    assert f"of {ANN}" in texts(found)
    assert superuser.execute(f"SELECT count(*) FROM {TABLE}".encode()).fetchone() == (3,)
    assert open_connection(ANN).execute(f"SELECT 1 FROM {TABLE}".encode()).fetchall() == []


def test_a_purge_by_an_owner_of_another_space_changes_nothing(
    superuser: Connection, open_connection: OpenConnection
) -> None:
    assert not ATTEMPTS["an owner of one space purges in another"](open_connection)

    payloads = superuser.execute(
        f"SELECT payload -> 'value' IS NULL FROM {TABLE} WHERE author <> '{EVE}'".encode()
    ).fetchall()
    assert payloads == [(False,), (False,)]


def test_appending_to_a_large_log_reads_only_a_few_rows(
    superuser: Connection, open_log: OpenLog
) -> None:
    first = [operation(f"text {i}", key=f"o:{i}") for i in range(2000)]
    log = open_log(ANN)
    log.push(first)
    superuser.execute(f"ANALYZE {TABLE}".encode())
    log = open_log(ANN)  # what was read before does not count
    read = []
    for said in first[:10]:
        with log.connection.transaction():
            log.push([operation("again", key=said.key, base=[said.op_id])])
            row = log.connection.execute(
                "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables"
                " WHERE relid = 'memory_fabric.operations'::regclass"
            ).fetchone()
        assert row is not None
        read.append(row[0])

    assert max(read) < 300, read


def test_a_purge_uses_an_index_to_find_the_rows_of_a_key(superuser: Connection) -> None:
    superuser.execute("SET enable_seqscan = off")
    plan = superuser.execute(
        f"EXPLAIN SELECT 1 FROM {TABLE} WHERE space = '{SPACE}' AND key = 'o:1'".encode()
    ).fetchall()

    assert any("operations_keys" in line for (line,) in plan)
