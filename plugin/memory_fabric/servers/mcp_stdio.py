"""The MCP server over standard input and output: what `memory-fabric mcp` runs."""

from __future__ import annotations

import gc
import os
import signal
import sys

from memory_fabric.models import Provenance
from memory_fabric.servers import collector
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.settings_file import settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from memory_fabric.config import Settings
    from memory_fabric.servers.mcp_server import MemoryServer
    from memory_fabric.store.memory import Memory

# A client that stops its servers sends SIGINT and, 100 ms later, SIGTERM.
SIGNAL_GRACE_S = 0.08
# After the end of input: for the answers still owed, then for the memory to close.
ANSWERS_GRACE_S = 10.0
CLOSE_GRACE_S = 5.0


def serve(environ: Mapping[str, str] | None = None) -> NoReturn:
    """Serve until standard input ends or a signal comes; then end the process.

    Nothing but JSON-RPC reaches standard output (MEM-20). Acknowledged writes are durable before
    their answer, so leaving has nothing to save but the work in hand.
    """
    settings = settings_of(os.environ if environ is None else environ)
    for complaint in settings.complaints:
        print(f"memory-fabric: {complaint}", file=sys.stderr)  # noqa: T201
    store = StoreThread(lambda: _open(settings))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _leave(store, SIGNAL_GRACE_S))
    _run(store, settings)
    _leave(store, CLOSE_GRACE_S)


def _run(store: StoreThread, settings: Settings) -> None:
    # Loading the SDK makes half a million objects that all stay: collecting in between is waste.
    gc.disable()
    from memory_fabric.servers import sdk

    sdk.load()
    import anyio

    from memory_fabric.servers.mcp_server import MemoryServer

    collector.settle()
    said_by = Provenance(
        source="mcp",
        trust="tool",
        session=settings.session,
        author=settings.author,
        origin=settings.origin,
    )
    if settings.memory_file_path:
        store.begin()  # the file may lack what a server that was killed had acknowledged
    anyio.run(_speak, MemoryServer(store, said_by, settings.project_dir))


async def _speak(memory_server: MemoryServer) -> None:
    from memory_fabric.servers.stdio import Incoming, Outgoing, Unanswered, claimed_output

    server = memory_server.server
    unanswered = Unanswered(ANSWERS_GRACE_S)
    incoming = Incoming(sys.stdin.fileno(), unanswered)
    outgoing = Outgoing(claimed_output(), unanswered, incoming)
    await server.run(incoming, outgoing, server.create_initialization_options())


def _leave(store: StoreThread, grace_s: float) -> NoReturn:
    store.close(grace_s)
    # A thread may still wait in a read of standard input; an ordinary exit would wait with it.
    os._exit(0)


def _open(settings: Settings) -> Memory:
    if settings.memory_file_path:
        from memory_fabric.store.graph_file.mirror import (
            open_mirrored,  # only where a file is served
        )

        return open_mirrored(
            settings,
            lambda sentence: print(f"memory-fabric: {sentence}", file=sys.stderr),  # noqa: T201
        )
    from memory_fabric.store.memory import Memory  # late: with the first call, after the greeting

    return Memory.open(settings, repair=True)
