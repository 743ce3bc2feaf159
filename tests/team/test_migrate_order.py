"""Logs of before, which were ordered by transactions: `team init` numbers their operations, nobody
reads one twice or never, and a migration that is killed leaves everything as it was.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.wire import Position, TeamOperation
from memory_fabric.sharing.server import connect as server_connect
from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import Connection, connect
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.team.errors import UnfitServer
from team.conftest import SPACE
from team.operations import operation
from team.postgres import ANN, BOB, OWNER, SUPERUSER, Cluster
from waiting import until

START = Position()
BEFORE = Path(__file__).with_name("before") / "001_log.sql"
OLD_STEPS = (1, 10, 11)
OTHER = "another"
# As the clients of before appended and read.
INSERT = """
    INSERT INTO memory_fabric.operations (op_id, space, origin, kind, payload, made_at)
    VALUES (%s, %s, %s, %s, %s::jsonb, %s)
"""
HEADS = "SELECT op_id, author, key, stands FROM memory_fabric.heads ORDER BY op_id"
READ = """
    SELECT tx::text::bigint, seq, op_id::text, payload #>> '{value,text}'
    FROM memory_fabric.operations
    WHERE space = %s AND NOT superseded AND tx < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY tx, seq
"""
ROOT = Path(__file__).parents[2]
INIT = """
import sys
from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import connect
spaces.init(connect(sys.argv[1]), sys.argv[2])
"""


def append(connection: Connection, said: TeamOperation, space: str = SPACE) -> None:
    row = (said.op_id, space, said.origin, said.kind, wire.encode(said), said.made_at)
    connection.execute(INSERT, row)


def make_before(cluster: Cluster, database: str) -> None:
    """Make a log as releases before step 20 did, with two spaces of OWNER, ANN and BOB."""
    folder = resources.files("memory_fabric.sharing.server") / "schema"
    with closing(connect(cluster.dsn(OWNER, database))) as owner, owner.transaction():
        owner.execute("CREATE SCHEMA memory_fabric")
        owner.execute(
            "CREATE TABLE memory_fabric.schema_version"
            " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        files = [BEFORE.read_bytes()]
        files += [server_connect.schema_steps()[number].read_bytes() for number in OLD_STEPS[1:]]
        assert len(list(folder.iterdir())) > len(files)
        for number, file in zip(OLD_STEPS, files, strict=True):
            owner.execute(file)
            owner.execute("INSERT INTO memory_fabric.schema_version VALUES (%s)", (number,))
        for space in (SPACE, OTHER):
            owner.execute("SELECT memory_fabric.create_space(%s)", (space,))
            for member in (ANN, BOB):
                owner.execute("SELECT memory_fabric.admit(%s, %s, 'member')", (space, member))


def fill(cluster: Cluster, database: str) -> list[str]:
    """Let members say something, one of them in a transaction that commits last and began first.

    Return the texts of SPACE in the order in which they were read.
    """
    with cluster.connections(database) as open_:
        ann, bob, late = open_(ANN), open_(BOB), open_(BOB)
        late.autocommit = False
        first = operation("first", key="o:first")
        append(ann, first)
        late.execute("SELECT pg_current_xact_id()")
        append(ann, operation("elsewhere"), OTHER)
        append(bob, operation("second"))
        append(late, operation("committed last, before the second"))
        late.commit()
        append(ann, operation("first, again", key="o:first", base=[first.op_id]))
        append(bob, operation("of bob", key="o:purged"))
        bob.execute("SELECT memory_fabric.purge(%s, %s)", (SPACE, ["o:purged"]))
        append(ann, operation("third"))
    return ["committed last, before the second", "second", "first, again", "", "third"]


@pytest.fixture
def old(postgres: Cluster, empty_database: str) -> str:
    """Make a log of before with operations in it; yield the name of its database."""
    make_before(postgres, empty_database)
    return empty_database


@pytest.fixture
def open_connection(postgres: Cluster, old: str) -> Iterator[Callable[[str], Connection]]:
    with postgres.connections(old) as open_:
        yield open_


def said(operations: list[TeamOperation]) -> list[str]:
    return [str((one.value or {}).get("text", "")) for one in operations]


def test_migrating_the_log_keeps_the_order_in_which_operations_are_read(
    postgres: Cluster, old: str, open_connection: Callable[[str], Connection]
) -> None:
    expected = fill(postgres, old)
    columns = (
        "op_id, space, author, origin, kind, key, base, payload, made_at, stored_at, superseded"
    )
    everything = f"SELECT {columns} FROM memory_fabric.operations ORDER BY op_id".encode()
    with closing(postgres.connect(SUPERUSER, old)) as superuser:
        before = superuser.execute(everything).fetchall()
        heads = superuser.execute(HEADS).fetchall()

        state = spaces.init(open_connection(OWNER), SPACE)

        after = superuser.execute(everything).fetchall()
        numbers = superuser.execute(
            "SELECT space, array_agg(seq ORDER BY seq) FROM memory_fabric.operations"
            " GROUP BY space ORDER BY space"
        ).fetchall()
        assert superuser.execute(HEADS).fetchall() == heads
    found, _ = SharedLog(open_connection(BOB), SPACE).pull(START)
    assert said(found) == expected
    assert after == before and len(before) == 8
    assert numbers == [(OTHER, [1]), (SPACE, list(range(1, 8)))]
    assert (state.epoch, state.members) == (1, 3)


def test_readers_continue_at_the_same_position_after_the_log_is_migrated(
    postgres: Cluster, old: str, open_connection: Callable[[str], Connection]
) -> None:
    expected = fill(postgres, old)
    rows = open_connection(BOB).execute(READ, (SPACE,)).fetchall()
    assert [text or "" for _, _, _, text in rows] == expected
    log = SharedLog(open_connection(BOB), SPACE)
    spaces.init(open_connection(OWNER), SPACE)
    SharedLog(open_connection(ANN), SPACE).push([operation("after the migration")])

    for read, (tx, seq, op_id, _) in enumerate(rows, start=1):
        position = Position(1, tx, seq, op_id)
        assert log.holds(position)
        found, _ = log.pull(position)
        assert said(found) == [*expected[read:], "after the migration"]


def test_a_reader_starts_again_if_the_log_was_restored_and_then_migrated(
    postgres: Cluster, old: str, open_connection: Callable[[str], Connection]
) -> None:
    """The operation is there, but it was sent again, after another that is new to this client."""
    ann, sent_again = open_connection(ANN), operation("sent again")
    append(ann, operation("new to the client"))
    append(ann, sent_again)
    [_, (tx, seq, op_id, _)] = ann.execute(READ, (SPACE,)).fetchall()
    log = SharedLog(open_connection(BOB), SPACE)
    spaces.init(open_connection(OWNER), SPACE)

    position = Position(1, tx - 7, seq, op_id)

    assert not log.holds(position)
    assert said(log.pull(position)[0]) == ["new to the client", "sent again"]


def test_a_migrated_log_has_the_same_schema_as_a_new_log(
    postgres: Cluster, old: str, open_connection: Callable[[str], Connection], empty_database: str
) -> None:
    fill(postgres, old)
    spaces.init(open_connection(OWNER), SPACE)
    with postgres.database() as new:
        with closing(connect(postgres.dsn(OWNER, new))) as owner:
            spaces.init(owner, SPACE)
            for member in (ANN, BOB):
                spaces.add(owner, SPACE, member)
        schemas = [_schema(postgres, name) for name in (new, old)]
    ann = SharedLog(open_connection(ANN), SPACE)
    [standing] = [one for one in ann.pull(START)[0] if said([one]) == ["first, again"]]
    ann.push([operation("first, at last", key="o:first", base=[standing.op_id])])
    words = ann.connection.execute("SELECT memory_fabric.known_words(%s, %s)", (SPACE, ["last"]))

    assert [sorted(set(a) ^ set(b)) for a, b in zip(*schemas, strict=True)] == [[]] * 7
    assert "first, again" not in said(ann.pull(START)[0])
    assert words.fetchall() == [("last",)]


def test_a_migration_by_an_administrator_keeps_the_owner_of_the_log(
    postgres: Cluster, old: str
) -> None:
    fill(postgres, old)
    with closing(postgres.connect(SUPERUSER, old)) as superuser:
        spaces.init(superuser, "of the administrator")
        owners = superuser.execute(
            "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class"
            " WHERE relnamespace = 'memory_fabric'::regnamespace"
        ).fetchall()

    with closing(connect(postgres.dsn(ANN, old))) as connection:
        held = SharedLog(connection, SPACE).push([operation("after the migration")])

    assert owners == [(OWNER,)]
    assert len(held) == 1


def test_an_unmigrated_log_is_refused_with_the_missing_migration_step(
    old: str, open_connection: Callable[[str], Connection]
) -> None:
    with pytest.raises(UnfitServer, match="lacks step 20"):
        SharedLog(open_connection(ANN), SPACE).state()


@pytest.mark.parametrize("killed", ["client", "server process", "server"])
def test_a_killed_migration_leaves_the_old_log_intact(
    killed: str, another_cluster: Cluster
) -> None:
    """It is stopped after it copied everything, where it drops the old table."""
    with another_cluster.database() as database:
        make_before(another_cluster, database)
        expected = fill(another_cluster, database)
        dsn = another_cluster.dsn(OWNER, database)
        with closing(another_cluster.connect(SUPERUSER, database)) as reader:
            reader.execute("CHECKPOINT")  # this cluster does not wait for its disk at a commit
            reader.autocommit = False
            reader.execute("SELECT 1 FROM memory_fabric.operations_3")
            process = subprocess.Popen(
                [sys.executable, "-c", INIT, dsn, SPACE],
                env={**os.environ, "PYTHONPATH": str(ROOT / "plugin")},
                stderr=subprocess.PIPE,
            )
            backend = _waiting_backend(another_cluster, process)
            if killed == "client":
                process.kill()
            elif killed == "server process":
                os.kill(backend, signal.SIGKILL)
            else:
                another_cluster.stop("immediate")
                another_cluster.start()
        status = process.wait(60)
        assert process.communicate() and status != 0
        with another_cluster.connections(database) as open_:
            until(lambda: _answers(another_cluster), "the server has recovered")
            until(lambda: not _is_running(another_cluster, backend), "the process has ended")
            bob = open_(BOB)
            rows = bob.execute(READ, (SPACE,)).fetchall()
            assert [text or "" for _, _, _, text in rows] == expected
            assert server_connect.applied_steps(bob) == set(OLD_STEPS)
            append(bob, operation("said meanwhile"))

            spaces.init(open_(OWNER), SPACE)

            found, _ = SharedLog(bob, SPACE).pull(START)
        assert said(found) == [*expected, "said meanwhile"]


def _schema(cluster: Cluster, database: str) -> list[list[Any]]:
    """Return what makes up the tables of the log: columns, indexes, triggers, policies, rights."""
    queries = (
        "SELECT table_name, column_name, data_type, is_nullable, column_default"
        " FROM information_schema.columns WHERE table_schema = 'memory_fabric'",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'memory_fabric'",
        "SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger"
        " WHERE NOT tgisinternal",
        "SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check"
        " FROM pg_policies",
        "SELECT relname, relrowsecurity, relforcerowsecurity,"
        " ARRAY(SELECT unnest(relacl)::text ORDER BY 1) FROM pg_class"
        " WHERE relnamespace = 'memory_fabric'::regnamespace",
        "SELECT proname, prosrc, prosecdef, proconfig::text,"
        " ARRAY(SELECT unnest(proacl)::text ORDER BY 1) FROM pg_proc"
        " WHERE pronamespace = 'memory_fabric'::regnamespace",
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'memory_fabric'::regnamespace AND contype <> 'n'",
    )
    with closing(cluster.connect(SUPERUSER, database)) as superuser:
        return [sorted(map(repr, superuser.execute(query.encode()))) for query in queries]


def _waiting_backend(cluster: Cluster, client: subprocess.Popen[bytes]) -> int:
    """Return the process id of the one server process that waits for a lock for the client."""
    pids: list[int] = []

    def look() -> bool:
        assert client.poll() is None, client.communicate()
        with closing(cluster.connect(SUPERUSER)) as superuser:
            found = superuser.execute("SELECT pid FROM pg_locks WHERE NOT granted").fetchall()
        pids[:] = [pid for (pid,) in found]
        return bool(pids)

    until(look, "the migration waits for the reader")
    return pids[0]


def _answers(cluster: Cluster) -> bool:
    try:
        cluster.connect(SUPERUSER).close()
    except psycopg.OperationalError:
        return False
    return True


def _is_running(cluster: Cluster, pid: int) -> bool:
    with closing(cluster.connect(SUPERUSER)) as superuser:
        query = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
        return superuser.execute(query, (pid,)).fetchone() is not None
