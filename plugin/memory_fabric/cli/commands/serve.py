"""serve: the memory over HTTP, for the browser of this machine and for other programs."""

from __future__ import annotations

import os
import sys
import time
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from memory_fabric.cli import browser, environment, show
from memory_fabric.errors import BadInput, FabricError
from memory_fabric.setup import extras

if TYPE_CHECKING:
    from memory_fabric.servers.http.server import Server

DEFAULT_PORT = 8002
# The folder of what only this command needs, some of what is in it, and its size (measured).
KIND, NEEDED, SIZE_MB = "serve", ("mcp", "orjson", "starlette", "uvicorn"), 26


def serve(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="With --new-key: what the key is called.")
    ] = "",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")
    ] = DEFAULT_PORT,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Another address: `::1`, `localhost`; with a kept key also one that others reach.",
        ),
    ] = "127.0.0.1",
    socket: Annotated[
        str,
        typer.Option(metavar="PATH", help="Listen on this Unix socket instead, for you alone."),
    ] = "",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Answer under this name, too (the Host header); repeatable."
        ),
    ] = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Make a key that is kept, print it once, and end.")
    ] = False,
    list_keys: Annotated[
        bool, typer.Option("--list-keys", help="Name the kept keys, and end.")
    ] = False,
    drop_key: Annotated[
        str, typer.Option(metavar="NAME", help="Keep this key no longer, and end.")
    ] = "",
) -> int:
    """Serve the memory over HTTP: the page, texts that programs bring in, MCP; Ctrl-C ends it.

    The page shows the memory as it is now; its search is that of `recall`. Programs bring texts in
    with `POST /v1/memory/ingest` and ask at `/mcp` (docs/http.md). Whoever reads needs a key: that
    in the address that is printed (`http://127.0.0.1:8002/?key=…`, a new one with each start), or
    one that is kept. Bringing in needs one as soon as a key is kept; until then only this machine
    reaches the server. Keys that are made or dropped count at once, also for a server that runs.
    docs/security.md says what is checked. Exit code 1 when the port is in use.
    `memory-fabric viz` writes the page as a file instead.

    Examples:

        memory-fabric serve --open

        memory-fabric serve --new-key laptop

        memory-fabric serve --host 0.0.0.0 --allow-host memory.example.org
    """
    if sum((new_key, list_keys, bool(drop_key))) > 1:
        raise BadInput("keys", "--new-key, --list-keys and --drop-key go one at a time.")
    if name and not new_key:
        raise BadInput("NAME", "A name belongs to --new-key.", remedy="Say serve --new-key NAME.")
    if new_key:
        return _make_key(name)
    if list_keys:
        return _list_keys()
    if drop_key:
        return _drop_key(drop_key)
    if socket and opens:
        raise BadInput("--open", "No browser opens a Unix socket.", remedy="Leave --socket out.")
    settings = environment.settings()
    _bring_packages(settings.data_dir, settings.plugin_root)
    from memory_fabric.servers.http.server import Server  # --help needs no server

    server = Server(settings, host, port, path=socket, allowed=allow_host or ())
    try:
        _tell(server, socket)
        if opens:
            _open(server.address_for_once())
        server.run()
    finally:
        server.close()
    return 0


def _bring_packages(data_dir: str, plugin_root: str) -> None:
    """Let this process import what serving needs; it is fetched when it is first needed."""
    folder = extras.folder_of(KIND, data_dir, plugin_root)
    extras.reach(folder)
    if not extras.missing(NEEDED):
        return
    if not folder:
        raise FabricError(
            "The packages of serve are missing.", remedy="Run pip install memory-fabric."
        )
    show.complain(
        f"fetching what only serve needs, once (about {SIZE_MB} MB, {folder}); "
        "some seconds to a minute ..."
    )
    began_s = time.monotonic()
    extras.install(folder, extras.lock_file(KIND, plugin_root))
    extras.reach(folder)
    show.complain(f"that took {time.monotonic() - began_s:.0f} s.")


def _tell(server: Server, socket: str) -> None:
    show.line(f"The memory of {os.getcwd()}: {server.address}")
    if socket:
        show.line(f"The key of this start: {server.key}")
    show.line("Ctrl-C ends it.", style="dim")
    sys.stdout.flush()
    if not server.is_local:
        show.complain(
            "others reach this address, and everything, keys too, travels readable: "
            "put TLS in front of it (docs/http.md)."
        )


def _make_key(name: str) -> int:
    from memory_fabric.servers.http import kept_keys

    show.line(kept_keys.make(environment.settings().home, name))
    show.complain("this is shown once; only its hash is kept.")
    return 0


def _list_keys() -> int:
    from memory_fabric.servers.http import kept_keys

    keys = kept_keys.kept(environment.settings().home)
    for key in keys:
        show.line(f"{key.name}  {key.created_at}")
    if not keys:
        show.line("No key is kept. memory-fabric serve --new-key NAME makes one.")
    return 0


def _drop_key(name: str) -> int:
    from memory_fabric.servers.http import kept_keys

    kept_keys.drop(environment.settings().home, name)
    show.line(f"{name} opens nothing any more.")
    return 0


def _open(address: str) -> None:
    if not browser.can_open():
        show.complain("no browser could be seen here; open the address above in one.")
        return
    # Some browsers keep the caller until they end.
    Thread(target=browser.open_page, args=(address,), daemon=True).start()
