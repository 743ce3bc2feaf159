"""The sender: what waits in the spool goes to the receiver, in a process that nobody waits for.

One at a time, by a lock. An item's file goes only after the receiver said yes (2xx), so that a kill
at any moment loses nothing; sent twice, an item has the same idempotency key. What the receiver
refuses for good lies aside with its answer; whatever else goes wrong, the item stays and is tried
again later: soon by this process, else by the next hook, or by `memory-fabric sync`.

Standard library only: hooks run without the installed packages. TLS is verified. Redirects are not
followed, since the key would go along. Of the environment's proxies only that for https counts: it
sees a name and a port, where one for http would see the key.
"""

from __future__ import annotations

import http.client
import os
import random
import signal
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any

from memory_fabric import __version__, ids
from memory_fabric.config import Settings, read_settings
from memory_fabric.forwarding import host_of, is_loopback
from memory_fabric.store import files, log, spool, switches
from memory_fabric.store.settings_file import settings_of
from memory_fabric.store.spool import Item
from memory_fabric.suspicion import without_secrets
from memory_fabric.text import cut, one_line, without_controls
from memory_fabric.values import Value

LOCK = "sending.lock"
# For a connection and each part of an answer; and for a whole request, however slowly it drips.
TIMEOUT_S, TOTAL_S = 10.0, 60.0
MAX_ANSWER_BYTES, MAX_ANSWER_CHARS = 64 << 10, 2000
# Back-off: doubled from the first to the last, each halved at most by chance.
FIRST_DELAY_S, LAST_DELAY_S = 2.0, 900.0
# The process itself waits so long between two tries, and lives so long; a hook starts the next.
PATIENCE_S, LIFE_S = 10.0, 600.0
# One item may be what a receiver stumbles over; after so many in a row it is the receiver.
TRIES_OF_A_ROUND = 2
REFUSED = frozenset((400, 409, 413, 422))


class Answer(Value):
    """What came of one request: the status, 0 where there was none, with what a person needs."""

    status: int
    told: str = ""
    remedy: str = ""
    retry_after_s: float = 0.0
    text: str = ""


class Sent(Value):
    """What one run did: how many arrived, how many were refused for good, and what stopped it."""

    arrived: int = 0
    refused: int = 0
    failure: Answer | None = None


class Clock:
    """The time, waiting and chance."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def wait(self, seconds: float) -> None:
        """Come back so much later."""
        time.sleep(seconds)

    def chance(self) -> float:
        """From 0 to 1."""
        return random.random()


# Sends a body with its idempotency key.
Post = Callable[[bytes, str], Answer]


def main() -> int:
    """The detached process: send what waits, note what failed in the log."""
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
    """Whether a receiver is named and memory is not switched off everywhere."""
    everywhere = switches.state(settings.home, switches.EVERYWHERE)
    return bool(
        settings.forward_url and settings.writes and not settings.ci and everywhere["write"]
    )


def deliver(settings: Settings, post: Post, clock: Clock) -> None:
    """Send until nothing is due, or the next try is too far off to wait for it.

    An item that came while the lock was held is seen after it is let go: its own sender has left.
    Raises OSError, TimeoutError for a home that cannot be written.
    """
    home, give_up_s = settings.home, clock.now() + LIFE_S
    held: set[str] = set()
    while _has_work(settings, held, clock.now()):
        lock = files.Locked(os.path.join(spool.folder_of(home), LOCK), 0)
        try:
            lock.__enter__()
        except TimeoutError:
            return  # another one is at it, and looks again before it ends
        try:
            delay_s = _round_after_round(settings, post, clock, held, give_up_s)
        finally:
            lock.__exit__()
        if delay_s:
            return


def send_now(settings: Settings, post: Post, clock: Clock) -> Sent:
    """One try with everything that waits, whatever was to be waited for.

    Raises TimeoutError when another sender is at it, OSError.
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
    """Seconds until the next try where it is too far off; 0 where nothing is left to do."""
    while _has_work(settings, held, clock.now()):
        delay_s = _note(settings, _round(settings, post, clock, held), clock)
        if delay_s > PATIENCE_S or clock.now() + delay_s > give_up_s:
            return delay_s
        if delay_s:
            clock.wait(delay_s)
    return 0.0


def _round(settings: Settings, post: Post, clock: Clock, held: set[str]) -> Sent:
    """Each item once, oldest first, until the receiver itself is what fails."""
    arrived = refused = tries = 0
    failure: Answer | None = None
    for item in spool.waiting(settings.home):
        if item.id in held:
            continue
        letter = spool.read(item)
        if not _is_for_now(settings, item, letter):
            held.add(item.id)
            continue
        answer = post(spool.encoded(letter["body"]), item.key)
        if 200 <= answer.status < 300:
            spool.sent(settings.home, item, clock.now())
            arrived, tries = arrived + 1, 0
        elif answer.status in REFUSED:
            spool.reject(settings.home, item, _kept(answer, clock.now()))
            refused, tries = refused + 1, 0
        else:
            failure, tries = answer, tries + 1
            if not _may_be_the_item(answer.status) or tries >= TRIES_OF_A_ROUND:
                break
    return Sent(arrived, refused, failure)


def _is_for_now(settings: Settings, item: Item, letter: Mapping[str, Any]) -> bool:
    """Whether an item is for this receiver and its project is not switched off."""
    if not letter:
        if os.path.exists(item.path):  # else it was erased meanwhile
            spool.set_aside(settings.home, item, "An item could not be read and was set aside.")
        return False
    switched = switches.state(settings.home, str(letter.get("place", "")))
    return bool(letter.get("to") == settings.forward_url and switched["write"])


def _may_be_the_item(status: int) -> bool:
    return status >= 500 and status != 503


def _note(settings: Settings, done: Sent, clock: Clock) -> float:
    """Note what a round came to; seconds until the next try, 0 after a success."""
    home = settings.home
    if not os.path.isdir(spool.folder_of(home)):
        return 0.0  # uninstalled meanwhile: nothing of ours comes back
    if done.failure is None:
        if done.arrived or done.refused:
            spool.note(home, to=settings.forward_url, failures=0, next_at=0)
        return 0.0
    before = spool.state(home)
    known = before.get("failures") if before.get("to") == settings.forward_url else 0
    failures = 1 if done.arrived or not isinstance(known, int) else known + 1
    delay_s = delay_after(failures, done.failure.retry_after_s, clock.chance())
    spool.note(
        home,
        to=settings.forward_url,
        failures=failures,
        next_at=clock.now() + delay_s,
        last_error=done.failure.told,
        remedy=done.failure.remedy,
        error_at=ids.timestamp(clock.now()),
    )
    return delay_s


def delay_after(failures: int, retry_after_s: float, chance: float) -> float:
    """Seconds to the next try after so many failures in a row, never before the receiver asks."""
    grown = min(LAST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(failures - 1, 30))
    return min(max(grown * (0.5 + chance / 2), retry_after_s), float(spool.MAX_WAIT_S))


def _kept(answer: Answer, now_s: float) -> dict[str, Any]:
    return {
        "status": answer.status,
        "at": ids.timestamp(now_s),
        "told": answer.told,
        "text": answer.text,
    }


# --- the network


def over_network(settings: Settings) -> Post:
    """What posts to the receiver of these settings."""
    opener = _opener(settings.forward_url)
    host = host_of(settings.forward_url)

    def post(body: bytes, key: str) -> Answer:
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": f"memory-fabric/{__version__}",
            "Idempotency-Key": key,
        }
        if settings.forward_key:
            headers["Authorization"] = f"Bearer {settings.forward_key}"
        request = urllib.request.Request(
            settings.forward_url, data=body, headers=headers, method="POST"
        )
        try:
            with _within(TOTAL_S), opener.open(request, timeout=TIMEOUT_S) as response:
                return Answer(response.status)
        except urllib.error.HTTPError as error:
            with error:
                return _answer(error)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return _unreachable(error, host)

    return post


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(url: str) -> urllib.request.OpenerDirector:
    proxies = {}
    if url.startswith("https:") and not is_loopback(url):
        found = urllib.request.getproxies_environment().get("https", "")
        proxies = {"https": found} if found else {}
    return urllib.request.build_opener(
        urllib.request.ProxyHandler(proxies),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        _NoRedirect(),
    )


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """A request ends within so much, also where each byte of the answer comes in time."""
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def late(*_: object) -> None:
        raise TimeoutError(f"no whole answer within {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _answer(error: urllib.error.HTTPError) -> Answer:
    text = _text_of(error) if error.code in REFUSED else ""
    told, remedy = _meaning(error.code)
    after = _retry_after(error.headers.get("Retry-After", "") if error.headers else "")
    return Answer(error.code, told, remedy, after, text)


def _text_of(error: urllib.error.HTTPError) -> str:
    try:
        with _within(TIMEOUT_S):
            data = error.read(MAX_ANSWER_BYTES)
    except (OSError, http.client.HTTPException, ValueError):
        return ""
    return cut(without_secrets(without_controls(data.decode("utf-8", "replace"))), MAX_ANSWER_CHARS)


def _retry_after(stated: str) -> float:
    """Seconds, from a number or a date; 0 for anything else."""
    stated = stated.strip()
    if stated.isascii() and stated.isdigit():
        return float(stated[:9])
    try:
        return max(0.0, parsedate_to_datetime(stated).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0


MEANINGS = {
    400: ("The receiver finds the request wrong", "See docs/forwarding.md for what is sent."),
    401: ("The receiver refuses the key", "Check MEMORY_FABRIC_FORWARD_KEY."),
    403: ("The receiver refuses the key", "Check MEMORY_FABRIC_FORWARD_KEY."),
    404: ("The receiver has no ingest at this address", "Check MEMORY_FABRIC_FORWARD_URL."),
    405: ("The receiver takes no ingest at this address", "Check MEMORY_FABRIC_FORWARD_URL."),
    407: ("The proxy wants a name", "Check the variable https_proxy."),
    409: ("The receiver has other text under the same key", ""),
    413: ("The receiver finds the text too long", ""),
    422: ("The receiver finds a field wrong", "See docs/forwarding.md for what is sent."),
    429: ("The receiver asks for patience", "It is tried again later."),
    503: ("The receiver cannot take it now", "It is tried again later."),
}


def _meaning(status: int) -> tuple[str, str]:
    """What a status says to a person, and what helps."""
    if 300 <= status < 400:
        told = "The receiver answers with a redirect, which is not followed: the key would go along"
        return f"{told} ({status}).", "Set MEMORY_FABRIC_FORWARD_URL to the final address."
    fallback = "It is tried again later."
    told, remedy = MEANINGS.get(status, ("The receiver failed", fallback))
    return f"{told} ({status}).", remedy


def _unreachable(error: Exception, host: str) -> Answer:
    reason = getattr(error, "reason", error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        told = f"The certificate of {host} is not trusted: {reason.verify_message}."
        return Answer(0, told, "SSL_CERT_FILE can name the authority that signed it.")
    if isinstance(reason, ssl.SSLError):
        told = f"{host} does not speak TLS as it should: {reason.reason}."
        return Answer(0, told, "Check whether the address begins with http or https.")
    if isinstance(reason, socket.gaierror):
        return Answer(0, f"The name {host} is not known.", "Check the address and the network.")
    if isinstance(reason, ConnectionRefusedError):
        return Answer(0, f"Nothing listens at {host}.", "Start the receiver, or check the address.")
    if isinstance(reason, TimeoutError):
        return Answer(0, f"{host} did not answer in time.", "It is tried again later.")
    said = cut(one_line(without_secrets(str(reason))), 200) or type(reason).__name__
    return Answer(0, f"{host} could not be reached: {said}.", "It is tried again later.")
