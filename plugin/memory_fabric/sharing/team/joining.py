"""Creating and joining spaces of a shared log, and adding members to a space."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from psycopg.conninfo import make_conninfo

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.sharing.replica import outbox, wire
from memory_fabric.sharing.server import spaces, translate
from memory_fabric.sharing.server.connect import Connection, checked, connect, expect_schema
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.team import driver, exchange, keys, ties
from memory_fabric.sharing.team.errors import NotAllowed, NotAMember
from memory_fabric.sharing.team.ties import USER, Tie
from memory_fabric.store.memory import Memory

# The prefix of a space in which one member's machines exchange encrypted operations (`~ann`).
OWN = "~"
# A key is accepted if it fits any of this many operations, the first ones in the user's space.
LOOKED_AT = 200
Words = Callable[[], str]


class Joined(NamedTuple):
    """The result of joining a space. `known` is True if the link existed before. With `--me`, `key`
    is set; if `is_new_key`, the user must type the key's words on the user's other machines.
    """

    tie: Tie
    members: int
    known: bool = False
    key: keys.Key | None = None
    is_new_key: bool = False


def create(memory: Memory, dsn: str, space: str, *, insecure: bool) -> tuple[wire.SpaceState, str]:
    """Create or migrate the log's schema, and create the space if missing; return (state, name).
    Save `dsn` as the owner's address in the project's link. Raises TeamError, BadInput, OSError.
    """
    key, default = _project(memory)
    space = space or default
    if space.startswith(OWN):
        text = f"The space {space} would be for one member's own machines."
        remedy = "Use another name; team join DSN --me uses that one."
        raise BadInput("--space", text, remedy=remedy)
    with _connection(memory, dsn, insecure) as connection:
        state = spaces.init(connection, space)
    tie = ties.of(memory.settings.home, key) or Tie(key, space=space, insecure=insecure)
    if tie.space != space:
        _expect_same(tie, space)
        tie = Tie(key, space=space, insecure=insecure)
    ties.save(memory.settings.home, tie._replace(owner=dsn))
    return state, space


def join(
    memory: Memory, dsn: str, space: str, name: str, *, me: bool, insecure: bool, words: Words
) -> Joined:
    """Link this project to a space; with `me`, also link the user to a space for the user's
    machines. `name` is the role to log in as, by default that of the address. `words` asks for the
    24 words that encode the key. Raises TeamError, BadInput, StoreUnavailable, OSError.
    """
    project, default = _project(memory)
    home = memory.settings.home
    before = ties.of(home, project) or Tie(project)
    if before.via:
        text = f"This project is exchanged through {before.dsn} already."
        remedy = "Run memory-fabric sync git leave first; what was said here stays."
        raise BadInput("project", text, remedy=remedy)
    key = own = None
    is_new = False
    with _connection(memory, dsn, insecure, name) as connection:
        with translate.translated("Cannot join"):
            expect_schema(connection)
            space = space or _only_space(connection, default)
        _expect_same(before, space)
        state = SharedLog(connection, space).state()
        address = make_conninfo(dsn, user=name) if name else dsn
        made = before._replace(dsn=address, space=space, member=state.member, insecure=insecure)
        is_mine = me or (bool(before.member) and before.me)
        owner = before.owner if before.space == space else ""
        packages = driver.folder_in_use(memory.settings)
        made = made._replace(me=is_mine, owner=owner, packages=packages)
        if me:
            key, user = keys.read(home), ties.of(home, USER)
            # If the user's own space is linked at another address already, keep that link.
            if key is None or user is None or user.dsn == made.dsn:
                own = made._replace(key=USER, space=OWN + state.member, me=True, owner="")
                key, is_new = _key(memory, connection, own, words)
    for tie in (made, own) if own else (made,):
        database = exchange.tied_database(memory, tie)
        ties.save(home, tie)
        if tie is made and before.member and made.me and not before.me:
            outbox.say_again(database)
    return Joined(made, state.members, bool(before.member), key, is_new)


def add(memory: Memory, tie: Tie, member: str, *, create_role: bool, owner: bool, me: bool) -> str:
    """Add a role of the server to the space, as an owner if `owner`; return the password if this
    creates the role, else "". Also create a space for the member's own machines; unless `me`,
    ignore the error NotAllowed if this user may not create that space. Raises TeamError, BadInput.
    """
    role = "owner" if owner else "member"
    with owning(memory, tie) as connection:
        password = spaces.add(connection, tie.space, member, create_role=create_role, role=role)
        try:
            spaces.init(connection, OWN + member)
            spaces.add(connection, OWN + member, member, role="owner")
        except NotAllowed:
            if me:
                raise
    return password


@contextmanager
def owning(memory: Memory, tie: Tie) -> Iterator[Connection]:
    """Yield a connection by the saved owner's address, else by the link's own. Raises TeamError."""
    with _connection(memory, tie.owner or tie.dsn, tie.insecure, noted=tie.packages) as connection:
        with translate.translated("Cannot read the shared log"):
            expect_schema(connection)
        yield connection


def server_state(memory: Memory, tie: Tie) -> wire.SpaceState:
    """Return the state of a link's space on the server. Raises TeamError."""
    with _connection(memory, tie.dsn or tie.owner, tie.insecure, noted=tie.packages) as connection:
        return SharedLog(connection, tie.space).state()


def _project(memory: Memory) -> tuple[str, str]:
    if memory.project is None or memory.mirror is not None:
        raise NotFound("project", "This folder has no project that could be tied to a shared log.")
    return memory.project.id, memory.project.name


def _connection(
    memory: Memory, dsn: str, insecure: bool, name: str = "", *, noted: str = ""
) -> Connection:
    """Connect as role `name` or as `dsn` says; `noted` is for `driver.reach`. Raises TeamError."""
    driver.reach(memory.settings, noted)
    checked(dsn, insecure=insecure)  # before the role's name is added
    return connect(make_conninfo(dsn, user=name) if name else dsn, insecure=insecure)


def _only_space(connection: Connection, default: str) -> str:
    """Return `default` if it is a space, else the only space. Raises NotAMember, BadInput."""
    rows = connection.execute("SELECT space FROM memory_fabric.spaces ORDER BY space")
    names = [str(name) for (name,) in rows if not name.startswith(OWN)]
    if default in names:
        return default
    if len(names) == 1:
        return names[0]
    if not names:
        text = f"{connection.info.user} is a member of no space there."
        raise NotAMember(text, remedy="Ask the owner of a space: memory-fabric team add MEMBER.")
    text = f"{connection.info.user} is a member of {len(names)} spaces: {', '.join(names)}."
    raise BadInput("--space", text, remedy="Choose one with --space NAME.")


def _expect_same(before: Tie, space: str) -> None:
    if before.member and before.space != space:
        text = f"This project is tied to the space {before.space} already, not to {space}."
        remedy = "Run memory-fabric team leave first; what was said here stays."
        raise BadInput("--space", text, remedy=remedy)


def _key(memory: Memory, connection: Connection, own: Tie, words: Words) -> tuple[keys.Key, bool]:
    """Return the user's key, and True if this machine is the user's first and created the key."""
    home = memory.settings.home
    log = SharedLog(connection, own.space)
    try:
        log.state()
    except NotAMember:
        try:
            spaces.init(connection, own.space)
        except NotAllowed:
            text = f"There is no space for the machines of {own.member} yet."
            remedy = f"Ask the owner to run memory-fabric team add {own.member} --me."
            raise NotAllowed(text, remedy=remedy) from None
    sealed, _ = log.pull(wire.Position(), LOOKED_AT)
    is_new = not sealed and keys.read(home) is None

    def fits(key: keys.Key) -> bool:
        return any(key.fits(operation, own.space) for operation in sealed)

    key = keys.agreed(home, words, fits if sealed else None, "team join DSN --me")
    log.push([key.announcement(own.space, ties.origin(home))])
    return key, is_new
