"""The exchange with all spaces linked to a project and its user, with locks, back-off and notices.

Only one process at a time exchanges with a space. A failure is saved in `team/state.json` and
reported once; with each further failure, the delay before the next attempt grows. Hooks call
`ties.start_when_due`, which runs `main` in a detached process.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memory_fabric import config, deadline, errors, ids, models
from memory_fabric.sharing.replica import space
from memory_fabric.sharing.team import driver, keys, ties
from memory_fabric.sharing.team.errors import NoAnswer, Passing, TeamError
from memory_fabric.store import files
from memory_fabric.store.home import log, switches
from memory_fabric.store.memory import Memory
from memory_fabric.text import many

if TYPE_CHECKING:  # imported late: the extra's packages must first be importable
    from memory_fabric.sharing.team.exchange import Exchange

# If a link that worked before fails, the user is told only after this many seconds: the first value
# applies if the server does not answer, the second to other temporary errors.
OFFLINE_QUIET_S, PASSING_QUIET_S = 3 * 24 * 3600.0, 3600.0
# Seconds between checks for silent members, who have not read the log for SILENT_AFTER_S.
SILENT_EVERY_S, SILENT_AFTER_S = 6 * 3600.0, 7 * 24 * 3600.0
# Maximum extra rounds per exchange, for changes that other processes made during earlier rounds.
MAX_ROUNDS = 20
# Seconds to wait for another process's exchange, which usually takes less time.
LEAVE_WAIT_S = 30.0
# The time limit of the detached process in seconds; a later process sends the remaining changes.
LIFE_S = 600.0
NICENESS = 5


class Result(NamedTuple):
    """The result for one link: an outcome or a failure; neither if the space was locked."""

    tie: ties.Tie
    outcome: ties.Outcome | None = None
    failure: errors.FabricError | None = None


def may_exchange(settings: config.Settings) -> bool:
    """Return False in CI, or if memory is switched off."""
    everywhere = switches.state(settings.home, switches.EVERYWHERE)
    return bool(settings.writes and not settings.ci and everywhere["write"])


def exchange(
    memory: Memory, tie: ties.Tie, *, wait_s: float = 0.0, progress: models.Progress | None = None
) -> Result:
    """Exchange with one space until no change is left to send. Wait up to `wait_s` for the lock; if
    it stays locked, the result is empty. A FabricError is returned as `failure`, not raised. Raises
    OSError if home is not writable, and TimeoutError at the caller's time limit.
    """
    home = memory.settings.home
    lock = files.Locked(ties.lock_path(home, tie.key, ties.SYNC), wait_s)
    try:
        lock.__enter__()
    except TimeoutError:
        return Result(tie)
    try:
        if ties.of(home, tie.key) != tie:
            return Result(tie)  # the link was removed or changed while this waited for the lock
        outcome = _rounds(memory, tie, progress)
    except errors.FabricError as error:
        note_failure(memory, tie, error)
        return Result(tie, failure=error)
    finally:
        lock.__exit__()
    return Result(tie, outcome)


@contextmanager
def connected(memory: Memory, tie: ties.Tie) -> Iterator[Exchange]:
    """Connect to a link's space and yield an Exchange. Raises TeamError, StoreUnavailable."""
    driver.reach(memory.settings, tie.packages, driver.SYNC if tie.via else driver.TEAM)
    from memory_fabric.sharing.team.exchange import Exchange  # late: needs extra packages

    key = keys.read(memory.settings.home) if tie.me else None
    if key is None and (tie.me or tie.key == ties.USER):
        command = "sync git URL" if tie.via else "team join DSN --me"
        text = "The key of your machines is missing here."
        raise TeamError(text, remedy=f"Run memory-fabric {command}, and give its words.")
    if tie.via and key is not None:
        from memory_fabric.sharing.remote.joining import log_of

        yield Exchange(memory, tie, log_of(memory, tie, key), key)
        return
    # Imported late: these modules import the PostgreSQL driver.
    from memory_fabric.sharing.server.connect import connect
    from memory_fabric.sharing.server.log import SharedLog
    from memory_fabric.sharing.server.translate import translated

    connection = connect(tie.dsn, insecure=tie.insecure)
    with translated(f"Cannot exchange with {tie.space}"), connection:
        yield Exchange(memory, tie, SharedLog(connection, tie.space), key)


def note_success(memory: Memory, tie: ties.Tie, outcome: ties.Outcome) -> None:
    """Record the exchange's success, and notify the user of important results. Raises OSError."""
    home, name, now_s = memory.settings.home, tie.name, time.time()
    new = {"last_success": ids.timestamp(now_s), "failures": 0, "next_at": 0.0, "ran_at": now_s}
    cleared = dict.fromkeys(("last_error", "remedy", "cause", "since", "told"), "")
    ties.update_state(home, tie.key, **new, **cleared)
    for cause, text in (
        (outcome.again, f"{name} is not as it was: {outcome.again}. Everything of this machine was "
         "sent again and everything was read again; nothing is lost here."),
        (outcome.refused, f"{name} refuses {many(outcome.refused, 'change')} for good; "
         f"{tie.command} status says why."),
        (outcome.conflicts, f"{many(outcome.conflicts, 'record')} of {name} changed on two of your "
         "machines at once; the later state is shown, the other is kept."),
        (outcome.asked, f"{many(outcome.asked, 'demand')} to erase what you said came from {name}; "
         f"nothing was erased. {tie.command} status shows what to do."),
    ):  # fmt: skip
        if cause:
            _leave_notice(home, text)


def note_failure(memory: Memory, tie: ties.Tie, error: errors.FabricError) -> None:
    """Record the exchange's failure; notify the user once, with the remedy. Raises OSError."""
    settings, now_s = memory.settings, time.time()
    home, cause = settings.home, type(error).__name__
    before = ties.state_of(home, tie.key)
    new = {"cause": cause, "last_error": error.message, "remedy": error.remedy, "ran_at": now_s}
    new["failures"] = before.failures + 1
    new["next_at"] = now_s + ties.delay_after(before.failures + 1, random.random())
    new["since"] = before.since or ids.timestamp(now_s)
    ties.update_state(home, tie.key, **new)
    # PostgreSQL's errors contain the address of the database, which must not get into a log.
    text = str(error) if tie.via else f"{cause}; memory-fabric team status says more"
    log.note(home, settings.data_dir, f"team ({tie.space}): {text}")
    quiet_s = 0.0
    if isinstance(error, Passing) and before.last_success:
        quiet_s = OFFLINE_QUIET_S if isinstance(error, NoAnswer) else PASSING_QUIET_S
    since_s = datetime.fromisoformat(before.since).timestamp() if before.since else now_s
    trouble = cause if isinstance(error, Passing) else f"{cause}: {error.remedy}"
    if before.told != trouble and (not quiet_s or now_s - since_s >= quiet_s):
        ties.update_state(home, tie.key, told=trouble)
        _leave_notice(home, f"{tie.name} is not exchanged: {error} What was said here waits.")


def leave(memory: Memory, tie: ties.Tie, *, keep: bool) -> None:
    """End a link to a space. Unless `keep`, remove other members' statements. Uses no network.
    Raises StoreUnavailable, OSError, and TimeoutError if another process exchanges for too long.
    """
    home = memory.settings.home
    with files.Locked(ties.lock_path(home, tie.key, ties.SYNC), LEAVE_WAIT_S):
        database = memory.database(tie.kind, create=False)
        if database is not None:
            space.end(database, keep=keep)
        ties.remove(home, tie.key)


def main() -> int:
    """Exchange with all spaces that are not in back-off; log errors, and then return 1."""
    settings = config.read_settings(os.environ, {})

    def stop() -> None:
        raise TimeoutError(f"the exchange took more than {LIFE_S:.0f} s; the next one goes on")

    try:
        os.nice(NICENESS)
        settings = switches.settings_of(os.environ)
        if not may_exchange(settings):
            return 0
        with deadline.time_limit(LIFE_S, stop):
            memory = Memory.open(settings)
            try:
                results = [
                    exchange(memory, tie)
                    for tie in ties.joined_by(memory)
                    if not ties.is_held_off(ties.state_of(settings.home, tie.key), time.time())
                ]
            finally:
                memory.close()
    except (errors.FabricError, OSError, ValueError, sqlite3.Error) as error:
        log.note(settings.home, settings.data_dir, f"team: {error}")
        return 1
    return 1 if any(result.failure for result in results) else 0


def _rounds(memory: Memory, tie: ties.Tie, progress: models.Progress | None) -> ties.Outcome:
    with connected(memory, tie) as open_exchange:
        outcome = open_exchange.run(progress)
        for _ in range(MAX_ROUNDS):
            if not open_exchange.has_work():
                break
            more = open_exchange.round(progress)
            outcome = outcome.plus(more)
            if not (more.sent or more.refused):
                break
        home, now_s = memory.settings.home, time.time()
        if not 0 <= now_s - ties.state_of(home, tie.key).asked_at < SILENT_EVERY_S:
            open_exchange.tend(now_s, now_s - SILENT_AFTER_S)
    note_success(memory, tie, outcome)
    return outcome


def _leave_notice(home: str, text: str) -> None:
    try:
        log.add(home, text)
    except (OSError, TimeoutError) as error:
        log.note(home, "", f"team: a notice could not be kept: {error}")
