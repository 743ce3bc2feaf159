"""The part of the exchange that hooks run: check whether one is due, and start it.

    hook ── start_when_due() ──▶ team.worker, detached ──▶ PostgreSQL

This module never uses the network and imports nothing of the extra; the detached process does.
"""

from __future__ import annotations

import os
import time

from memory_fabric import detached
from memory_fabric.team import state, ties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memory_fabric.config import Settings
    from memory_fabric.store.memory import Memory
    from memory_fabric.team.state import State

# Starting the process costs a fifth of a second of CPU time, so turns in a row share one.
EVERY_S = 10.0


def receipts(memory: Memory, *, always: bool) -> tuple[Callable[[], None], ...]:
    """Return actions for after the hook's reply: start the exchange if it is due.

    `always`: also if the last one was a moment ago.
    """
    settings = memory.settings
    if not settings.writes or settings.ci or not ties.exist(settings.home):
        return ()
    project = memory.project.id if memory.project else ""
    return (lambda: start_when_due(settings, project, always=always),)


def start_when_due(settings: Settings, project_id: str, *, always: bool) -> None:
    """Start the exchange if a tie of this project or of the user is due."""
    known = ties.joined(settings.home, project_id)
    now_s = time.time()
    if any(_is_due(state.read(settings.home, tie.key), now_s, always=always) for tie in known):
        start(settings)


def start(settings: Settings) -> int:
    """Start the exchange detached and return its process id; it outlives the session."""
    return detached.start(
        "team.worker",
        {
            **os.environ,
            "MEMORY_FABRIC_HOME": settings.home,
            "CLAUDE_PROJECT_DIR": settings.project_dir,
            "CLAUDE_PLUGIN_DATA": settings.data_dir,
            "CLAUDE_PLUGIN_ROOT": settings.plugin_root,
        },
    )


def _is_due(found: State, now_s: float, *, always: bool) -> bool:
    if state.is_held_off(found, now_s):
        return False
    return always or not 0 <= now_s - found.ran_at < EVERY_S
