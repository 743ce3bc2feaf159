"""The sender: posts spooled items to the receiver, in a process that no hook waits for.

A lock allows one sender at a time. An item's file is deleted only after the receiver accepted it
(2xx), so that nothing is lost whenever the process is killed; an item that is sent twice has the
same idempotency key. An item that the receiver rejects for good is set aside with the answer; after
any other failure it is tried again: soon by this process, later by the next hook or by
`memory-fabric sync`.

Standard library only: hooks run without the installed packages. `http_client` sends the requests.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.config import Settings, read_settings
from memory_fabric.forwarding.http_client import REFUSED, Answer, Post, over_network
from memory_fabric.store import files, log, switches
from memory_fabric.store.queues import spool
from memory_fabric.store.queues.spool import Item
from memory_fabric.store.settings_file import settings_of

LOCK = "sending.lock"
# The back-off doubles from the first to the last delay; a random part of up to half is subtracted.
FIRST_DELAY_S, LAST_DELAY_S = 2.0, 900.0
# The longest pause within one process, and its lifetime; a later hook starts the next.
LONGEST_PAUSE_S, LIFE_S = 10.0, 600.0
# A single item may make the receiver fail; after this many in a row the round ends.
TRIES_OF_A_ROUND = 2


class Sent(NamedTuple):
    """The result of one run: numbers of accepted and rejected items, and the failure that
    ended it.
    """

    arrived: int = 0
    refused: int = 0
    failure: Answer | None = None


class Clock:
    """Time, waiting and randomness."""

    def now(self) -> float:
        """Return seconds since 1970."""
        return time.time()

    def wait(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def chance(self) -> float:
        """Return a random number from 0 to 1."""
        return random.random()


def main() -> int:
    """Run the detached process: send what waits, log failures."""
    settings = read_settings(os.environ, {})
    try:
        settings = settings_of(os.environ)
        if may_send(settings):
            deliver(settings, over_network(settings), Clock())
    except (OSError, TimeoutError, ValueError) as error:
        log.note(settings.home, settings.data_dir, f"forward: {error}")
        return 1
    return 0


def may_send(settings: Settings) -> bool:
    """True if a receiver is configured and memory is not switched off."""
    everywhere = switches.state(settings.home, switches.EVERYWHERE)
    return bool(
        settings.forward_url and settings.writes and not settings.ci and everywhere["write"]
    )


def deliver(settings: Settings, post: Post, clock: Clock) -> None:
    """Send until nothing is due, or the next attempt is too far away to wait for.

    The spool is checked again after the lock is released: an item added meanwhile had no other
    sender. Raises OSError, TimeoutError if home cannot be written.
    """
    home, give_up_s = settings.home, clock.now() + LIFE_S
    held: set[str] = set()
    while _has_work(settings, held, clock.now()):
        lock = files.Locked(os.path.join(spool.folder_of(home), LOCK), 0)
        try:
            lock.__enter__()
        except TimeoutError:
            return  # another sender runs, and checks again before it ends
        try:
            delay_s = _round_after_round(settings, post, clock, held, give_up_s)
        finally:
            lock.__exit__()
        if delay_s:
            return


def send_now(settings: Settings, post: Post, clock: Clock) -> Sent:
    """Try once to send everything that waits, without waiting for the back-off.

    Raises TimeoutError if another sender runs, OSError.
    """
    with files.Locked(os.path.join(spool.folder_of(settings.home), LOCK), spool.LOCK_S):
        done = _round(settings, post, clock, set())
        _note(settings, done, clock)
    return done


def _has_work(settings: Settings, held: set[str], now_s: float) -> bool:
    if not spool.is_due(settings.home, settings.forward_url, now_s):
        return False
    return any(item.id not in held for item in spool.waiting(settings.home))


def _round_after_round(
    settings: Settings, post: Post, clock: Clock, held: set[str], give_up_s: float
) -> float:
    """Send until nothing is due; return seconds until the next attempt if it is too far away, else
    0.
    """
    while _has_work(settings, held, clock.now()):
        delay_s = _note(settings, _round(settings, post, clock, held), clock)
        if delay_s > LONGEST_PAUSE_S or clock.now() + delay_s > give_up_s:
            return delay_s
        if delay_s:
            clock.wait(delay_s)
    return 0.0


def _round(settings: Settings, post: Post, clock: Clock, held: set[str]) -> Sent:
    """Send each item once, oldest first, until the receiver itself fails."""
    arrived = refused = tries = 0
    failure: Answer | None = None
    for item in spool.waiting(settings.home):
        if item.id in held:
            continue
        content = spool.read(item)
        if not _is_for_now(settings, item, content):
            held.add(item.id)
            continue
        answer = post(spool.encoded(content["body"]), item.key)
        if 200 <= answer.status < 300:
            spool.mark_sent(settings.home, item, clock.now())
            arrived, tries = arrived + 1, 0
        elif answer.status in REFUSED:
            spool.reject(settings.home, item, _kept(answer, clock.now()))
            refused, tries = refused + 1, 0
        else:
            failure, tries = answer, tries + 1
            if not _may_be_the_item(answer.status) or tries >= TRIES_OF_A_ROUND:
                break
    return Sent(arrived, refused, failure)


def _is_for_now(settings: Settings, item: Item, content: Mapping[str, Any]) -> bool:
    """True if an item is for this receiver and its project is not switched off."""
    if not content:
        if os.path.exists(item.path):  # else it was purged meanwhile
            spool.set_aside(settings.home, item, "An item could not be read and was set aside.")
        return False
    switched = switches.state(settings.home, str(content.get("place", "")))
    return bool(content.get("to") == settings.forward_url and switched["write"])


def _may_be_the_item(status: int) -> bool:
    return status >= 500 and status != 503


def _note(settings: Settings, done: Sent, clock: Clock) -> float:
    """Save the result of a round; return seconds until the next attempt, 0 after a success."""
    home = settings.home
    if not os.path.isdir(spool.folder_of(home)):
        return 0.0  # uninstalled meanwhile: create no files
    if done.failure is None:
        if done.arrived or done.refused:
            spool.update_state(home, to=settings.forward_url, failures=0, next_at=0)
        return 0.0
    before = spool.state(home)
    known = before.get("failures") if before.get("to") == settings.forward_url else 0
    failures = 1 if done.arrived or not isinstance(known, int) else known + 1
    delay_s = delay_after(failures, done.failure.retry_after_s, clock.chance())
    spool.update_state(
        home,
        to=settings.forward_url,
        failures=failures,
        next_at=clock.now() + delay_s,
        last_error=done.failure.message,
        remedy=done.failure.remedy,
        error_at=ids.timestamp(clock.now()),
    )
    return delay_s


def delay_after(failures: int, retry_after_s: float, chance: float) -> float:
    """Return seconds to the next attempt after some failures in a row, at least what the receiver
    asks.
    """
    grown = min(LAST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(failures - 1, 30))
    return min(max(grown * (0.5 + chance / 2), retry_after_s), float(spool.MAX_WAIT_S))


def _kept(answer: Answer, now_s: float) -> dict[str, Any]:
    return {
        "status": answer.status,
        "at": ids.timestamp(now_s),
        "told": answer.message,
        "text": answer.text,
    }
