"""A real PostgreSQL for tests: a cluster in a temporary folder, reached by a Unix socket.

One cluster serves all tests of a worker; each test gets a database of its own. What is installed is
used (PATH, then Debian's and other packages' folders); `scripts/prepare postgres` installs it.
"""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import psycopg

from memory_fabric.sharing.server.connect import Connection, connect
from ports import free_port

# Roles of every cluster: OWNER may create databases and roles, but is no superuser.
SUPERUSER = "postgres"
OWNER, ANN, BOB, EVE = "olga", "ann", "bob", "eve"
# initdb refuses root; these exist on most systems.
ORDINARY_USERS = ("postgres", "nobody", "daemon")
PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
)
PROGRAMS = ("initdb", "pg_ctl", "postgres")
REMEDY = "run scripts/prepare postgres, or install PostgreSQL 14 or newer (Debian: postgresql)"
GUARD = 'read -r _; "$1" -D "$2" -m immediate stop; rm -rf "$3"'
HBA = "local all,replication all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
# Nothing in a test survives a power failure.
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "max_prepared_transactions": "4",
    "listen_addresses": "127.0.0.1",
    "timezone": "UTC",
    "log_min_messages": "warning",
}


def program(name: str) -> str:
    """Return the path of a program of PostgreSQL; fail the test with the remedy without one."""
    folders = [
        os.path.dirname(os.path.realpath(found)) for found in [shutil.which("initdb")] if found
    ]
    for place in PLACES:
        folders += sorted(glob.glob(place), key=_release, reverse=True)
    for folder in folders:
        if all(os.access(os.path.join(folder, part), os.X_OK) for part in PROGRAMS):
            return os.path.join(folder, name)
    raise AssertionError(f"no PostgreSQL found in PATH or {PLACES}; {REMEDY}")


def _release(folder: str) -> int:
    digits = "".join(c for c in folder.replace("/bin", "").rpartition("/")[2] if c.isdigit())
    return int(digits or 0)


class Cluster:
    """A PostgreSQL of its own: `start`, `stop`, connection strings, and programs to run on it.

    With a `primary`, which must be running, it is a hot standby of that one.
    """

    def __init__(self, primary: Cluster | None = None) -> None:
        base = os.environ.get("PYTEST_DEBUG_TEMPROOT") or "/tmp"
        # Not below pytest's folders: these are closed to other users, and too long for a socket.
        self.folder = tempfile.mkdtemp(prefix="mf-pg-", dir=base)
        self.account = _ordinary_account()
        if self.account:
            os.chown(self.folder, self.account.pw_uid, self.account.pw_gid)
        os.chmod(self.folder, 0o755)
        self.data_folder = os.path.join(self.folder, "data")
        # Ends the server if this process is killed: the pipe then closes.
        self._guard = subprocess.Popen(
            ["sh", "-c", GUARD, "sh", program("pg_ctl"), self.data_folder, self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            **self._account(),
        )
        self.port = free_port()
        if primary is None:
            self.run("initdb", "-D", self.data_folder, "-U", SUPERUSER, "--no-sync", "-A", "trust",
                     "--encoding=UTF8", "--locale=C")  # fmt: skip
            self.write("data/pg_hba.conf", HBA)
        else:
            self.run("pg_basebackup", "-D", self.data_folder, "-d", primary.dsn(SUPERUSER),
                     "--write-recovery-conf", "--checkpoint=fast", "--no-sync")  # fmt: skip

    def start(self, **settings: str) -> None:
        """Start the server and wait until it answers; `settings` replace those above."""
        chosen = SETTINGS | settings
        options = [f"-c {name}={value}" for name, value in chosen.items()]
        options += [f"-p {self.port}", f"-k {self.folder}"]
        log = os.path.join(self.folder, "log")
        self.run(
            "pg_ctl", "-D", self.data_folder, "-l", log, "-w", "-o", " ".join(options), "start"
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: fast, or immediate (as a crash)."""
        self.run("pg_ctl", "-D", self.data_folder, "-w", "-m", mode, "stop")

    def remove(self) -> None:
        """Stop the server if it runs, and delete its folder."""
        self._guard.communicate(timeout=60)

    def run(self, name: str, *arguments: str) -> str:
        """Run a program of PostgreSQL as the cluster's account; return its output."""
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [program(name), *arguments],
            **self._account(),
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": self.folder},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
            text=True,
        )
        assert done.returncode == 0, f"{name} {' '.join(arguments)}: {done.stdout}\n{self.log()}"
        return done.stdout

    def write(self, name: str, text: str) -> None:
        """Write a file of the cluster's account into its folder."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if self.account:
            os.chown(path, self.account.pw_uid, self.account.pw_gid)

    def started(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a program as the cluster's account, with a pipe to it."""
        return subprocess.Popen(command, **self._account(), cwd=self.folder, stdin=subprocess.PIPE)

    def _account(self) -> dict[str, Any]:
        account = self.account
        if account is None:
            return {}
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}

    def log(self) -> str:
        """Return the end of the server's log."""
        try:
            with open(os.path.join(self.folder, "log"), encoding="utf-8") as file:
                return file.read()[-4000:]
        except OSError:
            return ""

    def make_roles(self) -> None:
        """Create the roles of the tests."""
        with closing(self.connect(SUPERUSER)) as connection:
            connection.execute(f"CREATE ROLE {OWNER} LOGIN CREATEDB CREATEROLE")
            for name in (ANN, BOB, EVE):
                connection.execute(f"CREATE ROLE {name} LOGIN")

    def dsn(self, user: str, database: str = "postgres") -> str:
        """Return a connection string by the Unix socket, where every role may log in."""
        return f"host={self.folder} port={self.port} user={user} dbname={database}"

    def tcp_dsn(self, user: str, database: str = "postgres") -> str:
        """Return a connection string by loopback, where a role needs its password."""
        return f"host=127.0.0.1 port={self.port} user={user} dbname={database}"

    def connect(self, user: str, database: str = "postgres") -> Connection:
        """Connect by the driver itself, each statement a transaction."""
        return psycopg.connect(self.dsn(user, database), autocommit=True)

    @contextmanager
    def database(self, template: str = "template0") -> Iterator[str]:
        """Make a database of OWNER's, empty or a copy, and delete it after use."""
        name = "t" + os.urandom(6).hex()
        with closing(self.connect(SUPERUSER)) as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER {OWNER} TEMPLATE {template}")
        yield name
        with closing(self.connect(SUPERUSER)) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    @contextmanager
    def connections(self, database: str) -> Iterator[Callable[[str], Connection]]:
        """Yield a function from a role to a new connection of the product, closed after use."""
        with ExitStack() as opened:
            yield lambda user: opened.enter_context(closing(connect(self.dsn(user, database))))


def is_waiting(observer: Connection, waiting: Connection) -> bool:
    """True if the server process of a connection waits for a lock."""
    row = observer.execute(
        "SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted", (waiting.info.backend_pid,)
    ).fetchone()
    return row is not None and row[0] > 0


def _ordinary_account() -> pwd.struct_passwd | None:
    """Return the account that runs the server, or None for the present one."""
    if os.geteuid() != 0:
        return None
    for name in ORDINARY_USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError(f"initdb refuses root, and none of {ORDINARY_USERS} exists; add one")
