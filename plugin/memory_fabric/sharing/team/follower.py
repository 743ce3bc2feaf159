"""The thread of an MCP server that exchanges operations every few seconds while it runs.

One process per home follows a tie; the others find it locked and look again later. What comes is
in the database before the next prompt asks it. The thread ends with its process, at any moment.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from memory_fabric.config import Settings
from memory_fabric.errors import FabricError
from memory_fabric.sharing.team import sync, ties
from memory_fabric.sharing.team.ties import Outcome, Tie
from memory_fabric.store import files
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory

if TYPE_CHECKING:  # it needs the driver, which is made importable later
    from memory_fabric.sharing.team.exchange import Exchange

EVERY_S = 2.0
# How often this machine's own database is asked for changes, which are sent at once.
LOCAL_EVERY_S = 0.25
# How often the state of the space is read, and a success noted, if nothing is exchanged.
LOOK_S = 60.0
# How often ties are looked for where there are none.
IDLE_S = 30.0


def start(settings: Callable[[], Settings]) -> None:
    """Start the thread. `settings` are those of the project that is served now."""
    threading.Thread(target=_run, args=(settings,), name="team", daemon=True).start()


def _run(settings: Callable[[], Settings]) -> None:
    while True:
        try:
            _follow(settings)
        except Exception as error:  # noqa: BLE001 - the server goes on, and so does this thread
            now = settings()
            log.note(now.home, now.data_dir, f"team: {type(error).__name__}: {error}")
        time.sleep(IDLE_S)


def _follow(settings: Callable[[], Settings]) -> None:
    """Follow the ties of the project until another project is served."""
    memory = Memory.open(settings())
    followed: dict[str, Followed] = {}
    try:
        while settings().project_dir == memory.settings.project_dir and not memory.has_moved():
            memory.follow_settings()
            may = sync.may_exchange(memory.settings)
            # A host of git is not asked every two seconds: that is left to the hooks' process.
            joined = [tie for tie in ties.joined_by(memory) if may and not tie.via]
            for key in [key for key, ended in followed.items() if ended.tie not in joined]:
                followed.pop(key).close()
            for tie in joined:
                followed.setdefault(tie.key, Followed(memory, tie)).step(time.time())
            _wait(followed)
    finally:
        for tie_left in followed.values():
            tie_left.close()
        memory.close()


def _wait(followed: Mapping[str, Followed]) -> None:
    """Wait until the next round: sooner if something is to be sent, longer without a tie."""
    until_s = time.monotonic() + (EVERY_S if followed else IDLE_S)
    while time.monotonic() < until_s:
        time.sleep(LOCAL_EVERY_S)
        if any(tie.has_work() for tie in followed.values()):
            return


class Followed:
    """One tie that this process follows, or would if no other did."""

    def __init__(self, memory: Memory, tie: Tie) -> None:
        self.tie, self._memory = tie, memory
        self._open = ExitStack()
        self._lock: files.Locked | None = None
        self._exchange: Exchange | None = None
        self._looked_at = 0.0
        # The last round left something unsent, so the next round need not be early.
        self._is_stuck = False

    def step(self, now_s: float) -> None:
        """Exchange once if this process may and the server is not held off."""
        home, key = self._memory.settings.home, self.tie.key
        try:
            if self._lock is None:
                self._lock = files.Locked(ties.lock_path(home, key, ties.FOLLOW), 0).__enter__()
            if self._exchange is None and ties.is_held_off(ties.state_of(home, key), now_s):
                return
            with files.Locked(ties.lock_path(home, key, ties.SYNC), 0):
                if ties.of(home, key) == self.tie:
                    self._round(now_s)
                    self._is_stuck = self._exchange is None or self._exchange.has_work()
        except TimeoutError:
            return  # another process follows the tie, or a hook's process exchanges it now
        except FabricError as error:
            self.disconnect()
            sync.note_failure(self._memory, self.tie, error)

    def has_work(self) -> bool:
        """True if something of this machine is to be sent now; asks no server."""
        return self._exchange is not None and not self._is_stuck and self._exchange.has_work()

    def close(self) -> None:
        """Let go of the server and of the tie."""
        self.disconnect()
        if self._lock is not None:
            self._lock.__exit__()
            self._lock = None

    def disconnect(self) -> None:
        """Close the connection."""
        self._exchange = None
        try:
            self._open.close()
        except FabricError:
            return

    def _round(self, now_s: float) -> None:
        if self._exchange is None:
            self._exchange = self._open.enter_context(sync.connected(self._memory, self.tie))
            outcome = self._exchange.run()
        elif 0 <= now_s - self._looked_at < LOOK_S:
            outcome = self._exchange.round(only_due=True)
            if outcome != Outcome():
                sync.note_success(self._memory, self.tie, outcome)
            return
        else:
            outcome = self._exchange.run()
        self._looked_at = now_s - random.random()  # not all machines of a team at once
        sync.note_success(self._memory, self.tie, outcome)
