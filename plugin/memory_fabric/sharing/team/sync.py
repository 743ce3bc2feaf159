"""The exchange of all ties of a project and its user, with locks, back-off, state and notices.

One process at a time exchanges a tie; another that finds it at work leaves. A failure is noted in
`team/state.json`, told once, and held off for longer each time. Hooks start `main` as a detached
process (`ties.start`).
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

from memory_fabric.config import Settings, read_settings
from memory_fabric.deadline import time_limit
from memory_fabric.errors import FabricError
from memory_fabric.models import Progress
from memory_fabric.sharing.replica import space
from memory_fabric.sharing.team import driver, keys, ties
from memory_fabric.sharing.team.errors import NoAnswer, NoKey, Passing
from memory_fabric.sharing.team.ties import Outcome, Tie
from memory_fabric.store import files
from memory_fabric.store.home import log, switches
from memory_fabric.store.home.switches import settings_of
from memory_fabric.store.memory import Memory
from memory_fabric.text import many

if TYPE_CHECKING:  # it needs the driver, which is made importable later
    from memory_fabric.sharing.team.exchange import Exchange

# How long a failure that may pass by itself is not told: no answer (a laptop away from its
# network), and anything else. A tie that never worked is told of at once.
OFFLINE_QUIET_S, PASSING_QUIET_S = 3 * 24 * 3600.0, 3600.0
# How often a machine asks who has not read the log for a week.
SILENT_EVERY_S, SILENT_AFTER_S = 6 * 3600.0, 7 * 24 * 3600.0
# Rounds in one run: changes made meanwhile are sent, too, since their hooks left them to this run.
MAX_ROUNDS = 20
# Longer than a round of another process takes.
LEAVE_WAIT_S = 30.0
# The lifetime of the detached process, however slow the server is; a later one goes on.
LIFE_S = 600.0
NICENESS = 5


class Result(NamedTuple):
    """The result for one tie: an outcome, a failure, or neither if another process is at work."""

    tie: Tie
    outcome: Outcome | None = None
    failure: FabricError | None = None


def may_exchange(settings: Settings) -> bool:
    """True unless memory is switched off here."""
    everywhere = switches.state(settings.home, switches.EVERYWHERE)
    return bool(settings.writes and not settings.ci and everywhere["write"])


def exchange_due(memory: Memory) -> list[Result]:
    """Exchange the ties of this project and the user that no failure holds off."""
    home, now_s = memory.settings.home, time.time()
    return [
        exchange(memory, tie)
        for tie in ties.joined_by(memory)
        if not ties.is_held_off(ties.state_of(home, tie.key), now_s)
    ]


def exchange(
    memory: Memory, tie: Tie, *, wait_s: float = 0.0, progress: Progress | None = None
) -> Result:
    """Exchange one tie until nothing waits; a failure is noted and returned, never raised.

    Waits `wait_s` for another process at work. Raises OSError if home cannot be written,
    TimeoutError where the caller limits the time.
    """
    home = memory.settings.home
    lock = files.Locked(ties.lock_path(home, tie.key, ties.SYNC), wait_s)
    try:
        lock.__enter__()
    except TimeoutError:
        return Result(tie)
    try:
        if ties.of(home, tie.key) != tie:
            return Result(tie)  # the tie was ended or changed meanwhile
        outcome = _rounds(memory, tie, progress)
    except FabricError as error:
        note_failure(memory, tie, error)
        return Result(tie, failure=error)
    finally:
        lock.__exit__()
    return Result(tie, outcome)


@contextmanager
def connected(memory: Memory, tie: Tie) -> Iterator[Exchange]:
    """Connect to the server of a tie; yields its exchange. Raises TeamError, StoreUnavailable."""
    driver.reach(memory.settings, tie.packages, driver.SYNC if tie.via else driver.TEAM)
    from memory_fabric.sharing.team.exchange import Exchange  # late, as the next

    key = keys.read(memory.settings.home) if tie.me else None
    if key is None and (tie.me or tie.key == ties.USER):
        command = "sync git URL" if tie.via else "team join DSN --me"
        raise NoKey(
            "The key of your machines is missing here.",
            remedy=f"Run memory-fabric {command}, and give its words.",
        )
    if tie.via and key is not None:
        from memory_fabric.sharing.remote.joining import log_of

        yield Exchange(memory, tie, log_of(memory, tie, key), key)
        return
    # Late: imports the PostgreSQL driver.
    from memory_fabric.sharing.server.connect import connect
    from memory_fabric.sharing.server.log import SharedLog
    from memory_fabric.sharing.server.translate import translated

    connection = connect(tie.dsn, insecure=tie.insecure)
    with translated(f"Cannot exchange with {tie.space}"), connection:
        yield Exchange(memory, tie, SharedLog(connection, tie.space), key)


def note_success(memory: Memory, tie: Tie, outcome: Outcome) -> None:
    """Note a success, and leave notices of what the user must know. Raises OSError."""
    ties.succeeded(memory.settings.home, tie.key, time.time())
    name = tie.name
    notable = (
        (
            outcome.again,
            f"{name} is not as it was: {outcome.again}. Everything of this "
            "machine was sent again and everything was read again; nothing is lost here.",
        ),
        (
            outcome.refused,
            f"{name} refuses {many(outcome.refused, 'change')} for good; "
            f"{tie.command} status says why.",
        ),
        (
            outcome.conflicts,
            f"{many(outcome.conflicts, 'record')} of {name} changed on two of your machines at "
            "once; the later state is shown, the other is kept.",
        ),
        (
            outcome.asked,
            f"{many(outcome.asked, 'demand')} to erase what you said came from {name}; nothing "
            f"was erased. {tie.command} status shows what to do.",
        ),
    )
    for happened, text in notable:
        if happened:
            _leave_notice(memory.settings.home, text)


def note_failure(memory: Memory, tie: Tie, error: FabricError) -> None:
    """Note a failure, and tell it once. Raises OSError."""
    settings, now_s = memory.settings, time.time()
    home, cause = settings.home, type(error).__name__
    failure = {"cause": cause, "last_error": error.message, "remedy": error.remedy}
    state = ties.failed(home, tie.key, now_s, random.random(), **failure)
    log.note(home, settings.data_dir, f"team ({tie.space}): {error}")
    quiet_s = 0.0
    if isinstance(error, Passing) and state.last_success:
        quiet_s = OFFLINE_QUIET_S if isinstance(error, NoAnswer) else PASSING_QUIET_S
    since_s = datetime.fromisoformat(state.since).timestamp() if state.since else now_s
    if state.told != cause and (not quiet_s or now_s - since_s >= quiet_s):
        ties.update_state(home, tie.key, told=cause)
        _leave_notice(
            home,
            f"{tie.name} is not exchanged: {error} What was said here waits.",
        )


def leave(memory: Memory, tie: Tie, *, keep: bool) -> None:
    """End a tie; unless `keep`, what other members said is removed here.

    Needs no network. Raises StoreUnavailable, OSError, TimeoutError if another process exchanges
    for too long.
    """
    home = memory.settings.home
    with files.Locked(ties.lock_path(home, tie.key, ties.SYNC), LEAVE_WAIT_S):
        ties.remove(home, tie.key)
        database = memory.database(tie.kind, create=False)
        if database is not None:
            space.end(database, keep=keep)
        ties.forget_state(home, tie.key)


def main() -> int:
    """Exchange what is due as a process of its own; failures are logged. Return 1 after one."""
    settings = read_settings(os.environ, {})
    try:
        os.nice(NICENESS)
        settings = settings_of(os.environ)
        if not may_exchange(settings):
            return 0
        with time_limit(LIFE_S, _too_late):
            memory = Memory.open(settings)
            try:
                results = exchange_due(memory)
            finally:
                memory.close()
    except (FabricError, OSError, ValueError, sqlite3.Error) as error:
        log.note(settings.home, settings.data_dir, f"team: {error}")
        return 1
    return 1 if any(result.failure for result in results) else 0


def _too_late() -> None:
    raise TimeoutError(f"the exchange took more than {LIFE_S:.0f} s; the next one goes on")


def _rounds(memory: Memory, tie: Tie, progress: Progress | None) -> Outcome:
    """Exchange until nothing waits, and note the success. Raises FabricError."""
    with connected(memory, tie) as open_exchange:
        outcome = open_exchange.run(progress)
        for _ in range(MAX_ROUNDS):
            if not open_exchange.has_work():
                break
            more = open_exchange.round(progress)
            outcome = outcome.plus(more)
            if not (more.sent or more.refused):
                break
        # Which members left, or have not read for a week, and what was replaced long ago?
        home, now_s = memory.settings.home, time.time()
        if not 0 <= now_s - ties.state_of(home, tie.key).asked_at < SILENT_EVERY_S:
            named = open_exchange.behind(now_s - SILENT_AFTER_S)
            lists = {name: ", ".join(members) for name, members in named.items()}
            ties.update_state(home, tie.key, asked_at=now_s, **lists)
            open_exchange.compact()
    note_success(memory, tie, outcome)
    return outcome


def _leave_notice(home: str, text: str) -> None:
    try:
        log.add(home, text)
    except (OSError, TimeoutError) as error:
        log.note(home, "", f"team: a notice could not be kept: {error}")
