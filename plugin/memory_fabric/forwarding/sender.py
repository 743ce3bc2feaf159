"""The sender: a detached process that posts texts of sessions to the receiver, so no hook waits.

Each text waits as an item in a file (`store.queues.spool`), which is deleted only after the
receiver has accepted the item (2xx). So nothing is lost if the process is killed. An item that is
sent twice has the same idempotency key, by which the receiver detects the copy. Items that the
receiver rejects permanently move to another folder. Only the standard library and this package are
imported: hooks, which start the sender, run without third-party packages.
"""

from __future__ import annotations

import http.client
import os
import random
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from memory_fabric import __version__, deadline, ids
from memory_fabric.config import Settings, read_settings
from memory_fabric.forwarding.trigger import host_of, is_loopback
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store import files
from memory_fabric.store.home import log, switches
from memory_fabric.store.queues import spool
from memory_fabric.text import cut, one_line, without_controls

LOCK = "sending.lock"
# The delay doubles from FIRST_DELAY_S up to LAST_DELAY_S, minus a random part of up to half of it.
FIRST_DELAY_S, LAST_DELAY_S = 2.0, 900.0
# The sender ends instead of pausing or running longer than this; a later hook starts a new one.
LONGEST_PAUSE_S, LIFE_S = 10.0, 600.0
# A 5xx status except 503 may be the item's fault, so a round ends only after this many in a row.
TRIES_OF_A_ROUND = 2


class Sent(NamedTuple):
    """The result of a round (a pass over the spool): items accepted and rejected, last failure."""

    arrived: int = 0
    refused: int = 0
    failure: Answer | None = None


class Clock(NamedTuple):
    """Functions for the current time (seconds since 1970), for sleeping, and for random numbers."""

    now: Callable[[], float] = time.time
    wait: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


def main() -> int:
    """Run the detached sender: post all waiting items, and log any failure."""
    settings = read_settings(os.environ, {})
    try:
        settings = switches.settings_of(os.environ)
        if may_send(settings):
            deliver(settings, over_network(settings), Clock())
    except (OSError, TimeoutError, ValueError) as error:
        log.note(settings.home, settings.data_dir, f"forward: {error}")
        return 1
    return 0


def may_send(settings: Settings) -> bool:
    """Return True if a receiver is configured and memory is not switched off."""
    everywhere = switches.state(settings.home, switches.EVERYWHERE)
    may_write = settings.writes and not settings.ci and everywhere["write"]
    return bool(settings.forward_url and may_write)


def deliver(settings: Settings, post: Post, clock: Clock) -> None:
    """Send waiting items, with pauses after failures, until no item is left that may be sent now.
    Stop earlier if a pause would be longer than LONGEST_PAUSE_S, or would end more than LIFE_S
    after the start. Raises OSError, TimeoutError.
    """
    home, give_up_s = settings.home, clock.now() + LIFE_S
    held_ids: set[str] = set()
    while _has_work(settings, held_ids, clock.now()):
        with ExitStack() as held:
            try:
                held.enter_context(files.Locked(os.path.join(spool.folder_of(home), LOCK), 0))
            except TimeoutError:
                return  # another sender is running, and will check for new items
            while _has_work(settings, held_ids, clock.now()):
                delay_s = _note(settings, _round(settings, post, clock, held_ids), clock)
                if delay_s > LONGEST_PAUSE_S or clock.now() + delay_s > give_up_s:
                    return
                if delay_s:
                    clock.wait(delay_s)


def send_now(settings: Settings, post: Post, clock: Clock) -> Sent:
    """Send waiting items in one round. Raises OSError; TimeoutError if another sender runs."""
    with files.Locked(os.path.join(spool.folder_of(settings.home), LOCK), spool.LOCK_S):
        round_done = _round(settings, post, clock, set())
        _note(settings, round_done, clock)
    return round_done


def _has_work(settings: Settings, held: set[str], now_s: float) -> bool:
    if not spool.is_due(settings.home, settings.forward_url, now_s):
        return False
    return any(item.id not in held for item in spool.waiting(settings.home))


def _round(settings: Settings, post: Post, clock: Clock, held: set[str]) -> Sent:
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
            at = ids.timestamp(clock.now())
            told = {"status": answer.status, "at": at, "told": answer.message, "text": answer.text}
            spool.reject(settings.home, item, told)
            refused, tries = refused + 1, 0
        else:
            failure, tries = answer, tries + 1
            may_be_the_item = answer.status >= 500 and answer.status != 503
            if not may_be_the_item or tries >= TRIES_OF_A_ROUND:
                break
    return Sent(arrived, refused, failure)


def _is_for_now(settings: Settings, item: spool.Item, content: Mapping[str, Any]) -> bool:
    if not content:
        if os.path.exists(item.path):  # False if the item was purged meanwhile
            spool.set_aside(settings.home, item, "An item could not be read and was set aside.")
        return False
    switched = switches.state(settings.home, str(content.get("place", "")))
    return bool(content.get("to") == settings.forward_url and switched["write"])


def _note(settings: Settings, done: Sent, clock: Clock) -> float:
    """Save a round's result in the spool; return seconds until the next one, 0 after success."""
    home = settings.home
    if not os.path.isdir(spool.folder_of(home)):
        return 0.0  # uninstalled meanwhile: do not create files
    if done.failure is None:
        if done.arrived or done.refused:
            spool.update_state(home, to=settings.forward_url, failures=0, next_at=0)
        return 0.0
    before = spool.state(home)
    known = before.get("failures") if before.get("to") == settings.forward_url else 0
    failures = 1 if done.arrived or not isinstance(known, int) else known + 1
    delay_s = delay_after(failures, done.failure.retry_after_s, clock.chance())
    error = {"last_error": done.failure.message, "remedy": done.failure.remedy}
    error |= {"error_at": ids.timestamp(clock.now())}
    next_at = clock.now() + delay_s
    spool.update_state(home, to=settings.forward_url, failures=failures, next_at=next_at, **error)
    return delay_s


def delay_after(failures: int, retry_after_s: float, chance: float) -> float:
    """Return the wait in seconds after this many consecutive failures, at least `retry_after_s`."""
    grown = min(LAST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(failures - 1, 30))
    return min(max(grown * (0.5 + chance / 2), retry_after_s), float(spool.MAX_WAIT_S))


# Seconds for connecting and for each read (TIMEOUT_S), and for the whole request (TOTAL_S).
TIMEOUT_S, TOTAL_S = 10.0, 60.0
MAX_ANSWER_BYTES, MAX_ANSWER_CHARS = 64 << 10, 2000
# REMOVED replaces our key and query in answers. Statuses in REFUSED reject an item permanently.
REMOVED = "[redacted: key]"
REFUSED = frozenset((400, 409, 413, 422))


class Answer(NamedTuple):
    """The receiver's answer: HTTP status (0 without a response), message, and remedy."""

    status: int
    message: str = ""
    remedy: str = ""
    retry_after_s: float = 0.0
    text: str = ""


# A function that posts a body with its idempotency key and returns the receiver's answer.
Post = Callable[[bytes, str], Answer]


def over_network(settings: Settings, now: Callable[[], float] = time.time) -> Post:
    """Return a function that posts to the configured receiver; `now` is the clock to use."""
    url, proxies = settings.forward_url, {}
    if url.startswith("https:") and not is_loopback(url):
        proxy = urllib.request.getproxies_environment().get("https", "")
        proxies = {"https": proxy} if proxy else {}
    https = urllib.request.HTTPSHandler(context=ssl.create_default_context())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies), https, _NoRedirect())

    def post(body: bytes, key: str) -> Answer:
        headers = {"Content-Type": "application/json; charset=utf-8", "Idempotency-Key": key}
        headers["User-Agent"] = f"memory-fabric/{__version__}"
        if settings.forward_key:
            headers["Authorization"] = f"Bearer {settings.forward_key}"
        request = urllib.request.Request(url, data=body, headers=headers, method="POST")
        try:
            with _time_limit(TOTAL_S), opener.open(request, timeout=TIMEOUT_S) as response:
                return Answer(response.status)
        except urllib.error.HTTPError as error:
            with error:
                answer = _refusal(error, now())
        except (OSError, http.client.HTTPException, ValueError) as error:
            answer = _unreachable(error, host_of(url))
        query = url.partition("?")[2]
        for own in filter(None, (settings.forward_key, query and f"?{query}")):
            message, text = (part.replace(own, REMOVED) for part in (answer.message, answer.text))
            answer = answer._replace(message=message, text=text)
        return answer

    return post


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A handler that does not follow redirects, but returns the redirect as the response."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _time_limit(seconds: float) -> AbstractContextManager[None]:
    def late() -> None:
        raise TimeoutError(f"no complete answer within {seconds:.0f} s")

    return deadline.time_limit(seconds, late)


LATER = "It is tried again later."
_REDIRECTED = (
    "The receiver redirects, which is not followed: the key would be sent along",
    "Set MEMORY_FABRIC_FORWARD_URL to the final address.",
)
_WRONG_KEY = ("The receiver refuses the key", "Check MEMORY_FABRIC_FORWARD_KEY.")
MEANINGS = dict.fromkeys(range(300, 400), _REDIRECTED) | dict.fromkeys((401, 403), _WRONG_KEY)
MEANINGS |= {
    400: ("The receiver rejects the request", "See docs/forwarding.md for what is sent."),
    404: ("The receiver does not accept texts at this address", "Check MEMORY_FABRIC_FORWARD_URL."),
    405: ("The receiver does not accept POST at this address", "Check MEMORY_FABRIC_FORWARD_URL."),
    407: ("The proxy requires a login", "Check the variable https_proxy."),
    409: ("The receiver has another text with the same idempotency key", ""),
    413: ("The receiver rejects the text as too long", ""),
    422: ("The receiver rejects a field", "See docs/forwarding.md for what is sent."),
    429: ("The receiver limits the rate of requests", LATER),
    503: ("The receiver is not available now", LATER),
}


def _refusal(error: urllib.error.HTTPError, now_s: float) -> Answer:
    text, after_s = "", 0.0
    if error.code in REFUSED:
        try:
            with _time_limit(TIMEOUT_S):
                data = error.read(MAX_ANSWER_BYTES).decode("utf-8", "replace")
            text = cut(without_secrets(without_controls(data)), MAX_ANSWER_CHARS)
        except (OSError, http.client.HTTPException, ValueError):
            pass  # the status alone is enough for a message
    stated = (error.headers.get("Retry-After", "") if error.headers else "").strip()
    try:  # Retry-After is a number of seconds or a date
        is_number = stated.isascii() and stated.isdigit()
        date_s = 0.0 if is_number else parsedate_to_datetime(stated).timestamp()
        after_s = float(stated[:9]) if is_number else max(0.0, date_s - now_s)
    except (ValueError, TypeError, OverflowError):
        pass
    message, remedy = MEANINGS.get(error.code, ("The receiver failed", LATER))
    return Answer(error.code, f"{message} ({error.code}).", remedy, after_s, text)


def _unreachable(error: Exception, host: str) -> Answer:
    reason = getattr(error, "reason", error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        message = f"The certificate of {host} is not trusted: {reason.verify_message}."
        remedy = "Set SSL_CERT_FILE to the certificate of the authority that signed it."
        return Answer(0, message, remedy)
    if isinstance(reason, ssl.SSLError):
        message = f"{host} failed to negotiate TLS: {reason.reason}."
        return Answer(0, message, "Check whether the address begins with http or https.")
    if isinstance(reason, socket.gaierror):
        return Answer(0, f"The name {host} is not known.", "Check the address and the network.")
    if isinstance(reason, ConnectionRefusedError):
        return Answer(0, f"Nothing listens at {host}.", "Start the receiver, or check the address.")
    if isinstance(reason, TimeoutError):
        return Answer(0, f"{host} did not answer in time.", LATER)
    reason_text = cut(one_line(without_secrets(str(reason))), 200) or type(reason).__name__
    return Answer(0, f"{host} could not be reached: {reason_text}.", LATER)
