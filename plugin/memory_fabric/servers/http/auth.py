"""Authentication: requests need a key, an allowed host name, and no foreign origin.

A page of any site can send requests to this machine, and under a name of its own (DNS rebinding):
so the Host is compared with our own names, and the Origin with our own address. Other programs and
users of the machine reach the port, too: so whoever reads needs a key.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memory_fabric.servers.http.keys import NOBODY
from memory_fabric.servers.http.rate_limit import Rate
from memory_fabric.servers.http.responses import of_error, refusal
from memory_fabric.viewer.page import content_security_policy

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memory_fabric.servers.http.allowed_hosts import Names
    from memory_fabric.servers.http.keys import Keys

FRONT = "/"
# These tell nothing of the memory: whoever watches over a server has no key.
HEALTH = ("/healthz", "/readyz")
OPEN = frozenset((*HEALTH, "/openapi.json"))
# Each of HEALTH has it for itself: whoever asks anything else without a key cannot use it up.
HEALTH_PER_S = 2000
# Below this something is brought in and its state asked, which needs a key only where keys are.
BRINGING_IN = "/v1/memory/ingest"
# Four kilobytes of a question, every byte of it written as three.
MAX_ADDRESS_BYTES = 16 << 10
# h11 bounds only what comes in pieces.
MAX_HEADER_BYTES = 16 << 10
READING = ("GET", "HEAD")
# Where a browser says that a page of somebody else asks; a person who follows a link is no page.
STRANGERS = ("cross-site", "same-site")
SAFE_HEADERS = {
    # What a page cannot say of itself, added to what it says.
    "Content-Security-Policy": f"{content_security_policy(live=True)}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE = [(name.lower().encode(), value.encode()) for name, value in SAFE_HEADERS.items()]
_SAFE_NAMES = frozenset(name for name, _ in _SAFE)
COME_WITH_KEY = "Open the whole address that memory-fabric serve printed, or send its key."


class Guard:
    """An application behind the checks of this module; `cookie` names the one that opens, too."""

    def __init__(self, app: ASGIApp, keys: Keys, names: Names, rate: Rate, cookie: str) -> None:
        self._app, self._keys, self._names, self._rate = app, keys, names, rate
        self._health = Rate(HEALTH_PER_S)
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let the application answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sender = ResponseSender(send, self._keys)
        try:
            await (self._answer(scope, sender) or self._app)(scope, receive, sender)
        except Exception as error:
            if sender.has_begun:
                raise
            await of_error(error)(scope, receive, sender)

    def _answer(self, scope: Scope, sender: ResponseSender) -> Response | None:
        """The answer to a request that does not reach the application."""
        headers = Headers(scope=scope)
        answer = self._refused(scope, headers) or self._opened(scope)
        if answer is None and scope["path"] not in HEALTH:
            sender.holder = self._holder(headers)
        return answer or self._not_let_in(scope["path"], sender.holder)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that no person or program of ours sends."""
        if not self._names.fit_host(headers.getlist("host")):
            message = "This server answers only to names of its own."
            remedy = "memory-fabric serve --allow-host NAME adds one."
            return refusal(HTTPStatus.FORBIDDEN, "wrong_host", message, remedy)
        if not self._names.fit_origins(headers.getlist("origin")):
            message = "Pages of other origins may not ask."
            return refusal(HTTPStatus.FORBIDDEN, "wrong_origin", message)
        if headers.get("sec-fetch-site") in STRANGERS and scope["path"] != FRONT:
            message = "Pages of other sites may not ask."
            return refusal(HTTPStatus.FORBIDDEN, "wrong_origin", message)
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
            message = "The address is longer than 16 KB."
            return refusal(HTTPStatus.REQUEST_URI_TOO_LONG, "too_large", message)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            message = "The headers are longer than 16 KB."
            return refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_large", message)
        is_question = scope["method"] in READING and not scope["path"].startswith(BRINGING_IN)
        if is_question and _has_body(headers):
            message = "A question has no body."
            return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", message)
        return None

    def _opened(self, scope: Scope) -> Response | None:
        """The way in for a browser: the key in the address becomes a cookie of its own."""
        if scope["path"] != FRONT or scope["method"] != "GET":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("key", [])
        holder = self._keys.opener(given[0]) if len(given) == 1 else NOBODY
        if holder == NOBODY:
            return None
        answer = RedirectResponse(FRONT, HTTPStatus.SEE_OTHER)
        value = self._keys.cookie(holder)
        answer.set_cookie(self._cookie, value, httponly=True, samesite="strict")
        return answer

    def _not_let_in(self, path: str, holder: str) -> Response | None:
        """The answer to a request without a key that it needs, or to one too many."""
        if holder == NOBODY and self._is_locked(path):
            return _locked(path)
        is_health = path in HEALTH
        wait_s = self._health.wait_s(path) if is_health else self._rate.wait_s(holder)
        if wait_s:
            return refusal(
                HTTPStatus.TOO_MANY_REQUESTS,
                "too_many_requests",
                "Asked more often than may be.",
                f"Ask again in {wait_s} s; [serve] rate in config.toml says how often.",
                headers={"Retry-After": str(wait_s)},
            )
        return None

    def _is_locked(self, path: str) -> bool:
        """Return True if a request to this path needs a key."""
        needs_one = self._keys.are_needed or not path.startswith(BRINGING_IN)
        return needs_one and path not in OPEN

    def _holder(self, headers: Headers) -> str:
        """Return the holder of the request's key, from its bearer token or cookie."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        found = self._keys.holder(given.strip()) if kind.lower() == "bearer" else NOBODY
        if found == NOBODY and "cookie" in headers:
            values = _cookies(headers, self._cookie)
            held = [self._keys.holder_by_cookie(value) for value in values]
            found = next((one for one in held if one != NOBODY), NOBODY)
        return found


class ResponseSender:
    """The response to a request, with security headers; `holder` is the holder of its key.

    An answer that comes in parts, as long as somebody listens, ends when his key is dropped.
    """

    def __init__(self, send: Send, keys: Keys) -> None:
        self._send, self._keys = send, keys
        self.holder = NOBODY
        self.has_begun = self._is_over = False

    async def __call__(self, message: Message) -> None:
        """Send one part of an answer."""
        if self._is_over:
            return  # whoever talks on learns by `receive` that nobody is there
        if message["type"] == "http.response.start":
            self.has_begun = True
            own = [pair for pair in message["headers"] if pair[0] not in _SAFE_NAMES]
            message["headers"] = own + _SAFE
        elif message.get("more_body") and not self._keys.is_good(self.holder):
            self._is_over = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)


def _locked(path: str) -> Response:
    """The answer to a request without a key."""
    if path == FRONT:
        return HTMLResponse(
            f"<!doctype html><title>memory-fabric</title><p>{COME_WITH_KEY}",
            HTTPStatus.UNAUTHORIZED,
            {"WWW-Authenticate": "Bearer"},
        )
    return refusal(
        HTTPStatus.UNAUTHORIZED,
        "unauthorized",
        "The key is missing, or none of ours.",
        COME_WITH_KEY,
        headers={"WWW-Authenticate": "Bearer"},
    )


def _cookies(headers: Headers, name: str) -> list[str]:
    pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [value for key, _, value in pairs if key == name]


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
