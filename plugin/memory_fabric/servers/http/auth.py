"""Authentication: requests need a key, an allowed host name, and no foreign origin.

A page of any site can send requests to this machine, even under its own name (DNS rebinding), so
Host and Origin must match the server's own. Other programs and users of the machine reach the port,
too, so reading needs a key.
"""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_fabric.servers.http.allowed_hosts import Names
from memory_fabric.servers.http.keys import NOBODY, Keys
from memory_fabric.servers.http.rate_limit import Rate
from memory_fabric.servers.http.responses import of_error, refusal
from memory_fabric.viewer.page import content_security_policy

FRONT = "/"
# These show nothing of the memory, and monitoring has no key.
HEALTH = ("/healthz", "/readyz")
OPEN = frozenset((*HEALTH, "/openapi.json"))
# Each health endpoint has its own limit, which other requests without a key cannot use up.
HEALTH_PER_S = 2000
# The ingest endpoints, which need a key only if there are permanent keys.
BRINGING_IN = "/v1/memory/ingest"
# Paths whose requests have a body; they answer themselves that they cannot be read.
WITH_BODY = (BRINGING_IN, "/api/changes")
# A query of four kilobytes, percent-encoded in three bytes each.
MAX_ADDRESS_BYTES = 16 << 10
# h11 limits only headers that arrive in pieces.
MAX_HEADER_BYTES = 16 << 10
READING = ("GET", "HEAD")
# Values of Sec-Fetch-Site for requests by pages of other sites; a followed link is allowed.
STRANGERS = ("cross-site", "same-site")
SAFE_HEADERS = {
    # frame-ancestors has no effect in a page's own policy, so it is added here.
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
    """Middleware with the checks of this module; `cookie` is the name of the cookie with a key."""

    def __init__(self, app: ASGIApp, keys: Keys, names: Names, rate: Rate, cookie: str) -> None:
        self._app, self._keys, self._names, self._rate = app, keys, names, rate
        self._health = Rate(HEALTH_PER_S)
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it to the application."""
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
        """Return the response if the request must not reach the application."""
        headers = Headers(scope=scope)
        answer = self._refused(scope, headers) or self._opened(scope)
        if answer is None and scope["path"] not in HEALTH:
            sender.holder = self._holder_in(scope, headers)
        return answer or self._not_let_in(scope["path"], sender.holder)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the error for a foreign host or origin, or for a request that is too large."""
        if not self._names.fit_host(headers.getlist("host")):
            message = "The Host header is not a name of this server."
            remedy = "Start it with memory-fabric serve --allow-host NAME to allow a name."
            return refusal(HTTPStatus.FORBIDDEN, "wrong_host", message, remedy)
        if not self._names.fit_origins(headers.getlist("origin")):
            message = "Requests from pages of other origins are not allowed."
            return refusal(HTTPStatus.FORBIDDEN, "wrong_origin", message)
        if headers.get("sec-fetch-site") in STRANGERS and scope["path"] != FRONT:
            message = "Requests from pages of other sites are not allowed."
            return refusal(HTTPStatus.FORBIDDEN, "wrong_origin", message)
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
            message = "The address is longer than 16 KB."
            return refusal(HTTPStatus.REQUEST_URI_TOO_LONG, "too_large", message)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            message = "The headers are longer than 16 KB."
            return refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_large", message)
        is_question = scope["method"] in READING and not scope["path"].startswith(WITH_BODY)
        if is_question and _has_body(headers):
            message = "A read request must not have a body."
            return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", message)
        return None

    def _opened(self, scope: Scope) -> Response | None:
        """Log a browser in: redirect, and set a cookie for the key in the address."""
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
        """Return the error for a missing key, or for too many requests."""
        if holder == NOBODY and self._is_locked(path):
            return locked(path)
        is_health = path in HEALTH
        wait_s = self._health.wait_s(path) if is_health else self._rate.wait_s(holder)
        if wait_s:
            return refusal(
                HTTPStatus.TOO_MANY_REQUESTS,
                "too_many_requests",
                "Too many requests.",
                f"Try again in {wait_s} s; [serve] rate in config.toml sets the limit.",
                headers={"Retry-After": str(wait_s)},
            )
        return None

    def _is_locked(self, path: str) -> bool:
        """Return True if a request to this path needs a key."""
        needs_one = self._keys.are_needed or not path.startswith(BRINGING_IN)
        return needs_one and path not in OPEN

    def _holder_in(self, _scope: Scope, headers: Headers) -> str:
        """Return the holder of the request's key, from its bearer token or cookie."""
        given = bearer_in(headers)
        found = self._keys.holder(given) if given else NOBODY
        if found == NOBODY and "cookie" in headers:
            values = cookies_in(headers, self._cookie)
            held = [self._keys.holder_by_cookie(value) for value in values]
            found = next((one for one in held if one != NOBODY), NOBODY)
        return found


class ResponseSender:
    """The response to a request, with security headers; `holder` is the holder of its key.

    A streamed response ends when the holder's key is dropped.
    """

    def __init__(self, send: Send, keys: Keys) -> None:
        self._send, self._keys = send, keys
        self.holder = NOBODY
        self.has_begun = self._is_over = False

    async def __call__(self, message: Message) -> None:
        """Send one message of the response."""
        if self._is_over:
            return  # `receive` reports the disconnection
        if message["type"] == "http.response.start":
            self.has_begun = True
            own = [pair for pair in message["headers"] if pair[0] not in _SAFE_NAMES]
            message["headers"] = own + _SAFE
        elif message.get("more_body") and not self._keys.is_good(self.holder):
            self._is_over = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)


def locked(path: str) -> Response:
    """Return the response to a request without a key."""
    if path == FRONT:
        return HTMLResponse(
            f"<!doctype html><title>memory-fabric</title><p>{COME_WITH_KEY}",
            HTTPStatus.UNAUTHORIZED,
            {"WWW-Authenticate": "Bearer"},
        )
    return refusal(
        HTTPStatus.UNAUTHORIZED,
        "unauthorized",
        "The key is missing or not valid.",
        COME_WITH_KEY,
        headers={"WWW-Authenticate": "Bearer"},
    )


def bearer_in(headers: Headers) -> str:
    """Return the bearer token of a request, or ''."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if kind.lower() == "bearer" else ""


def cookies_in(headers: Headers, name: str) -> list[str]:
    """Return the values of a request's cookies of this name."""
    pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [value for key, _, value in pairs if key == name]


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
