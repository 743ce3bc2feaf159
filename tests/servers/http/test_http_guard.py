"""The guard that checks each request before the application gets it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from memory_fabric.servers.http import guard
from memory_fabric.servers.http import keys as kept_keys
from memory_fabric.servers.http.guard import HOLDER, Guard, Names, Rate
from memory_fabric.servers.http.keys import START, Keys
from servers.http.http_server import INGEST

HOST = "127.0.0.1:8002"
# The maximum size of an address, and of all headers together.
MAX_BYTES = 16 << 10


class Guarded:
    """A guard with the keys of a home, and the holders whose requests it has let through."""

    def __init__(self, home: Path) -> None:
        self.home = str(home)
        self.keys = Keys(self.home)
        self.let_through: list[str] = []
        self.scopes: list[str] = []
        names = Names("127.0.0.1", 8002)
        self._guard = Guard(self._app, self.keys, names, Rate(1000), "cookie")

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope["type"])
        if scope["type"] == "http":
            self.let_through.append(scope[HOLDER])
            await Response("answered")(scope, receive, send)

    def ask(
        self,
        path: str,
        method: str = "GET",
        *,
        key: str | None = None,
        query: str = "",
        **more: str,
    ) -> tuple[int, dict[str, str]]:
        """The status and the headers of the response to a request."""
        key = self.keys.lasting if key is None else key
        headers = {"host": HOST, **({"authorization": f"Bearer {key}"} if key else {})}
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        sent = self.sent(scope)
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], told

    def sent(self, scope: Scope) -> list[Message]:
        """The messages that are sent in response to a request with this scope."""
        found: list[Message] = []

        async def receive() -> Message:
            raise AssertionError("the guard reads no body")

        async def send(message: Message) -> None:
            found.append(message)

        asyncio.run(self._guard(scope, receive, send))
        return found


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    return Guarded(tmp_path)


def test_the_application_learns_the_holder_of_the_key_or_of_the_cookie(guarded: Guarded) -> None:
    kept = kept_keys.make(guarded.home, "laptop")
    guarded = Guarded(Path(guarded.home))
    cookie = guarded.keys.cookie_for(kept)
    laptop = guarded.keys.holder(kept)

    for given in (
        {},
        {"key": kept},
        {"key": "", "authorization": f"bEaReR  {kept} "},
        {"key": "", "cookie": f"cookie={cookie}"},
        {"key": "wrong", "cookie": f"cookie={cookie}"},
        {"cookie": f"cookie={cookie}"},
    ):
        assert guarded.ask("/api/status", **given)[0] == 200

    assert guarded.let_through == [START, *[laptop] * 4, START]
    for given in (
        {"key": ""},
        {"key": "", "authorization": f"Basic {kept}"},
        {"key": "", "cookie": f"cookie={kept}"},
        {"key": "", "cookie": f"other={cookie}"},
    ):
        status, headers = guarded.ask("/api/status", **given)
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
    assert len(guarded.let_through) == 6


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/api/status", {"content_length": "0"}, 200),
        ("GET", "/api/status", {"content_length": "1"}, 413),
        ("HEAD", "/api/status", {"content_length": "1"}, 413),
        ("GET", "/api/status", {"transfer_encoding": "chunked"}, 413),
        ("POST", "/api/status", {"content_length": "1"}, 200),  # the router refuses it
        ("GET", INGEST, {"content_length": "1"}, 200),
        ("GET", "/api/changes", {"transfer_encoding": "chunked"}, 200),
        ("GET", "/", {"sec_fetch_site": "cross-site"}, 200),  # a link of another site
        ("GET", "/", {"sec_fetch_site": "cross-site", "origin": "http://evil.example"}, 403),
        ("GET", "/api/status", {"sec_fetch_site": "none"}, 200),
    ],
)
def test_requests_with_a_body_where_none_is_read_or_from_other_sites_are_refused(
    guarded: Guarded, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert guarded.ask(path, method, **headers)[0] == status


def test_an_address_and_headers_of_the_maximum_size_are_accepted_and_longer_ones_refused(
    guarded: Guarded,
) -> None:
    room = MAX_BYTES - len("/healthz")
    headers = len("host") + len(HOST) + len("x")

    addresses = [guarded.ask("/healthz", key="", query="a" * n)[0] for n in (room, room + 1)]
    sizes = [
        guarded.ask("/healthz", key="", x="a" * n)[0]
        for n in (MAX_BYTES - headers, MAX_BYTES - headers + 1)
    ]

    assert (addresses, sizes) == ([200, 414], [200, 431])


def test_only_a_get_request_of_the_front_page_with_a_valid_key_sets_a_cookie(
    guarded: Guarded,
) -> None:
    query = f"key={guarded.keys.lasting}"

    status, headers = guarded.ask("/", key="", query=query)

    assert (status, headers["location"], headers["referrer-policy"]) == (303, "/", "no-referrer")
    cookie = guarded.keys.cookie_for(guarded.keys.lasting)
    assert headers["set-cookie"].startswith(f"cookie={cookie};")
    assert guarded.ask("/", "POST", query=query)[0] == guarded.ask("/", query="key=x")[0] == 200
    assert guarded.ask("/api/status", key="", query=query)[0] == 401
    assert guarded.ask("/", key="", query=f"{query}&key=x")[0] == 401


def test_messages_that_are_no_http_requests_reach_the_application_unchecked(
    guarded: Guarded,
) -> None:
    assert guarded.sent({"type": "lifespan"}) == []
    assert guarded.scopes == ["lifespan"]


def test_the_rates_of_very_many_holders_are_forgotten_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard, "MAX_HOLDERS", 2)
    rate = Rate(1, lambda: 0.0)

    assert [rate.wait_s(one) for one in ("a", "b", "a", "c")] == [0, 0, 1, 0]
    assert [rate.wait_s(one) for one in ("a", "a")] == [0, 1]


def test_a_rate_below_one_request_per_second_allows_one_request_at_a_time() -> None:
    moments: Any = iter((0.0, 0.0, 1.0, 2.0, 2.0))
    rate = Rate(0.5, lambda: next(moments))

    assert [rate.wait_s("a") for _ in range(5)] == [0, 2, 1, 0, 2]


def test_a_server_on_port_80_is_asked_without_a_port() -> None:
    names = Names("192.0.2.1", 80, ["memory.example.org:8080"])

    for host in ("192.0.2.1", "localhost", "[::1]", "127.0.0.1:80", "memory.example.org:8080"):
        assert names.fit_host([host])
    assert not names.fit_host(["memory.example.org"])
    assert names.fit_origins(["http://localhost"]) and names.fit_origins([])
    assert names.fit_origins(["https://memory.example.org:8080"])
    assert not names.fit_origins(["http://localhost", "http://evil.example"])
    assert not Names("127.0.0.1", 81).fit_host(["localhost"])
