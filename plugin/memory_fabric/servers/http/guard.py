"""Who may ask: somebody with the key, under a name of this machine, from no other site's page.

A page of any site can send requests to this machine, and under a name of its own (DNS rebinding):
so the Host is compared with our own names, and the Origin with our own address. Other programs and
users of the machine reach the port, too: so every request needs the key of this start.
"""

from __future__ import annotations

from http import HTTPStatus
from secrets import compare_digest, token_urlsafe
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memory_fabric.servers.http.replies import refusal
from memory_fabric.viewer.page import content_security_policy

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

KEY_BYTES = 32
HTTP_PORT = 80
FRONT = "/"
# Four kilobytes of a question, every byte of it written as three.
MAX_ADDRESS_BYTES = 16 << 10
READING = ("GET", "HEAD")
NAMES = ("127.0.0.1", "[::1]", "localhost")
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
COME_WITH_KEY = "Open the whole address that memory-fabric serve printed, or send its key."


class Keys:
    """The key of this start, and keys that open once: what opens a browser can be read by others
    of this machine, in the list of processes.
    """

    def __init__(self) -> None:
        self.lasting = token_urlsafe(KEY_BYTES)
        self._once: list[str] = []

    def once(self) -> str:
        """A new key that opens the door a single time."""
        self._once.append(token_urlsafe(KEY_BYTES))
        return self._once[-1]

    def fits(self, given: str) -> bool:
        """Whether this is the lasting key."""
        return _same(given, self.lasting)

    def opens(self, given: str) -> bool:
        """Whether this is the lasting key, or one that opens once and now has."""
        used = [key for key in self._once if _same(given, key)]
        self._once = [key for key in self._once if key not in used]
        return bool(used) or self.fits(given)


class Guard:
    """An application behind the checks of this module; `host` is the address as a URL has it."""

    def __init__(self, app: ASGIApp, keys: Keys, host: str, port: int) -> None:
        self._app, self._keys = app, keys
        names = {*NAMES, host.lower()}
        self._hosts = {f"{name}:{port}" for name in names}
        self._hosts |= names if port == HTTP_PORT else set()
        self._cookie = f"memory-fabric-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let the application answer it."""
        if scope["type"] != "http":
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SAFE_HEADERS)
            await send(message)

        answer = self._refused(scope) or self._opened(scope) or self._locked(scope)
        await (answer or self._app)(scope, receive, send_safely)

    def _refused(self, scope: Scope) -> Response | None:
        """The answer to a request that no person of this machine sends."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            message = "This server answers only to names of this machine."
            return refusal(HTTPStatus.FORBIDDEN, "wrong_host", message)
        if any(origin.lower() not in self._origins for origin in origins):
            message = "Pages of other origins may not ask."
            return refusal(HTTPStatus.FORBIDDEN, "wrong_origin", message)
        if headers.get("sec-fetch-site") in STRANGERS and scope["path"] != FRONT:
            message = "Pages of other sites may not ask."
            return refusal(HTTPStatus.FORBIDDEN, "wrong_origin", message)
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
            message = "The address is longer than 16 KB."
            return refusal(HTTPStatus.REQUEST_URI_TOO_LONG, "too_large", message)
        if scope["method"] in READING and _has_body(headers):
            message = "A question has no body."
            return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", message)
        return None

    @property
    def _origins(self) -> set[str]:
        return {f"http://{host}" for host in self._hosts}

    def _opened(self, scope: Scope) -> Response | None:
        """The way in for a browser: the key in the address becomes a cookie."""
        if scope["path"] != FRONT or scope["method"] != "GET":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("key", [])
        if len(given) != 1 or not self._keys.opens(given[0]):
            return None
        answer = RedirectResponse(FRONT, HTTPStatus.SEE_OTHER)
        answer.set_cookie(self._cookie, self._keys.lasting, httponly=True, samesite="strict")
        return answer

    def _locked(self, scope: Scope) -> Response | None:
        """The answer to a request without the key."""
        headers = Headers(scope=scope)
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._keys.fits(given.strip()):
            return None
        if any(self._keys.fits(value) for value in _cookies(headers, self._cookie)):
            return None
        if scope["path"] == FRONT:
            return HTMLResponse(
                f"<!doctype html><title>memory-fabric</title><p>{COME_WITH_KEY}",
                HTTPStatus.UNAUTHORIZED,
                {"WWW-Authenticate": "Bearer"},
            )
        answer = refusal(
            HTTPStatus.UNAUTHORIZED, "unauthorized", "The key is missing.", COME_WITH_KEY
        )
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer


def _cookies(headers: Headers, name: str) -> list[str]:
    pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [value for key, _, value in pairs if key == name]


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _same(given: str, key: str) -> bool:
    return compare_digest(given.encode(), key.encode())
