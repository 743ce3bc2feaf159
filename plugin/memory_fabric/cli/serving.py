"""serve: the page with the memory as it is now, for the browser of this machine."""

from __future__ import annotations

import os
import sys
from threading import Thread
from typing import Annotated

import typer

from memory_fabric.cli import browser, here, show

DEFAULT_PORT = 8002


def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")
    ] = DEFAULT_PORT,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Another address of this machine alone: `::1`, `localhost`."
        ),
    ] = "127.0.0.1",
    opens: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> int:
    """Serve the page with the memory as it is now; Ctrl-C ends it.

    Its search is that of `recall`. Only this machine reaches it, and only with the key in the
    address that is printed (`http://127.0.0.1:8002/?key=…`); each start has a new one. It only
    reads; docs/security.md says what it checks. Exit code 1 when the port is in use.
    `memory-fabric viz` writes the page as a file instead.
    """
    from memory_fabric.servers.http.serving import Server  # --help needs no server

    server = Server(here.settings(), host, port)
    show.line(f"The memory of {os.getcwd()}: {server.address}")
    show.line("Ctrl-C ends it.", style="dim")
    sys.stdout.flush()
    if opens:
        _open(server.address_for_once())
    server.run()
    return 0


def _open(address: str) -> None:
    if not browser.can_open():
        show.complain("no browser could be seen here; open the address above in one.")
        return
    # Some browsers keep the caller until they end.
    Thread(target=browser.open_page, args=(address,), daemon=True).start()
