"""The exchange of all ties of a project and its user, with locks, back-off, state and notices.

One process at a time exchanges a tie; another that finds it at work leaves. A failure is noted in
`team/state.json`, told once, and held off for longer each time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memory_fabric.config import Settings
from memory_fabric.errors import FabricError
from memory_fabric.sharing.team import driver, keys, state, ties
from memory_fabric.sharing.team.errors import NoAnswer
from memory_fabric.sharing.team.outcome import Outcome
from memory_fabric.sharing.team.ties import Tie
from memory_fabric.store import files, log, notices, switches
from memory_fabric.store.memory import Memory
from memory_fabric.text import many

if TYPE_CHECKING:
    from memory_fabric.models import Progress
    from memory_fabric.sharing.team.exchange import Exchange

BUSY = "Another process exchanges this tie now."
# How long a failure that may pass by itself is not told: no answer (a laptop away from its
# network), and anything else. A tie that never worked is told of at once.
OFFLINE_QUIET_S, PASSING_QUIET_S = 3 * 24 * 3600.0, 3600.0
# How often a machine asks who has not read the log for a week.
SILENT_EVERY_S, SILENT_AFTER_S = 6 * 3600.0, 7 * 24 * 3600.0
# Rounds in one run: what changes meanwhile is sent, too, since its hook found this one at work.
MAX_ROUNDS = 20


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
        for tie in ties_of(memory)
        if not state.is_held_off(state.read(home, tie.key), now_s)
    ]


def ties_of(memory: Memory) -> tuple[Tie, ...]:
    """Return the ties of this memory's project and of the user."""
    return ties.joined(memory.settings.home, memory.project.id if memory.project else "")


def exchange(
    memory: Memory, tie: Tie, *, wait_s: float = 0.0, progress: Progress | None = None
) -> Result:
    """Exchange one tie until nothing waits; a failure is noted and returned, never raised.

    Waits `wait_s` for another process at work. Raises OSError if home cannot be written,
    TimeoutError where the caller limits the time.
    """
    home = memory.settings.home
    lock = files.Locked(state.lock_path(home, tie.key, state.SYNC), wait_s)
    try:
        lock.__enter__()
    except TimeoutError:
        return Result(tie)
    try:
        if ties.of(home, tie.key) != tie:
            return Result(tie)  # it was ended or changed meanwhile
        return _exchange(memory, tie, progress)
    finally:
        lock.__exit__()


@contextmanager
def connected(memory: Memory, tie: Tie) -> Iterator[Exchange]:
    """Connect to the server of a tie; yields its exchange. Raises TeamError, StoreUnavailable."""
    driver.reach(memory.settings, tie.packages)
    # Late: with the driver.
    from memory_fabric.sharing.server.connect import connect
    from memory_fabric.sharing.server.log import SharedLog
    from memory_fabric.sharing.server.translate import translated
    from memory_fabric.sharing.team.exchange import Exchange

    key = keys.read(memory.settings.home) if tie.me else None
    connection = connect(tie.dsn, insecure=tie.insecure)
    with translated(f"Cannot exchange with {tie.space}"), connection:
        yield Exchange.open(memory, tie, SharedLog(connection, tie.space), key)


def note_success(memory: Memory, tie: Tie, outcome: Outcome) -> None:
    """Note a success, and leave notices of what the user must know. Raises OSError."""
    home = memory.settings.home
    state.succeeded(home, tie.key, time.time())
    for text in news(tie, outcome):
        _leave(home, text)


def note_failure(memory: Memory, tie: Tie, error: FabricError) -> None:
    """Note a failure, and tell it once. Raises OSError."""
    settings, now_s = memory.settings, time.time()
    cause = type(error).__name__
    found = state.failed(
        settings.home,
        tie.key,
        now_s,
        random.random(),
        cause=cause,
        error=error.message,
        remedy=error.remedy,
    )
    log.note(settings.home, settings.data_dir, f"team ({tie.space}): {error}")
    if found.told != cause and _is_worth_telling(error, found, now_s):
        state.update(settings.home, tie.key, told=cause)
        _leave(
            settings.home,
            f"the shared log of {tie.space} is not exchanged: {error} What was said here waits.",
        )


def news(tie: Tie, outcome: Outcome) -> list[str]:
    """Return what a user must know of an exchange."""
    told = []
    if outcome.again:
        told.append(
            f"the shared log of {tie.space} is not as it was: {outcome.again}. Everything of this "
            "machine was sent again and everything was read again; nothing is lost here."
        )
    if outcome.refused:
        told.append(
            f"the shared log of {tie.space} refuses {many(outcome.refused, 'change')} for good; "
            "memory-fabric team status says why."
        )
    if outcome.conflicts:
        told.append(
            f"{many(outcome.conflicts, 'record')} of {tie.space} changed on two of your machines "
            "at once; the later state is shown, the other is kept."
        )
    if outcome.asked:
        told.append(
            f"{many(outcome.asked, 'demand')} to erase what you said came from {tie.space}; "
            "nothing was erased. memory-fabric team status shows what to do."
        )
    return told


def _exchange(memory: Memory, tie: Tie, progress: Progress | None) -> Result:
    try:
        with connected(memory, tie) as found:
            outcome = found.run(progress)
            for _ in range(MAX_ROUNDS):
                if not found.has_work():
                    break
                more = found.round(progress)
                outcome = outcome.plus(more)
                if not (more.sent or more.refused):
                    break
            _look_after(memory, tie, found)
    except FabricError as error:
        note_failure(memory, tie, error)
        return Result(tie, failure=error)
    note_success(memory, tie, outcome)
    return Result(tie, outcome)


def _is_worth_telling(error: FabricError, found: state.State, now_s: float) -> bool:
    if not getattr(error, "passing", False) or not found.last_success:
        return True
    quiet_s = OFFLINE_QUIET_S if isinstance(error, NoAnswer) else PASSING_QUIET_S
    since_s = datetime.fromisoformat(found.since).timestamp() if found.since else now_s
    return now_s - since_s >= quiet_s


def _look_after(memory: Memory, tie: Tie, found: Exchange) -> None:
    """Note which members have not read the log for a week; have what was replaced blanked."""
    home, now_s = memory.settings.home, time.time()
    if 0 <= now_s - state.read(home, tie.key).asked_at < SILENT_EVERY_S:
        return
    silent = found.silent(now_s - SILENT_AFTER_S)
    state.update(home, tie.key, asked_at=now_s, silent=", ".join(silent))
    found.compact()


def _leave(home: str, text: str) -> None:
    try:
        notices.add(home, text)
    except (OSError, TimeoutError) as error:
        log.note(home, "", f"team: a notice could not be kept: {error}")
