"""Keys of members: made once and shown once; the database keeps their digests."""

import hashlib
import secrets
from datetime import datetime
from typing import NamedTuple

import psycopg
from psycopg import sql

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.recall.agent_domains import stated_name
from memory_fabric.sharing.server import connect, versions
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.translate import translated
from memory_fabric.sharing.team.errors import NotAMember

KEY_BYTES = 32
MAX_NAME_CHARS = 100
# A longer key cannot be one that this package made.
MAX_KEY_CHARS = 200


class MemberKey(NamedTuple):
    """The description of a member's key; `domain` is the only domain that the key shows, or ''."""

    name: str
    member: str
    domain: str
    created_at: datetime


class Holder(NamedTuple):
    """The member, the space and the domain that a key stands for, and the state of the space.

    The state grows with each change of what can be found there.
    """

    space: str
    member: str
    name: str
    domain: str
    state: int = 0


def make(connection: Connection, space: str, member: str, name: str, domain: str = "") -> str:
    """Make a key of a member and return it; the role that serves may act for him from now on.

    Raises BadInput for a name that is taken or no name, NotAMember, NotAllowed.
    """
    if not name.strip() or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise BadInput("NAME", f"{name!r} is no name for a key.", remedy="Use a short word.")
    if domain and not stated_name(domain):
        raise BadInput("--domain", f"{domain!r} is no domain.", remedy="Use letters and digits.")
    key = secrets.token_urlsafe(KEY_BYTES)
    given = (space, member, name, stated_name(domain), digest(key), digest(cookie_of(key)))
    with translated(f"Cannot make a key of {member}"), connection.transaction():
        try:
            connection.execute("SELECT memory_fabric.add_key(%s, %s, %s, %s, %s, %s)", given)
        except psycopg.errors.UniqueViolation:
            raise BadInput(
                "NAME",
                f"There is a key {name} already.",
                remedy="Choose another name, or delete that one with --drop-key.",
            ) from None
        except psycopg.errors.UndefinedObject:
            raise NotAMember(
                f"{member} is no member of {space}.",
                remedy=f"Add the member first: memory-fabric team add {member}.",
            ) from None
        _allow_to_act_for(connection, member)
    return key


def kept(connection: Connection, space: str) -> list[MemberKey]:
    """Return the keys of a space that the caller may see, the oldest first."""
    with translated("Cannot list the keys"):
        rows = connection.execute(
            "SELECT name, member, domain, created_at FROM memory_fabric.keys_of(%s)", (space,)
        ).fetchall()
    return [MemberKey(*row) for row in rows]


def drop(connection: Connection, space: str, name: str) -> None:
    """Delete a key. Raises NotFound."""
    with translated(f"Cannot delete the key {name}"):
        row = connection.execute("SELECT memory_fabric.drop_key(%s, %s)", (space, name)).fetchone()
    if row is None or not row[0]:
        raise NotFound(name, f"There is no key {name}.", remedy="List them with --list-keys.")


def holder_of(connection: Connection, hashed: bytes) -> Holder | None:
    """Return the holder of the key or cookie with this digest; None if it is not valid."""
    row = connection.execute(
        "SELECT space, member, name, domain, state FROM memory_fabric.key_holder(%s)", (hashed,)
    ).fetchone()
    return Holder(*row) if row else None


def digest(given: str) -> bytes:
    """Return what is kept of a key or cookie, which have 256 random bits: no salt is needed."""
    return hashlib.sha256(given.encode("utf-8", "replace")).digest()


def cookie_of(key: str) -> str:
    """Return what a browser is given in place of the key, the same in every process."""
    return hashlib.sha256(b"memory-fabric cookie\n" + key.encode("utf-8", "replace")).hexdigest()


def _allow_to_act_for(connection: Connection, member: str) -> None:
    """Let the role that is logged in take the member's role."""
    row = connection.execute(
        "SELECT pg_has_role(session_user, %s, 'MEMBER'), session_user::text", (member,)
    ).fetchone()
    if row is not None and not row[0]:
        connection.execute(
            sql.SQL("GRANT {} TO {}").format(sql.Identifier(member), sql.Identifier(row[1]))
        )


def space_of(dsn: str, space: str, *, insecure: bool = False) -> str:
    """Return the space to serve: the named one, else the only one of the login.

    Raises TeamError unless the database can be reached, holds a schema of this release, and the
    login is a member of the space.
    """
    connection = connect.connect(dsn, insecure=insecure)
    try:
        versions.expect(connection)
        with translated("Cannot list the spaces"):
            rows = connection.execute("SELECT memory_fabric.spaces_of_caller()").fetchall()
    finally:
        connection.close()
    known = sorted(str(name) for (name,) in rows)
    if space in known:
        return space
    if space:
        raise NotAMember(
            f"The login is no member of {space}.",
            remedy="Ask an owner of the space: memory-fabric team add MEMBER.",
        )
    if len(known) == 1:
        return known[0]
    listed = ", ".join(known) or "none"
    raise BadInput(
        "--space",
        f"The login is in several spaces or none: {listed}.",
        remedy="Name the one to serve: --space NAME.",
    )
