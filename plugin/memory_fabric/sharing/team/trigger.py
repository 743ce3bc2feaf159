"""The part of the exchange that hooks run: check whether one is due, and start it.

    hook ── start_when_due() ──▶ team.worker, detached ──▶ PostgreSQL

This module never uses the network and imports nothing of the extra; the detached process does.
"""

from __future__ import annotations

import time

from memory_fabric import processes
from memory_fabric.config import environment
from memory_fabric.sharing.team import state, ties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memory_fabric.config import Settings
    from memory_fabric.sharing.team.ties import Tie
    from memory_fabric.store.memory import Memory

# Starting the process costs half a second of CPU time: a turn that says nothing new starts none
# sooner than this after the last one.
EVERY_S = 30.0


def receipts(memory: Memory, event_name: str) -> tuple[Callable[[], None], ...]:
    """Return actions for after the hook's reply: start the exchange if it is due."""
    settings = memory.settings
    if not settings.writes or settings.ci or not ties.exist(settings.home):
        return ()
    return (lambda: start_when_due(memory, event_name),)


def start_when_due(memory: Memory, event_name: str) -> None:
    """Start the exchange if a tie of this project or of the user is due.

    At Stop it is if something waits, or the last one was a while ago. A tie that an MCP server
    follows is left to it, except at a session's end, where the server ends, too. Raises
    StoreUnavailable, OSError.
    """
    settings = memory.settings
    for tie in ties.joined(settings.home, memory.project.id if memory.project else ""):
        found, now_s = state.read(settings.home, tie.key), time.time()
        if state.is_held_off(found, now_s):
            continue
        if event_name != "SessionEnd" and state.is_followed(settings.home, tie.key):
            continue
        lately = event_name == "Stop" and 0 <= now_s - found.ran_at < EVERY_S
        if not lately or _waits(memory, tie):
            start(settings)
            return


def start(settings: Settings) -> int:
    """Start the exchange detached and return its process id; it outlives the session."""
    return processes.start(
        "sharing.team.worker",
        {
            **environment(),
            "MEMORY_FABRIC_HOME": settings.home,
            "CLAUDE_PROJECT_DIR": settings.project_dir,
            "CLAUDE_PLUGIN_DATA": settings.data_dir,
            "CLAUDE_PLUGIN_ROOT": settings.plugin_root,
        },
    )


def _waits(memory: Memory, tie: Tie) -> bool:
    """True if something of this database has not been sent."""
    database = memory.database(tie.kind, create=False)
    row = database.row(state.WAITS) if database is not None else None
    return bool(row and row[0])
