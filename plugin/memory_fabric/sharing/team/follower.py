"""A thread of the MCP server that exchanges operations every few seconds.

In each home, one process follows a linked space; others find it locked and check again later. So
new operations are in the database before the next prompt searches it. The thread ends with its
process.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from memory_fabric.config import Settings
from memory_fabric.errors import FabricError
from memory_fabric.sharing.team import sync, ties
from memory_fabric.sharing.team.ties import Outcome, Tie
from memory_fabric.store import files
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory

if TYPE_CHECKING:  # imports the driver, which is made importable later
    from memory_fabric.sharing.team.exchange import Exchange

EVERY_S = 2.0
# How often the local database is checked for changes, which are sent immediately.
LOCAL_EVERY_S = 0.25
# How often the space's state is read and a success is recorded while nothing is exchanged.
LOOK_S = 60.0
# How often to look for links to spaces while there are none.
IDLE_S = 30.0


def start(settings: Callable[[], Settings]) -> None:
    """Start the thread. `settings` returns the settings of the project that is served now."""
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
    """Follow the linked spaces of the project until another project is served."""
    memory = Memory.open(settings())
    followed: dict[str, Followed] = {}
    try:
        while settings().project_dir == memory.settings.project_dir and not memory.has_moved():
            memory.follow_settings()
            may = sync.may_exchange(memory.settings)
            # A git host is not polled every two seconds; a process started by hooks does that.
            joined = [tie for tie in ties.joined_by(memory) if may and not tie.via]
            for key in [key for key, ended in followed.items() if ended.tie not in joined]:
                followed.pop(key).close()
            for tie in joined:
                followed.setdefault(tie.key, Followed(memory, tie)).step(time.time())
            # The next round begins early if a change waits, and later without a linked space.
            until_s = time.monotonic() + (EVERY_S if followed else IDLE_S)
            time.sleep(LOCAL_EVERY_S)
            while time.monotonic() < until_s and not any(f.has_work() for f in followed.values()):
                time.sleep(LOCAL_EVERY_S)
    finally:
        for tie_left in followed.values():
            tie_left.close()
        memory.close()


class Followed:
    """One linked space that this process follows, unless another process already does."""

    def __init__(self, memory: Memory, tie: Tie) -> None:
        self.tie, self._memory = tie, memory
        self._open = ExitStack()
        self._lock: files.Locked | None = None
        self._exchange: Exchange | None = None
        self._looked_at = 0.0
        # True if the last round left operations unsent: these do not start a round early.
        self._is_stuck = False

    def step(self, now_s: float) -> None:
        """Exchange once, if this process has the lock and the back-off after a failure is over."""
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
            return  # another process has the lock: a follower or an exchange started by a hook
        except FabricError as error:
            self.disconnect()
            sync.note_failure(self._memory, self.tie, error)

    def has_work(self) -> bool:
        """Return True if this machine has something to send now; does not ask the server."""
        return self._exchange is not None and not self._is_stuck and self._exchange.has_work()

    def close(self) -> None:
        """Close the connection and release the lock."""
        self.disconnect()
        if self._lock is not None:
            self._lock.__exit__()
            self._lock = None

    def disconnect(self) -> None:
        """Close the connection to the server."""
        self._exchange = None
        with suppress(FabricError):
            self._open.close()

    def _round(self, now_s: float) -> None:
        if self._exchange is not None and 0 <= now_s - self._looked_at < LOOK_S:
            outcome = self._exchange.round(only_due=True)
            if outcome == Outcome():
                return
        else:
            if self._exchange is None:
                self._exchange = self._open.enter_context(sync.connected(self._memory, self.tie))
            outcome = self._exchange.run()
            self._looked_at = now_s - random.random()  # random: not all machines at once
        sync.note_success(self._memory, self.tie, outcome)
