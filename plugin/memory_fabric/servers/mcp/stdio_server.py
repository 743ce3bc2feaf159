"""The MCP server over standard input and output, which `memory-fabric mcp` runs.

It needs only the standard library, so that a bare interpreter (python -I -S), which starts faster,
can run it. The main thread reads lines and answers requests that need no memory; the store's thread
answers all other requests. While a client reads too slowly, a third thread writes the output. If
any project is linked to a shared log, a fourth thread exchanges operations with the log.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator

from memory_fabric import config, models
from memory_fabric.servers import store_thread
from memory_fabric.servers.mcp.session import Session
from memory_fabric.store.home.switches import settings_of
from memory_fabric.store.projects import identity, registry_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
    from typing import NoReturn

    from memory_fabric.config import Settings
    from memory_fabric.servers.live import Live
    from memory_fabric.store.memory import Memory
else:
    import _signal as signal  # `signal` imports enum, which takes half of the start time

# A client sends this first after the handshake, and then pauses: the time is used to load code.
LISTED = b'"tools/list"'
# Seconds to finish after SIGINT: less than the 100 ms after which a client sends SIGTERM.
SIGNAL_GRACE_S = 0.08
# Seconds after the end of input to send pending responses, and seconds to close the memory.
ANSWERS_GRACE_S = 10.0
CLOSE_GRACE_S = 5.0


def main(environ: Mapping[str, str] | None = None) -> NoReturn:
    """Serve until the input ends or a signal arrives, then end the process. Nothing but JSON-RPC
    messages is written to standard output (MEM-20). No acknowledged write is lost.
    """
    settings = settings_of(os.environ if environ is None else environ)
    for complaint in settings.complaints:
        print(f"memory-fabric: {complaint}", file=sys.stderr)  # noqa: T201
    working_folder = WorkingFolder(settings)
    store = store_thread.StoreThread(
        lambda: _open(working_folder.settings()),
        moved=lambda memory: memory.project is None and working_folder.begun(),
    )
    live: Live | None = None
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _leave(store, live, SIGNAL_GRACE_S))
    # If the client no longer reads, the server sends itself SIGTERM, which ends the wait for input.
    this_thread = threading.get_ident()
    output = Output(claimed_output(), lambda: signal.pthread_kill(this_thread, signal.SIGTERM))
    author, origin = settings.author, settings.origin
    said_by = models.Provenance("mcp", "tool", settings.session, author=author, origin=origin)
    session = Session(store, said_by, settings.project_dir, output.send)
    if sys.platform == "linux" and not settings.muted:  # lets type checkers assume Linux
        from memory_fabric.servers.live import Live

        live = Live(settings)  # answers the hooks of the client that started this server
        live.listen()
    store_thread.settle()
    if settings.memory_file_path:
        store.begin()  # also writes to this file the changes that a killed server did not write
    follows = _follow_if_tied(settings.home, working_folder)
    for line in lines(0):
        follows = follows or _follow_if_tied(settings.home, working_folder)
        session.take(line)
        if live is not None and LISTED in line:
            live.warm()
    session.end(ANSWERS_GRACE_S)
    output.wait(ANSWERS_GRACE_S)
    _leave(store, live, CLOSE_GRACE_S)


def _follow_if_tied(home: str, working_folder: WorkingFolder) -> bool:
    """Start exchanging operations with shared logs; return False if no project is linked to one."""
    if not os.path.exists(os.path.join(home, config.TIES)):
        return False
    from memory_fabric.sharing.team import follower  # imported late: it loads a database driver

    follower.start(working_folder.settings)
    return True


def _leave(store: store_thread.StoreThread, live: Live | None, grace_s: float) -> NoReturn:
    if live is not None:
        live.close(grace_s)
    store.close(grace_s)
    # An ordinary exit would wait for the other threads, which may wait for the client.
    os._exit(0)


def _open(settings: Settings) -> Memory:
    if settings.memory_file_path:
        from memory_fabric.store.graph_file.mirror import open_mirrored  # rarely needed

        return open_mirrored(
            settings,
            lambda sentence: print(f"memory-fabric: {sentence}", file=sys.stderr),  # noqa: T201
        )
    from memory_fabric.store.memory import Memory  # imported for the first call

    return Memory.open(settings, repair=True)


READ_BYTES = 1 << 16
# Bytes per write, which a ready pipe on Linux accepts without blocking (POSIX requires only 512).
PIECE_BYTES = 4096


def lines(handle: int) -> Iterator[bytes]:
    """Yield lines of any length until the input ends; the last line may lack its newline."""
    begun: list[bytes] = []
    while True:
        try:
            data = os.read(handle, READ_BYTES)
        except OSError:  # standard input is closed or cannot be read
            break
        if not data:
            break
        *ended, unfinished = data.split(b"\n")
        if ended:
            yield b"".join([*begun, ended[0]])
            yield from ended[1:]
            begun = []
        begun.append(unfinished)
    yield b"".join(begun)


class Output:
    """A writer of lines that never blocks the caller; it calls `gone` if the client has ended."""

    def __init__(self, handle: int, gone: Callable[[], None]) -> None:
        self._handle, self._gone = handle, gone
        self._lines: list[bytes] = []
        self._busy = False
        self._written = threading.Condition()
        self._takes: Callable[[], bool] = lambda: False  # Windows cannot report readiness
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(handle, select.POLLOUT)
            self._takes = lambda: bool(poll.poll(0))

    def send(self, line: bytes) -> None:
        """Write a line now, or in another thread while the client is not reading."""
        with self._written:
            self._lines.append(line)
            if self._busy:
                return  # another thread is writing, and will write this line too
            self._busy = True
        self._write(wait=False)

    def wait(self, timeout_s: float) -> None:
        with self._written:
            self._written.wait_for(lambda: not self._busy, timeout_s)

    def _write(self, *, wait: bool) -> None:
        try:
            while True:
                with self._written:
                    remaining = memoryview(b"".join(self._lines))
                    self._lines.clear()
                    if not remaining:
                        self._busy = False
                        self._written.notify_all()
                        return
                while remaining:
                    if not wait and not self._takes():
                        with self._written:
                            self._lines.insert(0, bytes(remaining))
                        slow = {"wait": True}
                        threading.Thread(target=self._write, kwargs=slow, daemon=True).start()
                        return
                    piece = remaining if wait else remaining[:PIECE_BYTES]
                    remaining = remaining[os.write(self._handle, piece) :]
        except OSError as error:
            # Leave `_busy` set, so that `send` writes nothing more to this client.
            print(f"memory-fabric: the client is gone: {error}", file=sys.stderr)  # noqa: T201
            self._gone()


def claimed_output() -> int:
    """Return a duplicate of standard output's handle, and redirect stdout to stderr (MEM-20)."""
    if sys.stdout is not None:
        sys.stdout.flush()
    handle = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # the server was started without standard error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return handle


class WorkingFolder:
    """The server's working folder. It counts as the project once a project memory exists for it;
    until then, only the user's memory is used, because desktop clients start servers in any folder.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        stated = settings.project_dir or settings.memory_file_path
        try:
            self._folder = "" if stated else os.getcwd()
        except OSError:  # the folder has been deleted
            self._folder = ""
        # At the last check: the project registry's stamp, and the path of this folder's graph.
        self._stamp: tuple[int, int, int] | None = None
        self._graph = ""

    def settings(self) -> Settings:
        """Return the settings, with this folder as the project if it has a memory."""
        return self._settings._replace(project_dir=self._folder) if self.begun() else self._settings

    def begun(self) -> bool:
        """Return True if the folder has a memory. The check costs two `stat` calls."""
        if not self._folder:
            return False
        stamp = registry_file.registry_stamp(self._settings.home)
        if stamp != self._stamp:
            keys, home = identity.identify(os.path.realpath(self._folder)).keys, self._settings.home
            id_ = registry_file.owner_of(registry_file.read_registry(home), keys)
            folder = identity.folder_of(home, id_)
            self._stamp, self._graph = stamp, os.path.join(folder, "graph.db") if id_ else ""
        return bool(self._graph) and os.path.exists(self._graph)
