"""Creation and migration of the schema, and of a space in it."""

from memory_fabric.errors import BadInput
from memory_fabric.sharing.server import versions
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import SharedLog, SpaceState
from memory_fabric.sharing.server.translate import translated
from memory_fabric.sharing.team.errors import BadAddress, NotAllowed

# Taken by every migration, of whatever database (the number is arbitrary, but must stay).
ADVISORY_LOCK = 5_417_201_120
MAX_SPACE_CHARS = 200


def init(connection: Connection, space: str) -> SpaceState:
    """Create or migrate the schema and the space; return the state of the space.

    A database that was restored into another cluster begins a new epoch: its transaction ids are
    renewed. Needs the role that owns the schema, or may create one. Doing it again changes nothing.
    Raises BadInput for a name that is none, TeamError.
    """
    if not 0 < len(space) <= MAX_SPACE_CHARS or "\0" in space:
        raise BadInput(
            "space",
            f"{space!r} cannot be the name of a space.",
            remedy=f"Use 1 to {MAX_SPACE_CHARS} characters.",
        )
    with translated("Cannot prepare the shared log"):
        _expect_utf8(connection)
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
            _migrate(connection)
            connection.execute("SELECT memory_fabric.renew()")
            connection.execute("SELECT memory_fabric.create_space(%s)", (space,))
    return SharedLog(connection, space).state()


def _migrate(connection: Connection) -> None:
    there = versions.applied(connection)
    versions.expect_known(there)
    if not there:
        connection.execute("CREATE SCHEMA IF NOT EXISTS memory_fabric")
        connection.execute(
            "CREATE TABLE memory_fabric.schema_version"
            " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
    else:
        _expect_schema_owner(connection)
    missing = {number: file for number, file in versions.steps().items() if number not in there}
    for number, file in missing.items():
        connection.execute(file.read_bytes())
        connection.execute(
            "INSERT INTO memory_fabric.schema_version (version) VALUES (%s)", (number,)
        )
    if missing:
        connection.execute("SELECT memory_fabric.grant_to_all()")


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
