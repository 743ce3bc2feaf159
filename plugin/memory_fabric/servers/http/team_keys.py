"""Keys of a team's members: a key is shown only on creation; the database stores its digest."""

import secrets
from datetime import datetime
from typing import NamedTuple

import psycopg
from psycopg import sql

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.recall.agent_domains import stated_name
from memory_fabric.servers.http.keys import cookie_of, digest_of
from memory_fabric.sharing.server import connect, translate
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.team.errors import NotAMember

KEY_BYTES = 32
MAX_NAME_CHARS = 100


class MemberKey(NamedTuple):
    """A member's key. It gives access only to `domain`, or to every domain if `domain` is ""."""

    name: str
    member: str
    domain: str
    created_at: datetime


class Holder(NamedTuple):
    """A key's member and rights; `state` is a number that grows with each change of the log."""

    space: str
    member: str
    name: str
    domain: str
    state: int = 0


def make(connection: Connection, space: str, member: str, name: str, domain: str = "") -> str:
    """Create a key, and grant its member's role to the login role. Raises BadInput, TeamError."""
    if not name.strip() or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise BadInput("NAME", f"{name!r} is no name for a key.", remedy="Use a short word.")
    if domain and not stated_name(domain):
        raise BadInput("--domain", f"{domain!r} is no domain.", remedy="Use letters and digits.")
    key = secrets.token_urlsafe(KEY_BYTES)
    digests = (bytes.fromhex(digest_of(text)) for text in (key, cookie_of(key)))
    given = (space, member, name, stated_name(domain), *digests)
    with translate.translated(f"Cannot make a key of {member}"), connection.transaction():
        try:
            connection.execute("SELECT memory_fabric.add_key(%s, %s, %s, %s, %s, %s)", given)
        except psycopg.errors.UniqueViolation:
            remedy = "Choose another name, or delete that one with --drop-key."
            raise BadInput("NAME", f"There is a key {name} already.", remedy=remedy) from None
        except psycopg.errors.UndefinedObject:
            remedy = f"Add the member first: memory-fabric team add {member}."
            raise NotAMember(f"{member} is no member of {space}.", remedy=remedy) from None
        is_member = "SELECT pg_has_role(session_user, %s, 'MEMBER'), session_user::text"
        row = connection.execute(is_member, (member,)).fetchone()
        if row is not None and not row[0]:
            member_role, login_role = sql.Identifier(member), sql.Identifier(row[1])
            connection.execute(sql.SQL("GRANT {} TO {}").format(member_role, login_role))
    return key


def kept(connection: Connection, space: str) -> list[MemberKey]:
    """Return the keys of a space that the caller may see, oldest first."""
    query = "SELECT name, member, domain, created_at FROM memory_fabric.keys_of(%s)"
    with translate.translated("Cannot list the keys"):
        return [MemberKey(*row) for row in connection.execute(query, (space,))]


def drop(connection: Connection, space: str, name: str) -> None:
    with translate.translated(f"Cannot delete the key {name}"):
        row = connection.execute("SELECT memory_fabric.drop_key(%s, %s)", (space, name)).fetchone()
    if row is None or not row[0]:
        raise NotFound(name, f"There is no key {name}.", remedy="List them with --list-keys.")


def holder_of(connection: Connection, digest: str) -> Holder | None:
    """Return the holder of the valid key or cookie with this SHA-256, or None."""
    query = "SELECT space, member, name, domain, state FROM memory_fabric.key_holder(%s)"
    row = connection.execute(query, (bytes.fromhex(digest),)).fetchone()
    return Holder(*row) if row else None


def space_of(dsn: str, space: str, *, insecure: bool = False) -> str:
    """Return `space` or, if it is "", the login role's only space. Raises BadInput if the role does
    not have exactly one. Raises TeamError if the database is unreachable or has the schema of
    another release, or if the role is not a member of the space.
    """
    connection = connect.connect(dsn, insecure=insecure)
    try:
        connect.expect_schema(connection)
        with translate.translated("Cannot list the spaces"):
            rows = connection.execute("SELECT memory_fabric.spaces_of_caller()").fetchall()
    finally:
        connection.close()
    known = sorted(str(name) for (name,) in rows)
    if space in known:
        return space
    if space:
        remedy = "Ask an owner of the space: memory-fabric team add MEMBER."
        raise NotAMember(f"The login is no member of {space}.", remedy=remedy)
    if len(known) == 1:
        return known[0]
    text = f"The login is in several spaces or none: {', '.join(known) or 'none'}."
    raise BadInput("--space", text, remedy="Name the one to serve: --space NAME.")
