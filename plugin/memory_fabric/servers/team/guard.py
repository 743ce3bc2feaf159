"""Checks before a request reaches the shared server: host, origin, size, and that a key came.

The key itself is checked by the database in the request's own transaction, so a deleted key or a
removed member counts at once in every process.
"""

from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Scope

from memory_fabric.servers.http.allowed_hosts import Names
from memory_fabric.servers.http.auth import FRONT, Guard, bearer_in, cookies_in
from memory_fabric.servers.http.keys import NOBODY
from memory_fabric.servers.http.rate_limit import Rate
from memory_fabric.servers.team import keys

# Where the digest of a request's key is for the endpoints.
DIGEST = "memory_fabric.digest"


class NoKeys:
    """The keys of this process: none; streamed responses are short."""

    are_needed = True

    def is_good(self, _holder: str) -> bool:
        """Return True: the database checks keys."""
        return True


class TeamGuard(Guard):
    """Middleware with the checks of this module; `cookie` is the name of the browser's cookie."""

    def __init__(self, app: ASGIApp, names: Names, rate: Rate, cookie: str) -> None:
        super().__init__(app, NoKeys(), names, rate, cookie)  # type: ignore[arg-type]

    def _opened(self, scope: Scope) -> Response | None:
        """Log a browser in: redirect, and set a cookie for the key in the address."""
        if scope["path"] != FRONT or scope["method"] != "GET":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("key", [])
        if len(given) != 1 or not _may_be_key(given[0]):
            return None
        answer = RedirectResponse(FRONT, HTTPStatus.SEE_OTHER)
        value = keys.cookie_of(given[0])
        answer.set_cookie(self._cookie, value, httponly=True, samesite="strict")
        return answer

    def _holder_in(self, scope: Scope, headers: Headers) -> str:
        """Return the digest of the request's key, which the endpoints find in the scope, too."""
        found = [
            given for given in (bearer_in(headers), *cookies_in(headers, self._cookie)) if given
        ]
        if not found or not _may_be_key(found[0]):
            return NOBODY
        scope[DIGEST] = keys.digest(found[0])
        return keys.digest(found[0]).hex()


def _may_be_key(given: str) -> bool:
    return 0 < len(given) <= keys.MAX_KEY_CHARS
