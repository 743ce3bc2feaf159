"""serve: run the HTTP server for the browser and other programs."""

import os
import sys
import time
from threading import Thread

from memory_fabric.cli import environment, show, team_server
from memory_fabric.cli.options import argument, exclusive, flag, option
from memory_fabric.errors import BadInput, FabricError
from memory_fabric.setup import extras

DEFAULT_PORT = 8002
# The folder of the packages of this command, some of them, and their size (measured).
KIND, NEEDED, SIZE_MB = "serve", ("mcp", "orjson", "starlette", "uvicorn"), 34


def serve(
    name: str = argument("", "[NAME]", "With --new-key: the name of the key."),
    port: int = option(DEFAULT_PORT, "", "The port; 0 chooses a free one.", min=0, max=65535),
    host: str = option(
        "127.0.0.1",
        "ADDRESS",
        "The address: `::1`, `localhost`; one that other machines can reach needs a key.",
    ),
    socket: str = option("", "PATH", "Listen on this Unix socket instead, which only you can use."),
    allow_host: list[str] | None = option(
        None, "NAME", "Also answer to this name in the Host header; can be repeated."
    ),
    opens: bool = flag("--open", "Open the page in the browser."),
    new_key: bool = flag("--new-key", "Create a permanent key, print it once, and exit."),
    list_keys: bool = flag("--list-keys", "List the permanent keys, and exit."),
    drop_key: str = option("", "NAME", "Delete this key, and exit."),
    team: str = option(
        "",
        "DSN",
        "Serve a team's shared log from this PostgreSQL, without a local memory: "
        "postgresql://ROLE@HOST/DATABASE, without a password.",
    ),
    space: str = option(
        "", "NAME", "With --team: the space; by default the only one of the login."
    ),
    workers: int = option(
        0,
        "N",
        "So many processes answer questions; by default one for each processor, at most 4. With "
        "--team they answer all requests; by default 1.",
    ),
    member: str = option(
        "", "MEMBER", "With --team and --new-key: the member that the key acts for."
    ),
    domain: str = option(
        "", "NAME", "With --team and --new-key: the only domain that the key shows and writes."
    ),
    insecure: bool = flag(
        "--insecure", "With --team: allow a connection to another host without encryption."
    ),
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
    text = "--new-key, --list-keys and --drop-key exclude each other."
    exclusive("keys", text, new_key, list_keys, drop_key, remedy="")
    if name and not new_key:
        raise BadInput("NAME", "A name needs --new-key.", remedy="Use serve --new-key NAME.")
    if team:
        options = team_server.Options(
            team,
            space,
            member,
            domain,
            insecure,
            host,
            port,
            socket,
            allow_host or (),
            workers or 1,
        )
        return _serve_team(options, name, new_key=new_key, list_keys=list_keys, drop_key=drop_key)
    if space or member or domain or insecure:
        text = "--space, --member, --domain and --insecure need --team."
        raise BadInput("--team", text, remedy="Use serve --team DSN.")
    if new_key or list_keys or drop_key:
        return _keys(environment.settings().home, name, new_key=new_key, drop_key=drop_key)
    if socket and opens:
        text = "Browsers cannot open a Unix socket."
        raise BadInput("--open", text, remedy="Leave --socket out.")
    settings = environment.settings()
    _load_packages(settings.data_dir, settings.plugin_root)
    from memory_fabric.servers.http.server import Server  # not needed for --help

    server = Server(settings, host, port, path=socket, allowed=allow_host or (), workers=workers)
    try:
        _tell(server.address, server.key if socket else "", is_local=server.is_local)
        if opens:
            _open(server.address_for_once())
        server.run()
    finally:
        server.close()
    return 0


def _serve_team(
    options: team_server.Options, name: str, *, new_key: bool, list_keys: bool, drop_key: str
) -> int:
    settings = environment.settings()
    _load_packages(settings.data_dir, settings.plugin_root)
    team_server.load_driver(settings)
    if new_key:
        return team_server.make_key(options, name)
    if list_keys:
        return team_server.list_keys(options)
    if drop_key:
        return team_server.drop_key(options, drop_key)
    return team_server.serve(settings, options)


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


def _tell(address: str, key: str, *, is_local: bool) -> None:
    show.line(f"The memory of {os.getcwd()}: {address}")
    if key:
        show.line(f"The key of this run: {key}")
    show.line("Press Ctrl-C to stop.", style="dim")
    sys.stdout.flush()
    if not is_local:
        show.warn(
            "other machines can reach this address, and everything is sent unencrypted, "
            "including keys: put TLS in front of it (docs/http.md)."
        )


def _keys(home: str, name: str, *, new_key: bool, drop_key: str) -> int:
    """Make a permanent key, delete one, or list them."""
    from memory_fabric.servers.http import keys as kept_keys  # not needed for --help

    if new_key:
        show.line(kept_keys.make(home, name))
        show.warn("this key is shown only once; only its hash is stored.")
    elif drop_key:
        kept_keys.drop(home, drop_key)
        show.line(f"The key {drop_key} is not valid any more.")
    else:
        keys = kept_keys.kept(home)
        show.lines(f"{key.name}  {key.created_at}" for key in keys)
        if not keys:
            show.line("There is no permanent key. memory-fabric serve --new-key NAME creates one.")
    return 0


def _open(address: str) -> None:
    if not show.can_open_page():
        show.warn("no browser is available here; open the address above in one.")
        return
    # Some browsers block the caller until they exit.
    Thread(target=show.open_page, args=(address,), daemon=True).start()
