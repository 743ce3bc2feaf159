"""The MCP server over standard input and output: what `memory-fabric mcp` runs.

    main(environ: Mapping[str, str] | None = None) -> NoReturn

needs nothing but Python: no package is imported, and none has to be installed, so that a bare
interpreter may run it, which then starts at once:

    python -I -S -c "import sys; sys.path.insert(0, sys.argv[1]); \
        from memory_fabric.servers.mcp.stdio_server import main; main()" <plugin root>/plugin

The environment is that of every command (`config.py`). What is installed beside is used where it is
asked for: `recall` finds the packages of the extra in their own folder (`semantic/place.py`).

Three threads: this one reads and parses lines and answers what needs no memory, the store's thread
works, and, while a client reads too slowly, one that waits for it. In a home that is tied to the
shared log of a team, a fourth one exchanges operations with it.
"""

from __future__ import annotations

import os
import sys
import threading

from memory_fabric.config import TIES
from memory_fabric.models import Provenance
from memory_fabric.servers import store_thread
from memory_fabric.servers.mcp.caller_scope import WorkingFolder
from memory_fabric.servers.mcp.session import Session
from memory_fabric.servers.mcp.stdio import Output, claimed_output, lines
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.switches import settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
    from typing import NoReturn

    from memory_fabric.config import Settings
    from memory_fabric.servers.live import Live
    from memory_fabric.store.memory import Memory
else:
    import _signal as signal  # the module above it brings enum, which is half of a start

INPUT = 0
# What a client asks for once it has greeted; then nothing waits for this server for a moment.
LISTED = b'"tools/list"'
# A client that stops its servers sends SIGINT and, 100 ms later, SIGTERM.
SIGNAL_GRACE_S = 0.08
# After the end of input: for the answers still owed, then for the memory to close.
ANSWERS_GRACE_S = 10.0
CLOSE_GRACE_S = 5.0


def main(environ: Mapping[str, str] | None = None) -> NoReturn:
    """Serve until standard input ends or a signal comes; then end the process.

    Nothing but JSON-RPC reaches standard output (MEM-20). Acknowledged writes are durable before
    their answer, so leaving has nothing to save but the work in hand.
    """
    settings = settings_of(os.environ if environ is None else environ)
    for complaint in settings.complaints:
        print(f"memory-fabric: {complaint}", file=sys.stderr)  # noqa: T201
    working_folder = WorkingFolder(settings)
    store = StoreThread(
        lambda: _open(working_folder.settings()),
        moved=lambda memory: memory.project is None and working_folder.begun(),
    )
    live: Live | None = None
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _leave(store, live, SIGNAL_GRACE_S))
    output = Output(claimed_output(), _interrupt)
    said_by = Provenance(
        source="mcp",
        trust="tool",
        session=settings.session,
        author=settings.author,
        origin=settings.origin,
    )
    session = Session(store, said_by, settings.project_dir, output.send)
    live = _live(settings)
    store_thread.settle()
    if settings.memory_file_path:
        store.begin()  # the file may lack what a server that was killed had acknowledged
    follows = _follow_if_tied(settings.home, working_folder)
    for line in lines(INPUT):
        follows = follows or _follow_if_tied(settings.home, working_folder)
        session.take(line)
        if live is not None and LISTED in line:
            live.warm()
    session.end(ANSWERS_GRACE_S)
    output.wait(ANSWERS_GRACE_S)
    _leave(store, live, CLOSE_GRACE_S)


def _follow_if_tied(home: str, working_folder: WorkingFolder) -> bool:
    """Exchange with shared logs from now on if this home is tied to one; costs a stat."""
    if not os.path.exists(os.path.join(home, TIES)):
        return False
    from memory_fabric.sharing.team import follower  # only where a shared log is: it loads a driver

    follower.start(working_folder.settings)
    return True


def _interrupt() -> None:
    """Nobody reads our answers: end as by a signal, which reaches the thread that reads lines."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)


def _live(settings: Settings) -> Live | None:
    """Answer the hooks of the client that has started this server, where that is possible."""
    if sys.platform != "linux":  # type checkers do not look further elsewhere
        return None
    from memory_fabric.servers.live import Live

    live = Live(settings)
    live.listen()
    return live


def _leave(store: StoreThread, live: Live | None, grace_s: float) -> NoReturn:
    if live is not None:
        live.close(grace_s)
    store.close(grace_s)
    # Other threads may wait for the client; an ordinary exit would wait with them.
    os._exit(0)


def _open(settings: Settings) -> Memory:
    if settings.memory_file_path:
        # only where a file is served
        from memory_fabric.store.graph_file.mirror import open_mirrored

        return open_mirrored(
            settings,
            lambda sentence: print(f"memory-fabric: {sentence}", file=sys.stderr),  # noqa: T201
        )
    from memory_fabric.store.memory import Memory  # late: with the first call, after the greeting

    return Memory.open(settings, repair=True)
