"""A thread of the MCP server that exchanges operations with linked spaces every few seconds.

Thus the next prompt's search already finds new operations. In each home, only one process follows a
space; others find it locked and check again later. The thread ends with its process.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from memory_fabric import config, errors
from memory_fabric.sharing.team import sync, ties
from memory_fabric.store import files
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory

if TYPE_CHECKING:  # imported late: the extra's packages must first be importable
    from memory_fabric.sharing.team.exchange import Exchange

EVERY_S = 2.0
# Seconds between two checks of the local database for changes; changes are sent at once.
LOCAL_EVERY_S = 0.25
# Seconds after which the state of the space is checked again.
LOOK_S = 60.0
# Seconds between two checks for new links while the project has no links.
IDLE_S = 30.0


def start(settings: Callable[[], config.Settings]) -> None:
    """Start the thread. `settings` returns the settings of the project that the server serves."""

    def run() -> None:
        while True:
            try:
                _follow(settings)
            except Exception as error:  # noqa: BLE001 - the server goes on, and so does this thread
                now = settings()
                log.note(now.home, now.data_dir, f"team: {type(error).__name__}: {error}")
            time.sleep(IDLE_S)

    threading.Thread(target=run, name="team", daemon=True).start()


def _follow(settings: Callable[[], config.Settings]) -> None:
    """Follow the spaces linked to the project until the server serves another project."""
    memory = Memory.open(settings())
    followed: dict[str, Followed] = {}
    try:
        while settings().project_dir == memory.settings.project_dir and not memory.has_moved():
            memory.follow_settings()
            may = sync.may_exchange(memory.settings)
            # Skip links to git: git hosts must not be polled, so hooks start their exchange.
            joined = [tie for tie in ties.joined_by(memory) if may and not tie.via]
            for key in [key for key, ended in followed.items() if ended.tie not in joined]:
                followed.pop(key).close()
            for tie in joined:
                followed.setdefault(tie.key, Followed(memory, tie)).step(time.time())
            until_s = time.monotonic() + (EVERY_S if followed else IDLE_S)
            time.sleep(LOCAL_EVERY_S)
            while time.monotonic() < until_s and not any(f.has_work() for f in followed.values()):
                time.sleep(LOCAL_EVERY_S)
    finally:
        for tie_left in followed.values():
            tie_left.close()
        memory.close()


class Followed:
    """One linked space; `step` exchanges with it if this process can get the space's locks."""

    def __init__(self, memory: Memory, tie: ties.Tie) -> None:
        self.tie, self._memory = tie, memory
        self._open = ExitStack()
        self._lock: files.Locked | None = None
        self._exchange: Exchange | None = None
        self._looked_at = 0.0
        # True if the last round left operations unsent, which must not start the next round early.
        self._is_stuck = False

    def step(self, now_s: float) -> None:
        """Exchange once; do nothing while a lock is taken or the delay after a failure lasts."""
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
            return  # another follower or a hook's exchange has the lock
        except errors.FabricError as error:
            self.disconnect()
            sync.note_failure(self._memory, self.tie, error)

    def has_work(self) -> bool:
        """Return True if this machine has changes to send; uses no network."""
        return self._exchange is not None and not self._is_stuck and self._exchange.has_work()

    def close(self) -> None:
        """Close the connection and release the lock."""
        self.disconnect()
        if self._lock is not None:
            self._lock.__exit__()
            self._lock = None

    def disconnect(self) -> None:
        self._exchange = None
        with suppress(errors.FabricError):
            self._open.close()

    def _round(self, now_s: float) -> None:
        if self._exchange is not None and 0 <= now_s - self._looked_at < LOOK_S:
            outcome = self._exchange.round(only_due=True)
            if outcome == ties.Outcome():
                return
        else:
            if self._exchange is None:
                self._exchange = self._open.enter_context(sync.connected(self._memory, self.tie))
            outcome = self._exchange.run()
            self._looked_at = now_s - random.random()  # so that machines check at different times
        sync.note_success(self._memory, self.tie, outcome)
