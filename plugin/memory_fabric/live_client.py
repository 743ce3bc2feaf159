"""Pass a hook's event to the session's MCP server, which answers faster (see `servers.live`).

    hooks/dispatch.py ── answer() ──▶ <home>/live/<client>.sock ──▶ the server: dispatcher ──▶ reply
                      └─ no server, or a busy or different one: return the event, to answer it here

Only `sys`, `posix` and `_socket` are imported, because the user waits for each import.

    hook: REQUEST, head and event   server: ACCEPTED, time limit (1/10 s); or BUSY, OTHER, APART
    hook: GO                        server: the length of the reply, and the reply
    hook: PRINTED or UNHEARD        server: DONE, once all changes are committed
    hook: REVOKED                   after the time limit: uncommitted changes are then discarded

The head has the hook's version, environment and nonce (a random id of the event). BUSY, OTHER (for
another version) and APART (the hook's own process must handle this event) refuse the event. UNHEARD
means that nobody reads the reply. If the connection is closed before GO, both sides know that the
event was not begun. If the server dies between GO and DONE, the hook answers the event itself,
unless a database has its nonce, stored with the event's last change (`HeldMemory.commit`).
"""

import _socket
import posix
import sys

from memory_fabric import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER, WAYS, SOCKET, HUNG = b"live", b"ways", b".sock", b".hung"
# A hook begins a connection with REQUEST. A second server of the client begins one with HOLD, to
# learn when the first server ends. Hook and server then send each other messages of one byte.
REQUEST, HOLD = b"MF1?", b"MF1h"
ACCEPTED, BUSY, OTHER, APART, DONE = b"A", b"B", b"O", b"D", b"."
GO, PRINTED, UNHEARD, REVOKED = b"G", b"P", b"U", b"X"
# The file WAYS has a letter for how each event was answered: one of these, BUSY, OTHER or APART.
WARM, NO_SERVER, SLOW, BROKEN, NO_PLACE = b"W", b"N", b"S", b"C", b"P"
MAX_WAYS_BYTES = 64 << 10
# If a server does not answer within ANSWER_S, no hook contacts it again for HUNG_S. On a loaded
# machine, a server that waits for a processor may take PATIENCE times ANSWER_S.
ANSWER_S, HUNG_S, PATIENCE = 0.3, 30.0, 4
MAX_INPUT_BYTES, MAX_DRAINED_BYTES, CHUNK_BYTES = 8 << 20, 64 << 20, 1 << 16
MAX_PATH_BYTES = 100  # every system accepts a socket path of this length
# Shells that a client may use to start hooks and servers.
SHELLS = (b"sh", b"bash", b"dash", b"ash", b"zsh", b"ksh", b"busybox")
LENGTH_BYTES, NONCE_BYTES, TENTHS = 4, 16, 10
_CREATE = posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW


class Event:
    """An event for a server. `begun`: a server has accepted it. `printed`: the reply is printed."""

    def __init__(self, data: bytes, nonce: str) -> None:
        self.data, self.nonce = data, nonce
        self.begun = self.printed = False


def answer(root: str) -> "Event | None":
    """Pass the event on stdin to a server; if it replies, print the reply and end this process.
    Otherwise, return the event, or None if stdin cannot be read.
    """
    try:
        # Store at most one chunk beyond the limit: this shows already that the event is too long.
        chunks = []
        size = drained = 0
        while drained < MAX_DRAINED_BYTES and (chunk := posix.read(0, CHUNK_BYTES)):
            drained += len(chunk)
            if size <= MAX_INPUT_BYTES:
                size += len(chunk)
                chunks.append(chunk)
        event = Event(b"".join(chunks), posix.urandom(NONCE_BYTES).hex())
    except OSError:
        return None  # the dispatcher reads stdin itself and will get the same error
    if folder := live_folder(posix.environ):
        pairs = [b"%s=%s" % pair for pair in posix.environ.items()]
        head = b"\0".join((identity(root, __version__), event.nonce.encode(), *pairs))
        way = _handed(event, folder, head)
        if way == WARM:
            posix._exit(0)
        note(folder, way)
    return event


def identity(root: str, version: str) -> bytes:
    """Return bytes that are equal in a hook and a server if both run the same code."""
    return f"{version} {root}".encode("utf-8", "surrogateescape")


def live_folder(environ: "Mapping[bytes, bytes]") -> bytes:
    """Return the folder of server sockets in the home; b"" if its path is relative or has `..`."""
    home = environ.get(b"MEMORY_FABRIC_HOME", b"")
    home = home or (environ.get(b"CLAUDE_CONFIG_DIR") or b"~/.claude") + b"/memory-fabric"
    home = (environ.get(b"HOME") or b"~") + home[1:] if home.startswith(b"~/") else home
    is_plain = home.startswith(b"/") and b"/../" not in home + b"/"
    return home + b"/" + FOLDER if is_plain else b""


def client_name(process: int) -> bytes:
    """Return a unique name for a process (id, start time, namespace, machine). If it is a shell,
    name its parent instead. Raises OSError, ValueError or IndexError if the process does not exist.
    """
    while True:
        number, _, rest = _content(b"/proc/%d/stat" % process).partition(b" (")
        program, _, rest = rest.rpartition(b") ")
        fields = rest.split()
        parent = int(fields[1])
        if program not in SHELLS or parent <= 1:
            namespace = posix.readlink(b"/proc/self/ns/pid")
            place = b"%s-%s" % (namespace.strip(b"pid:[]"), posix.uname().nodename.encode())
            return b"%s-%s-%s" % (number, fields[19], place)
        process = parent


def note(folder: bytes, way: bytes) -> None:
    """Append the letter `way` (how an event was answered) to the file WAYS; errors are ignored."""
    try:
        file = posix.open(folder + b"/" + WAYS, posix.O_WRONLY | posix.O_APPEND | _CREATE, 0o600)
    except OSError:
        return
    try:
        posix.write(file, way)
        if posix.lseek(file, 0, 2) > MAX_WAYS_BYTES:
            posix.ftruncate(file, 0)
    except OSError:
        pass  # This event is not counted.
    finally:
        posix.close(file)


def connected(folder: bytes, name: bytes) -> "_socket.socket":
    """Connect to a server by its name. Raises OSError, also if the server is another user's."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        connection.settimeout(ANSWER_S)
        with_address(connection.connect, folder, name)
        peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        if int.from_bytes(peer[4:8], sys.byteorder) != posix.geteuid():
            raise PermissionError("Another user listens there.")
    except BaseException:
        connection.close()
        raise
    return connection


def with_address(use, folder: bytes, name: bytes) -> None:  # type: ignore[no-untyped-def]
    """Call `use` with the address of a socket; a long path is shortened through /proc/self/fd."""
    path = b"%s/%s%s" % (folder, name, SOCKET)
    if len(path) <= MAX_PATH_BYTES:
        use(path)
        return
    opened = posix.open(folder, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
    try:
        use(b"/proc/self/fd/%d/%s%s" % (opened, name, SOCKET))
    finally:
        posix.close(opened)


def received(connection: "_socket.socket", length: int) -> bytes:
    """Receive `length` bytes. Raises ConnectionError if the connection is closed before that."""
    parts = []
    while length:
        part = connection.recv(min(length, CHUNK_BYTES))
        if not part:
            raise ConnectionError("The connection was closed.")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _handed(event: Event, folder: bytes, head: bytes) -> bytes:
    """Send head and event to the client's server; return WARM on a reply, or why not (see WAYS)."""
    way = NO_PLACE
    stated = posix.environ.get(b"CLAUDE_PID", b"")
    # Processes that may be the client, most likely first.
    for process in (posix.getppid(), *([int(stated)] if stated.isdigit() else ())):
        try:
            name = client_name(process)
        except (OSError, ValueError, IndexError):
            continue
        way = NO_SERVER
        if _is_hung(folder, name):
            return SLOW
        try:
            connection = connected(folder, name)
        except BlockingIOError:  # Too many connections are waiting.
            _mark_hung(folder, name)
            return SLOW
        except OSError:
            continue
        try:
            return _asked(connection, event, head)
        except TimeoutError:
            if not (event.begun or _is_loaded(connection)):
                _mark_hung(folder, name)
            return SLOW
        except OSError:
            return BROKEN
        finally:
            connection.close()
    return way


def _asked(connection: "_socket.socket", event: Event, head: bytes) -> bytes:
    lengths = b"".join(len(part).to_bytes(LENGTH_BYTES, "big") for part in (head, event.data))
    connection.sendall(REQUEST + lengths + head + event.data)
    said = b""
    for attempt in range(PATIENCE):
        try:
            said = connection.recv(1)
            break
        except TimeoutError:
            if attempt == PATIENCE - 1 or not _is_loaded(connection):
                raise
    if said != ACCEPTED:
        return said or BROKEN
    connection.settimeout(received(connection, 1)[0] / TENTHS)
    event.begun = True
    connection.sendall(GO)
    try:
        length = int.from_bytes(received(connection, LENGTH_BYTES), "big")
        reply = received(connection, length)
        try:
            while reply:
                reply = reply[posix.write(1, reply) :]
            event.printed = True
        except OSError:
            pass  # The client no longer reads.
        connection.sendall(PRINTED if event.printed else UNHEARD)
        return WARM if received(connection, 1) == DONE else BROKEN
    except TimeoutError:
        connection.settimeout(0.0)
        connection.send(REVOKED)
        raise


def _is_loaded(connection: "_socket.socket") -> bool:
    """Return True if the connected server has work: one of its threads runs or waits for a CPU."""
    peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    threads = b"/proc/%d/task" % int.from_bytes(peer[:4], sys.byteorder)
    try:
        states = [_content(b"%s/%s/stat" % (threads, thread)) for thread in posix.listdir(threads)]
    except OSError:
        return False
    return any(stat.rpartition(b") ")[2].startswith(b"R") for stat in states)


def _is_hung(folder: bytes, name: bytes) -> bool:
    try:
        marked_s = posix.stat(b"%s/%s%s" % (folder, name, HUNG)).st_mtime
    except OSError:
        return False
    import time

    return 0 <= time.time() - marked_s < HUNG_S


def _mark_hung(folder: bytes, name: bytes) -> None:
    path = b"%s/%s%s" % (folder, name, HUNG)
    try:
        posix.close(posix.open(path, posix.O_WRONLY | _CREATE | posix.O_TRUNC, 0o600))
        posix.utime(path)
    except OSError:
        return  # the mark cannot be written, so the next hook will wait for this server, too


def _content(path: bytes) -> bytes:
    file = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        return posix.read(file, CHUNK_BYTES)
    finally:
        posix.close(file)
