"""Handling of hook events in the session's MCP server, where an interpreter is already running.

`live_client` runs in the hook and documents the protocol. The socket in <home>/live is named after
the Claude Code process that started both this server and the hooks. A second server of the same
process waits until the first one has ended, and then binds a socket of the same name. A few threads
accept connections, so that a hook learns at once that the server is busy. Events are handled one at
a time, with databases that stay open between events. No error in an event ends the server.
"""

import _socket
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping

from memory_fabric import __version__, config, deadline, events, live_client, processes
from memory_fabric.servers import store_thread
from memory_fabric.store import files

THREADS = 4
# Seconds that an event waits for an earlier event to finish. After that, the hook's own process
# handles it. The limit is about the time that the start of a process takes.
TURN_S = 0.025
# Timeout in seconds for reading from a hook; it is short because a hook sends without delay.
SAY_S = 1.0
# A hook revokes an event after its time limit + SLACK_S, or after MAX_LIMIT_S if that is earlier.
SLACK_S, MAX_LIMIT_S = 0.2, 25.0
# A prompt's event gets at least this many seconds, even if its hook's start used up the limit.
LEAST_S = 1.0
MAX_HEAD_BYTES = 4 << 20
# A transcript with more unread bytes is read in the hook's process, so that prompts need not wait.
MAX_UNREAD_BYTES, MAX_TRANSCRIPTS = 512 << 10, 100
# Events that the hook's own process handles, because they start other processes or take long.
SELDOM = frozenset(("SessionStart", "Setup", "UserPromptExpansion"))
RETRY_S = 0.05
LOCK, LOCK_S = "lock", 1.0
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), *(os.pardir,) * 3))


class Live:
    """The listener for the hooks of one Claude Code process; its methods never raise an error."""

    def __init__(self, settings: config.Settings) -> None:
        self._folder = os.path.join(settings.home, os.fsdecode(live_client.FOLDER))
        self._read: dict[str, int] = {}  # size of each transcript when it was last read
        self._roots: dict[str, bool] = {}  # True if a hook's plugin folder is this server's folder
        self._turn, self._ready = threading.Lock(), threading.Event()
        self._warming = threading.Lock()
        self._socket: _socket.socket | None = None
        self._bound: files.Stamp = None
        self._name, self._path = b"", ""
        self._closing = False
        # Connections from other servers of this client, which wait here until this process ends.
        self._held: list[_socket.socket] = []

    def listen(self) -> None:
        """Start to listen for hooks, once no other server of this client listens for them."""
        try:
            self._name = live_client.client_name(os.getppid())
            self._path = os.path.join(self._folder, os.fsdecode(self._name + live_client.SOCKET))
            files.make_folder(self._folder)
            state = os.stat(self._folder)
            if state.st_uid != os.geteuid() or state.st_mode & 0o077:
                raise PermissionError(f"{self._folder} is not for its owner only.")
            if not self._take_name():
                _start(self._follow, "live-second")
        except (OSError, ValueError, IndexError, AttributeError) as error:
            self._say(f"hooks are not answered here: {error}")

    def warm(self) -> None:
        """On the first call while listening, start a thread that loads code with sample events."""
        if self._socket is not None and self._warming.acquire(blocking=False):
            _start(self._rehearse, "live-warm")

    def close(self, grace_s: float) -> None:
        """Accept no more events, and give the current event `grace_s` seconds to finish."""
        self._closing = True
        if self._socket is not None:
            try:
                with files.Locked(os.path.join(self._folder, LOCK), 0.0):
                    if self._bound == files.stamp(self._path):
                        files.remove(self._path)
            except OSError:
                pass  # another server will delete the remaining socket
            self._socket.close()
        self._turn.acquire(timeout=grace_s)

    def _take_name(self) -> bool:
        """Bind the socket; return False if another server of the client has it. Raises OSError."""
        folder, path = os.fsencode(self._folder), self._path
        with files.Locked(os.path.join(self._folder, LOCK), LOCK_S):
            try:
                live_client.connected(folder, self._name).close()
                return False
            except BlockingIOError:
                return False  # another server listens here, but its queue is full
            except OSError:
                files.remove(path)
            listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
            try:
                live_client.with_address(listener.bind, folder, self._name)
                listener.listen(64)
                self._bound = files.stamp(path)
                files.remove(os.path.splitext(path)[0] + os.fsdecode(live_client.HUNG))
            except BaseException:
                listener.close()
                raise
        self._socket = listener
        for number in range(THREADS):
            _start(self._serve, f"live-{number}")
        return True

    def _follow(self) -> None:
        """Wait until the other server of this client has ended, then bind the socket."""
        while not self._closing:
            try:
                with_first = live_client.connected(os.fsencode(self._folder), self._name)
                with_first.sendall(live_client.HOLD)
                with_first.settimeout(None)
                with_first.recv(1)
                with_first.close()
            except OSError:
                time.sleep(RETRY_S)
            try:
                if self._take_name():
                    self.warm()
                    return
            except OSError as error:
                self._say(f"hooks are not answered here: {error}")
                return

    def _rehearse(self) -> None:
        from shutil import rmtree  # imported after the MCP handshake

        try:
            # Delete sample memories and sockets that were left behind by servers no longer running.
            for name in os.listdir(self._folder):
                path = os.path.join(self._folder, name)
                head, ending = os.path.splitext(name)
                process = head.rpartition(REHEARSAL)[2].partition("-")[0]
                is_own = os.fsencode(head) == self._name
                if is_own or not process.isdigit() or processes.is_running(int(process)):
                    continue
                if name.startswith(REHEARSAL):
                    rmtree(path, ignore_errors=True)
                # Processes of other namespaces or machines cannot be checked: keep their sockets.
                elif os.fsencode(ending) in (live_client.SOCKET, live_client.HUNG) and (
                    os.fsencode(head).split(b"-", 2)[2:] == self._name.split(b"-", 2)[2:]
                ):
                    files.remove(path)
            rehearse(self._folder, ROOT)
            store_thread.settle()
        except Exception as error:  # noqa: BLE001 - the first events load what they need
            self._say(f"rehearsal: {type(error).__name__}: {error}")
        self._ready.set()

    def _serve(self) -> None:
        listening = self._socket
        assert listening is not None
        while not self._closing:
            try:
                handle, _ = listening._accept()  # type: ignore[attr-defined]
            except OSError as error:
                if not self._closing:
                    self._say(f"accept: {error}")
                    time.sleep(RETRY_S)
                continue
            connection = _socket.socket(fileno=handle)
            try:
                self._answer(connection)
            except OSError:
                pass  # the hook has already ended
            except BaseException as error:  # noqa: BLE001 - the thread must live
                self._say(f"{type(error).__name__}: {error}")
            finally:
                if connection not in self._held:
                    connection.close()

    def _answer(self, connection: _socket.socket) -> None:
        connection.settimeout(SAY_S)
        peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        process, user = (int.from_bytes(peer[at : at + 4], sys.byteorder) for at in (0, 4))
        if user != os.geteuid():
            return
        kind = live_client.received(connection, len(live_client.REQUEST))
        if kind == live_client.HOLD:
            connection.settimeout(None)
            self._held.append(connection)
            return
        if kind != live_client.REQUEST:
            connection.sendall(live_client.OTHER)
            return
        sizes = live_client.received(connection, 2 * live_client.LENGTH_BYTES)
        ends = (sizes[: live_client.LENGTH_BYTES], sizes[live_client.LENGTH_BYTES :])
        head_bytes, data_bytes = (int.from_bytes(size, "big") for size in ends)
        if head_bytes > MAX_HEAD_BYTES or data_bytes > live_client.MAX_DRAINED_BYTES:
            connection.sendall(live_client.OTHER)
            return
        head = live_client.received(connection, head_bytes)
        data = live_client.received(connection, data_bytes)
        identity, nonce, *pairs = head.split(b"\0")
        environ = dict(os.fsdecode(pair).partition("=")[::2] for pair in pairs)
        version, _, root = os.fsdecode(identity).partition(" ")
        if root not in self._roots:
            self._roots[root] = os.path.realpath(root) == ROOT
        is_own = version == __version__ and self._roots[root]
        if not (is_own and environ.get("HOME") == os.environ.get("HOME")):
            connection.sendall(live_client.OTHER)
        elif not self._ready.is_set():
            connection.sendall(live_client.BUSY)
            self.warm()
        elif (event := _event(data, environ)) is None or event.name in SELDOM:
            connection.sendall(live_client.APART)
        elif self._turn.acquire(timeout=TURN_S):
            try:
                self._run(connection, event, data, environ, process, nonce.decode())
            finally:
                self._turn.release()
                processes.reap()
        else:
            connection.sendall(live_client.BUSY)

    def _run(
        self,
        connection: _socket.socket,
        event: events.Event,
        data: bytes,
        environ: Mapping[str, str],
        process: int,
        nonce: str,
    ) -> None:
        from memory_fabric.hooks import dispatcher, table  # already loaded by sample events
        from memory_fabric.store.memory import HeldMemory, KeptMemory

        entry = table.HANDLERS.get(event.name)
        is_reader = entry is not None and entry.reads_transcript
        if is_reader and self._is_long(event.transcript_path):
            connection.sendall(live_client.BUSY)
            return
        limits = table.deadlines(environ, deadline.process_age_s(process), least_s=LEAST_S)
        limit_s = table.longest_s(event.name, environ) + SLACK_S
        tenths = int(min(limit_s, MAX_LIMIT_S) * live_client.TENTHS)
        connection.sendall(live_client.ACCEPTED + bytes((tenths,)))
        if live_client.received(connection, 1) != live_client.GO:
            return

        def is_revoked() -> bool:
            """Return True if the hook cancelled this event; for a killed hook, return False."""
            try:
                return connection.recv(1, _socket.MSG_PEEK) == live_client.REVOKED
            except OSError:
                return False

        def limit_of(name: str) -> deadline.Deadline:
            limit = limits(name)
            limit.is_revoked = is_revoked
            return limit

        files.take_refused_files()  # clear the list of files refused in earlier events
        kind = KeptMemory if is_reader else HeldMemory
        connection.settimeout(0.0)  # a check for a revocation must not wait
        outcome = dispatcher.answer(data, environ, limit_of=limit_of, memory_type=kind)
        memory = outcome.memory
        connection.settimeout(SAY_S)
        try:
            length = len(outcome.output).to_bytes(live_client.LENGTH_BYTES, "big")
            acknowledged = _heard(connection, length + outcome.output)
            if acknowledged not in (live_client.PRINTED, live_client.UNHEARD):
                return
            connection.settimeout(0.0)
            if acknowledged == live_client.UNHEARD:
                outcome.log(dispatcher.UNHEARD)
            printed = acknowledged == live_client.PRINTED
            dispatcher.finish(outcome._replace(hurried=True), delivered=printed)
            if isinstance(memory, HeldMemory):
                memory.commit(os.fsdecode(self._name), nonce)
            live_client.note(os.fsencode(self._folder), live_client.WARM)
            connection.settimeout(SAY_S)
            connection.sendall(live_client.DONE)
        finally:
            if isinstance(memory, KeptMemory):
                memory.close(at_ease=not outcome.hurried)

    def _is_long(self, transcript: str) -> bool:
        size = files.size_of(transcript)
        unread = size - self._read.pop(transcript, 0)
        self._read[transcript] = size
        if len(self._read) > MAX_TRANSCRIPTS:
            del self._read[next(iter(self._read))]
        return unread > MAX_UNREAD_BYTES

    def _say(self, line: str) -> None:
        if not self._closing:
            print(f"memory-fabric: {line}", file=sys.stderr)  # noqa: T201


def _start(run: Callable[[], None], name: str) -> None:
    threading.Thread(target=run, name=name, daemon=True).start()


def _event(data: bytes, environ: Mapping[str, str]) -> events.Event | None:
    """Parse an event; return None if it is invalid or has no handler (the hook then logs it)."""
    from memory_fabric.errors import BadInput
    from memory_fabric.hooks import dispatcher  # already loaded by sample events

    try:
        event = dispatcher.event_in(data, environ)
    except BadInput:
        return None
    return event if event.name else None


def _heard(connection: _socket.socket, reply: bytes) -> bytes:
    """Send a reply; return the hook's answer (a byte), UNHEARD if it ended. Raises TimeoutError."""
    try:
        connection.sendall(reply)
    except ConnectionError:
        pass  # the hook may have revoked its event already
    try:
        return connection.recv(1) or live_client.UNHEARD
    except ConnectionError:
        return live_client.UNHEARD


REHEARSAL = "rehearsal-"
STATED = "We decided to use PostgreSQL for the orders of the shop because it is simpler."
NOTED = "Noted rule: Every order of the shop has a number. When: git push."
FAILED = {"tool_name": "Bash", "tool_input": {"command": "make orders"}}
FAILED |= {"error": "Exit code 2\nmake: the quorum of orders was refused"}
CALL = {"tool_name": "Bash", "tool_input": {"command": "git push origin main"}, "tool_use_id": "1"}
TASK = {"subagent_type": "engineer", "prompt": "Tune the orders of the shop in PostgreSQL."}
EVENTS = (
    {"hook_event_name": "UserPromptSubmit", "prompt": STATED},
    {"hook_event_name": "PreToolUse", **CALL},
    {"hook_event_name": "PostToolUseFailure", **FAILED},
    {"hook_event_name": "PreToolUse", "tool_name": "Task", "tool_use_id": "2", "tool_input": TASK},
    {"hook_event_name": "SubagentStart", "agent_id": "a", "agent_type": "engineer"},
    {"hook_event_name": "SubagentStop", "agent_id": "a", "agent_type": "engineer",
     "last_assistant_message": NOTED},
    {"hook_event_name": "Stop", "last_assistant_message": f"Done.\n\n{NOTED}"},
    {"hook_event_name": "PreToolUse", **CALL},
    {"hook_event_name": "UserPromptSubmit", "session_id": "2",
     "prompt": "Which database holds the orders of the shop? From now on no X, please."},
)  # fmt: skip
TRANSCRIPT = [
    {"type": role, "uuid": f"00000000-0000-4000-8000-{number:012d}", "sessionId": "1",
     "timestamp": "2026-03-01T10:00:00.000Z",
     "message": {"role": role, "content": [{"type": "text", "text": text}]}}
    for number, (role, text) in enumerate((("user", STATED), ("assistant", f"Done.\n\n{NOTED}")))
]  # fmt: skip


def rehearse(folder: str, root: str) -> None:
    """Load all code: handle sample events in a temporary memory in `folder`. Raises OSError."""
    from shutil import rmtree  # imported after the MCP handshake

    from memory_fabric.hooks import dispatcher
    from memory_fabric.store import memory
    from memory_fabric.store.memory import HeldMemory

    world = os.path.join(folder, f"{REHEARSAL}{os.getpid()}")
    place, transcript = os.path.join(world, "project"), os.path.join(world, "1.jsonl")
    rmtree(world, ignore_errors=True)
    os.makedirs(world, 0o700)
    os.makedirs(os.path.join(place, ".git"))
    with open(transcript, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in TRANSCRIPT)
    environ = {"HOME": world, "MEMORY_FABRIC_HOME": os.path.join(world, "memory")}
    environ |= {"CLAUDE_PROJECT_DIR": place, "CLAUDE_PLUGIN_ROOT": root}
    environ |= {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}
    try:
        for event in EVENTS:
            whole = {"session_id": "1", "cwd": place, "transcript_path": transcript, **event}
            outcome = dispatcher.answer(json.dumps(whole).encode(), environ, memory_type=HeldMemory)
            dispatcher.finish(outcome._replace(hurried=True), delivered=True)
            if isinstance(outcome.memory, HeldMemory):
                outcome.memory.commit("", "")
                outcome.memory.close()
    finally:
        memory.release(world)
        rmtree(world, ignore_errors=True)
