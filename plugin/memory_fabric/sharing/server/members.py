"""Members of a space: roles of the server that may read and append there."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

import psycopg
from psycopg import sql

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.translate import translated
from memory_fabric.sharing.team.errors import NotAllowed

# PostgreSQL cuts longer names.
MAX_NAME_BYTES = 63
PASSWORD_BYTES = 24
MEMBERS = """
    SELECT m.member, m.role, m.added_at, m.removed_at, s.seen_at
    FROM memory_fabric.members m
    LEFT JOIN memory_fabric.seen s ON s.space = m.space AND s.member = m.member
    WHERE m.space = %s ORDER BY m.removed_at IS NOT NULL, m.member
"""


class Member(NamedTuple):
    """A member of a space; `seen_at` is when he last read the log, to the hour."""

    name: str
    role: str
    added_at: datetime
    removed_at: datetime | None
    seen_at: datetime | None


def members(connection: Connection, space: str) -> list[Member]:
    """Return the members of a space, removed ones last."""
    with translated("Cannot list the members"):
        return [Member(*row) for row in connection.execute(MEMBERS, (space,)).fetchall()]


def add(
    connection: Connection,
    space: str,
    member: str,
    *,
    create_role: bool = False,
    role: str = "member",
) -> str:
    """Let a role into a space as "member" or "owner"; return the password of a created one, or "".

    Raise UnknownRole if there is no such role and none is to be created, NotAllowed if the caller
    is no owner or may not create roles. A member who is in the space gets the new `role`.
    """
    if not 0 < len(member.encode("utf-8")) <= MAX_NAME_BYTES or "\0" in member:
        raise BadInput(
            "member",
            f"The name {member!r} cannot be a role of PostgreSQL.",
            remedy=f"Use 1 to {MAX_NAME_BYTES} bytes.",
        )
    password = ""
    with translated(f"Cannot add {member}"), _last_owner(space, member), connection.transaction():
        if create_role and not _role_exists(connection, member):
            password = secrets.token_urlsafe(PASSWORD_BYTES)
            _create_role(connection, member, password)
        connection.execute("SELECT memory_fabric.admit(%s, %s, %s)", (space, member, role))
    return password


def remove(connection: Connection, space: str, member: str) -> None:
    """Take a member out of a space; what he wrote stays. Raise NotFound if he is not in it."""
    with translated(f"Cannot remove {member}"), _last_owner(space, member):
        row = connection.execute("SELECT memory_fabric.dismiss(%s, %s)", (space, member)).fetchone()
    if row is None or not row[0]:
        raise NotFound(member, f"{member} is no member of {space}.")


@contextmanager
def _last_owner(space: str, member: str) -> Iterator[None]:
    try:
        yield
    except psycopg.errors.RestrictViolation:
        raise BadInput(
            "member",
            f"{member} is the last owner of {space}.",
            remedy="Add another owner first: `memory-fabric team add MEMBER --owner`.",
        ) from None


def _role_exists(connection: Connection, member: str) -> bool:
    found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (member,)).fetchone()
    return found is not None


def _create_role(connection: Connection, member: str, password: str) -> None:
    # Hashed here, so that the server's log of statements never holds the password.
    hashed = connection.pgconn.encrypt_password(
        password.encode(), member.encode(), b"scram-sha-256"
    ).decode()
    statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
    try:
        connection.execute(statement.format(sql.Identifier(member), sql.Literal(hashed)))
    except psycopg.errors.InsufficientPrivilege:
        raise NotAllowed(
            f"{connection.info.user} may not create the role {member}.",
            remedy="Let an administrator run CREATE ROLE, then add the member without"
            " --create-role.",
        ) from None
