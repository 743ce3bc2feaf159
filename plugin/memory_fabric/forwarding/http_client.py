"""The HTTP request to the receiver, and the meaning of its answer for the user.

TLS certificates are verified. Redirects are not followed, since the key would be sent along. Of the
environment's proxies only the one for https is used: it sees name and port, while one for http
would see the key.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from memory_fabric import __version__
from memory_fabric.config import Settings
from memory_fabric.forwarding.trigger import host_of, is_loopback
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.text import cut, one_line, without_controls
from memory_fabric.timeout import time_limit

# For a connection and each part of an answer; and for a whole request, however slow.
TIMEOUT_S, TOTAL_S = 10.0, 60.0
MAX_ANSWER_BYTES, MAX_ANSWER_CHARS = 64 << 10, 2000
# Replaces the key in an answer; statuses after which the same text is never sent again.
REMOVED = "[redacted: key]"
REFUSED = frozenset((400, 409, 413, 422))


class Answer(NamedTuple):
    """The result of a request: its status, 0 if there was no answer, with a message and a
    remedy.
    """

    status: int
    message: str = ""
    remedy: str = ""
    retry_after_s: float = 0.0
    text: str = ""


# Sends a body with its idempotency key.
Post = Callable[[bytes, str], Answer]


def over_network(settings: Settings, now: Callable[[], float] = time.time) -> Post:
    """Return the function that posts to the receiver of these settings; `now` is the clock."""
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
            with _time_limit(TOTAL_S), opener.open(request, timeout=TIMEOUT_S) as response:
                return Answer(response.status)
        except urllib.error.HTTPError as error:
            with error:
                return _without_key(_answer(error, now()), settings.forward_key)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return _without_key(_unreachable(error, host), settings.forward_key)

    return post


def _without_key(answer: Answer, key: str) -> Answer:
    """Remove the key from an answer: a receiver may repeat it."""
    if not key:
        return answer
    message, text = (part.replace(key, REMOVED) for part in (answer.message, answer.text))
    return answer._replace(message=message, text=text)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Treats a redirect as an answer."""

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


def _time_limit(seconds: float) -> AbstractContextManager[None]:
    """Limit the whole duration of a request, even if each byte arrives in time."""

    def late() -> None:
        raise TimeoutError(f"no complete answer within {seconds:.0f} s")

    return time_limit(seconds, late)


def _answer(error: urllib.error.HTTPError, now_s: float) -> Answer:
    text = _text_of(error) if error.code in REFUSED else ""
    message, remedy = _meaning(error.code)
    stated = error.headers.get("Retry-After", "") if error.headers else ""
    after = _retry_after(stated, now_s)
    return Answer(error.code, message, remedy, after, text)


def _text_of(error: urllib.error.HTTPError) -> str:
    try:
        with _time_limit(TIMEOUT_S):
            data = error.read(MAX_ANSWER_BYTES)
    except (OSError, http.client.HTTPException, ValueError):
        return ""
    return cut(without_secrets(without_controls(data.decode("utf-8", "replace"))), MAX_ANSWER_CHARS)


def _retry_after(stated: str, now_s: float) -> float:
    """Return seconds, from a number or a date; 0 for anything else."""
    stated = stated.strip()
    if stated.isascii() and stated.isdigit():
        return float(stated[:9])
    try:
        return max(0.0, parsedate_to_datetime(stated).timestamp() - now_s)
    except (ValueError, TypeError, OverflowError):
        return 0.0


MEANINGS = {
    400: (
        "The receiver rejects the request as invalid",
        "See docs/forwarding.md for what is sent.",
    ),
    401: ("The receiver refuses the key", "Check MEMORY_FABRIC_FORWARD_KEY."),
    403: ("The receiver refuses the key", "Check MEMORY_FABRIC_FORWARD_KEY."),
    404: ("The receiver does not accept texts at this address", "Check MEMORY_FABRIC_FORWARD_URL."),
    405: ("The receiver does not accept POST at this address", "Check MEMORY_FABRIC_FORWARD_URL."),
    407: ("The proxy requires a login", "Check the variable https_proxy."),
    409: ("The receiver has another text with the same idempotency key", ""),
    413: ("The receiver rejects the text as too long", ""),
    422: ("The receiver rejects a field", "See docs/forwarding.md for what is sent."),
    429: ("The receiver limits the rate of requests", "It is tried again later."),
    503: ("The receiver is not available now", "It is tried again later."),
}


def _meaning(status: int) -> tuple[str, str]:
    """Return message and remedy for a status."""
    if 300 <= status < 400:
        message = "The receiver redirects, which is not followed: the key would be sent along"
        return f"{message} ({status}).", "Set MEMORY_FABRIC_FORWARD_URL to the final address."
    fallback = "It is tried again later."
    message, remedy = MEANINGS.get(status, ("The receiver failed", fallback))
    return f"{message} ({status}).", remedy


def _unreachable(error: Exception, host: str) -> Answer:
    reason = getattr(error, "reason", error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        message = f"The certificate of {host} is not trusted: {reason.verify_message}."
        return Answer(
            0, message, "Set SSL_CERT_FILE to the certificate of the authority that signed it."
        )
    if isinstance(reason, ssl.SSLError):
        message = f"{host} failed to negotiate TLS: {reason.reason}."
        return Answer(0, message, "Check whether the address begins with http or https.")
    if isinstance(reason, socket.gaierror):
        return Answer(0, f"The name {host} is not known.", "Check the address and the network.")
    if isinstance(reason, ConnectionRefusedError):
        return Answer(0, f"Nothing listens at {host}.", "Start the receiver, or check the address.")
    if isinstance(reason, TimeoutError):
        return Answer(0, f"{host} did not answer in time.", "It is tried again later.")
    said = cut(one_line(without_secrets(str(reason))), 200) or type(reason).__name__
    return Answer(0, f"{host} could not be reached: {said}.", "It is tried again later.")
