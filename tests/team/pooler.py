"""A PgBouncer in transaction mode before a cluster of the tests: its clients share connections."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg

from ports import free_port
from team.postgres import ANN, BOB, EVE, OWNER, SUPERUSER, Cluster
from waiting import GIVE_UP_S, until

PLACES = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
REMEDY = "run scripts/prepare postgres, or install PgBouncer (Debian: pgbouncer)"
# Ends with this process: the pipe then closes.
RUN = '"$1" -q "$2" & read -r _; kill $!; wait'
# One connection to the server for each role: what a client leaves in it, the next one meets.
SETTINGS = """
[databases]
* = host={folder} port={server_port}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/pooler.users
admin_users = {admin}
pool_mode = transaction
default_pool_size = 1
"""


class Pooler:
    """A running PgBouncer; `dsn` as that of a cluster."""

    def __init__(self, folder: str, port: int) -> None:
        self._folder, self._port = folder, port

    def dsn(self, user: str, database: str) -> str:
        """Return a connection string by the pooler's Unix socket."""
        return f"host={self._folder} port={self._port} user={user} dbname={database}"

    def transactions(self, database: str) -> int:
        """Return how many transactions of a database went through it."""
        with closing(self._administration()) as connection:
            rows = connection.execute("SHOW STATS_TOTALS").fetchall()
        return sum(int(row[1]) for row in rows if row[0] == database)

    def connections(self, database: str) -> dict[str, int]:
        """Return how many connections to a database's server each role has."""
        counts: dict[str, int] = {}
        with closing(self._administration()) as connection:
            for row in connection.execute("SHOW SERVERS").fetchall():
                if row[2] == database:
                    counts[row[1]] = counts.get(row[1], 0) + 1
        return counts

    def answers(self) -> bool:
        """Return True if it takes connections."""
        try:
            self._administration().close()
        except psycopg.OperationalError:
            return False
        return True

    def _administration(self) -> psycopg.Connection[tuple[str, ...]]:
        connection: psycopg.Connection[tuple[str, ...]]
        # It answers simple queries only.
        connection = psycopg.connect(
            self.dsn(SUPERUSER, "pgbouncer"), autocommit=True, cursor_factory=psycopg.ClientCursor
        )
        return connection


@contextmanager
def pooling(cluster: Cluster) -> Iterator[Pooler]:
    """Run PgBouncer before a cluster; fail the test with the remedy where there is none."""
    program = shutil.which("pgbouncer", path=PLACES)
    assert program, f"no PgBouncer found in {PLACES}; {REMEDY}"
    port = free_port()
    known = {"folder": cluster.folder, "port": port, "server_port": cluster.port}
    cluster.write("pooler.ini", SETTINGS.format(**known, admin=SUPERUSER))
    roles = (SUPERUSER, OWNER, ANN, BOB, EVE)
    cluster.write("pooler.users", "".join(f'"{role}" ""\n' for role in roles))
    process = cluster.started("sh", "-c", RUN, "sh", program, f"{cluster.folder}/pooler.ini")
    try:
        pooler = Pooler(cluster.folder, port)
        until(pooler.answers, "PgBouncer answers")
        yield pooler
    finally:
        process.communicate(timeout=GIVE_UP_S)
