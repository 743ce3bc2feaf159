"""`serve --team`: the shared server of a team, and the keys of its members."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from memory_fabric.cli import show
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput
from memory_fabric.sharing.team import driver


class Options(NamedTuple):
    """The options of one call, as stated."""

    dsn: str
    space: str = ""
    member: str = ""
    domain: str = ""
    insecure: bool = False
    host: str = "127.0.0.1"
    port: int = 0
    socket: str = ""
    allowed: Sequence[str] = ()
    workers: int = 1


def serve(settings: Settings, given: Options) -> int:
    """Serve a space until Ctrl-C. Raises TeamError, BadInput, CannotListen."""
    from memory_fabric.servers.http.server import TeamServer  # not needed for --help
    from memory_fabric.servers.http.team_keys import space_of

    space = space_of(given.dsn, given.space, insecure=given.insecure)
    server = TeamServer(
        settings,
        given.dsn,
        space,
        host=given.host,
        port=given.port,
        path=given.socket,
        allowed=given.allowed,
        insecure=given.insecure,
        workers=given.workers,
    )
    show.line(f"The memory of the space {space}: {server.address}")
    show.line("Requests need a key: serve --team DSN --new-key NAME --member MEMBER makes one.")
    show.line("Press Ctrl-C to stop.", style="dim")
    sys.stdout.flush()
    if not server.is_local:
        show.warn(
            "other machines can reach this address, and everything is sent unencrypted, "
            "including keys: put TLS in front of it (docs/http.md)."
        )
    server.run()
    return 0


def make_key(given: Options, name: str) -> int:
    """Make a key of a member, print it once, and exit."""
    from memory_fabric.servers.http import team_keys as keys  # not needed for --help

    if not given.member:
        raise BadInput(
            "--member",
            "A key of a shared server acts for a member.",
            remedy="Name the member: serve --team DSN --new-key NAME --member MEMBER.",
        )
    with _space(given) as (connection, space):
        key = keys.make(connection, space, given.member, name, given.domain)
    show.line(key)
    show.warn("this key is shown only once; only its hash is stored.")
    return 0


def list_keys(given: Options) -> int:
    """List the keys of a space that the login may see."""
    from memory_fabric.servers.http import team_keys as keys  # not needed for --help

    with _space(given) as (connection, space):
        stored = keys.kept(connection, space)
    for key in stored:
        domain = f"  domain {key.domain}" if key.domain else ""
        show.line(f"{key.name}  {key.member}  {key.created_at:%Y-%m-%d}{domain}")
    if not stored:
        show.line("There is no key. serve --team DSN --new-key NAME --member MEMBER makes one.")
    return 0


def drop_key(given: Options, name: str) -> int:
    """Delete a key."""
    from memory_fabric.servers.http import team_keys as keys  # not needed for --help

    with _space(given) as (connection, space):
        keys.drop(connection, space, name)
    show.line(f"The key {name} is not valid any more.")
    return 0


def load_driver(settings: Settings) -> None:
    """Make the packages of the extra importable, and install them at the first use."""
    try:
        driver.reach(settings)
    except driver.DriverMissing:
        show.warn(f"installing the packages for a shared log once (about {driver.SIZE_MB} MB) ...")
        driver.install(settings)


@contextmanager
def _space(given: Options) -> Iterator[tuple[Any, str]]:
    from memory_fabric.servers.http.team_keys import space_of
    from memory_fabric.sharing.server.connect import connect

    space = space_of(given.dsn, given.space, insecure=given.insecure)
    with closing(connect(given.dsn, insecure=given.insecure)) as connection:
        yield connection, space
