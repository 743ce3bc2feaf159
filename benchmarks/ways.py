"""The ways in which a benchmark's hooks are answered, and how they say they were.

Cold, each hook does the work in its own process. Warm, it hands the event to the MCP server of its
session. Both belong together because one process starts them, the client: here the benchmark.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from driver import Server
from processes import timed
from workloads.hooks_store import ROOT, environ_of

COLD, WARM = "cold", "warm"
# The file in which hooks note how they were answered, a letter each: W by the server, D for events
# that are never handed to it, others for what kept them from it.
NOTES = os.path.join("home", "memory", "live", "ways")
BY_SERVER, NEVER_HANDED = "W", "D"
# How long a server may take until it answers the first event.
WARMING_S = 20.0
PROBE = {"hook_event_name": "UserPromptSubmit", "session_id": "warming", "prompt": "Hello."}


class Session:
    """A client's session in the world of `folder`: how its hooks are answered."""

    def __init__(self, folder: str, server: Server | None) -> None:
        self._folder, self._server = folder, server
        self._before, self._cpu_s = notes(folder), 0.0

    @property
    def server_mb(self) -> float:
        """The server's proportional set size; 0 without one."""
        return self._server.shared_memory_mb() if self._server else 0.0

    def told(self) -> str:
        """How the hooks of this home since the last call were answered, and the server's cost."""
        if self._server is None:
            return "no server was started: every hook did the work itself"
        before_s, self._cpu_s = self._cpu_s, self._server.cpu_s()
        before, self._before = self._before, notes(self._folder)
        spent_ms = (self._cpu_s - before_s) * 1000
        cost = f"{self.server_mb:.0f} MB PSS, {spent_ms:.0f} ms of processor"
        return f"{handed(before, self._before)}; the server: {cost}"

    def warm(self) -> None:
        """Send prompts until the server answers one, or its time is over."""
        give_up = time.monotonic() + WARMING_S
        command, data = [os.path.join(ROOT, "hooks", "launch")], json.dumps(PROBE).encode()
        streams = os.path.join(self._folder, f"streams-{os.getpid()}")
        os.makedirs(streams, exist_ok=True)
        while time.monotonic() < give_up:
            before = notes(self._folder)
            timed(command, environ_of(self._folder), data, streams)
            if notes(self._folder)[len(before) :] in ("", BY_SERVER):
                break  # "": such a checkout has no server that listens
        self._before = notes(self._folder)
        self._cpu_s = self._server.cpu_s() if self._server else 0.0


def notes(folder: str) -> str:
    """Return how the hooks of a world were answered so far, a letter each."""
    try:
        with open(os.path.join(folder, NOTES), encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def handed(before: str, now: str) -> str:
    """Return a sentence on how hooks were answered between two readings of the notes."""
    counts = Counter(now[len(before) :] if now.startswith(before) else now)
    never = counts.pop(NEVER_HANDED, 0)
    if not counts[BY_SERVER]:
        return "NO SERVER ANSWERED: these are figures of the cold way"
    others = ", ".join(
        f"{letter}: {n}" for letter, n in sorted(counts.items()) if letter != BY_SERVER
    )
    why = f"; the others by their notes: {others}" if others else ""
    own = f" ({never} are never handed to one)" if never else ""
    return f"a server answered {counts[BY_SERVER]} of {counts.total()} hooks{own}{why}"


@contextmanager
def session(folder: str, way: str) -> Iterator[Session]:
    """A block in which hooks of this process belong to one session, with its server if warm."""
    if way == COLD:
        yield Session(folder, None)
        return
    program = os.path.join(ROOT, "bin", "memory-fabric")
    server = Server([program, "mcp"], environ_of(folder))
    try:
        server.ask("tools/list", {})
        own = Session(folder, server)
        own.warm()
        yield own
    finally:
        server.stop()
