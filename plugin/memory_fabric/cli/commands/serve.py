"""serve: run the HTTP server for the browser and other programs."""

from __future__ import annotations

import os
import sys
import time
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from memory_fabric.cli import browser, environment, show, team_server
from memory_fabric.errors import BadInput, FabricError
from memory_fabric.setup import extras

if TYPE_CHECKING:
    from memory_fabric.servers.http.server import Server

DEFAULT_PORT = 8002
# The folder of the packages of this command, some of them, and their size (measured).
KIND, NEEDED, SIZE_MB = "serve", ("mcp", "orjson", "starlette", "uvicorn"), 34


def serve(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="With --new-key: the name of the key.")
    ] = "",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 chooses a free one.")
    ] = DEFAULT_PORT,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="The address: `::1`, `localhost`; one that other machines can reach needs a key.",
        ),
    ] = "127.0.0.1",
    socket: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="Listen on this Unix socket instead, which only you can use."
        ),
    ] = "",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Also answer to this name in the Host header; can be repeated."
        ),
    ] = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Create a permanent key, print it once, and exit.")
    ] = False,
    list_keys: Annotated[
        bool, typer.Option("--list-keys", help="List the permanent keys, and exit.")
    ] = False,
    drop_key: Annotated[str, typer.Option(metavar="NAME", help="Delete this key, and exit.")] = "",
    team: Annotated[
        str,
        typer.Option(
            metavar="DSN",
            help="Serve a team's shared log from this PostgreSQL, without a local memory: "
            "postgresql://ROLE@HOST/DATABASE, without a password.",
        ),
    ] = "",
    space: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="With --team: the space; by default the only one of the login."
        ),
    ] = "",
    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="So many processes answer questions; by default one for each processor, at most "
            "4. With --team they answer all requests; by default 1.",
        ),
    ] = 0,
    member: Annotated[
        str,
        typer.Option(
            metavar="MEMBER", help="With --team and --new-key: the member that the key acts for."
        ),
    ] = "",
    domain: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="With --team and --new-key: the only domain that the key shows and writes.",
        ),
    ] = "",
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure",
            help="With --team: allow a connection to another host without encryption.",
        ),
    ] = False,
    socket_fd: Annotated[int, typer.Option(hidden=True)] = -1,
) -> int:
    """Serve the page, ingest, recall and MCP over HTTP until Ctrl-C.

    The page shows the current memory; its search is that of `recall`. Programs ingest texts with
    `POST /v1/memory/ingest` and query memory at `/mcp` (docs/http.md). Reading needs a key: the one
    in the printed address (`http://127.0.0.1:8002/?key=…`, new with each start), or a permanent
    one. Ingest needs a key as soon as there is a permanent one; until then only this machine can
    reach the server. New and deleted keys apply at once, also to a running server.
    docs/security.md describes the checks. Exit code 1 if the port is in use. `memory-fabric viz`
    writes the page to a file instead.

    With --team it serves the shared log of a team from PostgreSQL itself: recall, ingest, MCP and
    the page, for clients without a local memory. Each key acts for a member, whose rights the
    database checks; several servers may run side by side.

    Examples:

        memory-fabric serve --open

        memory-fabric serve --new-key laptop

        memory-fabric serve --host 0.0.0.0 --allow-host memory.example.org

        memory-fabric serve --team postgresql://fabric@db.example.org/team --workers 2
    """
    if sum((new_key, list_keys, bool(drop_key))) > 1:
        raise BadInput("keys", "--new-key, --list-keys and --drop-key exclude each other.")
    if name and not new_key:
        raise BadInput("NAME", "A name needs --new-key.", remedy="Use serve --new-key NAME.")
    if team:
        given = team_server.Options(
            team,
            space,
            member,
            domain,
            insecure,
            host,
            port,
            socket,
            socket_fd,
            allow_host or (),
            workers or 1,
        )
        return _serve_team(given, name, new_key=new_key, list_keys=list_keys, drop_key=drop_key)
    if space or member or domain or insecure:
        raise BadInput(
            "--team",
            "--space, --member, --domain and --insecure need --team.",
            remedy="Use serve --team DSN.",
        )
    if new_key:
        return _make_key(name)
    if list_keys:
        return _list_keys()
    if drop_key:
        return _drop_key(drop_key)
    if socket and opens:
        raise BadInput(
            "--open", "Browsers cannot open a Unix socket.", remedy="Leave --socket out."
        )
    settings = environment.settings()
    _load_packages(settings.data_dir, settings.plugin_root)
    from memory_fabric.servers.http.server import Server  # not needed for --help

    server = Server(settings, host, port, path=socket, allowed=allow_host or (), workers=workers)
    try:
        _tell(server, socket)
        if opens:
            _open(server.address_for_once())
        server.run()
    finally:
        server.close()
    return 0


def _serve_team(
    given: team_server.Options, name: str, *, new_key: bool, list_keys: bool, drop_key: str
) -> int:
    settings = environment.settings()
    _load_packages(settings.data_dir, settings.plugin_root)
    team_server.load_driver(settings)
    if new_key:
        return team_server.make_key(given, name)
    if list_keys:
        return team_server.list_keys(given)
    if drop_key:
        return team_server.drop_key(given, drop_key)
    return team_server.serve(settings, given)


def _load_packages(data_dir: str, plugin_root: str) -> None:
    """Make the packages of the server importable, and install them at the first use."""
    folder = extras.folder_of(KIND, data_dir, plugin_root)
    extras.reach(folder)
    if not extras.missing(NEEDED):
        return
    if not folder:
        raise FabricError(
            "The packages of serve are missing.", remedy="Run pip install memory-fabric."
        )
    show.warn(
        f"installing the packages of serve once (about {SIZE_MB} MB, in {folder}); "
        "this takes up to a minute ..."
    )
    began_s = time.monotonic()
    extras.install(folder, extras.lock_file(KIND, plugin_root))
    extras.reach(folder)
    show.warn(f"the installation took {time.monotonic() - began_s:.0f} s.")


def _tell(server: Server, socket: str) -> None:
    show.line(f"The memory of {os.getcwd()}: {server.address}")
    if socket:
        show.line(f"The key of this run: {server.key}")
    show.line("Press Ctrl-C to stop.", style="dim")
    sys.stdout.flush()
    if not server.is_local:
        show.warn(
            "other machines can reach this address, and everything is sent unencrypted, "
            "including keys: put TLS in front of it (docs/http.md)."
        )


def _make_key(name: str) -> int:
    from memory_fabric.servers.http import kept_keys

    show.line(kept_keys.make(environment.settings().home, name))
    show.warn("this key is shown only once; only its hash is stored.")
    return 0


def _list_keys() -> int:
    from memory_fabric.servers.http import kept_keys

    keys = kept_keys.kept(environment.settings().home)
    for key in keys:
        show.line(f"{key.name}  {key.created_at}")
    if not keys:
        show.line("There is no permanent key. memory-fabric serve --new-key NAME creates one.")
    return 0


def _drop_key(name: str) -> int:
    from memory_fabric.servers.http import kept_keys

    kept_keys.drop(environment.settings().home, name)
    show.line(f"The key {name} is not valid any more.")
    return 0


def _open(address: str) -> None:
    if not browser.can_open():
        show.warn("no browser is available here; open the address above in one.")
        return
    # Some browsers block the caller until they exit.
    Thread(target=browser.open_page, args=(address,), daemon=True).start()
