"""The MCP server, which gets a signal at a named point of the first real event that it answers.

python -I -S dying_server.py PLUGIN_FOLDER POINT SIGNAL
"""

import signal
import sys
import threading
from typing import Any

sys.path.insert(0, sys.argv[1])
POINT, SIGNAL = sys.argv[2], int(sys.argv[3])

from memory_fabric import live_client  # noqa: E402 - found only now
from memory_fabric.hooks import dispatcher  # noqa: E402 - found only now
from memory_fabric.servers import live  # noqa: E402
from memory_fabric.servers.mcp import stdio_server  # noqa: E402
from memory_fabric.store import database, memory  # noqa: E402

rehearsed = False


def stop_here() -> None:
    """Send the signal to this very thread, which does nothing more before it."""
    signal.pthread_kill(threading.get_ident(), SIGNAL)


def dying(owner: Any, name: str, *, after: bool = False, times: int = 1) -> None:
    """Replace a function by one that ends the process before it, or after it."""
    run, left = getattr(owner, name), [times]

    def replaced(*given: Any, **named: Any) -> Any:
        left[0] -= rehearsed
        is_time = rehearsed and not left[0]
        if is_time and not after:
            stop_here()
        found = run(*given, **named)
        if is_time and after:
            stop_here()
        return found

    setattr(owner, name, replaced)


def rehearse(folder: str, root: str) -> None:
    global rehearsed
    run(folder, root)
    rehearsed = True


run, live.rehearse = live.rehearse, rehearse
POINTS = {
    "before the event": lambda: dying(dispatcher, "answer"),
    "first change": lambda: dying(database.Transaction, "__exit__", after=True),
    "second change": lambda: dying(database.Transaction, "__exit__", after=True, times=2),
    "before the reply": lambda: dying(dispatcher, "answer", after=True),
    "before the receipts": lambda: dying(dispatcher, "finish"),
    "before the commit": lambda: dying(memory.HeldMemory, "commit"),
    "after the commit": lambda: dying(memory.HeldMemory, "commit", after=True),
    "at its note": lambda: dying(live_client, "note", after=True),
}
POINTS[POINT]()
stdio_server.main()
