"""A PostgreSQL with the members of a team, which can be set back, and moved to another cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from psycopg import sql

from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import Connection, connect
from memory_fabric.sharing.team import joining
from team.postgres import OWNER, SUPERUSER, Cluster

SPACE = "shop"
DATABASE = "memories"


def own_space(member: str) -> str:
    """Return the space of a member's own machines."""
    return joining.OWN + member


class Server:
    """A cluster with the space SPACE. `moves` counts how often it went to another cluster.

    `settings` replace those of the tests, in which a crash may lose the last commits.
    """

    def __init__(self, names: Sequence[str], **settings: str) -> None:
        self._names, self._settings = names, settings
        self.cluster = self._new_cluster()
        self.moves = 0
        self._execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER} TEMPLATE template0")
        with closing(self.connect(OWNER)) as connection:
            spaces.init(connection, SPACE)
            for name in names:
                spaces.add(connection, SPACE, name)
                spaces.init(connection, own_space(name))
                spaces.add(connection, own_space(name), name, role="owner")

    def dsn(self, member: str) -> str:
        """Return a connection string for this member."""
        return self.cluster.dsn(member, DATABASE)

    def connect(self, member: str) -> Connection:
        """Connect as the product does."""
        return connect(self.dsn(member))

    def superuser(self) -> Connection:
        """Connect as the superuser, by the driver itself."""
        return self.cluster.connect(SUPERUSER, DATABASE)

    def save(self) -> None:
        """Copy the stopped server, as a backup of its files does."""
        self.cluster.stop()
        shutil.rmtree(self._saved, ignore_errors=True)
        self._copy(self.cluster.data_folder, self._saved)
        self.cluster.start(**self._settings)

    def set_back(self) -> bool:
        """Put the copy in the place of the server; return False if there is none."""
        if not os.path.isdir(self._saved):
            return False
        self.cluster.stop("immediate")
        shutil.rmtree(self.cluster.data_folder)
        self._copy(self._saved, self.cluster.data_folder)
        self.cluster.start(**self._settings)
        return True

    def crash(self) -> None:
        """Stop the server as a power failure does, and start it again."""
        self.cluster.stop("immediate")
        self.cluster.start(**self._settings)

    def move(self) -> None:
        """Restore a dump into a new cluster and give up the old one."""
        old, new = self.cluster, self._new_cluster()
        dump = os.path.join(old.folder, "dump.sql")
        try:
            arguments = ("-h", old.folder, "-p", str(old.port), "-U", SUPERUSER)
            old.run("pg_dump", *arguments, "--create", "-f", dump, DATABASE)
            arguments = ("-h", new.folder, "-p", str(new.port), "-U", SUPERUSER)
            new.run("psql", *arguments, "-q", "-v", "ON_ERROR_STOP=1", "-f", dump, "postgres")
        except BaseException:
            new.remove()
            raise
        self.cluster = new
        self.moves += 1
        old.remove()
        with closing(self.connect(OWNER)) as connection:
            spaces.init(connection, SPACE)

    def remove(self) -> None:
        """Stop the server and delete it."""
        self.cluster.remove()

    @property
    def _saved(self) -> str:
        return os.path.join(self.cluster.folder, "saved")

    def _new_cluster(self) -> Cluster:
        cluster = Cluster()
        try:
            cluster.start(**self._settings)
            cluster.make_roles()
            with closing(cluster.connect(SUPERUSER)) as connection:
                known = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles")}
                for name in self._names:
                    if name not in known:
                        role = sql.Identifier(name)
                        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        except BaseException:
            cluster.remove()
            raise
        return cluster

    def _execute(self, statement: str) -> None:
        with closing(self.cluster.connect(SUPERUSER)) as connection:
            connection.execute(sql.SQL(statement))

    @staticmethod
    def _copy(source: str, target: str) -> None:
        # Keeps the owner of the files, which may not be who runs this.
        subprocess.run(["cp", "-a", source, target], check=True)


@contextmanager
def server_of(names: Sequence[str], **settings: str) -> Iterator[Server]:
    """Run a server for these members."""
    server = Server(names, **settings)
    try:
        yield server
    finally:
        server.remove()
