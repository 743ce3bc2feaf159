"""Spaces of a shared log: creation of the schema and of spaces, addition and removal of members."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.errors import DuplicateSchema, DuplicateTable, UniqueViolation

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.sharing.replica.wire import SpaceState
from memory_fabric.sharing.server import connect, log, translate
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.team.errors import BadAddress, NotAllowed

# Schema step 20 numbers each space's operations. Before it is applied to an existing log, step 1 is
# run again: step 1 renames the old table of operations, from which step 20 copies them.
ORDERED = 20
MAX_SPACE_CHARS = 200
# PostgreSQL would truncate a longer role name.
MAX_NAME_BYTES = 63
PASSWORD_BYTES = 24


def init(connection: Connection, space: str) -> SpaceState:
    """Create or migrate the schema, and create the space if missing; return its state. Start a new
    epoch if the database was moved to another cluster. Raises TeamError; BadInput for a bad name.
    """
    if not 0 < len(space) <= MAX_SPACE_CHARS or "\0" in space:
        text = f"{space!r} cannot be the name of a space."
        raise BadInput("space", text, remedy=f"Use 1 to {MAX_SPACE_CHARS} characters.")
    with translate.translated("Cannot prepare the shared log"):
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            text = f"The database {connection.info.dbname} has the encoding {encoding}."
            command = "createdb --encoding=UTF8 --template=template0 NAME"
            raise BadAddress(text, remedy=f"Create one with UTF-8: `{command}`.")
        try:
            _prepare(connection, space)
        except (DuplicateSchema, DuplicateTable, UniqueViolation):
            _prepare(connection, space)  # retry, because another process created the schema
    return log.SharedLog(connection, space).state()


def add(
    c: Connection, space: str, member: str, *, create_role: bool = False, role: str = "member"
) -> str:
    """Add a role to a space as "member" or "owner", or change a member's `role`; return the
    password of a role created here, else "". Raises TeamError if there is no such role, and
    NotAllowed if the caller is not an owner or may not create roles.
    """
    if not 0 < len(member.encode("utf-8")) <= MAX_NAME_BYTES or "\0" in member:
        text = f"The name {member!r} cannot be a role of PostgreSQL."
        raise BadInput("member", text, remedy=f"Use 1 to {MAX_NAME_BYTES} bytes.")
    password = ""
    with _changing(space, member, "add"), c.transaction():
        roles = c.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (member,))
        if create_role and roles.fetchone() is None:
            password = secrets.token_urlsafe(PASSWORD_BYTES)
            # The password is hashed here, so that the server never logs it.
            hashed = c.pgconn.encrypt_password(password.encode(), member.encode(), b"scram-sha-256")
            statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
            try:
                c.execute(statement.format(sql.Identifier(member), sql.Literal(hashed.decode())))
            except psycopg.errors.InsufficientPrivilege:
                text = f"{c.info.user} may not create the role {member}."
                remedy = "Let an administrator run CREATE ROLE; then leave out --create-role."
                raise NotAllowed(text, remedy=remedy) from None
        c.execute("SELECT memory_fabric.admit(%s, %s, %s)", (space, member, role))
    return password


def remove(connection: Connection, space: str, member: str) -> None:
    """Remove a member from a space, but not their operations. Raises NotFound for a non-member."""
    with _changing(space, member, "remove"):
        row = connection.execute("SELECT memory_fabric.dismiss(%s, %s)", (space, member)).fetchone()
    if row is None or not row[0]:
        raise NotFound(member, f"{member} is no member of {space}.")


def _prepare(connection: Connection, space: str) -> None:
    with connection.transaction():
        _migrate(connection)
        connection.execute("SELECT memory_fabric.renew()")
        connection.execute("SELECT memory_fabric.create_space(%s)", (space,))


def _migrate(connection: Connection) -> None:
    applied = connect.applied_steps(connection)
    connect.expect_known_steps(applied)
    role = "none"
    if applied:
        [(owner, may, role)] = connection.execute(
            "SELECT pg_get_userbyid(relowner), pg_has_role(relowner, 'USAGE'), "
            "current_setting('role') FROM pg_class "
            "WHERE oid = 'memory_fabric.schema_version'::regclass"
        ).fetchall()
        if not may:
            text = f"The shared log belongs to the role {owner}."
            raise NotAllowed(text, remedy=f"Run `memory-fabric team init` as {owner}.")
        # Switch to the schema owner's role, which will own new objects; lock out other migrations.
        connection.execute("SELECT set_config('role', %s, true)", (owner,))
        connection.execute("SELECT 1 FROM memory_fabric.schema_version FOR UPDATE")
        applied = connect.applied_steps(connection)
    else:
        connection.execute("CREATE SCHEMA IF NOT EXISTS memory_fabric")
        connection.execute(
            "CREATE TABLE memory_fabric.schema_version"
            " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
    steps = connect.schema_steps()
    missing = [number for number in steps if number not in applied]
    for number in [min(steps), *missing] if applied and ORDERED in missing else missing:
        connection.execute(steps[number].read_bytes())
    for number in missing:
        connection.execute(
            "INSERT INTO memory_fabric.schema_version (version) VALUES (%s)", (number,)
        )
    if missing:
        connection.execute("SELECT memory_fabric.grant_to_all()")
    if applied:
        connection.execute("SELECT set_config('role', %s, true)", (role,))


@contextmanager
def _changing(space: str, member: str, what: str) -> Iterator[None]:
    """Re-raise database errors as TeamError, the refusal to remove the last owner as BadInput."""
    with translate.translated(f"Cannot {what} {member}"):
        try:
            yield
        except psycopg.errors.RestrictViolation:
            text = f"{member} is the last owner of {space}."
            remedy = "Add another owner first: `memory-fabric team add MEMBER --owner`."
            raise BadInput("member", text, remedy=remedy) from None
