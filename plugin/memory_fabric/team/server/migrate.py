"""Creation and migration of the schema, and of a space in it."""

from __future__ import annotations

from importlib import resources

from memory_fabric.team.errors import BadAddress, NoSchema, NotAllowed, SchemaNewer, SchemaOlder
from memory_fabric.team.server.connect import Connection
from memory_fabric.team.server.log import SharedLog, SpaceState
from memory_fabric.team.server.translate import translated

# Taken by every migration, of whatever database (the number is arbitrary, but must stay).
ADVISORY_LOCK = 5_417_201_120


def init(connection: Connection, space: str) -> SpaceState:
    """Create or migrate the schema and the space; return the state of the space.

    A database that was restored into another cluster begins a new epoch: its transaction ids are
    renewed. Needs the role that owns the schema, or may create one. Doing it again changes nothing.
    """
    with translated("Cannot prepare the shared log"):
        _expect_utf8(connection)
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
            _migrate(connection)
            connection.execute("SELECT memory_fabric.renew()")
            _create_space(connection, space)
    return SharedLog(connection, space).state()


def expect_schema(connection: Connection) -> None:
    """Raise NoSchema, SchemaOlder or SchemaNewer unless the schema is this release's."""
    found = _version(connection)
    if found == 0:
        raise NoSchema(
            f"The database {connection.info.dbname} holds no shared log.",
            remedy="Run `memory-fabric team init` with a role that may create a schema.",
        )
    needed = len(_steps())
    if found < needed:
        raise SchemaOlder(
            f"The shared log has schema {found}; this release needs {needed}.",
            remedy="Ask its owner to run `memory-fabric team init`.",
        )
    _expect_not_newer(found, needed)


def _migrate(connection: Connection) -> None:
    steps = _steps()
    found = _version(connection)
    _expect_not_newer(found, len(steps))
    if found == 0:
        connection.execute("CREATE SCHEMA IF NOT EXISTS memory_fabric")
        connection.execute(
            "CREATE TABLE memory_fabric.schema_version"
            " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
    else:
        _expect_schema_owner(connection)
    for version, sql in enumerate(steps[found:], found + 1):
        connection.execute(sql)
        connection.execute(
            "INSERT INTO memory_fabric.schema_version (version) VALUES (%s)", (version,)
        )


def _steps() -> list[bytes]:
    """Return the SQL of each version of the schema, oldest first."""
    folder = resources.files("memory_fabric.team.server") / "schema"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda f: f.name
    )
    return [file.read_bytes() for file in files]


def _version(connection: Connection) -> int:
    with translated("Cannot read the schema"):
        row = connection.execute("SELECT to_regclass('memory_fabric.schema_version')").fetchone()
        if row is None or row[0] is None:
            return 0
        row = connection.execute("SELECT max(version) FROM memory_fabric.schema_version").fetchone()
    return int(row[0] or 0) if row else 0


def _expect_not_newer(found: int, needed: int) -> None:
    if found > needed:
        raise SchemaNewer(
            f"The shared log has schema {found}; this release knows {needed}.",
            remedy="Update memory-fabric on this machine.",
        )


def _expect_schema_owner(connection: Connection) -> None:
    row = connection.execute(
        "SELECT pg_get_userbyid(nspowner), pg_has_role(nspowner, 'USAGE')"
        " FROM pg_namespace WHERE nspname = 'memory_fabric'"
    ).fetchone()
    if row and not row[1]:
        raise NotAllowed(
            f"The shared log belongs to the role {row[0]}.",
            remedy=f"Run `memory-fabric team init` as {row[0]}.",
        )


def _expect_utf8(connection: Connection) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise BadAddress(
            f"The database {connection.info.dbname} has the encoding {encoding}.",
            remedy="Create one with UTF-8: `createdb --encoding=UTF8 --template=template0 NAME`.",
        )


def _create_space(connection: Connection, space: str) -> None:
    row = connection.execute(
        "SELECT 1 FROM memory_fabric.spaces WHERE space = %s", (space,)
    ).fetchone()
    if not row:
        connection.execute("SELECT memory_fabric.create_space(%s)", (space,))
