"""Ties made and ended: a space is created, joined and left, and its members are changed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from psycopg.conninfo import make_conninfo

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.sharing.replica import outbox
from memory_fabric.sharing.replica import space as tied
from memory_fabric.sharing.replica.wire import Position, TeamOperation
from memory_fabric.sharing.server import address, connect, members, migrate, versions
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import SharedLog, SpaceState
from memory_fabric.sharing.server.members import Member
from memory_fabric.sharing.server.translate import translated
from memory_fabric.sharing.team import driver, exchange, keys, state, ties
from memory_fabric.sharing.team.errors import NotAllowed, NotAMember
from memory_fabric.sharing.team.keys import Key
from memory_fabric.sharing.team.ties import USER, Tie
from memory_fabric.store.memory import Memory

# The space of a member's own machines, where only sealed operations are.
OWN = "~"
# Operations that are looked at to tell if a key is the one of the user's other machines.
LOOKED_AT = 200
SPACES = "SELECT space FROM memory_fabric.spaces ORDER BY space"

Words = Callable[[], str]


class Joined(NamedTuple):
    """A tie that was made: `known` if it was there already, and with `--me` the user's key.

    `is_new_key`: this is the user's first machine, whose words the others need.
    """

    tie: Tie
    members: int
    known: bool = False
    own: Tie | None = None
    key: Key | None = None
    is_new_key: bool = False


def create(memory: Memory, dsn: str, space: str, *, insecure: bool) -> tuple[SpaceState, str]:
    """Make or migrate the schema and a space; return the state of the space and its name.

    The project notes who owns it, for `team add`. Raises TeamError, BadInput, OSError.
    """
    key, default = _project(memory)
    space = space or default
    if space.startswith(OWN):
        raise BadInput(
            "--space",
            f"The space {space} would be for one member's own machines.",
            remedy="Use another name; team join DSN --me uses that one.",
        )
    with _connection(memory, dsn, insecure) as connection:
        found = migrate.init(connection, space)
    before = ties.of(memory.settings.home, key)
    if before is None or before.space != space:
        if before is not None and before.member:
            _expect_same(before, space)
        before = Tie(key, space=space, insecure=insecure)
    ties.save(memory.settings.home, before._replace(owner=dsn))
    return found, space


def join(
    memory: Memory, dsn: str, space: str, name: str, *, me: bool, insecure: bool, words: Words
) -> Joined:
    """Tie this project to a space, and with `me` the user to the space of the user's machines.

    `name` is the role to log in as, empty for that of the address; `words` asks for the words of
    the key. Raises TeamError, BadInput, StoreUnavailable, OSError.
    """
    project, default = _project(memory)
    home = memory.settings.home
    with _connection(memory, dsn, insecure, name) as connection:
        with translated("Cannot join"):
            versions.expect(connection)
            space = space or _only_space(connection, default)
        before = ties.of(home, project)
        if before is not None and before.member:
            _expect_same(before, space)
        found = SharedLog(connection, space).state()
        key = own = None
        is_new = False
        used = make_conninfo(dsn, user=name) if name else dsn
        made = Tie(project, used, space, found.member, insecure, me)
        made = made._replace(packages=driver.folder_in_use(memory.settings))
        if me and _has_own_elsewhere(home, used):
            key = keys.read(home)
        elif me:
            own = made._replace(key=USER, space=OWN + found.member)
            key, is_new = _key(memory, connection, own, words)
    known = before is not None and bool(before.member)
    made = made._replace(owner=before.owner if before and before.space == space else "")
    made = made._replace(me=me or (known and before is not None and before.me))
    for tie in (made, own) if own else (made,):
        _begin(memory, tie)
    if known and made.me and before is not None and not before.me:
        database = memory.database(made.kind, create=True)
        assert database is not None
        outbox.say_again(database)
    return Joined(made, found.members, known, own, key, is_new)


def add(memory: Memory, tie: Tie, member: str, *, create_role: bool, owner: bool, me: bool) -> str:
    """Let a role of the server into the space; return its new password, empty if it has one.

    The space of the member's own machines is made, too, if this role may make spaces; with `me` it
    must. Raises TeamError, BadInput.
    """
    role = "owner" if owner else "member"
    with _owning(memory, tie) as connection:
        password = members.add(connection, tie.space, member, create_role=create_role, role=role)
        try:
            migrate.init(connection, OWN + member)
            members.add(connection, OWN + member, member, role="owner")
        except NotAllowed:
            if me:
                raise
    return password


def remove(memory: Memory, tie: Tie, member: str) -> None:
    """Take a member out of the space. Raises TeamError, NotFound, BadInput."""
    with _owning(memory, tie) as connection:
        members.remove(connection, tie.space, member)


def listed(memory: Memory, tie: Tie) -> list[Member]:
    """Return the members of the space. Raises TeamError."""
    with _owning(memory, tie) as connection:
        return members.members(connection, tie.space)


def server_state(memory: Memory, tie: Tie) -> SpaceState:
    """Return the state of the space on the server. Raises TeamError."""
    with _connection(memory, tie.dsn or tie.owner, tie.insecure, noted=tie.packages) as connection:
        return SharedLog(connection, tie.space).state()


def shown(dsn: str) -> str:
    """Return an address for messages."""
    return address.shown(dsn)


def _project(memory: Memory) -> tuple[str, str]:
    """Return the id and the name of the project. Raises NotFound."""
    if memory.project is None or memory.mirror is not None:
        raise NotFound("project", "This folder has no project that could be tied to a shared log.")
    return memory.project.id, memory.project.name


@contextmanager
def _connection(
    memory: Memory, dsn: str, insecure: bool, name: str = "", *, noted: str = ""
) -> Iterator[Connection]:
    """Connect, as `name` if one is given. Raises TeamError."""
    driver.reach(memory.settings, noted)
    address.checked(dsn, insecure=insecure)  # before anything is added to it
    used = make_conninfo(dsn, user=name) if name else dsn
    with connect.connect(used, insecure=insecure) as connection:
        yield connection


@contextmanager
def _owning(memory: Memory, tie: Tie) -> Iterator[Connection]:
    """Connect as the owner of the space if this project knows one."""
    with _connection(memory, tie.owner or tie.dsn, tie.insecure, noted=tie.packages) as connection:
        with translated("Cannot read the shared log"):
            versions.expect(connection)
        yield connection


def _only_space(connection: Connection, default: str) -> str:
    """Return the space that is meant if none is stated: the project's name, or the only one."""
    found = [row[0] for row in connection.execute(SPACES).fetchall()]
    found = [space for space in found if not space.startswith(OWN)]
    if default in found:
        return default
    if len(found) == 1:
        return str(found[0])
    if not found:
        raise NotAMember(
            f"{connection.info.user} is a member of no space there.",
            remedy="Ask the owner of a space: memory-fabric team add MEMBER.",
        )
    raise BadInput(
        "--space",
        f"{connection.info.user} is a member of {len(found)} spaces: {', '.join(found)}.",
        remedy="Choose one with --space NAME.",
    )


def _expect_same(before: Tie, space: str) -> None:
    if before.space != space:
        raise BadInput(
            "--space",
            f"This project is tied to the space {before.space} already, not to {space}.",
            remedy="Run memory-fabric team leave first; what was said here stays.",
        )


def _has_own_elsewhere(home: str, dsn: str) -> bool:
    """True if the user's own memories are exchanged by another address, which is kept."""
    known = ties.of(home, USER)
    return known is not None and known.dsn != dsn and keys.read(home) is not None


def _key(memory: Memory, connection: Connection, own: Tie, words: Words) -> tuple[Key, bool]:
    """Return the key of the user's machines, and True if this is the first of them."""
    home = memory.settings.home
    log = SharedLog(connection, own.space)
    _expect_own_space(connection, log, own)
    before, _ = log.pull(Position(), LOOKED_AT)
    known = keys.read(home)
    if known is None and not before:
        key, is_new = keys.create(home), True
    elif known is None:
        stated = words()
        key, is_new = Key(keys.secret_of(stated)), False
        _expect_fits(key, own, before)
        keys.take(home, stated)
    else:
        key, is_new = known, False
        _expect_fits(key, own, before)
    log.push([exchange.announcement(key, own.space, state.origin(home))])
    return key, is_new


def _expect_own_space(connection: Connection, log: SharedLog, own: Tie) -> None:
    """Make the space of the member's own machines if this role may; else it must be there."""
    try:
        log.state()
    except NotAMember:
        try:
            migrate.init(connection, own.space)
        except NotAllowed:
            raise NotAllowed(
                f"There is no space for the machines of {own.member} yet.",
                remedy=f"Ask the owner to run memory-fabric team add {own.member} --me.",
            ) from None


def _expect_fits(key: Key, own: Tie, before: list[TeamOperation]) -> None:
    """Raise BadInput if what is in the space was sealed with another key."""
    fits = (
        exchange.opens(key, own.space, o)
        if o.key.startswith(exchange.MACHINE)
        else key.verified(o, own.space) is not None
        for o in before
    )
    if before and not any(fits):
        raise BadInput(
            "--words",
            f"This key (mark {key.mark}) is not the one of your other machines.",
            remedy="Give the words that memory-fabric team join DSN --me prints there; a file "
            f"{keys.NAME} in the home of this machine has to be moved away first.",
        )


def _begin(memory: Memory, tie: Tie) -> None:
    database = memory.database(tie.kind, create=True)
    assert database is not None
    tied.begin(database, tie.space, tie.member, state.origin(memory.settings.home))
    ties.save(memory.settings.home, tie)
