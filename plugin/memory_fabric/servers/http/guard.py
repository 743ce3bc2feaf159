"""Checks before a request reaches the application: key, host name, origin, size and rate.

A page of any web site can send requests to this machine, even under the site's own host name (DNS
rebinding), so the Host and Origin headers must match the server's own names. Other programs and
users of the machine can also reach the port, so a request that reads the memory needs a key.
"""

import time
from collections.abc import Callable, Sequence
from math import ceil
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_fabric import errors, ingest_protocol
from memory_fabric.servers.http.keys import NOBODY, Keys, MemberKeys
from memory_fabric.servers.http.responses import Refused, of_error
from memory_fabric.viewer.page import content_security_policy

FRONT = "/"
# Health endpoints show no memories and need no key, because monitoring tools have no key.
HEALTH = ("/healthz", "/readyz")
OPEN = frozenset((*HEALTH, "/openapi.json"))
# The health endpoints have rate limits of their own, so other requests cannot use them up.
HEALTH_PER_S = 2000
# The guard refuses a GET or HEAD request with a body (413), unless its path starts with one of
# these. If the path equals one of these, the router then responds with 405.
WITH_BODY = (ingest_protocol.PATH, "/api/changes")
# Maximum length of path and query: percent-encoding can turn a parameter of 4 KB into 12 KB.
MAX_ADDRESS_BYTES = 16 << 10
# Checked here, because h11 limits the size of headers only if they arrive in several pieces.
MAX_HEADER_BYTES = 16 << 10
# Values of the header Sec-Fetch-Site if a page of another site sent the request.
STRANGERS = ("cross-site", "same-site")
SAFE_HEADERS = {
    # Browsers ignore frame-ancestors in a page's <meta> policy, so the directive is sent here.
    "Content-Security-Policy": f"{content_security_policy(live=True)}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY", "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}  # fmt: skip
_SAFE = {name.lower().encode(): value.encode() for name, value in SAFE_HEADERS.items()}
BEARER = {"WWW-Authenticate": "Bearer"}
COME_WITH_KEY = "Open the whole address that memory-fabric serve printed, or send its key."
# If requests of more than this many keys are being counted, all counts start again at zero.
MAX_HOLDERS = 10_000
# Name of the entry in the ASGI scope that identifies the request's key: a digest, START or NOBODY.
HOLDER = "memory_fabric.holder"


class Names:
    """Accepted Host headers and origins: the server's own, such as `host` (its address as in a
    URL), and those in `allowed`. An allowed name with a port must match exactly. One without a port
    fits with the server's port, or alone (server behind TLS). Raises BadInput for a bad name.
    """

    def __init__(self, host: str, port: int, allowed: Sequence[str] = ()) -> None:
        own = {"127.0.0.1", "[::1]", "localhost", host.lower()}
        stated = checked(allowed)
        self._hosts = {f"{name}:{port}" for name in own | stated if not _has_port(name)} | stated
        self._hosts |= own if port == 80 else set()  # browsers omit port 80
        self._origins = {f"http://{name}" for name in self._hosts}
        self._origins |= {f"https://{name}" for name in stated}

    def fit_host(self, hosts: Sequence[str]) -> bool:
        """Return True if the request has exactly one Host header, and its name is allowed."""
        return len(hosts) == 1 and hosts[0].lower() in self._hosts

    def fit_origins(self, origins: Sequence[str]) -> bool:
        """Return True if the request has no Origin header, or if its origin is allowed."""
        return all(origin.lower() in self._origins for origin in origins)


def checked(allowed: Sequence[str]) -> set[str]:
    """Return the allowed host names in lower case. Raises BadInput for an invalid name."""
    for name in allowed:
        bare, _, port = name.rpartition(":") if _has_port(name) else (name, "", "")
        fits = bare.strip("[]") and not set(bare) & set("/\\@?#*, ") and bare.isascii()
        if not fits or (_has_port(name) and not (port.isascii() and port.isdigit())):
            message = f"{name!r} is not a valid name for a Host header."
            remedy = "Write it as memory.example.org, without https:// and path."
            raise errors.BadInput("--allow-host", message, remedy=remedy)
    return set(map(str.lower, allowed))


def _has_port(name: str) -> bool:
    return ":" in name.rpartition("]")[2]


class Rate:
    """Token bucket for each API key: `per_s` requests a second, and as many in one burst."""

    def __init__(self, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = per_s, max(1.0, per_s), clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait_s(self, holder: str) -> int:
        """Count a request of `holder` and return 0, or return the seconds until it is allowed."""
        now = self._clock()
        if len(self._buckets) > MAX_HOLDERS:
            self._buckets.clear()
        tokens, at = self._buckets.get(holder, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._per_s)
        if tokens < 1:
            self._buckets[holder] = tokens, now
            return max(1, ceil((1 - tokens) / self._per_s))
        self._buckets[holder] = tokens - 1, now
        return 0


class Guard:
    """ASGI middleware that makes this module's checks; `cookie` is the name of the login cookie."""

    def __init__(
        self, app: ASGIApp, keys: Keys | MemberKeys, names: Names, rate: Rate, cookie: str
    ) -> None:
        self._app, self._keys, self._names, self._rate = app, keys, names, rate
        self._health, self._cookie = Rate(HEALTH_PER_S), cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = is_over = False

        async def guarded(message: Message) -> None:
            """Add security headers; end a streamed response once the request's key is deleted."""
            nonlocal has_begun, is_over
            if is_over:
                return  # the key has been deleted, and the response was ended
            if message["type"] == "http.response.start":
                has_begun = True
                own = [pair for pair in message["headers"] if pair[0] not in _SAFE]
                message["headers"] = [*own, *_SAFE.items()]
            elif message.get("more_body") and not self._keys.is_good(scope.get(HOLDER, NOBODY)):
                is_over = True
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        try:
            await (self._answer(scope) or self._app)(scope, receive, guarded)
        except Exception as error:
            if has_begun:
                raise
            await of_error(error)(scope, receive, guarded)

    def _answer(self, scope: Scope) -> Response | None:
        """Return the response if the request must not reach the application, otherwise None."""
        headers = Headers(scope=scope)
        self._refuse(scope, headers)
        if (answer := self._opened(scope)) is not None:
            return answer
        path, is_health = scope["path"], scope["path"] in HEALTH
        holder = NOBODY
        if not is_health:
            kind, _, key = headers.get("authorization", "").partition(" ")
            holder = self._keys.holder(key.strip()) if kind.lower() == "bearer" else NOBODY
            cookie = HTTPConnection(scope).cookies.get(self._cookie)
            if holder == NOBODY and cookie:
                holder = self._keys.holder_by_cookie(cookie)
        scope[HOLDER] = holder
        needs_key = self._keys.are_needed or not path.startswith(ingest_protocol.PATH)
        if holder == NOBODY and needs_key and path not in OPEN:
            if path == FRONT:
                content = f"<!doctype html><title>memory-fabric</title><p>{COME_WITH_KEY}"
                return HTMLResponse(content, 401, BEARER)
            message = "The key is missing or not valid."
            raise Refused(401, "unauthorized", message, COME_WITH_KEY, headers=BEARER)
        wait_s = self._health.wait_s(path) if is_health else self._rate.wait_s(holder)
        if wait_s:
            remedy = f"Try again in {wait_s} s; [serve] rate in config.toml sets the limit."
            later = {"Retry-After": str(wait_s)}
            raise Refused(429, "too_many_requests", "Too many requests.", remedy, headers=later)
        return None

    def _refuse(self, scope: Scope, headers: Headers) -> None:
        if not self._names.fit_host(headers.getlist("host")):
            message = "The Host header is not a name of this server."
            remedy = "Start it with memory-fabric serve --allow-host NAME to allow a name."
            raise Refused(403, "wrong_host", message, remedy)
        is_link = scope["path"] == FRONT  # another site's link may open the front page
        if not self._names.fit_origins(headers.getlist("origin")) or (
            headers.get("sec-fetch-site") in STRANGERS and not is_link
        ):
            raise Refused(403, "wrong_origin", "Requests from pages of other sites are refused.")
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
            raise Refused(414, "too_large", "The address is longer than 16 KB.")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            raise Refused(431, "too_large", "The headers are longer than 16 KB.")
        has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        is_read = scope["method"] in ("GET", "HEAD") and not scope["path"].startswith(WITH_BODY)
        if has_body and is_read:
            raise Refused(413, "too_large", "A read request must not have a body.")

    def _opened(self, scope: Scope) -> Response | None:
        """For a URL with a valid key, return a redirect to `/` with a login cookie; else None."""
        if scope["path"] != FRONT or scope["method"] != "GET":
            return None
        keys = parse_qs(scope["query_string"].decode("latin-1")).get("key", [])
        cookie = self._keys.cookie_for(keys[0]) if len(keys) == 1 else ""
        answer = RedirectResponse(FRONT, 303)
        answer.set_cookie(self._cookie, cookie, httponly=True, samesite="strict")
        return answer if cookie else None
