"""Connections to the PostgreSQL server of a shared log, and checks of its schema's version.
Connections to other hosts are encrypted, and addresses contain no password.
"""

import configparser
import ipaddress
import logging
import os
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memory_fabric.sharing.server.translate import translated
from memory_fabric.sharing.team.errors import BadAddress, UnfitServer

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

OLDEST_VERSION = 140000
CONNECT_TIMEOUT_S = 5
ENCRYPTED = ("require", "verify-ca", "verify-full")
USUAL_PORT = "5432"
# Errors in a pipeline are raised, so psycopg's additional warnings about them are suppressed.
logging.getLogger("psycopg").setLevel(logging.ERROR)
_VARIABLES = {"host": "PGHOST", "hostaddr": "PGHOSTADDR", "sslmode": "PGSSLMODE", "user": "PGUSER"}


def connect(dsn: str, *, insecure: bool = False, application: str = "memory-fabric") -> Connection:
    """Connect to the server as libpq does. Commit each statement at once and prepare none, because
    a connection pooler (PgBouncer) may be in between. Raises TeamError with a remedy.
    """
    conninfo = checked(dsn, insecure=insecure)
    with translated(f"Cannot connect to {shown(dsn)}"):
        connection: Connection = psycopg.connect(
            conninfo, autocommit=True, prepare_threshold=None, connect_timeout=CONNECT_TIMEOUT_S,
            application_name=application, client_encoding="UTF8",
            # A lost connection is noticed within half a minute, even during a wait for a reply.
            keepalives_idle=10, keepalives_interval=5, keepalives_count=3, tcp_user_timeout=30_000,
        )  # fmt: skip
    try:
        expect_version(connection.info.server_version)
    except BaseException:
        connection.close()
        raise
    return connection


def expect_version(version: int) -> None:
    """Raise UnfitServer if the server's version (150004 means 15.4) is below the minimum."""
    if version < OLDEST_VERSION:
        text = f"The server is PostgreSQL {version // 10000}."
        remedy = f"A shared log needs PostgreSQL {OLDEST_VERSION // 10000} or newer."
        raise UnfitServer(text, remedy=remedy)


def checked(dsn: str, *, insecure: bool = False) -> str:
    """Return the address to connect to. Unless `insecure`, other hosts are reached encrypted:
    `sslmode=require` is added if unset. Raises BadAddress for weaker modes and for a password.
    """
    if _parsed(dsn).get("password"):
        raise BadAddress(
            "The address holds a password.",
            remedy="Take it out of the address and keep it where libpq looks: ~/.pgpass (mode "
            "0600), a service in ~/.pg_service.conf, or PGPASSFILE, PGSERVICE, PGPASSWORD.",
        )
    settings = _settings_of(dsn)
    hosts = settings.get("hostaddr") or settings.get("host") or ""
    if insecure or all(map(_is_local, hosts.split(","))):
        return dsn
    mode = settings.get("sslmode")
    if mode is None:
        return make_conninfo(dsn, sslmode="require")
    if mode not in ENCRYPTED:
        text = f"sslmode={mode} may send everything to {settings.get('host')} unencrypted."
        remedy = "Use sslmode=require or verify-full, or say --insecure on purpose."
        raise BadAddress(text, remedy=remedy)
    return dsn


def shown(dsn: str) -> str:
    """Return an address as "role@host:port/database" for messages, without a password."""
    try:
        settings = _settings_of(dsn)
    except BadAddress:
        return "the server"
    host = settings.get("host") or settings.get("hostaddr") or "this machine"
    user = f"{settings['user']}@" if settings.get("user") else ""
    database = f"/{settings['dbname']}" if settings.get("dbname") else ""
    port = settings.get("port") or USUAL_PORT
    place = f"[{host}]" if ":" in host else host
    return f"{user}{place}{database if port == USUAL_PORT else f':{port}{database}'}"


def pgpass_line(dsn: str, member: str, password: str) -> str:
    """Return the line for ~/.pgpass that lets a member log in to the server at this address."""
    settings = _settings_of(dsn)
    host = settings.get("host") or "localhost"
    place = (host, settings.get("port") or USUAL_PORT, settings.get("dbname") or "*", member)
    return ":".join(part.replace("\\", "\\\\").replace(":", "\\:") for part in (*place, password))


def _settings_of(dsn: str) -> dict[str, str]:
    """Return libpq's settings, by priority: the address, a service file, environment variables."""
    stated = _parsed(dsn)
    settings = {key: os.environ[name] for key, name in _VARIABLES.items() if os.environ.get(name)}
    service = stated.get("service") or os.environ.get("PGSERVICE")
    own = os.environ.get("PGSERVICEFILE") or os.path.expanduser("~/.pg_service.conf")
    system = os.path.join(os.environ.get("PGSYSCONFDIR", "/etc"), "pg_service.conf")
    for path in (own, system) if service else ():
        parser = configparser.RawConfigParser(delimiters=("=",), strict=False)
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue
        if service and parser.has_section(service):
            settings |= parser.items(service)
            break
    return settings | stated


def _parsed(dsn: str) -> dict[str, str]:
    try:
        return {k: str(v) for k, v in conninfo_to_dict(dsn).items() if v is not None}
    except psycopg.Error as error:
        # Cut libpq's message at the first quotation mark: the rest may repeat a password.
        reason = str(error).partition('"')[0].strip() or "syntax error"
        text = f"The address is no connection string ({reason})."
        remedy = "Write postgresql://ROLE@HOST/DATABASE, or host=HOST dbname=DATABASE user=ROLE."
        raise BadAddress(text, remedy=remedy) from None


def _is_local(host: str) -> bool:
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def schema_steps() -> dict[int, Traversable]:
    """Map the number of each schema migration step to its SQL file, oldest first."""
    folder = resources.files("memory_fabric.sharing.server") / "schema"
    files = {int(f.name[:3]): f for f in folder.iterdir() if f.name.endswith(".sql")}
    return dict(sorted(files.items()))


def applied_steps(connection: Connection) -> set[int]:
    """Return the numbers of the schema steps applied to the database; empty without a schema."""
    row = connection.execute("SELECT to_regclass('memory_fabric.schema_version')").fetchone()
    if row is None or row[0] is None:
        return set()
    rows = connection.execute("SELECT version FROM memory_fabric.schema_version").fetchall()
    return {row[0] for row in rows}


def expect_schema(connection: Connection) -> None:
    """Raise UnfitServer if the server's schema does not match this release."""
    steps_there = applied_steps(connection)
    if not steps_there:
        text = f"The database {connection.info.dbname} holds no shared log."
        remedy = "Run `memory-fabric team init` with a role that may create a schema."
        raise UnfitServer(text, remedy=remedy)
    missing = schema_steps().keys() - steps_there
    if missing:
        text = f"The schema of the shared log lacks step {min(missing)} of this release."
        raise UnfitServer(text, remedy="Ask its owner to run `memory-fabric team init`.")
    expect_known_steps(steps_there)


def expect_known_steps(there: set[int]) -> None:
    """Raise UnfitServer if the server's schema has a step that this release does not know."""
    known = schema_steps().keys()
    if unknown := there - known:
        text = f"The shared log has schema {max(unknown)}; this release knows {max(known)}."
        raise UnfitServer(text, remedy="Update memory-fabric on this machine.")
