"""Slow, huge, idle and broken: what such a client costs, and that the others do not notice."""

from __future__ import annotations

import asyncio
import http.client
import json
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress

import pytest

from cli.shell import Shell
from memory_fabric.servers.http import requests as bodies
from memory_fabric.servers.http.requests import BODY_S, MAX_BYTES
from memory_fabric.servers.http.responses import Refused
from memory_fabric.servers.http.server import ASKING_S, MAX_CONNECTIONS, MAX_UNREAD_BYTES
from servers.http.http_server import GIVE_UP_S, INGEST, Serving, serving

IDLE = 1000
SLACK_S = 15
BEGUN = b"GET /healthz HTTP/1.1\r\nHost: "


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server without kept keys."""
    with serving(Shell(tmp_path_factory.mktemp("bounds"))) as found:
        yield found


def connected(server: Serving) -> socket.socket:
    """A connection to the server."""
    return socket.create_connection((server.host, server.port), GIVE_UP_S)


def head(server: Serving, *lines: str) -> bytes:
    """The head of an ingest."""
    first = (f"POST {INGEST} HTTP/1.1", f"Host: 127.0.0.1:{server.port}")
    return "\r\n".join((*first, "Content-Type: application/json", *lines, "", "")).encode()


def all_of(connection: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection; a reset ends it, too."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def test_a_thousand_idle_connections_do_not_block_other_clients(server: Serving) -> None:
    assert IDLE > MAX_CONNECTIONS
    with ExitStack() as open_ones:
        for number in range(IDLE):
            connection = open_ones.enter_context(connected(server))
            connection.sendall(BEGUN if number % 2 else b"")

        began = time.monotonic()
        replies = [server.get("/healthz", key="none").status for _ in range(20)]
        replies += [server.send(f"Text {number}").status for number in range(20)]
        took_s = time.monotonic() - began

    assert replies == [200] * 20 + [202] * 20
    assert took_s < ASKING_S


def test_the_longest_idle_connection_is_closed_if_too_many_connections_are_open(
    server: Serving,
) -> None:
    with ExitStack() as open_ones:
        first = open_ones.enter_context(connected(server))
        later = [open_ones.enter_context(connected(server)) for _ in range(MAX_CONNECTIONS)]
        later[-1].sendall(BEGUN + f"127.0.0.1:{server.port}\r\n\r\n".encode())

        assert all_of(first) == b""
        assert later[-1].recv(15) == b"HTTP/1.1 200 OK"


def test_a_slow_body_is_refused_after_the_time_limit(server: Serving) -> None:
    with connected(server) as connection:
        connection.sendall(head(server, "Content-Length: 1000") + b'{"session_')
        began = time.monotonic()

        answer = all_of(connection)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"too_slow"' in answer
    assert BODY_S - 1 < time.monotonic() - began < BODY_S + SLACK_S


class _Skipping(selectors.DefaultSelector):
    """Waits for nothing: time passes at once, by the `clock` alone."""

    clock = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.clock += timeout or 0.0
        return super().select(0)


def test_the_time_limit_of_a_body_is_counted_from_the_start_of_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late, selector = iter((BODY_S - 1, 3 * BODY_S)), _Skipping()
    loop = asyncio.SelectorEventLoop(selector)
    monkeypatch.setattr(loop, "time", lambda: selector.clock)

    async def receive() -> dict[str, object]:
        await asyncio.sleep(next(late))
        return {"type": "http.request", "body": b"{", "more_body": True}

    async def refused() -> None:
        await bodies.whole_body({"type": "http", "headers": []}, receive)

    with closing(loop), pytest.raises(Refused, match=f"not arrive within {BODY_S:g} seconds"):
        loop.run_until_complete(refused())

    assert BODY_S <= selector.clock < BODY_S + 1


def test_oversized_headers_are_refused_whether_sent_whole_or_in_parts(server: Serving) -> None:
    large = head(server, "X-Large: " + "a" * (20 << 10), "Content-Length: 35")
    answers = []
    for parts in ((large,), (large[:18_000], large[18_000:])):
        with connected(server) as connection:
            with suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent
                for part in parts:
                    connection.sendall(part)
                connection.sendall(b'{"session_summary": "health-check"}')
                connection.shutdown(socket.SHUT_WR)
            answers.append(all_of(connection))

    for answer in answers:
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert b'"code":' in answer and b"too_large" in answer


def test_occasional_bytes_do_not_extend_the_time_limit_of_a_body(server: Serving) -> None:
    with connected(server) as connection:
        connection.sendall(head(server, "Transfer-Encoding: chunked"))
        connection.settimeout(0.5)
        began, answer = time.monotonic(), b""
        while not answer and time.monotonic() - began < BODY_S + SLACK_S:
            connection.sendall(b"1\r\na\r\n")
            try:
                answer = connection.recv(65536)
            except TimeoutError:
                continue

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_body_with_a_too_large_content_length_is_refused_without_reading_it(
    server: Serving,
) -> None:
    with connected(server) as connection:
        connection.sendall(head(server, f"Content-Length: {10**12}", "Expect: 100-continue"))

        assert connection.recv(13) == b"HTTP/1.1 413 "


def test_an_endless_chunked_body_is_cut_off(server: Serving) -> None:
    chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    sent = 0
    with connected(server) as connection:
        connection.sendall(head(server, "Transfer-Encoding: chunked"))
        with pytest.raises(OSError):
            while sent < 100 << 20:
                connection.sendall(chunk)
                sent += len(chunk)

    # What the two kernels hold comes on top of what the server read.
    assert sent < MAX_BYTES + MAX_UNREAD_BYTES + (16 << 20)


def test_a_body_shorter_than_its_content_length_is_not_accepted(server: Serving) -> None:
    body = b'{"session_summary": "half"}'
    with connected(server) as connection:
        connection.sendall(head(server, f"Content-Length: {len(body) + 5}") + body)
        connection.shutdown(socket.SHUT_WR)

        assert b" 202 " not in all_of(connection)


def test_bytes_beyond_the_content_length_are_not_part_of_the_body(server: Serving) -> None:
    body = b'{"session_summary": "health-check"}'
    with connected(server) as connection:
        connection.sendall(head(server, f"Content-Length: {len(body)}") + body + b"GARBAGE\r\n\r\n")

        answer = all_of(connection)

    assert answer.startswith(b"HTTP/1.1 202 ")
    assert b'"length":12' in answer
    assert b"HTTP/1.1 400 " in answer


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: -1",),
        ("Content-Length: 1e3",),
        ("Content-Length: 5", "Transfer-Encoding: chunked, gzip"),
        ("Transfer-Encoding: gzip",),
    ],
)
def test_invalid_body_lengths_are_refused(server: Serving, lines: tuple[str, ...]) -> None:
    answer = server.raw(head(server, *lines) + b"{}")

    assert answer.split(b" ")[1] in (b"400", b"501")


@pytest.mark.parametrize("request_", [b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\0" * 64])
def test_invalid_http_is_answered_with_a_json_error(server: Serving, request_: bytes) -> None:
    answer = server.raw(request_ + b"\r\n\r\n")

    first, _, body = answer.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 400 ") and b"application/json" in first
    # A body of unknown length comes in pieces, or until the end.
    assert b'"code": "bad_request"' in body


def test_endless_headers_are_cut_off(server: Serving) -> None:
    answer = server.raw(b"GET /healthz HTTP/1.1\r\n" + b"X: " + b"a" * (64 << 10))

    assert answer.split(b" ")[1] == b"431"


def test_an_overlong_url_is_refused(server: Serving) -> None:
    reply = server.get("/api/recall?q=" + "a" * (20 << 10))

    assert reply.status in (400, 414)


def test_pipelined_requests_are_answered_in_order(server: Serving) -> None:
    texts = [json.dumps({"session_summary": "x" * n}).encode() for n in range(1, 21)]
    requests = [head(server, f"Content-Length: {len(text)}") + text for text in texts]
    with connected(server) as connection:
        connection.sendall(b"".join(requests))
        answer = all_of(connection)

    lengths = [int(part.partition(b",")[0]) for part in answer.split(b'"length":')[1:]]
    assert lengths == list(range(1, 21))


def test_a_connection_can_be_reused_after_an_error(server: Serving) -> None:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=GIVE_UP_S)
    kind = {"Content-Type": "application/json"}
    connection.request("POST", INGEST, b"a" * (MAX_BYTES + 1), kind)
    refused = connection.getresponse()
    refused.read()
    ours = connection.sock

    connection.request("POST", INGEST, b'{"session_summary": "x"}', kind)
    taken = connection.getresponse()
    taken.read()

    assert (refused.status, taken.status) == (413, 202)
    assert connection.sock is ours
    connection.close()
